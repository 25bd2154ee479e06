package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/inputs"
)

// seat is what the server knows of one player, over all of his connections: his inputs, and beside each the moment that
// he saw when he gave it. The view of tick f lies in slot f % len, which stores its tick.
type seat struct {
	inputs.Buffer
	views   [inputs.Window]tickView
	late    image.ViewStamp // of the input that came too late and waits to be merged into the next tick
	isLate  bool
	last    image.ViewStamp // of the last tick
	altered uint64          // ticks that used another input than the player sent
	since   ecs.Tick        // nobody was here in ticks up to it
}

type tickView struct {
	tick ecs.Tick
	view image.ViewStamp
}

// put stores what the player did in tick f, which arrived when the server had computed tick done. It reports whether
// that was new.
func (s *seat) put(f, done ecs.Tick, e entry, game *ecs.Game) bool {
	late := s.Late
	if !s.Put(f, done, e.in, game) {
		return false
	}
	s.views[f%inputs.Window] = tickView{f, e.view}
	if s.Late != late {
		s.late, s.isLate = e.view, true
	}
	return true
}

// take returns what to use in tick f, and whether the input is another than the player sent. What was late is judged by
// the moment that its player saw, and what is made up by the moment that he would see now.
func (s *seat) take(f ecs.Tick, game *ecs.Game) (e entry, altered bool) {
	e.in, altered = s.Next(f, game)
	switch v := s.views[f%inputs.Window]; {
	case s.isLate && altered:
		e.view = s.late
	case v.tick == f:
		e.view = v.view
	default:
		e.view = nextView(s.last)
	}
	s.isLate, s.last = false, e.view
	if altered {
		s.altered++
	}
	return e, altered
}

// vacant is called in every tick before which the player was not in the match.
func (s *seat) vacant(f ecs.Tick) {
	s.Vacant(f)
	s.since = f
	s.isLate, s.last = false, image.ViewStamp{}
}

// forget drops what waits, when another connection takes the seat.
func (s *seat) forget(done ecs.Tick) {
	s.Forget(done)
	s.since = done
	s.views = [inputs.Window]tickView{}
	s.isLate, s.last = false, image.ViewStamp{}
}

// lacks returns the oldest tick up to done whose input has not come and would still be of use; ok is false if none is.
func (s *seat) lacks(done ecs.Tick) (f ecs.Tick, ok bool) {
	for f = max(s.since, max(done, maxBack)-maxBack) + 1; f <= done; f++ {
		if s.views[f%inputs.Window].tick != f {
			return f, true
		}
	}
	return 0, false
}
