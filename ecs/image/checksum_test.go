package image_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// registry is a world that has every column of the test game in use: every component on one entity, every resource,
// every input.
func registry(t testing.TB) (*ecs.World, ecs.Entity) {
	w := sample.NewWorld(t, sample.Bare())
	players := []ecs.InputBytes{sample.Pads.Pack(sample.Pad{DX: 1}), sample.Pads.Pack(sample.Pad{Fire: true}), sample.Pads.Pack(sample.Pad{Aim: 9}), {}}
	w.Step(ecs.TickInputs{Players: players, Orders: []image.Order{{Kind: image.OrderJoin, Player: 1}}})
	w.Step(ecs.TickInputs{Players: players})
	var e ecs.Entity
	sample.InSystem(w, func() {
		e = w.Spawn(ecs.OwnedBy(1), sample.Positions, sample.Velocities, sample.Mixtures, sample.Bags, sample.Wides, sample.Seats, sample.Tags)
	})
	return w, e
}

// flip changes the smallest thing there is to change in a field: a truth, the lowest bit, one unit in the last place.
func flip(f image.Field, row unsafe.Pointer) {
	p := unsafe.Add(row, f.Offset())
	switch f.Typ().Kind() {
	case reflect.Bool:
		*(*bool)(p) = !*(*bool)(p)
	case reflect.Float32:
		*(*float32)(p) = math.Nextafter32(*(*float32)(p), 1e30)
	case reflect.Float64:
		*(*float64)(p) = math.Nextafter(*(*float64)(p), 1e300)
	default:
		*(*byte)(p) ^= 1
	}
}

// Every field of every component, resource and input is state: the checksum, encoded images, snapshots and reports
// must include it. The test covers new columns without a change.
func TestNoFieldOfTheRegistryIsForgotten(t *testing.T) {
	w, e := registry(t)
	base := sample.Saved(w)
	sum, encoded := base.Checksum(), base.AppendImage(nil)
	columns := base.ComponentChecksums(nil)
	seen := map[image.Checksum]string{sum: "the state unchanged"}
	tried := 0
	try := func(name string, index int, write func()) {
		t.Helper()
		tried++
		w.Image().Restore(base)
		write()
		s := sample.Saved(w)
		defer s.Release()
		if other, ok := seen[s.Checksum()]; ok {
			t.Errorf("%s has the checksum of %s", name, other)
		}
		seen[s.Checksum()] = name
		for i, c := range s.ComponentChecksums(nil) {
			if (c != columns[i]) != (i == index) {
				t.Errorf("%s: the checksum of %s says changed = %t", name, w.Image().Columns()[i].Info().Name(), c != columns[i])
			}
		}
		if d, ok := image.FirstDifference(base, s); !ok || d.Component != w.Image().Columns()[index].Info().Name() || d.Here == d.There {
			t.Errorf("%s is reported as %v", name, d)
		}
		after := s.AppendImage(nil)
		if bytes.Equal(after, encoded) {
			t.Errorf("%s is not in the image's bytes", name)
		}
		w.Image().Restore(base)
		if index > image.ColumnIdentity || index == image.ColumnInputs { // the engine's own would not be accepted
			if err := w.Image().Load(after); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if back := sample.Saved(w); back.Checksum() != s.Checksum() || !bytes.Equal(back.AppendImage(nil), after) {
				t.Errorf("%s does not survive the image's bytes", name)
			}
		} else {
			w.Image().Restore(s)
			if back := sample.Saved(w); back.Checksum() != s.Checksum() {
				t.Errorf("%s does not survive a restore", name)
			}
		}
	}
	for i := range w.Image().Columns() {
		c := &w.Image().Columns()[i]
		r, row := &c.Regions()[0], uint32(0)
		if !c.Info().Single() {
			r, row = &c.Regions()[e.Owner()], e.Row%image.RegionRows
		}
		if i == image.ColumnInputs {
			size := w.Game().Input.Size()
			for k := range 2 * w.Game().MaxPlayers {
				for _, f := range sample.Pads.InputType.Layout().Fields() {
					try(fmt.Sprintf("input %d %s", k, f.Path()), i, func() {
						w.Image().MarkRow(r, c.Info(), 0)
						flip(f, unsafe.Add(c.RowOf(r, 0), k*size))
					})
				}
			}
			continue
		}
		for _, f := range c.Info().Layout().Fields() {
			try(c.Info().Name()+" "+f.Path(), i, func() {
				w.Image().MarkRow(r, c.Info(), row)
				flip(f, c.RowOf(r, row))
			})
		}
		if i > image.ColumnIdentity && !c.Info().Single() {
			try(c.Info().Name()+" presence", i, func() { c.ClearRow(w.Image(), r, row) })
		}
	}
	if tried < 170 {
		t.Errorf("only %d fields were tried", tried)
	}
}

// Two peers compare one checksum and, if it differs, one per component. The two must agree.
func TestComponentChecksumsAddUpAndAreCachedRightly(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	var s image.Snapshot
	last := image.Checksum(0)
	for range 100 {
		sample.Play(w, w.Tick()+1)
		w.Image().Save(&s)
		var sum image.Checksum
		columns := s.ComponentChecksums(nil)
		for _, c := range columns {
			sum += c
		}
		if sum != s.Checksum() || len(columns) != len(w.Image().Columns()) {
			t.Fatalf("tick %d: %d components add up to %x, not to %x", w.Tick(), len(columns), sum, s.Checksum())
		}
		if sum == last {
			t.Fatal("the checksum stands still while the world moves")
		}
		last = sum
		// Another world has no page of this one in its cache.
		other := sample.NewWorld(t, sample.Busy())
		if err := other.Image().Load(s.AppendImage(nil)); err != nil {
			t.Fatal(err)
		}
		if sample.Saved(other).Checksum() != sum {
			t.Fatalf("tick %d: a cached checksum differs from a fresh one", w.Tick())
		}
	}
}

// The same rows in another owner's region or in another page are another state.
func TestChecksumDependsOnThePlaceOfAPage(t *testing.T) {
	seen := map[image.Checksum]bool{}
	for o := range image.Owner(5) {
		for skip := range 3 {
			w := sample.NewWorld(t, sample.Bare())
			var list []ecs.Entity
			sample.InSystem(w, func() {
				for range skip*256 + 2 {
					list = append(list, w.Spawn(o))
				}
			})
			sample.InSystem(w, func() { sample.Wides.Add(w, list[len(list)-1], sample.Wide{Cells: [100]uint64{1}}) })
			s := sample.Saved(w)
			c := s.ComponentChecksums(nil)[w.Image().Column(sample.Declared(sample.Wides)).Info().Index()]
			if seen[c] {
				t.Errorf("owner %d page %d has the checksum of another place", o, skip)
			}
			seen[c] = true
		}
	}
}
