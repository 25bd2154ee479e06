package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// A view stamp is the moment of the remote entities that a player saw while giving an input: see image.ViewStamp. In an
// input message each is coded against the expected one, which is a tick later than that of the tick before.
//
//	[same]   (1 bit)   1: it is the expected one
//	if not:
//	[near]   (1 bit)   1: it differs by a few parts of a tick
//	  [off]  (6 bits)  if near: the difference in 256ths of a tick, in [−32, 31], two's complement, not 0
//	  [tick] (32 bits) if not: low bits of the tick, nearest to the server's; 0 stands for none
//	  [part] (8 bits)

const (
	nearBits  = 6
	nearMost  = 1<<(nearBits-1) - 1 // 256ths of a tick
	partUnit  = 256                 // parts of a tick
	worstView = 2 + 32 + 8          // bits
)

// nextView returns the view expected after v: the same a tick later. After none there is none.
func nextView(v image.ViewStamp) image.ViewStamp {
	if v.Tick == 0 {
		return image.ViewStamp{}
	}
	v.Tick++
	return v
}

// parts returns the moment in 256ths of a tick.
func parts(v image.ViewStamp) int64 { return int64(v.Tick)*partUnit + int64(v.Part) }

func appendView(w *wire.BitWriter, expected, v image.ViewStamp) {
	if v.Tick == 0 {
		v = image.ViewStamp{}
	}
	w.Bool(v == expected)
	if v == expected {
		return
	}
	off := parts(v) - parts(expected)
	near := v.Tick != 0 && expected.Tick != 0 && off >= -nearMost-1 && off <= nearMost
	w.Bool(near)
	if near {
		w.Bits(uint64(off)&(1<<nearBits-1), nearBits)
		return
	}
	w.Bits(uint64(uint32(v.Tick)), 32)
	w.Bits(uint64(v.Part), 8)
}

// readView is the inverse of appendView; v holds the expected view and becomes the real one. ok is false for a malformed
// view.
func readView(r *wire.BitReader, v *image.ViewStamp, near ecs.Tick) (ok bool) {
	if r.Bool() {
		return true
	}
	expected := *v
	if r.Bool() {
		off := int64(r.Bits(nearBits)<<(64-nearBits)) >> (64 - nearBits)
		at := parts(expected) + off
		*v = image.ViewStamp{Tick: ecs.Tick(at / partUnit), Part: uint8(at % partUnit)}
		return off != 0 && expected.Tick != 0 && v.Tick != 0
	}
	low, part := uint32(r.Bits(32)), uint8(r.Bits(8))
	if *v = (image.ViewStamp{}); low == 0 {
		return part == 0 && expected.Tick != 0
	}
	v.Tick, v.Part = ecs.Tick(wire.Expand32(uint64(near), low)), part
	off := parts(*v) - parts(expected)
	return expected.Tick == 0 || off < -nearMost-1 || off > nearMost
}
