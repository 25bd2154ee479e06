package journal

import (
	"errors"
	"fmt"
	"iter"

	"tendon/ecs"
)

// Offer is the body of a tail's offer that was checked as a whole: its ticks follow each other from where the reader
// stands, and lead to the chain that it claims.
//
// That proves no more than that sender and reader agree on the past. Whoever holds the past can make up a future:
// whom to believe is the caller's to decide, by asking several.
type Offer struct {
	codec *Codec
	after Position
	codes []byte
	last  Position
}

// ErrFork says that an offer does not go on where the reader's log ends: it begins with another tick, after another
// past, or its ticks do not lead to the chain that it claims.
var ErrFork = errors.New("journal: the offered ticks do not go on where this log ends")

// ReadTail checks an offer, which comes off the wire, for a reader that stands at a position. The offer aliases body.
// Errors are ErrFork and ErrMalformed.
func (c *Codec) ReadTail(body []byte, after Position) (*Offer, error) {
	if len(body) > MaxTailBytes {
		return nil, fmt.Errorf("%w: an offer of %d bytes, at most %d", ErrMalformed, len(body), MaxTailBytes)
	}
	p := parser{rest: body}
	first, count := ecs.Tick(p.varint()), p.upTo(MaxTailBytes)
	begin, end := Chain(p.uint64()), Chain(p.uint64())
	if count == 0 || count > len(p.rest) || first > maxTick {
		p.fail("no ticks, or more than there are bytes for")
	}
	if p.why != "" {
		return nil, p.err()
	}
	if first != after.Tick+1 {
		return nil, fmt.Errorf("%w: they begin with tick %d, not %d", ErrFork, first, after.Tick+1)
	}
	if begin != after.Chain {
		return nil, fmt.Errorf("%w: the chain at tick %d is %016x, not %016x", ErrFork, after.Tick, begin, after.Chain)
	}
	o := &Offer{codec: c, codes: p.rest}
	o.after.set(after, c.players)
	r := newReader(c, after)
	for range count {
		r.code(&p)
	}
	if len(p.rest) > 0 {
		p.fail("bytes behind the last tick")
	}
	if p.why != "" {
		return nil, p.err()
	}
	if o.last = r.at; o.last.Chain != end {
		return nil, fmt.Errorf("%w: they lead to chain %016x at tick %d, not to %016x", ErrFork, o.last.Chain, o.last.Tick, end)
	}
	return o, nil
}

// Last returns where the reader stands once it has taken the ticks. It shares nothing with the offer.
func (o *Offer) Last() Position { return o.last.clone() }

// Ticks returns the ticks. A tick is valid until the next; the payloads of its orders alias the offer's body.
func (o *Offer) Ticks() iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		r, p := newReader(o.codec, o.after), parser{rest: o.codes}
		for len(p.rest) > 0 {
			if r.code(&p); !yield(&r.tick) {
				return
			}
		}
	}
}
