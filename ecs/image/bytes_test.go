package image_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// byteObserver is a ByteObserver that sums everything.
type byteObserver struct {
	all   uint64
	kinds map[image.ComponentSet]uint64
}

func (a *byteObserver) Enter(image.Section)                {}
func (a *byteObserver) Leave(image.Section)                {}
func (a *byteObserver) Name(image.Section, string, string) {}
func (a *byteObserver) Turn(ecs.Tick)                      {}
func (a *byteObserver) CountsBytes() bool                  { return true }
func (a *byteObserver) Sent(int)                           {}

func (a *byteObserver) Part(kind image.ComponentSet, _ int, amount uint64) {
	a.all += amount
	a.kinds[kind] += amount
}

// Every byte of a delta of states is accounted, and values count for the kinds of their entities.
func TestEveryByteOfAStateDeltaIsAccounted(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	var states [5]image.Snapshot
	for i := range states {
		sample.Play(w, w.Tick()+7)
		w.Image().Save(&states[i])
	}
	for i := 1; i < len(states); i++ {
		s, a := &states[i], byteObserver{kinds: map[image.ComponentSet]uint64{}}
		delta := s.AppendDelta(nil, &states[i-1])
		s.CountDelta(delta, &a)
		if a.all != uint64(len(delta))*image.ByteUnits {
			t.Errorf("%d of %d bytes are accounted", a.all/image.ByteUnits, len(delta))
		}
		exist := map[image.ComponentSet]bool{0: true}
		for e := range s.Entities {
			exist[s.Components(e)] = true
		}
		for kind, amount := range a.kinds {
			if !exist[kind] {
				t.Errorf("%d bytes of kind %q, which no entity has", amount, w.Game().Schema().KindName(kind))
			}
		}
		if len(a.kinds) < 3 || a.kinds[0] > a.all/2 {
			t.Errorf("kinds %v of %d bytes", a.kinds, len(delta))
		}
	}
	if image.ByteObserverOf(nil) != nil || image.ByteObserverOf(&byteObserver{}) == nil {
		t.Error("ByteObserverOf does not look at CountsBytes")
	}
}
