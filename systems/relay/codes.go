package relay

import (
	"encoding/binary"

	"tendon/ecs"
	"tendon/net/wire"
)

// codes keeps the last backlog ticks as they stand in a confirmation. A tick is coded against the one before it, which
// is the same for every peer, so it is coded once and copied to each. Tick f lies in slot f % backlog.
type codes struct {
	bytes  []byte
	bits   []int // of each tick
	stride int   // bytes of a slot, a multiple of 8
}

func newCodes(g *ecs.Game) codes {
	stride := (worstTick(g) + 63) / 64 * 8
	return codes{bytes: make([]byte, backlog*stride), bits: make([]int, backlog), stride: stride}
}

func (c *codes) slot(f ecs.Tick) []byte {
	at := int(f%backlog) * c.stride
	return c.bytes[at : at+c.stride : at+c.stride]
}

// add codes tick f, whose predecessor's inputs were before.
func (c *codes) add(f ecs.Tick, t *finalTick, before []ecs.InputBytes, game *ecs.Game) {
	slot := c.slot(f)
	clear(slot)
	w := wire.NewBitWriter(slot[:0], c.stride)
	c.bits[f%backlog] = t.append(&w, before, game)
}

// fit returns how many of the ticks first … last fit into room bytes, at most maxConfirms.
func (c *codes) fit(first, last ecs.Tick, room int) int {
	bits := 0
	for f := first; f <= last; f++ {
		if bits += c.bits[f%backlog]; bits > room*8 || f-first == maxConfirms {
			return int(f - first)
		}
	}
	return int(last + 1 - first)
}

// append copies the code of tick f.
func (c *codes) append(w *wire.BitWriter, f ecs.Tick) {
	slot := c.slot(f)
	for left := c.bits[f%backlog]; left > 0; left -= 64 {
		word := binary.LittleEndian.Uint64(slot)
		slot = slot[8:]
		if left < 64 {
			w.Bits(word&(1<<left-1), left)
			return
		}
		w.Bits(word, 64)
	}
}
