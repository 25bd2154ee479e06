package relay

import (
	"fmt"

	"tendon/ecs"
	"tendon/rollback"
)

// past makes s.first the oldest tick whose state a peer may hold: the last backlog ticks that are known go into codes
// and orders as if this server had computed them. The first of them tells no more than what the next is coded against,
// unless it is the first of all. Whose input was altered is not known any more; it means something only to who sent it.
func (s *Server) past() {
	if s.config.Past == nil {
		return
	}
	t := finalTick{inputs: make([]ecs.InputBytes, len(s.inputs))}
	before := make([]ecs.InputBytes, len(s.inputs))
	last, begun := ecs.Tick(0), false
	for f := range s.config.Past {
		if f.Tick+backlog < s.done {
			continue
		}
		if begun && f.Tick != last+1 {
			panic(fmt.Sprintf("relay: ServerConfig.Past yields tick %d after tick %d: it must be without a gap", f.Tick, last))
		}
		t.inputs, before = before, t.inputs
		clear(t.inputs)
		copy(t.inputs, f.Inputs)
		if last = f.Tick; !begun {
			s.first, begun = f.Tick, true
			if f.Tick != 1 {
				continue
			}
			s.first = 0
		}
		for _, o := range f.Orders {
			s.orders.Add(f.Tick, o)
		}
		t.orders = uint32(rollback.DigestOrders(f.Orders))
		s.codes.add(f.Tick, &t, before, s.game)
	}
	if begun && last != s.done {
		panic(fmt.Sprintf("relay: ServerConfig.Past ends with tick %d, the world is at tick %d", last, s.done))
	}
	s.stamped.tick = s.done // what is in orders goes to who lacks it
}
