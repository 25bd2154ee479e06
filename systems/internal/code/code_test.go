package code

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/net/wire"
)

type pad struct {
	X, Y                int8
	Press, Jump, Crouch bool
}

var padInput = ecs.NewInput[pad]()

func testGame() *ecs.Game {
	return &ecs.Game{Name: "code", TickRate: 60, MaxPlayers: 2, Input: padInput}
}

// An input is decoded unchanged for every predicted input. It takes at most the number of bits of the worst case.
func TestAnInputComesBackAgainstAnyExpectedOne(t *testing.T) {
	game := testGame()
	pads := []pad{{}, {X: 1}, {X: -1, Y: 3}, {X: -1, Y: 3, Press: true}}
	for _, e := range pads {
		for _, p := range pads {
			expected, in := padInput.Pack(e), padInput.Pack(p)
			w := wire.NewBitWriter(nil, 64)
			AppendChange(&w, &expected, &in, game)
			r := wire.NewBitReader(w.Bytes())
			got, all := expected, r.Len()
			if changed, ok := ReadChange(&r, &got, game); !ok || changed != (in != expected) || got != in || r.Close() != nil || all > (WorstChange(game)+7)/8*8 {
				t.Errorf("%+v against %+v came back as %x in %d bits", p, e, got, all)
			}
		}
	}
}

// Each input has one code. Every code that is read stands for an input that a program can have.
func TestAnInputIsReadInOneWayOnly(t *testing.T) {
	game := testGame()
	random, read := rand.New(rand.NewPCG(1, 1)), 0
	for i := range 200_000 {
		c := Course{padInput.Pack(pad{X: int8(random.Uint32()), Y: int8(random.IntN(3))}), padInput.Pack(pad{X: int8(random.IntN(9))})}
		if i%2 == 0 {
			c.Before = c.Last // no number has an order
		}
		again := c
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], random.Uint64()>>random.IntN(64))
		r := wire.NewBitReader(b[:])
		expected := game.Input.Predict(c.Last)
		changed, ok := c.Read(&r, game)
		if !ok || r.Err() != nil {
			continue
		}
		read++
		w := wire.NewBitWriter(nil, 64)
		again.Append(&w, &c.Last, game)
		w.Copy(&r, r.Len())
		if c != again || !bytes.Equal(w.Bytes(), b[:]) || !game.Input.Valid(c.Last) || changed != (c.Last != expected) {
			t.Fatalf("%x is read as %x, which is written as %x", b, c.Last, w.Bytes())
		}
	}
	if read < 100_000 {
		t.Errorf("only %d codes were read", read)
	}
}

// Numbers of every width come back whatever they were before, in at most the number of bits of the worst case. A number that moves
// at the same rate takes fewer bits than one that begins to move.
func TestMovingNumbersComeBack(t *testing.T) {
	type sticks struct {
		A     int8
		B     uint16
		C     int32
		D     int64
		E     float32
		Press bool
	}
	input := ecs.NewInput[sticks]()
	game := &ecs.Game{Name: "code", TickRate: 60, MaxPlayers: 2, Input: input}
	random := rand.New(rand.NewPCG(2, 2))
	var c Course
	for range 20_000 {
		shift := random.IntN(64)
		s := input.Unpack(c.Last)
		move := int64(random.Uint64()) >> shift
		s.A, s.B, s.C, s.D, s.E = s.A+int8(move), s.B-uint16(move), s.C+int32(move), s.D-move, float32(move)
		s.Press = move&1 == 0
		in, read := input.Pack(s), c
		w := wire.NewBitWriter(nil, 64)
		c.Append(&w, &in, game)
		bits := w.Len()
		r := wire.NewBitReader(w.Bytes())
		if _, ok := read.Read(&r, game); !ok || read != c || read.Last != in || r.Close() != nil || bits > WorstChange(game) {
			t.Fatalf("%+v came back as %+v in %d bits", s, input.Unpack(read.Last), bits)
		}
	}
	pads, bits := []int8{0, 40, 79, 121}, []int{}
	var moving Course
	for _, x := range pads {
		in, w := padInput.Pack(pad{X: x}), wire.NewBitWriter(nil, 64)
		moving.Append(&w, &in, testGame())
		bits = append(bits, w.Len())
	}
	if bits[2] >= bits[1] || bits[3] >= bits[1] {
		t.Errorf("a stick that moves takes %d bits", bits)
	}
}

// A stored code is copied unchanged to any place, whatever its length.
func TestAStoredCodeIsCopiedUnchanged(t *testing.T) {
	for n := range 200 {
		stored, want := wire.NewBitWriter(nil, 64), wire.NewBitWriter(nil, 64)
		want.Bits(5, 3)
		for i := range n {
			stored.Bool(i%3 == 0)
			want.Bool(i%3 == 0)
		}
		stored.Bool(true)
		got := wire.NewBitWriter(nil, 64)
		got.Bits(5, 3)
		if AppendStored(&got, stored.Bytes()); !bytes.Equal(got.Bytes(), want.Bytes()) || StoredBits(stored.Bytes()) != n {
			t.Fatalf("%d bits: %x, want %x; size %d", n, got.Bytes(), want.Bytes(), StoredBits(stored.Bytes()))
		}
	}
}

// An action comes back as it was; a row beyond an entity's makes the reader fail.
func TestAnActionComesBack(t *testing.T) {
	target, payload := ecs.Entity{Row: 1<<32 - 1, Born: 1 << 40}, []byte("buy")
	w := wire.NewWriter(nil, 64)
	AppendAction(&w, target, payload)
	r := wire.NewReader(w.Bytes())
	if e, p := ReadAction(&r); e != target || !bytes.Equal(p, payload) || r.Close() != nil {
		t.Error(e, p, r.Err())
	}
	w = wire.NewWriter(nil, 64)
	w.Uvarint(1 << 32)
	w.Uvarint(1)
	w.Blob(nil)
	r = wire.NewReader(w.Bytes())
	if ReadAction(&r); r.Close() == nil {
		t.Error("a row of 33 bits was read")
	}
}
