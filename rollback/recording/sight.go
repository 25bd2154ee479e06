package recording

import "tendon/ecs"

// A player's view in a tick looks back at older states, so playing needs some past: as much as the farthest view of
// the recording looks back, and none before the states that those views need.

// reachOf returns how many ticks a tick's views look back at most, 0 if there are none that count.
func reachOf(e *Entry) (reach ecs.Tick) {
	for i := range e.Orders {
		if o := &e.Orders[i]; o.Kind == ecs.OrderView {
			v, ok := ecs.ParseViewStamp(o.Payload)
			if ok && v.Tick > 0 && v.Tick < e.Tick && e.Tick-v.Tick <= ecs.MaxViewTicks {
				reach = max(reach, e.Tick-v.Tick)
			}
		}
	}
	return reach
}

// complete reports whether no tick in (from, to] looks back at a state before from.
func (r *Recording) complete(from, to ecs.Tick) bool {
	for e := range r.Entries(from+1, min(to, from+r.reach)) {
		if e.Tick-reachOf(e) < from {
			return false
		}
	}
	return true
}
