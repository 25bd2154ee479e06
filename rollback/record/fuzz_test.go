package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/net/wire/vectors"
)

// reseal gives every block the checksums of its content, so that fuzzing reaches the parsers.
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

// Content with correct checksums is still checked: another writer may have made it.
func TestWholeBlocksWithMalformedEntriesAreDamage(t *testing.T) {
	_, f := journal(t, 13, 24, 24)
	for name, payload := range map[string][]byte{
		"kind":          {byte(kindPast) + 1},
		"seat":          append([]byte{byte(kindSeat), 0, 3}, make([]byte, 9)...),
		"held":          append([]byte{byte(kindSeat), 2, 1}, make([]byte, 9)...),
		"name":          append([]byte{byte(kindSeat), 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 33}, make([]byte, 33)...),
		"second image":  {byte(kindImage), 1, 1, 0},
		"giant image":   {0, byte(kindImage), 0xff, 0xff, 0xff, 0xff, 1, 1, 0},
		"cut image":     {0, byte(kindImage), 9, 9, 0},
		"past alone":    {0, byte(kindPast), 1, 1, 1, 0},
		"empty past":    {0, byte(kindPast), 0, 1, 1, 0, byte(kindImage), 1, 1, 0},
		"giant past":    {0, byte(kindPast), 1, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, byte(kindImage), 1, 1, 0},
		"longer past":   {0, byte(kindPast), 26, 1, 1, 0, byte(kindImage), 1, 1, 0},
		"long past":     {0, byte(kindPast), 0x81, 8, 1, 1, 0, byte(kindImage), 1, 1, 0},
		"cut past":      {0, byte(kindPast), 1, 9, 9, 0},
		"second past":   {0, byte(kindPast), 1, 1, 1, 0, byte(kindPast), 1, 1, 1, 0, byte(kindImage), 1, 1, 0},
		"cut tick":      {0, flagInputs},
		"same input":    {flagInputs, 1, 1},
		"no late":       {flagLate, 0},
		"late player 3": {flagLate, 8},
		"checksum 0":    append([]byte{flagChecksum}, make([]byte, 8)...),
		"other chain":   append([]byte{byte(kindEnd)}, make([]byte, 8)...),
		"after the end": append(binary.LittleEndian.AppendUint64([]byte{byte(kindEnd)}, uint64(open(t, f.Bytes()).Last().Chain)), 0),
		"second header": bytes.Clone(f.Bytes()[openingBytes+9:][:40]),
	} {
		data := appendBlock(slices.Clone(f.Bytes()), uint64(f.Len()), payload)
		var damage *DamageError
		if _, err := Open(data, game()); !errors.Is(err, ErrCorrupt) || !errors.As(err, &damage) || damage.Offset != f.Len() || damage.Last != 24 {
			t.Errorf("%s: %v", name, err)
		}
	}
	image := appendBlob([]byte{0, byte(kindImage), 100}, "not zstd")
	if _, err := open(t, appendBlock(slices.Clone(f.Bytes()), uint64(f.Len()), image)).WorldAt(25); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// Reading any bytes takes memory in proportion to them and never panics. A record that opens has
// exactly the ticks that it claims, and a writer that continues it is read back.
func FuzzOpen(f *testing.F) {
	_, to := journal(f, 40, 45, 30)
	f.Add(to.Bytes(), true)
	f.Add(to.Bytes()[:to.Len()-9], false)
	f.Add(newMatch(f, 40).recording(45).Bytes(), true)
	late := newMatch(f, 40)
	late.view, late.stored = always, 18
	for range 30 {
		late.step()
	}
	f.Add(late.recording(12).Bytes(), true)
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
		var r *Record
		var err error
		if n := vectors.Allocated(func() { r, err = Open(data, g) }); n > 128<<10+128*uint64(len(data)) {
			t.Fatalf("%d bytes allocated for %d", n, len(data))
		}
		if r == nil {
			if err == nil {
				t.Fatal("neither a record nor an error")
			}
			return
		}
		n := r.Start()
		for tick := range r.Ticks(0, maxTick) {
			n++
			if _, err := r.codec.check(nil, tick); tick.Tick != n || len(tick.Inputs) != g.MaxPlayers || err != nil {
				t.Fatalf("tick %d after %d: %v", tick.Tick, n-1, err)
			}
		}
		last := r.Last()
		if n != last.Tick {
			t.Fatalf("%d ticks to %d", n, last.Tick)
		}
		if w, err := r.WorldAt(last.Tick); err == nil && w.Tick() != last.Tick {
			t.Fatalf("the world of tick %d for %d", w.Tick(), last.Tick)
		}
		if result, err := r.Verify(last.Tick); err == nil && result.To != last.Tick {
			t.Fatalf("verified to %d of %d", result.To, last.Tick)
		}
		again := &file{}
		again.Buffer.Write(r.Bytes())
		w := r.Resume(again)
		if w.Tick(Tick{Tick: last.Tick + 1}) != nil {
			return // it is ended, there is no image yet, or the tick number is the maximum
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
		if r, err := Open(again.Bytes(), g); err != nil || !r.Ended() || r.Last().Tick != last.Tick+1 || r.Last().Chain != w.Chain() {
			t.Fatal(err)
		}
	})
}

// An offer of any bytes is refused or understood. One that is understood is canonical: written again it is the same bytes.
func FuzzTail(f *testing.F) {
	m := newMatch(f, 41)
	tail := newTail(1 << 16)
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
		prover := m.prover(after.Tick)
		proven := claim(codec, body, after, prover.Clone())
		var offer *Offer
		var err error
		if n := vectors.Allocated(func() { offer, err = codec.ReadTail(body, after, prover) }); n > 64<<10+8*uint64(len(body)) {
			t.Fatalf("%d bytes allocated for %d", n, len(body))
		}
		if (err == nil) != proven {
			t.Fatalf("proven: %v, read: %v", proven, err)
		}
		if err != nil {
			return
		}
		again := newTail(1 << 16)
		again.prover = m.prover(after.Tick)
		again.Start(after)
		for tick := range offer.Ticks() {
			if !again.Append(tick) {
				t.Fatalf("tick %d cannot be stored", tick.Tick)
			}
		}
		written, next, ok := again.AppendFrom(nil, after.Tick+1, MaxTailBytes)
		if last := offer.Last(); ok && (next != last.Tick+1 || !slices.Equal(written, body)) || !ok && len(body) < MaxTailBytes-maxTailHead {
			t.Fatalf("%x written again is %x", body, written)
		}
	})
}

// claim puts the proof of its ticks into an offer, if they can be read, so that fuzzing gets behind it. It reports whether the
// offer is then whole.
func claim(c *Codec, body []byte, after Position, p *Prover) bool {
	r := wire.NewReader(body)
	first := ecs.Tick(r.Uvarint())
	n, head := r.Count(MaxTailBytes, 1), len(body)-r.Len()
	r.Bytes(ProofBytes)
	if r.Err() != nil || n > r.Len() {
		return false
	}
	e := newEntries(c, after)
	for range n {
		rest := len(body) - r.Len()
		if e.readCode(&r); r.Err() != nil {
			return false
		}
		p.Add(e.at.Tick, body[rest:len(body)-r.Len()])
	}
	if r.Close() != nil {
		return false
	}
	copy(body[head:], p.Proof())
	return n > 0 && first == after.Tick+1
}
