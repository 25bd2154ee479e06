package code

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/net/wire"
)

type pad struct {
	X, Y  int8
	Press bool
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
			AppendChange(&w, &expected, &in, game.Input.Size())
			r := wire.NewBitReader(w.Bytes())
			got, all := expected, r.Len()
			if changed, ok := ReadChange(&r, &got, game); !ok || changed != (in != expected) || got != in || r.Close() != nil || all > (WorstChange(game.Input.Size())+7)/8*8 {
				t.Errorf("%+v against %+v came back as %x in %d bits", p, e, got, all)
			}
		}
	}
}

// There is one way to write an input, and it is one that a program can have.
func TestAnInputIsReadInOneWayOnly(t *testing.T) {
	game := testGame()
	for name, bits := range map[string][]uint64{
		"changed, but no byte is": {1, 0, 0, 0}, "a byte that is as expected": {1, 1, 0, 0, 0}, "a boolean that is 2": {1, 0, 0, 1, 2},
	} {
		w := wire.NewBitWriter(nil, 64)
		for i, b := range bits {
			n := 1
			if i > 1 && bits[i-1] == 1 {
				n = 8
			}
			w.Bits(b, n)
		}
		r := wire.NewBitReader(w.Bytes())
		var in ecs.InputBytes
		if _, ok := ReadChange(&r, &in, game); ok {
			t.Errorf("%s: read as %x", name, in)
		}
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
