package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems/authority"
	"tendon/systems/internal/inputs"
)

// views holds, beside the inputs of one player, the moment that the player saw with each input.
type views struct {
	sent   rollback.Ring[image.ViewStamp]
	late   image.ViewStamp // of the late input that is merged into the next tick
	isLate bool
	last   image.ViewStamp // of the last tick
	since  ecs.Tick        // inputs of ticks ≤ since do not count: the seat was vacant
}

// put stores the input and the view of tick f, which arrived when the server had computed tick done. It reports whether
// they were new.
func (v *views) put(seat *authority.Seat, f, done ecs.Tick, e entry, game *ecs.Game) bool {
	late := seat.Late
	if !seat.Put(f, done, e.in, game) {
		return false
	}
	if v.sent.Depth() == 0 {
		v.sent = rollback.NewRing[image.ViewStamp](inputs.Window)
	}
	v.sent.Put(f, e.view)
	if seat.Late != late {
		v.late, v.isLate = e.view, true
	}
	return true
}

// next chooses the view of tick f. altered says that the input of the tick is another than the player sent. A late input
// has the view with which it was given, a substitute the view that follows from the last one.
func (v *views) next(f ecs.Tick, altered bool) {
	sent, ok := v.at(f)
	switch {
	case v.isLate && altered:
		v.last = v.late
	case ok:
		v.last = sent
	default:
		v.last = nextView(v.last)
	}
	v.isLate = false
}

// at returns the view that the player sent for tick f.
func (v *views) at(f ecs.Tick) (view image.ViewStamp, ok bool) {
	if v.sent.Depth() == 0 {
		return view, false
	}
	sent, ok := v.sent.At(f)
	return *sent, ok
}

// vacate makes the views of an earlier player end with tick f.
func (v *views) vacate(f ecs.Tick) { v.since, v.isLate, v.last = f, false, image.ViewStamp{} }

// forget removes the stored views after tick done, when another connection gets the seat.
func (v *views) forget(done ecs.Tick) {
	v.vacate(done)
	v.sent.Clear()
}

// missing returns the oldest tick up to done whose input has not arrived and would still be used. ok is false if there is
// none.
func (v *views) missing(done ecs.Tick) (f ecs.Tick, ok bool) {
	for f = max(v.since, max(done, maxBack)-maxBack) + 1; f <= done; f++ {
		if _, ok := v.at(f); !ok {
			return f, true
		}
	}
	return 0, false
}

// choose returns the input of a player for tick f, and chooses the view.
func (s *Server) choose(f ecs.Tick, p ecs.Player) (in ecs.InputBytes, altered bool) {
	in, altered = s.Seats[p].Next(f, s.Game)
	s.views[p].next(f, altered)
	return in, altered
}

func (s *Server) vacate(f ecs.Tick, p ecs.Player) { s.views[p].vacate(f) }

// stampViews enters the views of the players into the running tick, as orders of kind image.OrderView.
func (s *Server) stampViews() {
	s.scratch.stamps = s.scratch.stamps[:0]
	for p := range s.World().Players().All() {
		view := s.view(p)
		if view.Tick == 0 {
			continue
		}
		from := len(s.scratch.stamps)
		s.scratch.stamps = image.AppendViewStamp(s.scratch.stamps, view)
		payload := s.scratch.stamps[from:len(s.scratch.stamps):len(s.scratch.stamps)]
		s.Step.Orders = append(s.Step.Orders, image.Order{Kind: image.OrderView, Player: p, Payload: payload})
	}
}

// view returns the view of a player in the running tick, limited by lag compensation. Tick 0 stands for the present.
//
// The age of a view has three parts: the delay of the state to the player, the delay until it is shown, and the delay of the
// input. So the one-way latency of the judge is a whole round trip here: it is counted from the use of the input.
func (s *Server) view(p ecs.Player) image.ViewStamp {
	peer := s.PeerOf(p)
	if s.judge == nil || peer == nil {
		return image.ViewStamp{}
	}
	return s.judge.View(s.views[p].last, s.Done()+1, peer.Own.rtt, peer.Own.delay)
}

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
