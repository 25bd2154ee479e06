package image_test

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// A stamp belongs to the inputs of one tick. Kept longer, it would be state outside the image.
func TestAStampIsForItsTickOnly(t *testing.T) {
	r := newSightRig(t)
	for range 9 {
		r.step()
	}
	r.step(viewOrder(1, image.ViewStamp{Tick: 3}))
	r.look = func(w *ecs.World) {
		if pos, _ := sPos.Seen(w, 1, r.free); pos.X != fixed.FromInt(11) {
			t.Errorf("a tick later player 1 still sees x = %v", pos.X)
		}
	}
	r.step()
	if _, ok := r.w.Image().ViewOf(1); ok {
		t.Error("between ticks there is a view")
	}
}

// The last stamp of a tick counts. A malformed stamp removes the one before it.
func TestALaterStampOfATickReplacesTheFirst(t *testing.T) {
	r := newSightRig(t)
	for range 9 {
		r.step()
	}
	var want fixed.Num
	r.look = func(w *ecs.World) {
		if pos, _ := sPos.Seen(w, 1, r.free); pos.X != want {
			t.Errorf("player 1 sees x = %v, want %v", pos.X, want)
		}
	}
	want = fixed.FromInt(5)
	r.step(viewOrder(1, image.ViewStamp{Tick: 3}), viewOrder(1, image.ViewStamp{Tick: 5}))
	want = fixed.FromInt(11)
	r.step(viewOrder(1, image.ViewStamp{Tick: 3}), image.Order{Kind: image.OrderView, Player: 1, Payload: []byte{0x83}})
}

func TestViewStampsHaveOneEncoding(t *testing.T) {
	for _, v := range []image.ViewStamp{{}, {Tick: 1}, {Tick: 127, Part: 255}, {Tick: 128}, {Tick: 1<<64 - 1, Part: 1}} {
		b := image.AppendViewStamp(nil, v)
		if got, ok := image.ParseViewStamp(b); !ok || got != v {
			t.Errorf("%v is read back as %v, %t", v, got, ok)
		}
		if len(b) > 11 {
			t.Errorf("%v takes %d bytes", v, len(b))
		}
	}
	for _, b := range [][]byte{nil, {}, {5}, {0x85}, {0x85, 0x00, 0x01}, {5, 1, 1}, bytes.Repeat([]byte{0xff}, 12)} {
		if v, ok := image.ParseViewStamp(b); ok {
			t.Errorf("% x is read as %v", b, v)
		}
	}
}
