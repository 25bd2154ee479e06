package image_test

import (
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// limitedModel is a plain account of a limited world: what each entity has, and the rules of World.SetPredicted.
type limitedModel struct {
	rows      map[uint32]bool
	pos       map[ecs.Entity]sample.Pos
	vel       map[ecs.Entity]sample.Vel
	exists    map[ecs.Entity]bool
	score     int32
	later     []func()
	predicted image.Owner
}

func (m *limitedModel) may(e ecs.Entity) bool { return m.rows[e.Row] || e.Owner() == m.predicted }

// One random machine for all rules: systems change random entities, and the model knows which changes last.
func TestALimitedWorldEqualsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := sample.Bare()
		do := []func(w *ecs.World){func(*ecs.World) {}, func(*ecs.World) {}}
		g.Systems = []ecs.System{{Name: "one", Run: func(w *ecs.World) { do[0](w) }}, {Name: "two", Run: func(w *ecs.World) { do[1](w) }}}
		w, err := ecs.NewWorld(g, 5)
		if err != nil {
			t.Fatal(err)
		}
		m := &limitedModel{rows: map[uint32]bool{}, pos: map[ecs.Entity]sample.Pos{}, vel: map[ecs.Entity]sample.Vel{}, exists: map[ecs.Entity]bool{}, predicted: ecs.OwnedBy(0)}
		rows := &image.RowSet{}
		rows.AddOwner(m.predicted)
		var all []ecs.Entity
		sample.InSystem(w, func() {
			for i := range 12 {
				e := w.Spawn(image.Owner(i%3), sample.Positions, sample.Velocities)
				all = append(all, e)
				m.exists[e], m.pos[e], m.vel[e] = true, sample.Pos{}, sample.Vel{}
			}
		})
		rows.Add(all[0].Row)
		m.rows[all[0].Row] = true
		w.Image().SetPredicted(rows)
		system := func(w *ecs.World) {
			for range rapid.IntRange(0, 6).Draw(t, "actions") {
				act(t, w, m, &all)
			}
		}
		do = []func(w *ecs.World){
			func(w *ecs.World) { system(w) },
			func(w *ecs.World) { m.flush(); m.check(t, w, all); system(w) },
		}
		for range rapid.IntRange(1, 5).Draw(t, "ticks") {
			w.Step(ecs.TickInputs{})
			m.flush()
			m.score = 0
			m.check(t, w, all)
		}
	})
}

func (m *limitedModel) flush() {
	for _, f := range m.later {
		f()
	}
	m.later = m.later[:0]
}

// act does one random thing to the world and to the model.
func act(t *rapid.T, w *ecs.World, m *limitedModel, all *[]ecs.Entity) {
	e := rapid.SampledFrom(*all).Draw(t, "entity")
	value := int8(rapid.IntRange(1, 100).Draw(t, "value"))
	pos := sample.PosAt(int(value), 0)
	switch rapid.IntRange(0, 7).Draw(t, "action") {
	case 0, 1:
		_, has := m.pos[e]
		want := has && m.may(e)
		if sample.Positions.Put(w, e, pos) != want || w.MayWrite(e) != (m.exists[e] && m.may(e)) {
			t.Fatalf("writing %v is not %t", e, want)
		}
		if p := sample.Positions.Write(w, e); (p != nil) != has {
			t.Fatalf("Write of %v returns %v", e, p)
		} else if has {
			*p = pos
		}
		if want {
			m.pos[e] = pos
		}
	case 2:
		sample.Velocities.Add(w, e, sample.Vel{X: pos.X})
		m.later = append(m.later, func() {
			if m.exists[e] && m.may(e) {
				m.vel[e] = sample.Vel{X: pos.X}
			}
		})
	case 3:
		sample.Velocities.Remove(w, e)
		m.later = append(m.later, func() {
			if m.may(e) {
				delete(m.vel, e)
			}
		})
	case 4:
		w.Despawn(e)
		m.later = append(m.later, func() {
			if m.may(e) {
				m.drop(e)
			}
		})
	case 5:
		m.spawn(t, w, all, pos)
	case 6:
		for r := range sample.Moving.All(w) {
			r.A.X += r.B.X
		}
		for e := range m.pos {
			if v, ok := m.vel[e]; ok && m.may(e) && !m.fresh(w, e) {
				m.pos[e] = sample.Pos{X: m.pos[e].X + v.X, Y: m.pos[e].Y}
			}
		}
	case 7:
		sample.Scores.Write(w).Points[1] += int32(value)
		m.score += int32(value)
	}
}

// fresh reports whether e is spawned by the running system, whose queries do not see it.
func (m *limitedModel) fresh(w *ecs.World, e ecs.Entity) bool {
	return !w.Image().Identity().Regions()[e.Owner()].Has(e.Row % image.RegionRows)
}

func (m *limitedModel) drop(e ecs.Entity) {
	delete(m.exists, e)
	delete(m.pos, e)
	delete(m.vel, e)
}

// spawn takes a row and fills it. It may be used at once, for any owner.
func (m *limitedModel) spawn(t *rapid.T, w *ecs.World, all *[]ecs.Entity, pos sample.Pos) {
	e := w.Spawn(image.Owner(rapid.IntRange(0, 2).Draw(t, "owner")), sample.Positions)
	if !sample.Positions.Put(w, e, pos) || !w.Exists(e) {
		t.Fatalf("%v cannot be filled", e)
	}
	sample.Velocities.Add(w, e, sample.Vel{X: 1})
	m.exists[e], m.pos[e] = true, pos
	lasts := e.Owner() == m.predicted
	m.later = append(m.later, func() {
		if m.vel[e] = (sample.Vel{X: 1}); !lasts {
			m.drop(e)
		}
	})
	if lasts {
		*all = append(*all, e)
	}
}

func (m *limitedModel) check(t *rapid.T, w *ecs.World, all []ecs.Entity) {
	for _, e := range all {
		pos, hasPos := sample.Positions.Read(w, e)
		vel, hasVel := sample.Velocities.Read(w, e)
		_, wantPos := m.pos[e]
		_, wantVel := m.vel[e]
		if w.Exists(e) != m.exists[e] || hasPos != wantPos || hasVel != wantVel || pos != m.pos[e] || vel != m.vel[e] {
			t.Fatalf("%v: exists %t at %v (%t) with %v (%t), want %t, %v (%t), %v (%t)", e, w.Exists(e), pos, hasPos, vel, hasVel,
				m.exists[e], m.pos[e], wantPos, m.vel[e], wantVel)
		}
	}
	if n := count(w, sample.Placed); n != len(m.pos) {
		t.Fatalf("the world has %d entities, want %d", n, len(m.pos))
	}
	if got := sample.Scores.Read(w).Points[1]; got != m.score {
		t.Fatalf("the score is %d, want %d", got, m.score)
	}
}
