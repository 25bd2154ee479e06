package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tendon/ecs"
)

// Tail holds the newest final ticks of a match in memory: what a client can offer to a server that lost them in a
// power cut. It is a ring of codes, bounded in ticks and in bytes; the oldest make room.
//
// Ticks (base, newest] are in it. Their codes lie one behind the other in the ring, that of tick f up to mark f.
type Tail struct {
	codec   *Codec
	started bool
	base    ecs.Tick
	at      Position   // of the newest tick
	marks   []tailMark // tick f in place f % len; of ticks [base, newest]
	ring    []byte     // byte n of all codes in place n % len
	scratch []byte
}

// tailMark says where a tick's code ends, counted from the start of the tail, and the chain there.
type tailMark struct {
	end   uint64
	chain Chain
}

// TailConfig says how much a tail holds.
type TailConfig struct {
	Game  *ecs.Game // required
	Ticks int       // at most so many ticks, in [1, 1<<20]; 0: ten seconds
	Bytes int       // at most so many bytes of codes, in [1, 1<<30]; 0: 64 KiB. A larger tick empties the tail
}

// ErrTailConfig is wrapped by errors about a TailConfig.
var ErrTailConfig = errors.New("journal: bad TailConfig")

// NewTail returns a tail that waits for Start.
func NewTail(c TailConfig) (*Tail, error) {
	if c.Game == nil {
		return nil, fmt.Errorf("%w: Game is nil", ErrTailConfig)
	}
	if c.Ticks == 0 {
		c.Ticks = 10 * c.Game.TickRate
	}
	if c.Bytes == 0 {
		c.Bytes = 64 << 10
	}
	if c.Ticks < 1 || c.Ticks > 1<<20 {
		return nil, fmt.Errorf("%w: Ticks is %d, not in [1, %d]", ErrTailConfig, c.Ticks, 1<<20)
	}
	if c.Bytes < 1 || c.Bytes > 1<<30 {
		return nil, fmt.Errorf("%w: Bytes is %d, not in [1, %d]", ErrTailConfig, c.Bytes, 1<<30)
	}
	return &Tail{codec: NewCodec(c.Game), marks: make([]tailMark, c.Ticks+1), ring: make([]byte, c.Bytes)}, nil
}

// Start empties the tail and makes it go on from a state that was loaded or set up.
func (t *Tail) Start(at Position) {
	t.at.set(at, t.codec.players)
	t.base, t.started = at.Tick, true
	*t.mark(at.Tick) = tailMark{chain: at.Chain}
}

func (t *Tail) mark(f ecs.Tick) *tailMark { return &t.marks[f%ecs.Tick(len(t.marks))] }

// Append takes up the next final tick. A tick that does not follow the newest, or that Codec.Check refuses, leaves
// the tail empty until the next Start: then Append returns false, as it does before the first Start.
func (t *Tail) Append(tick *Tick) bool {
	if !t.started || tick.Tick != t.at.Tick+1 || t.codec.Check(tick) != nil {
		t.started = false
		return false
	}
	t.scratch = t.codec.AppendTick(t.scratch[:0], t.at.Inputs, tick)
	end := t.mark(t.at.Tick).end
	t.at.Tick, t.at.Chain = tick.Tick, t.at.Chain.Next(t.scratch)
	clear(t.at.Inputs)
	copy(t.at.Inputs, tick.Inputs)
	if len(t.scratch) > len(t.ring) {
		t.base = t.at.Tick
		*t.mark(t.base) = tailMark{chain: t.at.Chain}
		return true
	}
	newEnd := end + uint64(len(t.scratch))
	for t.at.Tick-t.base >= ecs.Tick(len(t.marks)) || newEnd-t.mark(t.base).end > uint64(len(t.ring)) {
		t.base++
	}
	*t.mark(t.at.Tick) = tailMark{end: newEnd, chain: t.at.Chain}
	at := int(end % uint64(len(t.ring)))
	n := copy(t.ring[at:], t.scratch)
	copy(t.ring, t.scratch[n:])
	return true
}

// Newest returns the newest tick and the chain at it; ok is false while the tail waits for Start.
func (t *Tail) Newest() (f ecs.Tick, chain Chain, ok bool) {
	if !t.started {
		return 0, 0, false
	}
	return t.at.Tick, t.at.Chain, true
}

// Chain returns the chain at tick f; ok is false if the tail does not reach back to it or has not got there.
func (t *Tail) Chain(f ecs.Tick) (chain Chain, ok bool) {
	if !t.started || f < t.base || f > t.at.Tick {
		return 0, false
	}
	return t.mark(f).chain, true
}

// MaxTailBytes bounds the body of an offer: what fits one reliable message.
const MaxTailBytes = 60 << 10

// maxTailHead is what an offer needs beside the codes: first tick, count and two chains.
const maxTailHead = 10 + 10 + 8 + 8

// AppendFrom appends an offer of the ticks from tick from, as many as fit maxBytes or MaxTailBytes, for ReadTail on the
// other side, which stands at the tick before. next is the first tick that is not in it. ok is false, and nothing is
// appended, if the tail does not have tick from or if it alone does not fit.
func (t *Tail) AppendFrom(dst []byte, from ecs.Tick, maxBytes int) (body []byte, next ecs.Tick, ok bool) {
	if !t.started || from <= t.base || from > t.at.Tick {
		return dst, from, false
	}
	room := min(maxBytes, MaxTailBytes) - maxTailHead
	begin := *t.mark(from - 1)
	last := from - 1
	for last < t.at.Tick && room >= 0 && t.mark(last+1).end-begin.end <= uint64(room) {
		last++
	}
	if last < from {
		return dst, from, false
	}
	end := *t.mark(last)
	dst = binary.AppendUvarint(dst, uint64(from))
	dst = binary.AppendUvarint(dst, uint64(last-from+1))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(begin.chain))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(end.chain))
	at, n := int(begin.end%uint64(len(t.ring))), int(end.end-begin.end)
	head := min(n, len(t.ring)-at)
	dst = append(dst, t.ring[at:at+head]...)
	dst = append(dst, t.ring[:n-head]...)
	return dst, last + 1, true
}
