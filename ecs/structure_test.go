//go:build moving

package ecs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// count returns how many entities a query sees.
func count[A, PA any](w *World, q *Query1[A, PA]) (n int) {
	for range q.All(w) {
		n++
	}
	return n
}

// Spawn gives an entity that its system can fill, but that no query of the system sees: a system never meets what it
// made itself, whatever the order of its loops.
func TestSpawnFillsAtOnceAndIsSeenByTheNextSystem(t *testing.T) {
	g := tGame()
	var e Entity
	g.Systems = []System{
		{"first", func(w *World) {
			if w.Tick() != 1 {
				return
			}
			e = w.Spawn(OwnedByWorld, cPos)
			cPos.Put(w, e, tPos{X: 7})
			if v, ok := cPos.Read(w, e); !ok || v.X != 7 || !w.Exists(e) || !cPos.Has(w, e) {
				t.Error("the spawned entity cannot be filled:", v, ok)
			}
			if count(w, qPos) != 0 {
				t.Error("a query sees what its own system spawned")
			}
		}},
		{"second", func(w *World) {
			if count(w, qPos) != 1 {
				t.Error("the next system does not see the spawned entity")
			}
		}},
	}
	newWorld(t, g).Step(TickInputs{})
}

// Despawn, Add and Remove wait for the system's end too, so that a loop may do them to what it walks over.
func TestDespawnAddAndRemoveTakeEffectWhenTheSystemHasReturned(t *testing.T) {
	g := tGame()
	var a, b Entity
	g.Setup = func(w *World) { a, b = w.Spawn(OwnedByWorld, cPos), w.Spawn(OwnedByWorld, cPos) }
	look := func(w *World) string {
		v, _ := cVel.Read(w, b)
		return fmt.Sprint(w.Exists(a), cPos.Has(w, a), w.Exists(b), cPos.Has(w, b), cVel.Has(w, b), int64(v.X), count(w, qPos))
	}
	g.Systems = []System{
		{"first", func(w *World) {
			if w.Tick() != 1 {
				return
			}
			w.Despawn(a)
			cVel.Add(w, b, tVel{X: 5})
			cPos.Remove(w, b)
			if got := look(w); got != "true true true true false 0 2" {
				t.Error("within the system:", got)
			}
		}},
		{"second", func(w *World) {
			if got := look(w); got != "false false true false true 5 0" {
				t.Error("in the next system:", got)
			}
		}},
	}
	newWorld(t, g).Step(TickInputs{})
}

// The order of structural changes is the order of the calls, and a change to what is gone does nothing.
func TestStructuralChangesHappenInCallOrder(t *testing.T) {
	w := newWorld(t, tGame())
	var a, b, c, d Entity
	inSystem(w, func() {
		a = w.Spawn(OwnedByWorld, cPos)
		cVel.Add(w, a, tVel{X: 1})
		cVel.Add(w, a, tVel{X: 2}) // replaces
		b = w.Spawn(OwnedByWorld, cPos)
		cVel.Add(w, b, tVel{X: 1})
		cVel.Remove(w, b)
		c = w.Spawn(OwnedByWorld, cPos)
		w.Despawn(c)
		cVel.Add(w, c, tVel{X: 1}) // too late
		w.Despawn(c)
		d = w.Spawn(OwnedByWorld)
		cVel.Remove(w, d) // has none
		cTag.Add(w, d, struct{}{})
	})
	if v, ok := cVel.Read(w, a); !ok || v.X != 2 {
		t.Error("the second Add did not replace the first:", v, ok)
	}
	if cVel.Has(w, b) || !cPos.Has(w, b) {
		t.Error("Remove after Add left the component")
	}
	if w.Exists(c) || cVel.Has(w, c) {
		t.Error("an Add after Despawn brought the entity back")
	}
	if !w.Exists(d) || !cTag.Has(w, d) || cVel.Has(w, d) {
		t.Error("an entity without components cannot be given one")
	}
	inSystem(w, func() { cVel.Remove(w, a); cVel.Add(w, a, tVel{X: 3}); cVel.Remove(w, a) })
	if cVel.Has(w, a) {
		t.Error("Remove, Add, Remove left the component")
	}
	inSystem(w, func() { cVel.Add(w, a, tVel{}) })
	if v, _ := cVel.Read(w, a); v != (tVel{}) {
		t.Error("a component that came back kept an old value:", v)
	}
}

// The identity of a row is its tick of birth: if a row freed in a tick were taken again in it, two entities would be
// equal.
func TestARowFreedInATickIsNotTakenAgainInIt(t *testing.T) {
	w := newWorld(t, tGame())
	var a, b, c Entity
	inSystem(w, func() { a = w.Spawn(OwnedByWorld, cPos) })
	inSystem(w, func() {
		w.Despawn(a)
		w.flush() // the system's end
		b = w.Spawn(OwnedByWorld, cPos)
		w.Despawn(b)
		w.flush()
		c = w.Spawn(OwnedByWorld, cPos)
	})
	if a.Row != 1 || b.Row != 2 || c.Row != 3 {
		t.Errorf("rows %d %d %d, want 1 2 3", a.Row, b.Row, c.Row)
	}
	var d, e Entity
	inSystem(w, func() { d, e = w.Spawn(OwnedByWorld), w.Spawn(OwnedByWorld) })
	if d.Row != 1 || e.Row != 2 || d.Born != w.Tick() {
		t.Errorf("the next tick takes rows %d %d born %d, want 1 2", d.Row, e.Row, d.Born)
	}
	if w.Exists(a) || w.Exists(b) {
		t.Error("an old reference resolves to a row's new entity")
	}
}

// One player's mispredicted shot must leave every identity of every other owner alone.
func TestTwoPlayersNeverMoveEachOthersRows(t *testing.T) {
	spawn := func(extra int) (r [2]Entity) {
		w := newWorld(t, tGame())
		inSystem(w, func() {
			for range extra { // a misprediction of player 0
				w.Spawn(OwnedBy(0), cPos)
			}
			r[0], r[1] = w.Spawn(OwnedBy(1), cPos), w.Spawn(OwnedByWorld, cPos)
		})
		return r
	}
	if a, b := spawn(0), spawn(100); a != b {
		t.Errorf("%v without player 0's shots, %v with them", a, b)
	}
	if p, ok := spawn(0)[0].Owner().Player(); !ok || p != 1 {
		t.Error("owner", p, ok)
	}
}

// An entity named by a peer or by damaged data may have any row; looking it up must answer no.
func TestEntitiesThatCannotExistDoNot(t *testing.T) {
	w := newWorld(t, tGame())
	inSystem(w, func() { w.Spawn(OwnedBy(3), cPos) })
	for _, row := range []uint32{0, 1, 5 << regionShift, 64 << regionShift, 255 << regionShift, 256 << regionShift, 256<<regionShift | 1, 1<<32 - 1,
		4<<regionShift | 1, 4<<regionShift | regionRows - 1} {
		e := Entity{Row: row, Born: 0}
		if v, ok := cPos.Read(w, e); ok || w.Exists(e) || cPos.Has(w, e) || cPos.Write(w, e) != nil || cPos.Put(w, e, v) {
			t.Errorf("row %#x exists", row)
		}
		inSystem(w, func() { w.Despawn(e); cPos.Add(w, e, tPos{}); cPos.Remove(w, e) })
	}
	if !cPos.Has(w, Entity{Row: 4 << regionShift, Born: 1}) {
		t.Error("player 3's first entity is gone")
	}
}

// model is the image as anyone would write it without caring for speed.
type model struct {
	tick     Tick
	entities map[uint32]*modelEntity
}

type modelEntity struct {
	born Tick
	pos  *tPos
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
func asModel(t *rapid.T, w *World) *model {
	m := &model{w.Tick(), map[uint32]*modelEntity{}}
	last := int64(-1)
	see := func(e Entity) *modelEntity {
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
	qModelPos  = NewQuery1(Read(cPos))
	qModelWide = NewQuery1(Read(cWide))
	qModelTag  = NewQuery1(Read(cTag))
)

func qModelPosRuns(w *World) func(yield func(Entity) bool) {
	return func(yield func(Entity) bool) {
		for r := range qModelPos.Runs(w) {
			for i := range r.A {
				if !yield(r.Entities[i]) {
					return
				}
			}
		}
	}
}

// The property behind everything else: whatever is spawned, despawned, added, removed, saved and restored, the world
// holds what a plain map would hold, rows are the lowest that the rules leave free, order is by row, and a state
// reached by another road has the same checksum and the same bytes.
func TestWorldHoldsWhatAPlainMapWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &structureMachine{world: must(NewWorld(tGame(), 1)), model: &model{entities: map[uint32]*modelEntity{}}}
		s.save()
		t.Repeat(map[string]func(*rapid.T){"tick": s.tick, "restore": s.restore, "detour": s.detour, "": s.check})
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

type structureMachine struct {
	world  *World
	model  *model
	snaps  []*Snapshot
	models []*model
}

func (s *structureMachine) save() {
	s.snaps, s.models = append(s.snaps, saved(s.world)), append(s.models, s.model.clone())
	if len(s.snaps) > 12 {
		s.snaps[0].Release()
		s.snaps, s.models = s.snaps[1:], s.models[1:]
	}
}

// tick runs a tick of random changes, in one system.
func (s *structureMachine) tick(t *rapid.T) {
	w, m := s.world, s.model
	before, held := m.clone(), map[uint32]bool{}
	s.world.Step(TickInputs{})
	m.tick++
	pick := func() (e Entity, me *modelEntity) {
		rows := before.rows()
		if len(rows) == 0 {
			return Entity{Row: 60 << regionShift}, nil
		}
		row := rapid.SampledFrom(rows).Draw(t, "row")
		return Entity{Row: row, Born: before.entities[row].born}, m.entities[row]
	}
	for range rapid.IntRange(0, 12).Draw(t, "changes") {
		switch rapid.SampledFrom([]string{"spawn", "many", "despawn", "add", "remove", "write", "system"}).Draw(t, "change") {
		case "spawn":
			s.spawn(t, held, Owner(rapid.IntRange(0, 4).Draw(t, "owner")), 1)
		case "many":
			s.spawn(t, held, Owner(rapid.IntRange(0, 4).Draw(t, "owner")), rapid.IntRange(1, 150).Draw(t, "n"))
		case "despawn":
			e, _ := pick()
			w.Despawn(e)
			held[e.Row] = true
			delete(m.entities, e.Row)
		case "add":
			e, me := pick()
			v := rapid.Uint64().Draw(t, "v")
			cWide.Add(w, e, tWide{[100]uint64{99: v}})
			cTag.Add(w, e, struct{}{})
			if me != nil {
				me.wide, me.tag = &v, true
			}
		case "remove":
			e, me := pick()
			cPos.Remove(w, e)
			cTag.Remove(w, e)
			if me != nil {
				me.pos, me.tag = nil, false
			}
		case "write":
			w.flush()
			e, me := pick()
			if p := cPos.Write(w, e); p != nil {
				p.X++
				me.pos.X++
			} else if me != nil && me.pos != nil {
				t.Fatalf("row %d cannot be written", e.Row)
			}
		case "system":
			w.flush()
		}
	}
	w.flush()
	w.releaseHeld()
	// An entity without any component is seen by no query: give it the tag, so that the check sees all.
	for _, row := range m.rows() {
		if e := m.entities[row]; e.pos == nil && e.wide == nil && !e.tag {
			cTag.Add(w, Entity{Row: row, Born: e.born}, struct{}{})
			e.tag = true
		}
	}
	w.flush()
	s.save()
}

func (s *structureMachine) spawn(t *rapid.T, held map[uint32]bool, o Owner, n int) {
	v := tPos{X: 1, Y: 2}
	for range n {
		e := s.world.Spawn(o, cPos, cTag)
		row := uint32(o) << regionShift
		for row == 0 || s.model.entities[row] != nil || held[row] {
			row++
		}
		if e.Row != row || e.Born != s.model.tick {
			t.Fatalf("spawned %v, want row %d born %d", e, row, s.model.tick)
		}
		held[row] = true
		p := v
		cPos.Put(s.world, e, p)
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
	at := saved(w)
	defer at.Release()
	w.Step(TickInputs{})
	reached := saved(w)
	defer reached.Release()
	w.Image().Restore(at)
	w.Step(TickInputs{})
	var spawned []Entity
	for range rapid.IntRange(1, 300).Draw(t, "n") {
		e := w.Spawn(Owner(rapid.IntRange(0, 4).Draw(t, "owner")), cPos, cWide)
		cPos.Put(w, e, tPos{3, 4})
		spawned = append(spawned, e)
	}
	w.flush()
	for _, e := range spawned {
		w.Despawn(e)
	}
	w.flush()
	w.releaseHeld()
	other := saved(w)
	defer other.Release()
	if other.Checksum() != reached.Checksum() || !bytes.Equal(other.AppendImage(nil), reached.AppendImage(nil)) {
		d, _ := FirstDifference(reached, other)
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
	here := saved(s.world)
	defer here.Release()
	fresh := must(NewWorld(tGame(), 99))
	if err := fresh.Image().Load(here.AppendImage(nil)); err != nil {
		t.Fatal(err)
	}
	there := saved(fresh)
	if here.Checksum() != there.Checksum() || !bytes.Equal(here.AppendImage(nil), there.AppendImage(nil)) {
		d, _ := FirstDifference(here, there)
		t.Fatalf("a loaded state differs: %v", d)
	}
	if _, ok := FirstDifference(here, there); ok {
		t.Fatal("equal states are said to differ")
	}
}
