package image_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// replicate makes the replica, which has the state base, have the state now.
func replicate(t *testing.T, replica *ecs.World, base, now *image.Snapshot, c *image.Changed) {
	t.Helper()
	c.Find(base, now)
	if err := replica.Image().PutTick(now.Tick(), now.Players()); err != nil {
		t.Fatal(err)
	}
	for row := range c.Rows {
		e, set, values := now.AppendScalars(nil, row)
		if e.IsZero() {
			if !replica.Image().DropRow(row) {
				t.Fatalf("row %d is not there to be dropped", row)
			}
		} else if err := replica.Image().PutEntity(e, set, values); err != nil {
			t.Fatalf("entity %v: %v", e, err)
		}
	}
	for i := range now.Image().Schema().Resources {
		if c.Resource(i) {
			if err := replica.Image().PutResource(i, now.AppendResource(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sameGameState reports whether two states are equal except for inputs and random source, which replicas do not
// receive.
func sameGameState(a, b *image.Snapshot) bool {
	x, y := a.ComponentChecksums(nil), b.ComponentChecksums(nil)
	return slices.Equal(x[image.ColumnIdentity:], y[image.ColumnIdentity:]) && a.Players() == b.Players() && a.Tick() == b.Tick()
}

// A replica equals the server's state byte for byte, though it only receives the changed rows and their scalars.
func TestAReplicaThatReceivesChangedRowsIsEqualByteForByte(t *testing.T) {
	w, replica := sample.NewWorld(t, sample.Busy()), sample.NewWorld(t, sample.Busy())
	var states [2]image.Snapshot
	var c image.Changed
	changes, base := 0, &image.Snapshot{}
	for i := range 400 {
		now := &states[i%2]
		sample.Play(w, w.Tick()+ecs.Tick(1+i%3))
		w.Image().Save(now)
		replicate(t, replica, base, now, &c)
		for range c.Rows {
			changes++
		}
		if got := sample.Saved(replica); !sameGameState(got, now) {
			d, _ := image.FirstDifference(now, got)
			t.Fatalf("tick %d: %v", now.Tick(), d)
		}
		base = now
	}
	if changes < 2000 {
		t.Errorf("only %d rows changed: the test shows nothing", changes)
	}
	// Spawning goes on where the server's does: the lowest free row is the same.
	if a, b := w.Spawn(ecs.OwnedBy(0)), replica.Spawn(ecs.OwnedBy(0)); a != b {
		t.Errorf("the next entity is %v here and %v there", a, b)
	}
}

// Changed must contain every row that differs and no other.
func TestChangedHasExactlyTheRowsThatDiffer(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	var base, now image.Snapshot
	var c image.Changed
	for range 100 {
		w.Image().Save(&base)
		sample.Play(w, w.Tick()+2)
		w.Image().Save(&now)
		c.Find(&base, &now)
		named := map[uint32]bool{}
		for row := range c.Rows {
			if named[row] {
				t.Fatalf("row %d is named twice", row)
			}
			named[row] = true
		}
		for o := range uint32(5) {
			for i := range uint32(300) {
				row := o<<image.RegionShift | i
				e, set, values := base.AppendScalars(nil, row)
				e2, set2, values2 := now.AppendScalars(nil, row)
				if differs := e != e2 || set != set2 || !slices.Equal(values, values2); differs != named[row] {
					t.Fatalf("row %d differs: %v, named: %v", row, differs, named[row])
				}
			}
		}
	}
}

// Updates come from a wire. Values that no program could have stored must not get into a world.
func TestAReplicaRefusesImpossibleValues(t *testing.T) {
	w := sample.NewWorld(t, grainGame())
	w.Step(ecs.TickInputs{})
	e, _ := firstEntity(w)
	_, set, good := sample.Saved(w).AppendScalars(nil, e.Row)
	before := sample.Saved(w)
	change := func(i int, v uint64) []uint64 {
		values := slices.Clone(good)
		values[i] = v
		return values
	}
	scalars := w.Game().Schema().Components[0].Scalars()
	at := func(path string) int {
		return slices.IndexFunc(scalars, func(s image.Scalar) bool { return s.Path == path })
	}
	cases := map[string]struct {
		e      ecs.Entity
		set    image.ComponentSet
		values []uint64
		want   error
	}{
		"no row":              {ecs.Entity{}, set, good, image.ErrReplicaEntity},
		"no such owner":       {ecs.Entity{Row: 3 << image.RegionShift}, set, good, image.ErrReplicaEntity},
		"born later":          {ecs.Entity{Row: 1, Born: 2}, set, good, image.ErrReplicaEntity},
		"too few":             {e, set, good[1:], image.ErrReplicaValues},
		"too many":            {e, set, append(slices.Clone(good), 0), image.ErrReplicaValues},
		"no such component":   {e, 4, nil, image.ErrReplicaValues},
		"too many steps":      {e, set, change(at("Pos.X"), 1<<40), image.ErrReplicaValues},
		"too few steps":       {e, set, change(at("Pos.X"), ^uint64(1<<40)), image.ErrReplicaValues},
		"a float's steps":     {e, set, change(at("Hue"), 1<<24+1), image.ErrReplicaValues},
		"a double's steps":    {e, set, change(at("Fine"), 1<<53+1), image.ErrReplicaValues},
		"beyond its steps":    {e, set, change(at("Fine"), 1<<63), image.ErrReplicaValues},
		"a list too long":     {e, set, change(at("Path.Len"), 3), image.ErrReplicaValues},
		"far above all rows":  {ecs.Entity{Row: image.RegionRows - 1}, set, good, image.ErrReplicaMemory},
		"an owner's last row": {ecs.Entity{Row: 2<<image.RegionShift - 1}, set, good, image.ErrReplicaMemory},
	}
	for name, c := range cases {
		if err := w.Image().PutEntity(c.e, c.set, c.values); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if w.Image().PutResource(0, []uint64{1 << 31}) == nil || w.Image().PutResource(0, nil) == nil || w.Image().PutTick(1, 1<<2) == nil {
		t.Error("a resource or the players are not checked")
	}
	if w.Image().DropRow(0) || w.Image().DropRow(1<<31) || w.Image().DropRow(77) {
		t.Error("a row is dropped in which nothing is")
	}
	if d, differs := image.FirstDifference(before, sample.Saved(w)); differs {
		t.Errorf("something refused left a trace: %v", d)
	}
}

type tKinds struct {
	A bool
	B int8
	C int16
	_ int32
	D int32
	E uint32
	F int64
	G uint64
	H uint16
	I uint8
	_ [5]uint8
	J float32
	_ uint32
	K float64
	L ecs.Entity
}

var cKinds = ecs.NewComponent[tKinds]("kinds")

// Every kind of field must be decoded exactly at the ends of its range. NaN is carried as 0.
func TestScalarsOfEveryKindAreDecodedExactly(t *testing.T) {
	g := sample.Bare()
	g.Components = ecs.Components(cKinds)
	w, replica := sample.NewWorld(t, g), sample.NewWorld(t, g)
	e := w.Spawn(ecs.OwnedByWorld, cKinds)
	w.Step(ecs.TickInputs{})
	inf := math.Inf(-1)
	for _, v := range []tKinds{
		{},
		{A: true, B: -128, C: -32768, D: math.MinInt32, E: math.MaxUint32, F: math.MinInt64, G: math.MaxUint64, H: 65535, I: 255, J: -0.1, K: inf, L: ecs.Entity{Row: 9, Born: 1 << 40}},
		{B: 127, C: 32767, D: math.MaxInt32, F: math.MaxInt64, J: math.MaxFloat32, K: math.SmallestNonzeroFloat64},
		{J: float32(math.NaN()), K: math.NaN()},
	} {
		cKinds.Put(w, e, v)
		if v.K != v.K {
			v.J, v.K = 0, 0
		}
		replica.Image().PutTick(w.Tick(), 0)
		_, set, values := sample.Saved(w).AppendScalars(nil, e.Row)
		if err := replica.Image().PutEntity(e, set, values); err != nil {
			t.Fatal(err)
		}
		if got, ok := cKinds.Read(replica, e); !ok || got != v {
			t.Errorf("%+v came back as %+v", v, got)
		}
	}
	_, set, good := sample.Saved(w).AppendScalars(nil, e.Row)
	for i, bad := range []uint64{2, 128, 1 << 15, 1 << 31, 1 << 32, 0, 0, 1 << 16, 256, 0x7fc00000, math.Float64bits(math.NaN())} {
		values := slices.Clone(good)
		if values[i] = bad; bad != 0 && replica.Image().PutEntity(e, set, values) == nil {
			t.Errorf("scalar %d may be %x", i, bad)
		}
	}
}

// Scalars of one declared field share statistics; those of different fields do not.
func TestScalarsOfOneFieldAreOneGroup(t *testing.T) {
	g := grainGame()
	groups := map[string]int{}
	for _, s := range g.Schema().Components[0].Scalars() {
		groups[s.Path] = s.Group
	}
	if groups["Pos.X"] != groups["Pos.Y"] || groups["Path[0]"] != groups["Path[1]"] || groups["Path[0]"] == groups["Path.Len"] || groups["Pos.X"] == groups["Third"] {
		t.Errorf("groups are %v", groups)
	}
}

// A client that receives positions by motion records omits exactly the scalars that SetMotion writes.
func TestScalarsThatSetMotionWritesArePlaces(t *testing.T) {
	type ball struct {
		Radius fixed.Num
		Pos    fixed.Vec2 `tendon:"step=1/512"`
		Speed  fixed.Num
		Rolls  bool
		Hits   uint8
		_      [6]uint8 // to eight bytes on every target
	}
	balls := ecs.NewComponent("ball", ecs.Roles[ball]{
		Motion: func(b *ball) ecs.Motion { return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}} },
		SetMotion: func(b *ball, m ecs.Motion) {
			b.Pos, b.Speed, b.Rolls = fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, m.Vel.Len(), m.Vel != fixed.Vec3{}
		},
	})
	g := sample.Bare()
	g.Components = ecs.Components(balls, cKinds)
	var places []string
	for i := range g.Components {
		for _, s := range g.Schema().Components[i].Scalars() {
			if s.Place {
				places = append(places, s.Path)
			}
		}
	}
	if want := []string{"Pos.X", "Pos.Y", "Speed", "Rolls"}; !slices.Equal(places, want) {
		t.Errorf("places are %v, want %v", places, want)
	}
}

// A server replicates hundreds of entities to dozens of clients in every tick.
func TestUpdatingAReplicaAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w, replica := sample.NewWorld(t, sample.Busy()), sample.NewWorld(t, sample.Busy())
	var base, now image.Snapshot
	var c image.Changed
	sample.Play(w, 60)
	w.Image().Save(&base)
	replicate(t, replica, &image.Snapshot{}, &base, &c)
	sample.Play(w, 61)
	w.Image().Save(&now)
	values := make([]uint64, 0, 100)
	if n := testing.AllocsPerRun(100, func() {
		c.Find(&base, &now)
		replica.Image().PutTick(now.Tick(), now.Players())
		for row := range c.Rows {
			e, set, scalars := now.AppendScalars(values[:0], row)
			if e.IsZero() {
				replica.Image().DropRow(row)
			} else if replica.Image().PutEntity(e, set, scalars) != nil {
				t.Fatal("refused")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An entity that gains or loses a component, and one that is removed, change only presence bits.
func TestAReplicaFollowsComponentsAndFreeRows(t *testing.T) {
	var list []ecs.Entity
	change := func(w *ecs.World) {
		for range 70 {
			list = append(list, w.Spawn(ecs.OwnedByWorld, sample.Positions))
		}
	}
	g := sample.Bare()
	g.Systems = ecs.Systems(func(w *ecs.World) { change(w) })
	w, replica := sample.NewWorld(t, g), sample.NewWorld(t, g)
	w.Step(ecs.TickInputs{})
	var states [4]image.Snapshot
	var c image.Changed
	base := &image.Snapshot{}
	for i, next := range []func(w *ecs.World){
		func(w *ecs.World) {},
		func(w *ecs.World) {
			sample.Tags.Add(w, list[3], struct{}{})
			sample.Velocities.Add(w, list[4], sample.Vel{})
		},
		func(w *ecs.World) {
			sample.Tags.Remove(w, list[3])
			sample.Velocities.Remove(w, list[4])
			sample.Positions.Remove(w, list[5])
		},
		func(w *ecs.World) { w.Despawn(list[0]) },
	} {
		change = next
		replica.Image().Structure().Hint()[ecs.OwnedByWorld] = 1 // as if rows had been taken up to there
		w.Step(ecs.TickInputs{})
		w.Image().Save(&states[i])
		replicate(t, replica, base, &states[i], &c)
		if got := sample.Saved(replica); !sameGameState(got, &states[i]) {
			d, _ := image.FirstDifference(&states[i], got)
			t.Fatalf("change %d: %v", i, d)
		}
		base = &states[i]
	}
	if a, b := w.Spawn(ecs.OwnedByWorld), replica.Spawn(ecs.OwnedByWorld); a != b || a.Row != list[0].Row {
		t.Fatalf("the next entity is %v here and %v there", a, b)
	}
}
