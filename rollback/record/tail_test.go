package record

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
)

func newTail(ticks int) *Tail { return NewTail(game(), ticks, TailBytes) }

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
		offer, err := r.codec.ReadTail(body[4:], at)
		m.must(err)
		for tick := range offer.Ticks() {
			full := *tick // an offer has codes only: late players and checksums are not in it
			full.Late, full.Checksum = m.ticks[tick.Tick].Late, m.ticks[tick.Tick].Checksum
			if !sameTick(&full, &m.ticks[tick.Tick]) {
				t.Fatalf("%+v", tick)
			}
			m.must(w.Tick(asJournal(full)))
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
	if _, err := c.ReadTail(body, m.places[30]); err != nil || next != 61 || !ok {
		t.Fatal(err, next, ok)
	}
	fork := m.places[30]
	fork.Chain++
	for name, at := range map[string]Position{"fork": fork, "gap": m.places[29], "overlap": m.places[31]} {
		if _, err := c.ReadTail(body, at); !errors.Is(err, errFork) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := range body {
		for bit := range 8 {
			spoiled := slices.Clone(body)
			spoiled[at] ^= 1 << bit
			if _, err := c.ReadTail(spoiled, m.places[30]); !errors.Is(err, errFork) && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("bit %d of byte %d: %v", bit, at, err)
			}
		}
		if _, err := c.ReadTail(body[:at], m.places[30]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
	for name, b := range map[string][]byte{"longer": append(slices.Clone(body), 0), "too long": make([]byte, MaxTailBytes+1)} {
		if _, err := c.ReadTail(b, m.places[30]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The ring is bounded in bytes and in ticks, whatever the size of the codes, and offers exactly the ticks that it has.
func TestATailHasTheNewestTicksThatFit(t *testing.T) {
	for _, c := range []struct{ ticks, bytes int }{{1, TailBytes}, {7, TailBytes}, {64, 100}, {200, 37}, {50, 1 << 10}} {
		m := newMatch(t, 33)
		tail, codec := NewTail(game(), c.ticks, c.bytes), NewCodec(game())
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
			offer, err := codec.ReadTail(body, m.places[first-1])
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
