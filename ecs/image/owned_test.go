package image_test

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

type (
	tiny struct{ A, B, C uint8 }
	huge struct{ Cells [513]int32 } // a page has one row, and its size is not a multiple of 8
)

var (
	tinies = ecs.NewComponent[tiny]("tiny")
	huges  = ecs.NewComponent[huge]("huge")
)

// populated returns a world with many entities of an owner, whose positions change in every tick.
func populated(t *testing.T, owner image.Owner, entities int) *ecs.World {
	g := sample.Busy()
	g.Components = append(slices.Clone(g.Components), ecs.Components(tinies, huges)...)
	g.Setup = func(w *ecs.World) {
		for i := range entities {
			e := w.Spawn(owner, sample.Positions, sample.Velocities, tinies)
			sample.Positions.Put(w, e, sample.PosAt(i, 1))
			sample.Velocities.Put(w, e, sample.Vel{X: 1, Y: 2})
			tinies.Put(w, e, tiny{1, 2, uint8(i)})
			if i%500 == 499 {
				huges.Put(w, e, huge{[513]int32{1, 512: int32(i)}})
			}
		}
	}
	return sample.NewWorld(t, g)
}

// kept returns the bytes of a snapshot's pages that lie in data. It reports pages whose rows are not aligned.
func kept(t *testing.T, s *image.Snapshot, data []byte) (n int) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	for _, pg := range s.Table() {
		if pg == nil {
			continue
		}
		at := uintptr(unsafe.Pointer(unsafe.SliceData(pg.Mem())))
		if at%8 != 0 {
			t.Fatal("a page is not aligned")
		}
		if at >= from && at < from+uintptr(len(data)) {
			n += len(pg.Mem())
		}
	}
	return n
}

// An image that the world owns is the memory of its pages, wherever it begins. The state and the states after it are those of
// its sender.
func TestAnOwnedImageIsKept(t *testing.T) {
	w := populated(t, ecs.OwnedByWorld, 12000)
	sample.Play(w, 3)
	encoded := sample.Saved(w).AppendImage(nil)
	for offset := range 8 {
		data := append(make([]byte, offset, offset+len(encoded)), encoded...)[offset:]
		v := populated(t, ecs.OwnedByWorld, 0)
		sample.Play(v, 5)
		old := sample.Saved(v)
		sum, images := old.Checksum(), old.AppendImage(nil)
		if err := v.Image().LoadOwned(data); err != nil {
			t.Fatal(err)
		}
		loaded := sample.Saved(v)
		if !bytes.Equal(loaded.AppendImage(nil), encoded) {
			t.Fatal("the state is not that of the image")
		}
		if n := kept(t, loaded, data); n < len(data)*17/20 {
			t.Fatalf("%d of %d bytes are kept", n, len(data))
		}
		sample.Play(v, 8)
		if offset == 0 {
			sample.Play(w, 8)
		}
		if a, b := sample.Saved(w), sample.Saved(v); a.Checksum() != b.Checksum() {
			d, _ := image.FirstDifference(a, b)
			t.Fatal("it continues differently:", d)
		}
		v.Image().Restore(loaded)
		if s := sample.Saved(v); !bytes.Equal(s.AppendImage(nil), encoded) || v.Image().Strays() != 0 {
			t.Fatal("the state does not return")
		}
		v.Image().Restore(old)
		if s := sample.Saved(v); s.Checksum() != sum || !bytes.Equal(s.AppendImage(nil), images) {
			t.Fatal("a state from before the image is damaged")
		}
	}
}

// An image of which the world has most is not kept: a page would hold all of its memory.
func TestAnOwnedImageOfKnownPagesIsNotKept(t *testing.T) {
	w := populated(t, ecs.OwnedByWorld, 12000)
	v := populated(t, ecs.OwnedByWorld, 12000)
	for e := range sample.Placed.All(w) {
		e.A.X++
		break
	}
	data := sample.Saved(w).AppendImage(nil)
	want := bytes.Clone(data)
	if err := v.Image().LoadOwned(data); err != nil {
		t.Fatal(err)
	}
	s := sample.Saved(v)
	if n := kept(t, s, data); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
	if !bytes.Equal(s.AppendImage(nil), want) {
		t.Error("the state is not that of the image")
	}
}

// A world that loads one image after the other reuses its pages.
func TestOwnedImagesOfOneWorldTakeBoundedMemory(t *testing.T) {
	var states []*image.Snapshot
	for p := range ecs.Player(3) { // no page of one is in another
		states = append(states, sample.Saved(populated(t, ecs.OwnedBy(p), 12000)))
	}
	v, once := populated(t, ecs.OwnedByWorld, 0), 0
	for i := range 12 {
		want := states[i%3].AppendImage(nil)
		if err := v.Image().LoadOwned(bytes.Clone(want)); err != nil {
			t.Fatal(err)
		}
		s := sample.Saved(v)
		if !bytes.Equal(s.AppendImage(nil), want) {
			t.Fatal("the state is not that of the image")
		}
		s.Release()
		if i == 0 {
			once = v.Image().PageBytes()
		}
	}
	if n := v.Image().PageBytes(); n > 2*once+once/4 {
		t.Errorf("pages take %d bytes, after the first image %d", n, once)
	}
}
