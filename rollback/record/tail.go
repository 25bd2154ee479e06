package record

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
)

// Tail holds the newest final ticks of a match in memory, and the server's proofs of some of them. A client offers them to
// a server that lost them in a power cut. It is a ring of codes, bounded in ticks and in bytes.
//
// It has the ticks (base, newest]. Their codes lie one behind the other in the ring.
type Tail struct {
	codec   *Codec
	started bool
	base    ecs.Tick
	at      Position  // of the newest tick
	ends    []codeEnd // of ticks [base, newest]; slot = tick % len
	ring    []byte    // byte n of all codes is at n % len
	scratch []byte
	every   ecs.Tick                        // distance of the ticks with a proof
	proofs  rollback.Ring[[ProofBytes]byte] // of tick n × every at n, of a few ticks after the newest, too
	proven  ecs.Tick                        // newest tick with a proof; 0: none
}

// codeEnd is where a tick's code ends, counted from the start of the tail, and the chain there.
type codeEnd struct {
	end   uint64
	chain Chain
}

// TailBytes is the usual bound of a Tail in bytes.
const TailBytes = 64 << 10

// NewTail returns a tail of at most so many ticks, whose codes have at most so many bytes. A larger tick empties it. It
// accepts ticks after Start.
func NewTail(g *ecs.Game, ticks, bytes int) *Tail {
	every := proofInterval(g)
	return &Tail{codec: NewCodec(g), ends: make([]codeEnd, ticks+1), ring: make([]byte, bytes),
		every: every, proofs: rollback.NewRing[[ProofBytes]byte](ticks/int(every) + proofsAhead)}
}

// proofsAhead bounds the proofs of ticks after the newest. A proof may arrive before its tick is final on the client.
const proofsAhead = 64

// Start makes the next tick the one after this position. The tail keeps the ticks that lead to the position, with their proofs,
// and drops all others.
func (t *Tail) Start(at Position) {
	chain, leads := t.Chain(at.Tick)
	if leads = leads && chain == at.Chain; leads {
		t.dropAfter(at.Tick)
	}
	t.at.set(at, t.codec.players)
	if leads {
		return
	}
	t.base, t.started, t.proven = at.Tick, true, 0
	t.proofs.Clear()
	*t.end(at.Tick) = codeEnd{chain: at.Chain}
}

// dropAfter drops the proofs of the ticks after f.
func (t *Tail) dropAfter(f ecs.Tick) {
	for n := f/t.every + 1; n <= t.at.Tick/t.every+proofsAhead; n++ {
		t.proofs.Drop(n)
	}
	for t.proven = min(t.proven, f/t.every*t.every); t.proven > t.base; t.proven -= t.every {
		if _, ok := t.proof(t.proven); ok {
			return
		}
	}
	t.proven = 0
}

func (t *Tail) end(f ecs.Tick) *codeEnd { return &t.ends[f%ecs.Tick(len(t.ends))] }

// Append adds the next final tick. It returns false before the first Start. A tick that does not follow the newest, or
// that a Writer refuses, empties the tail until the next Start, and Append returns false.
func (t *Tail) Append(tick *Tick) bool {
	players, err := t.codec.check(t.at.Inputs, tick)
	if t.started = t.started && tick.Tick == t.at.Tick+1 && err == nil; !t.started {
		return false
	}
	t.scratch = t.codec.appendTick(t.scratch[:0], players, t.at.Inputs, tick)
	begin := t.end(t.at.Tick).end
	end := begin + uint64(len(t.scratch))
	t.at.Advance(tick, t.scratch)
	if t.at.Tick-t.base == ecs.Tick(len(t.ends)) {
		t.base++
	}
	*t.end(t.at.Tick) = codeEnd{end, t.at.Chain}
	for end-t.end(t.base).end > uint64(len(t.ring)) {
		t.base++
	}
	if t.base < t.at.Tick {
		n := copy(t.ring[begin%uint64(len(t.ring)):], t.scratch)
		copy(t.ring, t.scratch[n:])
	}
	if _, ok := t.proof(t.at.Tick); ok {
		t.proven = t.at.Tick
	}
	return true
}

// Prove adds the server's proof of tick f. It ignores one of a tick that the tail does not have, and one that comes too early.
func (t *Tail) Prove(f ecs.Tick, proof []byte) {
	if !t.started || len(proof) != ProofBytes || f%t.every != 0 || f <= t.base || f > t.at.Tick && (f-t.at.Tick)/t.every >= proofsAhead {
		return
	}
	t.proofs.Put(f/t.every, [ProofBytes]byte(proof))
	if f <= t.at.Tick {
		t.proven = max(t.proven, f)
	}
}

// proof returns the proof of tick f. ok is false if there is none.
func (t *Tail) proof(f ecs.Tick) (proof *[ProofBytes]byte, ok bool) {
	if f%t.every != 0 {
		return nil, false
	}
	return t.proofs.At(f / t.every)
}

// Proven returns the newest tick that the tail can prove to a server that lost it, or 0.
func (t *Tail) Proven() ecs.Tick {
	if !t.started || t.proven <= t.base {
		return 0
	}
	return t.proven
}

// Newest returns the newest tick and the hash chain at it. ok is false while the tail waits for Start.
func (t *Tail) Newest() (f ecs.Tick, chain Chain, ok bool) {
	if !t.started {
		return 0, 0, false
	}
	return t.at.Tick, t.at.Chain, true
}

// Chain returns the hash chain at tick f. ok is false if the tail does not have it.
func (t *Tail) Chain(f ecs.Tick) (chain Chain, ok bool) {
	if !t.started || f < t.base || f > t.at.Tick {
		return 0, false
	}
	return t.end(f).chain, true
}

// MaxTailBytes bounds the body of an offer, so that it fits one reliable message.
const MaxTailBytes = 60 << 10

// maxTailHead is the size of an offer without its codes: first tick, count and proof.
const maxTailHead = 10 + 10 + ProofBytes

// AppendFrom appends an offer of the ticks from tick from, up to the newest that has a proof and fits maxBytes and
// MaxTailBytes. The receiver, at the tick before, passes it to Codec.ReadTail. next is the first tick that is not in it. ok
// is false, and nothing is appended, if the tail does not have tick from or if there is no such proof.
func (t *Tail) AppendFrom(dst []byte, from ecs.Tick, maxBytes int) (body []byte, next ecs.Tick, ok bool) {
	if !t.started || from <= t.base || from > t.at.Tick {
		return dst, from, false
	}
	room := min(maxBytes, MaxTailBytes) - maxTailHead
	begin := *t.end(from - 1)
	for next = from; next <= t.at.Tick && room >= 0 && t.end(next).end-begin.end <= uint64(room); {
		next++
	}
	var proof *[ProofBytes]byte
	for ; next > from; next-- {
		if proof, ok = t.proof(next - 1); ok {
			break
		}
	}
	if next == from {
		return dst, from, false
	}
	end := *t.end(next - 1)
	dst = binary.AppendUvarint(dst, uint64(from))
	dst = binary.AppendUvarint(dst, uint64(next-from))
	dst = append(dst, proof[:]...)
	at, n := int(begin.end%uint64(len(t.ring))), int(end.end-begin.end)
	head := min(n, len(t.ring)-at)
	dst = append(dst, t.ring[at:at+head]...)
	dst = append(dst, t.ring[:n-head]...)
	return dst, next, true
}

// Offer is an offer of ticks that was checked: its ticks continue the receiver's position and were final in the match.
type Offer struct {
	codec *Codec
	after Position
	codes []byte
	last  Position
}

// errProof is returned for an offer that does not continue the receiver's position, or whose proof is not the one of its ticks.
var errProof = errors.New("record: it is not proven that the offered ticks continue this match")

// ReadTail checks an offer from the network for a receiver at a position, whose prover is at that tick. If the error is nil,
// p is at the last tick of the offer afterwards. The offer aliases body.
func (c *Codec) ReadTail(body []byte, after Position, p *Prover) (*Offer, error) {
	if len(body) > MaxTailBytes {
		return nil, fmt.Errorf("%w: an offer of %d bytes, want at most %d", ErrCorrupt, len(body), MaxTailBytes)
	}
	r := wire.NewReader(body)
	first, count := ecs.Tick(r.Uvarint()), r.Count(MaxTailBytes, 1)
	proof := r.Bytes(ProofBytes)
	if count == 0 || first > maxTick {
		r.Fail(errors.New("a tick number above the maximum"))
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if first != after.Tick+1 {
		return nil, fmt.Errorf("%w: they begin with tick %d, want %d", errProof, first, after.Tick+1)
	}
	read, rest := newEntries(c, after), r
	o := &Offer{codec: c, after: read.at.clone(), codes: rest.Rest()}
	next := p.Clone()
	for range count {
		from := len(o.codes) - r.Len()
		if read.readCode(&r); r.Err() != nil {
			break
		}
		next.Add(read.at.Tick, o.codes[from:len(o.codes)-r.Len()])
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	o.last = read.at
	if !hmac.Equal(next.Proof(), proof) {
		return nil, fmt.Errorf("%w: they end with tick %d", errProof, o.last.Tick)
	}
	p.digest = next.digest
	return o, nil
}

// readCode reads a tick that has a code and nothing else.
func (e *entries) readCode(r *wire.Reader) {
	flags := r.U8()
	if flags > codeFlags {
		r.Fail(errors.New("unknown flags of a tick"))
	}
	e.readTick(r, flags)
}

// Last returns the position after the ticks. It shares nothing with the offer.
func (o *Offer) Last() Position { return o.last.clone() }

// Ticks returns the ticks. A tick is valid until the next. The payloads of its orders alias the offer's body.
func (o *Offer) Ticks() iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		read, r := newEntries(o.codec, o.after), wire.NewReader(o.codes)
		for r.Len() > 0 {
			if read.readCode(&r); !yield(&read.tick) {
				return
			}
		}
	}
}
