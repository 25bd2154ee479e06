package journal

import (
	"encoding/binary"
	"hash/crc32"
	"runtime"
	"slices"
	"testing"

	"tendon/ecs"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// reseal gives every block the sums that its content asks for, so that fuzzing reaches what is behind them.
func reseal(data []byte) {
	for at := openingBytes; at < len(data); {
		length, n := binary.Uvarint(data[at:min(len(data), at+4)])
		from := at + n + sumBytes
		if n <= 0 || from > len(data) || length > uint64(len(data)-from) {
			return
		}
		head := crc32.Update(0, castagnoli, data[at:at+n])
		binary.LittleEndian.PutUint32(data[from-8:], head)
		binary.LittleEndian.PutUint32(data[from-4:], payloadSum(head, uint64(at), data[from:from+int(length)]))
		at = from + int(length)
	}
}

// Whatever the bytes say, reading them takes memory in proportion to them and never panics; what opens has the ticks
// that it says, and a writer that goes on from there is read back.
func FuzzOpen(f *testing.F) {
	_, to := write(f, 40, 45, 30)
	f.Add(to.Bytes(), true)
	f.Add(to.Bytes()[:to.Len()-9], false)
	f.Add([]byte(magic), false)
	list := blocks(f, to.Bytes())
	for _, at := range list[1:3] {
		spoiled := slices.Clone(to.Bytes())
		spoiled[at+9] ^= 3
		f.Add(spoiled, true)
	}
	g := game()
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		data = slices.Clone(data)
		if whole {
			reseal(data)
		}
		var j *Journal
		var err error
		if n := allocated(func() { j, err = Open(data, g, build) }); n > 128<<10+32*uint64(len(data)) {
			t.Fatalf("%d bytes allocated for %d", n, len(data))
		}
		if (j == nil) != (err != nil) {
			t.Fatal("neither a journal nor an error", j, err)
		}
		if j == nil {
			return
		}
		n := j.Start()
		for tick := range j.Ticks(0) {
			if n++; tick.Tick != n || len(tick.Inputs) != g.MaxPlayers || j.codec.Check(tick) != nil {
				t.Fatalf("tick %d after %d", tick.Tick, n-1)
			}
		}
		last := j.Last()
		if n != last.Tick {
			t.Fatalf("%d ticks to %d", n, last.Tick)
		}
		if w, err := j.World(); err == nil && w.Tick() != last.Tick {
			t.Fatalf("the world of tick %d for %d", w.Tick(), last.Tick)
		}
		again := &file{}
		again.Buffer.Write(data[:j.Valid()])
		w := j.Resume(again)
		if w.Tick(Tick{Tick: last.Tick + 1}) != nil {
			return // there is no image yet, or ticks cannot be counted on
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if j, err := Open(again.Bytes(), g, build); err != nil || j.Torn() != nil || j.Last().Tick != last.Tick+1 || j.Last().Chain != w.Chain() {
			t.Fatal(err)
		}
	})
}

// A client that offers whatever it likes gets an error or is understood, and what is understood is canonical: said
// again it is the same bytes.
func FuzzTail(f *testing.F) {
	m := newMatch(f, 41)
	tail := newTail(f, TailConfig{Ticks: 1 << 16})
	tail.Start(Position{})
	for range 40 {
		tick := m.step()
		tail.Append(&tick)
	}
	for _, from := range []ecs.Tick{1, 21, 40} {
		body, _, _ := tail.AppendFrom(nil, from, MaxTailBytes)
		f.Add(body, uint8(from-1))
	}
	f.Add([]byte{}, uint8(0))
	g := game()
	codec := NewCodec(g)
	f.Fuzz(func(t *testing.T, body []byte, at uint8) {
		after := m.places[int(at)%len(m.places)]
		body = slices.Clone(body)
		claim(codec, body, after)
		var offer *Offer
		var err error
		if n := allocated(func() { offer, err = codec.ReadTail(body, after) }); n > 64<<10+8*uint64(len(body)) {
			t.Fatalf("%d bytes allocated for %d", n, len(body))
		}
		if err != nil {
			return
		}
		again := newTail(t, TailConfig{Game: g, Ticks: 1 << 16})
		again.Start(after)
		for tick := range offer.Ticks() {
			if !again.Append(tick) {
				t.Fatalf("tick %d cannot be stored", tick.Tick)
			}
		}
		said, next, ok := again.AppendFrom(nil, after.Tick+1, MaxTailBytes)
		if last := offer.Last(); ok && (next != last.Tick+1 || !slices.Equal(said, body)) || !ok && len(body) < MaxTailBytes-maxTailHead {
			t.Fatalf("%x said again is %x", body, said)
		}
	})
}

// claim puts the chains into an offer that its ticks ask for, if they can be read, so that fuzzing gets behind them.
func claim(c *Codec, body []byte, after Position) {
	p := parser{rest: body}
	p.varint()
	n, head := p.upTo(MaxTailBytes), len(body)-len(p.rest)
	if p.take(16); p.why != "" || n > len(p.rest) {
		return
	}
	r := newReader(c, after)
	for range n {
		r.code(&p)
	}
	if p.why == "" {
		binary.LittleEndian.PutUint64(body[head:], uint64(after.Chain))
		binary.LittleEndian.PutUint64(body[head+8:], uint64(r.at.Chain))
	}
}
