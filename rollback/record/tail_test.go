package record

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/rollback"
)

// proofKey and proofMatch are those of the proofs in tests.
var (
	proofKey   = []byte("0123456789abcdef0123456789abcdef")
	proofMatch = uint64(77)
)

// The digest of a record is that of its ticks, and follows that of its start.
func TestTheDigestOfARecord(t *testing.T) {
	m, to := journal(t, 4, 60)
	whole := open(t, to.Bytes())
	want, _ := whole.Digest()
	var digest Digest
	h := header(4)
	for i := range m.ticks[1:] {
		if i == 40 {
			h.Start, h.Digest = m.places[i], digest
		}
		digest.Add(NewCodec(game()).AppendTick(nil, m.places[i].Inputs, &m.ticks[i+1]))
	}
	if digest != want || want == (Digest{}) {
		t.Errorf("%x, want %x", want, digest)
	}
	ticks := bytes.Buffer{}
	w, err := NewTicksWriter(&ticks, game(), h)
	for i := 41; i < len(m.ticks); i++ {
		err = errors.Join(err, w.Tick(m.ticks[i]))
	}
	m.must(errors.Join(err, w.Flush()))
	later, err := OpenTicks(ticks.Bytes(), game())
	m.must(err)
	if got, ok := later.Digest(); !ok || got != want || ticks.Bytes()[len(magic)] != startVersion {
		t.Errorf("from tick 40: %x, %v, want %x", got, ok, want)
	}
	h.Digest = Digest{}
	m.must(w.Reset(&ticks, game(), h))
	ticks.Reset()
	m.must(w.Flush())
	later, err = OpenTicks(ticks.Bytes(), game())
	m.must(err)
	if _, ok := later.Digest(); ok {
		t.Error("the digest of the start is not known")
	}
}

// newProver returns a prover at tick 0 with a proof of every tick.
func newProver() *Prover {
	p := NewProver(game(), proofKey, proofMatch, Digest{})
	p.every = 1
	return p
}

// provenTail is a tail that receives a proof of every tick.
type provenTail struct {
	*Tail
	prover *Prover
}

func newTailOf(ticks, bytes int) provenTail {
	t := NewTail(game(), ticks, bytes)
	t.every, t.proofs = 1, rollback.NewRing[[ProofBytes]byte](ticks+proofsAhead)
	return provenTail{t, newProver()}
}

func newTail(ticks int) provenTail { return newTailOf(ticks, TailBytes) }

func (t provenTail) Append(tick *Tick) bool {
	if !t.Tail.Append(tick) {
		return false
	}
	t.prover.Add(tick.Tick, t.scratch)
	t.Prove(tick.Tick, t.prover.Proof())
	return true
}

// prover returns a prover at tick f of the match.
func (m *match) prover(f ecs.Tick) *Prover {
	p := newProver()
	for i := ecs.Tick(1); i <= f; i++ {
		p.Add(i, NewCodec(game()).AppendTick(nil, m.places[i-1].Inputs, &m.ticks[i]))
	}
	return p
}

// A server that lost its newest ticks gets them back from a client.
func TestATailReturnsTheTicksThatAServerLost(t *testing.T) {
	m := newMatch(t, 30)
	tail := newTail(100)
	tail.Start(Position{})
	var to file
	w, err := NewWriter(&to, game(), HeaderOf(game(), 30, build))
	m.must(err)
	for f := ecs.Tick(1); f <= 400; f++ {
		tick := m.step()
		if f <= 350 {
			m.must(w.Tick(asJournal(tick)))
		}
		if !tail.Append(&tick) {
			t.Fatal(f)
		}
		if newest, chain, ok := tail.Newest(); newest != f || chain != m.places[f].Chain || !ok {
			t.Fatal(newest, chain, ok)
		}
	}
	m.must(w.Flush())
	for f := ecs.Tick(0); f <= 402; f++ {
		chain, ok := tail.Chain(f)
		if want := f >= 300 && f <= 400; ok != want || ok && chain != m.places[f].Chain {
			t.Fatal(f, chain, ok)
		}
	}
	r := open(t, to.Bytes())
	w = r.Resume(&to)
	for offers := 0; w.Last() < 400; offers++ {
		body, next, ok := tail.AppendFrom([]byte("head"), w.Last()+1, 300)
		if !ok || len(body)-4 > 300 || offers > 20 {
			t.Fatal(len(body), next, ok)
		}
		at := m.places[w.Last()]
		prover := m.prover(w.Last())
		offer, err := r.codec.ReadTail(body[4:], at, prover)
		m.must(err)
		for tick := range offer.Ticks() {
			full := *tick // an offer has codes only: late players and checksums are not in it
			full.Late, full.Checksum = m.ticks[tick.Tick].Late, m.ticks[tick.Tick].Checksum
			if !sameTick(&full, &m.ticks[tick.Tick]) {
				t.Fatalf("%+v", tick)
			}
			m.must(w.Tick(asJournal(full)))
		}
		if !bytes.Equal(prover.Proof(), m.prover(next-1).Proof()) {
			t.Fatal("the prover is not at the last tick")
		}
		if last := offer.Last(); w.Last() != next-1 || !samePosition(last, m.places[next-1]) || w.Chain() != last.Chain {
			t.Fatal(w.Last(), next)
		}
	}
	m.must(w.Flush())
	m.has(open(t, to.Bytes()), 400)
}

// Wherever records begin, flush and end, the hash chain at a tick is the same.
func TestTheChainIsTheSameInEveryRecord(t *testing.T) {
	m, f := journal(t, 31, 200)
	late := newTail(200)
	late.Start(m.places[90])
	h := HeaderOf(game(), 31, build)
	h.Start = m.places[90]
	client, err := NewWriter(io.Discard, game(), h)
	m.must(err)
	world, err := open(t, f.Bytes()[:f.ends[0]]).WorldAt(0)
	m.must(err)
	for _, tick := range m.ticks[1:91] {
		world.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders})
	}
	var s image.Snapshot
	world.Image().Save(&s)
	m.must(client.Image(&s))
	for _, tick := range m.ticks[91:] {
		m.must(client.Tick(tick))
		if !late.Append(&tick) || client.Chain() != m.places[tick.Tick].Chain {
			t.Fatal(tick.Tick)
		}
	}
	for f := ecs.Tick(90); f <= 200; f++ {
		if chain, ok := late.Chain(f); !ok || chain != m.places[f].Chain {
			t.Fatal(f)
		}
	}
	// It differs as soon as an input, an order or the tick of an order differs.
	for name, change := range map[string]func(ticks []Tick){
		"input": func(ticks []Tick) { ticks[50].Inputs[2] = pads.Pack(pad{Aim: 54321}) },
		"order": func(ticks []Tick) { ticks[1].Orders[0].Player++ },
		"delayed": func(ticks []Tick) {
			ticks[1].Orders, ticks[2].Orders = nil, slices.Concat(ticks[1].Orders, ticks[2].Orders)
		},
	} {
		ticks := slices.Clone(m.ticks)
		for i := range ticks {
			ticks[i].Inputs, ticks[i].Orders = slices.Clone(ticks[i].Inputs), slices.Clone(ticks[i].Orders)
		}
		change(ticks)
		tail := newTail(200)
		tail.Start(Position{})
		for i := range ticks[1:] {
			tail.Append(&ticks[i+1])
		}
		if _, chain, ok := tail.Newest(); !ok || chain == m.places[200].Chain {
			t.Errorf("%s: the same chain", name)
		}
	}
}

func TestATailThatDoesNotContinueIsRefused(t *testing.T) {
	m := newMatch(t, 32)
	tail := newTail(200)
	tail.Start(Position{})
	for range 60 {
		tick := m.step()
		tail.Append(&tick)
	}
	c := NewCodec(game())
	body, next, ok := tail.AppendFrom(nil, 31, MaxTailBytes)
	prover := m.prover(30)
	if _, err := c.ReadTail(body, m.places[30], prover.Clone()); err != nil || next != 61 || !ok {
		t.Fatal(err, next, ok)
	}
	for name, at := range map[string]Position{"gap": m.places[29], "overlap": m.places[31]} {
		if _, err := c.ReadTail(body, at, m.prover(at.Tick)); !errors.Is(err, errProof) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := range body {
		for bit := range 8 {
			spoiled := slices.Clone(body)
			spoiled[at] ^= 1 << bit
			if _, err := c.ReadTail(spoiled, m.places[30], prover); !errors.Is(err, errProof) && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("bit %d of byte %d: %v", bit, at, err)
			}
		}
		if _, err := c.ReadTail(body[:at], m.places[30], prover); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
	for name, b := range map[string][]byte{"longer": append(slices.Clone(body), 0), "too long": make([]byte, MaxTailBytes+1)} {
		if _, err := c.ReadTail(b, m.places[30], prover); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The ring is bounded in bytes and in ticks, whatever the size of the codes, and offers exactly the ticks that it has.
func TestATailHasTheNewestTicksThatFit(t *testing.T) {
	for _, c := range []struct{ ticks, bytes int }{{1, TailBytes}, {7, TailBytes}, {64, 100}, {200, 37}, {50, 1 << 10}} {
		m := newMatch(t, 33)
		tail, codec := newTailOf(c.ticks, c.bytes), NewCodec(game())
		tail.Start(Position{})
		most := 0
		for range 300 {
			tick := m.step()
			if !tail.Append(&tick) {
				t.Fatal(tick.Tick)
			}
			f := tick.Tick
			base := f
			for base > 0 {
				if _, ok := tail.Chain(base - 1); !ok {
					break
				}
				base--
			}
			if base == f {
				continue // this tick alone is too large
			}
			first := base + 1
			most = max(most, int(f-first+1))
			body, next, ok := tail.AppendFrom(nil, first, MaxTailBytes)
			offer, err := codec.ReadTail(body, m.places[first-1], m.prover(first-1))
			if err != nil || !ok || next != f+1 || !samePosition(offer.Last(), m.places[f]) {
				t.Fatalf("%+v: ticks %d to %d: %v %d %v", c, first, f, ok, next, err)
			}
			if bytes := len(offer.codes); bytes > c.bytes || int(f-first+1) > c.ticks {
				t.Fatalf("%+v: %d ticks in %d bytes", c, f-first+1, bytes)
			}
			for _, from := range []ecs.Tick{0, first - 1, f + 1} {
				if body, _, ok := tail.AppendFrom([]byte{1}, from, MaxTailBytes); ok || len(body) != 1 {
					t.Fatal(from)
				}
			}
		}
		if c.bytes == TailBytes && most != c.ticks {
			t.Fatalf("%+v: at most %d ticks", c, most)
		}
		if most < 1 {
			t.Fatalf("%+v: always empty", c)
		}
		if _, _, ok := tail.AppendFrom(nil, 300, maxTailHead); ok {
			t.Fatal("a tick in no room")
		}
	}
}

// After a gap, or a tick that could not be read, the tail waits for a new start.
func TestAGapEmptiesATail(t *testing.T) {
	m := newMatch(t, 34)
	for range 20 {
		m.step()
	}
	tail := newTail(200)
	if tail.Append(&m.ticks[1]) {
		t.Fatal("a tick before Start")
	}
	bad := Tick{Tick: 11, Orders: []image.Order{{Player: 9}}}
	for name, tick := range map[string]*Tick{"gap": &m.ticks[12], "again": &m.ticks[10], "unreadable": &bad} {
		tail.Start(m.places[9])
		if !tail.Append(&m.ticks[10]) || tail.Append(tick) || tail.Append(&m.ticks[11]) {
			t.Fatal(name)
		}
		if _, _, ok := tail.Newest(); ok {
			t.Fatal(name, "newest")
		}
		if _, ok := tail.Chain(10); ok {
			t.Fatal(name, "chain")
		}
		if _, _, ok := tail.AppendFrom(nil, 10, MaxTailBytes); ok {
			t.Fatal(name, "offer")
		}
	}
	tail.Start(m.places[9])
	if !tail.Append(&m.ticks[10]) {
		t.Fatal("a new start")
	}
	tail.Start(Position{}) // the inputs of tick 10 are gone
	tail.Append(&m.ticks[1])
	if _, chain, ok := tail.Newest(); !ok || chain != m.places[1].Chain {
		t.Fatal("a start over")
	}
}

// A client that is set back by a few ticks still has those before, for a server that loses them again. It has no proof of another
// past.
func TestATailKeepsTheTicksThatLeadToAStart(t *testing.T) {
	m, tail := newMatch(t, 36), newTail(200)
	tail.Start(Position{})
	for range 40 {
		tick := m.step()
		tail.Append(&tick)
	}
	tail.Start(m.places[30])
	other := m.ticks[31]
	other.Orders = append(slices.Clone(other.Orders), image.Order{Player: 1, Payload: []byte("another past")})
	if !tail.Tail.Append(&other) || tail.Proven() != 30 {
		t.Fatalf("tick %d is proven", tail.Proven())
	}
	body, next, ok := tail.AppendFrom(nil, 6, MaxTailBytes)
	if !ok || next != 31 {
		t.Fatal(next, ok)
	}
	offer, err := NewCodec(game()).ReadTail(body, m.places[5], m.prover(5))
	m.must(err)
	if !samePosition(offer.Last(), m.places[30]) {
		t.Fatal("another position")
	}
	foreign := newMatch(t, 37)
	for range 20 {
		foreign.step()
	}
	tail.Start(foreign.places[20])
	if _, _, ok := tail.AppendFrom(nil, 6, MaxTailBytes); ok || tail.Proven() != 0 {
		t.Fatal("the ticks of another match are kept")
	}
}

func TestATailAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	tail := newTail(20)
	tail.Start(Position{})
	dice, body := rand.New(rand.NewPCG(1, 1)), make([]byte, 0, MaxTailBytes)
	tick := Tick{Inputs: make([]ecs.InputBytes, 3), Orders: []image.Order{{Player: 1, Payload: make([]byte, 30)}}}
	step := func() {
		tick.Tick++
		tick.Inputs[1] = pads.Pack(pad{Aim: uint16(dice.Uint32())})
		_, _, ok := tail.AppendFrom(body, tick.Tick-1, MaxTailBytes)
		if !tail.Append(&tick) || !ok && tick.Tick > 1 {
			t.Fatal(tick.Tick)
		}
	}
	step()
	if n := testing.AllocsPerRun(500, step); n != 0 {
		t.Fatalf("%v allocations a tick", n)
	}
}

// Only the server can prove ticks. A client can neither change nor invent one, and ticks of another match or of another past
// are not proven.
func TestOnlyTheServerProvesTicks(t *testing.T) {
	m := newMatch(t, 35)
	tail := newTail(200)
	tail.Start(Position{})
	for range 60 {
		tick := m.step()
		tail.Append(&tick)
	}
	body, _, _ := tail.AppendFrom(nil, 31, MaxTailBytes)
	offered := func(p *Prover, change func(ticks []Tick) []Tick) []byte { // with the proof of the true ticks up to their end
		forged := newTail(200)
		forged.Start(m.places[30])
		ticks := change(slices.Clone(m.ticks[31:61]))
		for i := range ticks {
			forged.Tail.Append(&ticks[i])
		}
		f, _, _ := forged.Newest()
		if p == nil {
			p = m.prover(min(f, 60))
		}
		forged.Prove(f, p.Proof())
		b, _, ok := forged.AppendFrom(nil, 31, MaxTailBytes)
		if !ok {
			t.Fatal("there is no offer")
		}
		return b
	}
	same := func(ticks []Tick) []Tick { return ticks }
	if b := offered(nil, same); !slices.Equal(b, body) {
		t.Fatal("nothing is tested")
	}
	ofKey := NewProver(game(), []byte("ffffffffffffffffffffffffffffffff"), proofMatch, Digest{})
	ofMatch := NewProver(game(), proofKey, proofMatch+1, Digest{})
	for i := ecs.Tick(1); i <= 60; i++ {
		code := NewCodec(game()).AppendTick(nil, m.places[i-1].Inputs, &m.ticks[i])
		ofKey.Add(i, code)
		ofMatch.Add(i, code)
	}
	for name, b := range map[string][]byte{
		"another key":   offered(ofKey, same),
		"another match": offered(ofMatch, same),
		"invented": offered(nil, func(ticks []Tick) []Tick {
			return append(ticks, Tick{Tick: 61, Orders: []image.Order{{Kind: image.OrderLeave, Player: 1}}})
		}),
		"empty and invented": offered(nil, func(ticks []Tick) []Tick { return append(ticks, Tick{Tick: 61, Inputs: ticks[29].Inputs}) }),
		"another input": offered(nil, func(ticks []Tick) []Tick {
			ticks[12].Inputs = []ecs.InputBytes{pads.Pack(pad{Aim: 54321})}
			return ticks
		}),
		"another order": offered(nil, func(ticks []Tick) []Tick {
			ticks[29].Orders = []image.Order{{Kind: image.OrderLeave, Player: 1}}
			return ticks
		}),
	} {
		prover := m.prover(30)
		if _, err := NewCodec(game()).ReadTail(b, m.places[30], prover); !errors.Is(err, errProof) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(prover.Proof(), m.prover(30).Proof()) {
			t.Errorf("%s: a refused offer moved the prover", name)
		}
	}
	other := m.prover(29) // of a server whose tick 30 was another one
	other.Add(30, []byte{0})
	if _, err := NewCodec(game()).ReadTail(body, m.places[30], other); !errors.Is(err, errProof) {
		t.Errorf("another past: %v", err)
	}
}

// A tail offers the ticks up to the newest that has a proof. A proof may arrive before its tick, and a later one proves what a
// lost one would have.
func TestATailOffersWhatItCanProve(t *testing.T) {
	m := newMatch(t, 36)
	for range 60 {
		m.step()
	}
	tail := NewTail(game(), 200, TailBytes) // a proof every two ticks
	tail.Start(Position{})
	last := func() ecs.Tick {
		_, next, ok := tail.AppendFrom(nil, 1, MaxTailBytes)
		if ok != (next > 1) || tail.Proven() != next-1 {
			t.Errorf("it offers ticks up to %d: %v, proven is %d", next-1, ok, tail.Proven())
		}
		return next - 1
	}
	grow := func(to ecs.Tick) {
		for f, _, _ := tail.Newest(); f < to; f++ {
			tail.Append(&m.ticks[f+1])
		}
	}
	proof := make([]byte, ProofBytes)
	tail.Prove(0, proof)
	tail.Prove(4, proof[1:])
	tail.Prove(2*proofsAhead+2, proof)
	tail.Prove(1<<62, proof)
	grow(9)
	tail.Prove(5, proof)
	if last() != 0 {
		t.Error("it offers ticks without a proof")
	}
	tail.Prove(4, proof)
	tail.Prove(14, proof)
	if last() != 4 {
		t.Error("it does not offer the proven ticks")
	}
	grow(13)
	if last() != 4 {
		t.Error("it offers tick 14 before it has it")
	}
	grow(15)
	if last() != 14 {
		t.Error("a proof that came before its tick does not count")
	}
	tail.Prove(6, proof) // late
	if last() != 14 {
		t.Error("an older proof replaced a newer one")
	}
	tail.Start(Position{})
	grow(20)
	if last() != 0 {
		t.Error("a new start kept the proofs")
	}
}
