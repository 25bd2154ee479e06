package image_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// model is the image as a plain map, without regard to speed.
type model struct {
	tick     ecs.Tick
	entities map[uint32]*modelEntity
}

type modelEntity struct {
	born ecs.Tick
	pos  *sample.Pos
	wide *uint64
	tag  bool
}

func (m *model) clone() *model {
	c := &model{m.tick, map[uint32]*modelEntity{}}
	for row, e := range m.entities {
		d := *e
		if e.pos != nil {
			v := *e.pos
			d.pos = &v
		}
		if e.wide != nil {
			v := *e.wide
			d.wide = &v
		}
		c.entities[row] = &d
	}
	return c
}

func (m *model) rows() []uint32 {
	var rows []uint32
	for row := range m.entities {
		rows = append(rows, row)
	}
	slices.Sort(rows)
	return rows
}

func (m *model) String() string {
	var b strings.Builder
	for _, row := range m.rows() {
		e := m.entities[row]
		fmt.Fprintf(&b, "%#x born %d tag %t", row, e.born, e.tag)
		if e.pos != nil {
			fmt.Fprintf(&b, " pos %d %d", e.pos.X, e.pos.Y)
		}
		if e.wide != nil {
			fmt.Fprintf(&b, " wide %d", *e.wide)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// asModel reads a world into a model through its queries.
func asModel(t *rapid.T, w *ecs.World) *model {
	m := &model{w.Tick(), map[uint32]*modelEntity{}}
	last := int64(-1)
	see := func(e ecs.Entity) *modelEntity {
		if int64(e.Row) <= last {
			t.Fatalf("row %d follows row %d", e.Row, last)
		}
		last = int64(e.Row)
		if m.entities[e.Row] == nil {
			m.entities[e.Row] = &modelEntity{born: e.Born}
		}
		return m.entities[e.Row]
	}
	for e := range qModelPos.All(w) {
		v := e.A
		see(e.Entity()).pos = &v
	}
	last = -1
	for e := range qModelWide.All(w) {
		v := e.A.Cells[99]
		see(e.Entity()).wide = &v
	}
	last = -1
	for e := range qModelTag.All(w) {
		see(e.Entity()).tag = true
	}
	last = -1
	for e := range qModelPosRuns(w) {
		if p := m.entities[e.Row].pos; p == nil {
			t.Fatalf("Runs yields row %d, All does not", e.Row)
		}
		see(e)
	}
	return m
}

var (
	qModelPos  = ecs.NewQuery1(ecs.Read(sample.Positions))
	qModelWide = ecs.NewQuery1(ecs.Read(sample.Wides))
	qModelTag  = ecs.NewQuery1(ecs.Read(sample.Tags))
)

func qModelPosRuns(w *ecs.World) func(yield func(ecs.Entity) bool) {
	return func(yield func(ecs.Entity) bool) {
		for r := range qModelPos.Runs(w) {
			for i := range r.A {
				if !yield(r.Entities[i]) {
					return
				}
			}
		}
	}
}

// After any sequence of spawns, despawns, adds, removes, saves and restores, the world equals a plain map. Rows are
// the lowest free ones, and queries follow their order. A state has the same checksum and bytes whatever its
// history.
func TestWorldHoldsWhatAPlainMapWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &structureMachine{world: sample.Must(ecs.NewWorld(sample.Bare(), 1)), model: &model{entities: map[uint32]*modelEntity{}}}
		s.save()
		t.Repeat(map[string]func(*rapid.T){"tick": s.tick, "restore": s.restore, "detour": s.detour, "": s.check})
	})
}

type structureMachine struct {
	world  *ecs.World
	model  *model
	snaps  []*image.Snapshot
	models []*model
}

func (s *structureMachine) save() {
	s.snaps, s.models = append(s.snaps, sample.Saved(s.world)), append(s.models, s.model.clone())
	if len(s.snaps) > 12 {
		s.snaps[0].Release()
		s.snaps, s.models = s.snaps[1:], s.models[1:]
	}
}

// tick runs a tick of random changes, in one system.
func (s *structureMachine) tick(t *rapid.T) {
	w, m := s.world, s.model
	before, held := m.clone(), map[uint32]bool{}
	s.world.Step(ecs.TickInputs{})
	m.tick++
	pick := func() (e ecs.Entity, me *modelEntity) {
		rows := before.rows()
		if len(rows) == 0 {
			return ecs.Entity{Row: 60 << image.RegionShift}, nil
		}
		row := rapid.SampledFrom(rows).Draw(t, "row")
		return ecs.Entity{Row: row, Born: before.entities[row].born}, m.entities[row]
	}
	for range rapid.IntRange(0, 12).Draw(t, "changes") {
		switch rapid.SampledFrom([]string{"spawn", "many", "despawn", "add", "remove", "write", "system"}).Draw(t, "change") {
		case "spawn":
			s.spawn(t, held, image.Owner(rapid.IntRange(0, 4).Draw(t, "owner")), 1)
		case "many":
			s.spawn(t, held, image.Owner(rapid.IntRange(0, 4).Draw(t, "owner")), rapid.IntRange(1, 150).Draw(t, "n"))
		case "despawn":
			e, _ := pick()
			w.Despawn(e)
			held[e.Row] = true
			delete(m.entities, e.Row)
		case "add":
			e, me := pick()
			v := rapid.Uint64().Draw(t, "v")
			sample.Wides.Add(w, e, sample.Wide{Cells: [100]uint64{99: v}})
			sample.Tags.Add(w, e, struct{}{})
			if me != nil {
				me.wide, me.tag = &v, true
			}
		case "remove":
			e, me := pick()
			sample.Positions.Remove(w, e)
			sample.Tags.Remove(w, e)
			if me != nil {
				me.pos, me.tag = nil, false
			}
		case "write":
			w.Image().Flush()
			e, me := pick()
			if p := sample.Positions.Write(w, e); p != nil {
				p.X++
				me.pos.X++
			} else if me != nil && me.pos != nil {
				t.Fatalf("row %d cannot be written", e.Row)
			}
		case "system":
			w.Image().Flush()
		}
	}
	w.Image().Flush()
	w.Image().ReleaseReserved()
	// An entity without any component is seen by no query: give it the tag, so that the check sees all.
	for _, row := range m.rows() {
		if e := m.entities[row]; e.pos == nil && e.wide == nil && !e.tag {
			sample.Tags.Add(w, ecs.Entity{Row: row, Born: e.born}, struct{}{})
			e.tag = true
		}
	}
	w.Image().Flush()
	s.save()
}

func (s *structureMachine) spawn(t *rapid.T, held map[uint32]bool, o image.Owner, n int) {
	v := sample.Pos{X: 1, Y: 2}
	for range n {
		e := s.world.Spawn(o, sample.Positions, sample.Tags)
		row := uint32(o) << image.RegionShift
		for row == 0 || s.model.entities[row] != nil || held[row] {
			row++
		}
		if e.Row != row || e.Born != s.model.tick {
			t.Fatalf("spawned %v, want row %d born %d", e, row, s.model.tick)
		}
		held[row] = true
		p := v
		sample.Positions.Put(s.world, e, p)
		s.model.entities[row] = &modelEntity{born: e.Born, pos: &p, tag: true}
	}
}

func (s *structureMachine) restore(t *rapid.T) {
	i := rapid.IntRange(0, len(s.snaps)-1).Draw(t, "snapshot")
	s.world.Image().Restore(s.snaps[i])
	s.model = s.models[i].clone()
}

// detour goes away from the state and back by structural changes alone: to despawn what was spawned is to have never
// spawned it.
func (s *structureMachine) detour(t *rapid.T) {
	w := s.world
	at := sample.Saved(w)
	defer at.Release()
	w.Step(ecs.TickInputs{})
	reached := sample.Saved(w)
	defer reached.Release()
	w.Image().Restore(at)
	w.Step(ecs.TickInputs{})
	var spawned []ecs.Entity
	for range rapid.IntRange(1, 300).Draw(t, "n") {
		e := w.Spawn(image.Owner(rapid.IntRange(0, 4).Draw(t, "owner")), sample.Positions, sample.Wides)
		sample.Positions.Put(w, e, sample.Pos{X: 3, Y: 4})
		spawned = append(spawned, e)
	}
	w.Image().Flush()
	for _, e := range spawned {
		w.Despawn(e)
	}
	w.Image().Flush()
	w.Image().ReleaseReserved()
	other := sample.Saved(w)
	defer other.Release()
	if other.Checksum() != reached.Checksum() || !bytes.Equal(other.AppendImage(nil), reached.AppendImage(nil)) {
		d, _ := image.FirstDifference(reached, other)
		t.Fatalf("two roads to one state differ: %v", d)
	}
	w.Image().Restore(at)
}

func (s *structureMachine) check(t *rapid.T) {
	if got, want := asModel(t, s.world), s.model; got.tick != want.tick || got.String() != want.String() {
		t.Fatalf("tick %d:\n%s\nwant %d:\n%s", got.tick, got, want.tick, want)
	}
	if s.world.Image().Strays() != 0 {
		t.Fatal("undeclared writes")
	}
	// The same state in a world without any history.
	here := sample.Saved(s.world)
	defer here.Release()
	fresh := sample.Must(ecs.NewWorld(sample.Bare(), 99))
	if err := fresh.Image().Load(here.AppendImage(nil)); err != nil {
		t.Fatal(err)
	}
	there := sample.Saved(fresh)
	if here.Checksum() != there.Checksum() || !bytes.Equal(here.AppendImage(nil), there.AppendImage(nil)) {
		d, _ := image.FirstDifference(here, there)
		t.Fatalf("a loaded state differs: %v", d)
	}
	if _, ok := image.FirstDifference(here, there); ok {
		t.Fatal("equal states are said to differ")
	}
}
