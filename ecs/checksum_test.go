//go:build moving

package ecs

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"testing"
	"unsafe"
)

// registry is a world that has every column of the test game in use: every component on one entity, every resource,
// every input.
func registry(t testing.TB) (*World, Entity) {
	w := newWorld(t, tGame())
	players := []InputBytes{tInput.Pack(tPad{DX: 1}), tInput.Pack(tPad{Fire: true}), tInput.Pack(tPad{Aim: 9}), {}}
	w.Step(TickInputs{Players: players, Orders: []Order{{Kind: OrderJoin, Player: 1}}})
	w.Step(TickInputs{Players: players})
	var e Entity
	inSystem(w, func() { e = w.Spawn(OwnedBy(1), cPos, cVel, cMixed, cBag, cWide, cSeat, cTag) })
	return w, e
}

// flip changes the smallest thing there is to change in a field: a truth, the lowest bit, one unit in the last place.
func flip(f field, row unsafe.Pointer) {
	p := unsafe.Add(row, f.offset)
	switch f.typ.Kind() {
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

// Every field of every component, resource and input is state: none may be forgotten by the checksum, the image's
// bytes, a snapshot or a report. A new column is in this test without being named here.
func TestNoFieldOfTheRegistryIsForgotten(t *testing.T) {
	w, e := registry(t)
	base := saved(w)
	sum, encoded := base.Checksum(), base.AppendImage(nil)
	columns := base.ComponentChecksums(nil)
	seen := map[Checksum]string{sum: "the state unchanged"}
	tried := 0
	try := func(name string, index int, write func()) {
		t.Helper()
		tried++
		w.Image().Restore(base)
		write()
		s := saved(w)
		defer s.Release()
		if other, ok := seen[s.Checksum()]; ok {
			t.Errorf("%s has the checksum of %s", name, other)
		}
		seen[s.Checksum()] = name
		for i, c := range s.ComponentChecksums(nil) {
			if (c != columns[i]) != (i == index) {
				t.Errorf("%s: the checksum of %s says changed = %t", name, w.image.columns[i].info.name, c != columns[i])
			}
		}
		if d, ok := FirstDifference(base, s); !ok || d.Component != w.image.columns[index].info.name || d.Here == d.There {
			t.Errorf("%s is reported as %v", name, d)
		}
		after := s.AppendImage(nil)
		if bytes.Equal(after, encoded) {
			t.Errorf("%s is not in the image's bytes", name)
		}
		w.Image().Restore(base)
		if index > columnIdentity || index == columnInputs { // the engine's own would not be accepted
			if err := w.Image().Load(after); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if back := saved(w); back.Checksum() != s.Checksum() || !bytes.Equal(back.AppendImage(nil), after) {
				t.Errorf("%s does not survive the image's bytes", name)
			}
		} else {
			w.Image().Restore(s)
			if back := saved(w); back.Checksum() != s.Checksum() {
				t.Errorf("%s does not survive a restore", name)
			}
		}
	}
	for i := range w.image.columns {
		c := &w.image.columns[i]
		r, row := &c.regions[0], uint32(0)
		if !c.info.single {
			r, row = &c.regions[e.Owner()], e.Row%regionRows
		}
		if i == columnInputs {
			size := w.game.Input.Size()
			for k := range 2 * w.game.MaxPlayers {
				for _, f := range tInput.layout.fields {
					try(fmt.Sprintf("input %d %s", k, f.path), i, func() {
						w.image.markRow(r, c.info, 0)
						flip(f, unsafe.Add(c.rowOf(r, 0), k*size))
					})
				}
			}
			continue
		}
		for _, f := range c.info.layout.fields {
			try(c.info.name+" "+f.path, i, func() {
				w.image.markRow(r, c.info, row)
				flip(f, c.rowOf(r, row))
			})
		}
		if i > columnIdentity && !c.info.single {
			try(c.info.name+" presence", i, func() { c.clearRow(w.image, r, row) })
		}
	}
	if tried < 170 {
		t.Errorf("only %d fields were tried", tried)
	}
}

// Two peers compare one number and, when it differs, one number per component: they must belong together.
func TestComponentChecksumsAddUpAndAreCachedRightly(t *testing.T) {
	w := newWorld(t, busyGame())
	var s Snapshot
	last := Checksum(0)
	for range 100 {
		play(w, w.Tick()+1)
		w.Image().Save(&s)
		var sum Checksum
		columns := s.ComponentChecksums(nil)
		for _, c := range columns {
			sum += c
		}
		if sum != s.Checksum() || len(columns) != len(w.image.columns) {
			t.Fatalf("tick %d: %d components add up to %x, not to %x", w.Tick(), len(columns), sum, s.Checksum())
		}
		if sum == last {
			t.Fatal("the checksum stands still while the world moves")
		}
		last = sum
		// Another world has no page of this one in its cache.
		other := newWorld(t, busyGame())
		if err := other.Image().Load(s.AppendImage(nil)); err != nil {
			t.Fatal(err)
		}
		if saved(other).Checksum() != sum {
			t.Fatalf("tick %d: a cached checksum differs from a fresh one", w.Tick())
		}
	}
}

// The same rows in another owner's region, or in another page, are another state.
func TestChecksumKnowsWhereAPageStands(t *testing.T) {
	seen := map[Checksum]bool{}
	for o := range Owner(5) {
		for skip := range 3 {
			w := newWorld(t, tGame())
			var list []Entity
			inSystem(w, func() {
				for range skip*256 + 2 {
					list = append(list, w.Spawn(o))
				}
			})
			inSystem(w, func() { cWide.Add(w, list[len(list)-1], tWide{[100]uint64{1}}) })
			s := saved(w)
			c := s.ComponentChecksums(nil)[w.column(cWide.declaration).info.index]
			if seen[c] {
				t.Errorf("owner %d page %d has the checksum of another place", o, skip)
			}
			seen[c] = true
		}
	}
}
