package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/net/wire/vectors"
)

// The vectors pin the format of STANDARD.md byte by byte. Hash chains are compared across versions and strategies, so the
// code of a tick and the hash are pinned too.
func TestVectorsHoldBothWays(t *testing.T) {
	seen := map[string]int{}
	for _, v := range vectors.Read(t) {
		seen[v.Kind]++
		meaning, again, err := map[string]func([]byte) (string, []byte, error){"tick": readTickVector, "offer": readOfferVector, "record": readRecordVector}[v.Kind](v.Bytes)
		if v.Meaning == vectors.Refused {
			if err == nil {
				t.Errorf("%s: %x is accepted as %s", v.Name, v.Bytes, meaning)
			}
			continue
		}
		if err != nil || meaning != v.Meaning {
			t.Errorf("%s: it means\n%s, want\n%s: %v", v.Name, meaning, v.Meaning, err)
		}
		if again != nil && !bytes.Equal(again, v.Bytes) {
			t.Errorf("%s: written again it is\n%x, want\n%x", v.Name, again, v.Bytes)
		}
	}
	if seen["tick"] < 20 || seen["offer"] < 2 || seen["record"] < 14 {
		t.Errorf("vectors by kind: %v", seen)
	}
}

// readTickVector reads a code after zero inputs and chain 0, and writes it again.
func readTickVector(code []byte) (meaning string, again []byte, err error) {
	e, r := newEntries(NewCodec(vectorGame()), Position{}), wire.NewReader(code)
	e.readCode(&r)
	if err := r.Close(); err != nil {
		return "", nil, err
	}
	return tickMeaning(&e), e.codec.AppendTick(nil, nil, &e.tick), nil
}

// tickMeaning describes a tick that was read.
func tickMeaning(e *entries) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tick %d chain %016x", e.tick.Tick, uint64(e.at.Chain))
	for p, in := range e.tick.Inputs {
		if in != (ecs.InputBytes{}) {
			fmt.Fprintf(&b, " input %d=%x", p, in[:e.codec.inputSize])
		}
	}
	if e.tick.Late != 0 {
		fmt.Fprintf(&b, " late %#x", uint64(e.tick.Late))
	}
	for _, o := range e.tick.Orders {
		fmt.Fprintf(&b, " order %d/%d/%d/%d/%x", o.Kind, o.Player, o.Entity.Row, o.Entity.Born, o.Payload)
	}
	if e.tick.Checksum != 0 {
		fmt.Fprintf(&b, " checksum %016x", uint64(e.tick.Checksum))
	}
	return b.String()
}

// readOfferVector reads an offer after zero inputs, tick 0 and chain 0, and writes it again.
func readOfferVector(body []byte) (meaning string, again []byte, err error) {
	offer, err := NewCodec(vectorGame()).ReadTail(body, Position{}, NewProver(vectorGame(), proofKey, proofMatch, Digest{}))
	if err != nil {
		return "", nil, err
	}
	tail := newTail(200)
	tail.Start(Position{})
	for tick := range offer.Ticks() {
		tail.Append(tick)
	}
	again, _, _ = tail.AppendFrom(nil, 1, MaxTailBytes)
	return fmt.Sprintf("ticks to %d chain %016x", offer.Last().Tick, uint64(offer.Last().Chain)), again, nil
}

// readRecordVector reads a file. It writes one again that has no image, since compressors differ, and that is not torn. An older
// version is written again as the newest one.
func readRecordVector(data []byte) (meaning string, again []byte, err error) {
	r, err := Open(data, vectorGame())
	if err != nil {
		return "", nil, err
	}
	h := r.Header()
	parts := []string{fmt.Sprintf("%s %s match %d seed %d start %d", strconv.Quote(h.Flags), h.Room, h.Match, h.Seed, h.Start.Tick)}
	if h.Present != "" {
		parts = append(parts, fmt.Sprintf("%s since %d", h.Present, h.Since))
	}
	var to bytes.Buffer
	w, err := NewWriter(&to, vectorGame(), h)
	for e, kind := range r.read(0) {
		switch kind {
		case kindTick:
			parts = append(parts, tickMeaning(e))
			err = errors.Join(err, w.Tick(e.tick))
		case kindSeat:
			parts = append(parts, fmt.Sprintf("seat %d client %d %s held %v", e.seat.Player, e.seat.Client, e.seat.Name, e.seat.Held))
			err = errors.Join(err, w.Seat(e.seat))
		case kindImage:
			encoded, err := e.image.unpack()
			if err != nil {
				return "", nil, err
			}
			if e.image.count > 0 {
				past, err := e.image.past.unpack()
				if err != nil {
					return "", nil, err
				}
				parts = append(parts, fmt.Sprintf("past %d %x", e.image.count, past))
			}
			parts = append(parts, fmt.Sprintf("image %x", encoded))
		}
	}
	if torn := r.Torn(); torn != nil {
		return strings.Join(append(parts, fmt.Sprintf("torn at %d", torn.Offset)), "; "), nil, nil
	}
	if r.Ended() {
		parts = append(parts, "ended")
		err = errors.Join(err, w.End())
	} else {
		err = errors.Join(err, w.Flush())
	}
	to.Bytes()[len(magic)] = data[len(magic)]
	if len(r.Images()) > 0 {
		to = *bytes.NewBuffer(data)
		err = nil
	}
	return strings.Join(parts, "; "), to.Bytes(), err
}

// The lines of testdata/vectors.txt for files, printed by -v, to be copied after a change of the format.
func TestPrintVectors(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("with -v")
	}
	header := func(seed uint64) Header {
		h, g := header(seed), HeaderOf(vectorGame(), seed, build)
		h.Fingerprint, h.Layout = g.Fingerprint, g.Layout
		return h
	}
	line := func(name string, data []byte) {
		meaning, _, err := readRecordVector(data)
		if err != nil {
			meaning = vectors.Refused
		}
		fmt.Printf("record/%s | %s | %s\n", name, hex.EncodeToString(data), meaning)
	}
	write := func(h Header, fill func(w *Writer) error) []byte {
		var to bytes.Buffer
		w, err := NewWriter(&to, vectorGame(), h)
		if err == nil {
			err = fill(w)
		}
		if err != nil {
			t.Fatal(err)
		}
		return to.Bytes()
	}
	empty := write(header(7), (*Writer).Flush)
	line("header-only", empty)
	line("ended-at-once", write(header(7), (*Writer).End))
	quiet := write(header(7), func(w *Writer) error { return errors.Join(w.Tick(Tick{Tick: 1}), w.Flush()) })
	line("quiet-tick", quiet)
	line("torn-tick", quiet[:len(quiet)-1])
	in := pads.Pack(pad{DX: -1, Aim: 0x0201, Fire: true})
	full := write(header(7), func(w *Writer) error {
		return errors.Join(w.Seat(Seat{Player: 1, Client: 9, Name: "ann", Held: true}),
			w.Tick(Tick{Tick: 1, Inputs: []ecs.InputBytes{{}, in}, Late: 2, Checksum: 0x1234,
				Orders: []image.Order{{Kind: image.OrderJoin, Player: 1}, {Player: 2, Entity: ecs.Entity{Row: 1 << 20, Born: 300}, Payload: []byte("buy")}}}),
			w.Tick(Tick{Tick: 2, Inputs: []ecs.InputBytes{{}, in}}), w.Seat(Seat{Player: 1, Client: 9}), w.End())
	})
	line("everything-but-an-image", full)
	late := header(7)
	late.Start = Position{Tick: 300, Chain: 5, Inputs: []ecs.InputBytes{in, {}, {}}}
	line("later-start-with-an-image", write(late, func(w *Writer) error {
		return errors.Join(w.ImageBytes([]byte("state")), w.Tick(Tick{Tick: 301, Inputs: []ecs.InputBytes{in}}), w.End())
	}))
	past := func(count byte, next ...byte) []byte {
		return write(late, func(w *Writer) error {
			w.open = append(w.open, byte(kindPast), count)
			err := w.appendPacked([]byte("\x05older\x05delta"))
			if w.open = append(w.open, next...); len(next) == 0 {
				err = errors.Join(err, w.ImageBytes([]byte("state")))
			}
			return errors.Join(err, w.End())
		})
	}
	line("image-with-a-past", past(2))
	line("past-of-no-states", past(0))
	line("past-without-an-image", past(2, byte(kindSeat), 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	late.Start.Tick = 1
	line("past-from-before-tick-0", past(2))
	old := bytes.Clone(full)
	old[len(magic)] = 2
	line("version-2", old)
	old = bytes.Clone(full)
	old[len(magic)] = startVersion
	line("version-4-without-a-digest", old)
	old = bytes.Clone(full)
	old[len(magic)] = startVersion + 1
	line("version-5", old)
	digested := header(7)
	digested.Start.Tick, digested.Digest[0] = 5, 1
	line("digest-of-a-later-start", write(digested, (*Writer).Flush))
	switched := header(7)
	switched.Start.Tick, switched.Since, switched.Present = 5, 4, "verify"
	later := write(switched, (*Writer).Flush)
	line("strategy-of-a-later-start", later)
	wrong := func(since byte, present string) []byte {
		h := switched.append(nil)
		h = append(h[:len(h)-len("\x04\x06verify")], since, byte(len(present)))
		b := append([]byte(magic), startVersion)
		return appendBlock(b, uint64(len(b)), append(h, present...))
	}
	line("strategy-of-after-the-start", wrong(6, "verify"))
	line("strategy-without-a-tick", wrong(0, "verify"))
	line("tick-without-a-strategy", wrong(4, ""))
	flipped := bytes.Clone(full)
	flipped[len(empty)+12] ^= 1
	line("wrong-bit-in-the-last-block", flipped)
	flipped = write(header(7), func(w *Writer) error {
		return errors.Join(w.Tick(Tick{Tick: 1}), w.Flush(), w.Tick(Tick{Tick: 2}), w.End())
	})
	flipped[len(quiet)-1] ^= 1
	line("wrong-bit-in-another-block", flipped)
	line("behind-the-end-mark", append(bytes.Clone(full), 0))
	line("recording-of-an-earlier-version", []byte("TENDONRC\x01"))
	line("journal-of-an-earlier-version", []byte("TENDONJL\x01"))
	line("version-1", []byte(magic+"\x01"))
}

// vectorGame returns the game of the vectors, which has no orders: payloads are opaque to the format.
func vectorGame() *ecs.Game {
	g := game()
	g.Orders = nil
	return g
}
