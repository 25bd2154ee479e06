package relay

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems/internal/code"
)

// codes keeps the last backlog ticks as they stand in a confirmation, as stored codes. A tick is coded against the one
// before it, which is the same for every peer, so it is coded once and copied to each.
type codes struct{ rollback.Ring[[]byte] }

func newCodes(g *ecs.Game) codes {
	c := codes{rollback.NewRing[[]byte](backlog)}
	for f := range ecs.Tick(backlog) {
		c.Put(f, make([]byte, 0, worstTick(g)/8+1))
	}
	return c
}

// add codes tick f, whose predecessor's inputs were before.
func (c *codes) add(f ecs.Tick, t *finalTick, before []ecs.InputBytes, game *ecs.Game) {
	slot, _ := c.Slot(f)
	w := wire.NewBitWriter((*slot)[:0], cap(*slot))
	t.append(&w, before, game)
	w.Bool(true)
	*slot = w.Bytes()
}

// fit returns how many of the ticks first … last fit into room bytes, at most maxConfirms.
func (c *codes) fit(first, last ecs.Tick, room int) int {
	bits := 0
	for f := first; f <= last; f++ {
		stored, _ := c.At(f)
		if bits += code.StoredBits(*stored); bits > room*8 || f-first == maxConfirms {
			return int(f - first)
		}
	}
	return int(last + 1 - first)
}
