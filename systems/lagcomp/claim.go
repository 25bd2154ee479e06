package lagcomp

import (
	"tendon/ecs"
	"tendon/net/wire"
)

// Claim is the moment that a client says its player saw: Part/256 of the way from State(From) to State(To), the two
// states it drew between. One that was read may be any; Judge.View bounds what comes of it.
type Claim struct {
	From, To ecs.Tick
	Part     uint8
}

// MaxGap is the largest distance between the two states of a claim, in ticks.
const MaxGap = 255

// NewClaim returns the claim of a view that is drawn a fraction of the way from State(from) to State(to). Fractions
// beyond [0, 1], NaN too, are taken for the nearer end.
func NewClaim(from, to ecs.Tick, fraction float64) Claim {
	switch {
	case fraction >= 1:
		return Claim{From: to, To: to}
	case !(fraction > 0) || from == to: // NaN too
		return Claim{From: from, To: from}
	}
	return Claim{From: from, To: to, Part: uint8(fraction * 256)}
}

// maxAway is how far a claim may lie from the tick it goes with, on the wire. What is farther means the same, nonsense.
const maxAway = 1 << 20

// Append writes the claim that goes with the input of a tick, in at most 5 bytes: by how many ticks From lies before
// the tick (varint), by how many To lies after From (u8), and unless that is 0 the part (u8).
func (c Claim) Append(w *wire.Writer, tick ecs.Tick) {
	gap := uint8(0)
	if c.To > c.From {
		gap = uint8(min(c.To-c.From, MaxGap))
	}
	w.Varint(behind(c.From, tick))
	w.U8(gap)
	if gap > 0 {
		w.U8(c.Part)
	}
}

// ReadClaim reads a claim that goes with the input of a tick. A moment that cannot be is read as the nearest that can
// be written, for the judge to find out; what is cut off or coded otherwise is the reader's error. The tick is the
// server's own, below 2⁶².
func ReadClaim(r *wire.Reader, tick ecs.Tick) (c Claim) {
	away := r.Varint()
	gap := ecs.Tick(r.U8())
	if gap > 0 {
		c.Part = r.U8()
	}
	if r.Err() != nil {
		return Claim{}
	}
	if away < 0 {
		c.From = tick + ecs.Tick(-max(away, -maxAway))
	} else {
		c.From = tick - min(ecs.Tick(away), tick)
	}
	c.To = c.From + gap
	return c
}

// behind returns by how many ticks a lies before b, within ±maxAway.
func behind(a, b ecs.Tick) int64 {
	if a > b {
		return -int64(min(a-b, maxAway))
	}
	return int64(min(b-a, maxAway))
}
