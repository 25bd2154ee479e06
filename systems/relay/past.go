package relay

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
)

// past puts the last backlog ticks of ServerConfig.Past into codes and orders, so that peers with a state of them can be
// served. The first tick only serves as the base of the next, unless it is tick 1. The set of altered inputs is not
// recorded; only their senders would use it.
func (s *Server) past(ticks iter.Seq[systems.FinalTick]) {
	t := finalTick{inputs: make([]ecs.InputBytes, s.Game.MaxPlayers)}
	before := make([]ecs.InputBytes, s.Game.MaxPlayers)
	last, begun := ecs.Tick(0), false
	for f := range ticks {
		if f.Tick+backlog < s.Done() {
			continue
		}
		if begun && f.Tick != last+1 {
			panic(fmt.Sprintf("relay: ServerConfig.Past yields tick %d after tick %d: it must be without a gap", f.Tick, last))
		}
		t.inputs, before = before, t.inputs
		clear(t.inputs)
		copy(t.inputs, f.Inputs)
		if last = f.Tick; !begun {
			begun = true
			if f.Tick != 1 {
				s.ServeFrom(f.Tick)
				continue
			}
			s.ServeFrom(0)
		}
		for _, o := range f.Orders {
			s.orders.Add(f.Tick, o)
		}
		t.orders = rollback.DigestOrders(f.Orders)
		s.codes.add(f.Tick, &t, before, s.Game)
	}
	if begun && last != s.Done() {
		panic(fmt.Sprintf("relay: ServerConfig.Past ends with tick %d, the world is at tick %d", last, s.Done()))
	}
	s.stamped.tick = s.Done() // the orders up to it are sent to peers that lack them
}
