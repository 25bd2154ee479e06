package inputs

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems/internal/code"
)

type pad struct {
	X, Y int8
	Fire bool `tendon:"press"`
}

var padInput = ecs.NewInput[pad]()

func testGame() *ecs.Game {
	return &ecs.Game{Name: "inputs", TickRate: 60, MaxPlayers: 2, Input: padInput}
}

// Inputs come back in order; where not all fit, the oldest do, since the rest is worth nothing without them.
func TestAWindowCarriesTheOldestThatFit(t *testing.T) {
	game := testGame()
	before := code.Course{Last: padInput.Pack(pad{X: 3}), Before: padInput.Pack(pad{X: 1})}
	var list []ecs.InputBytes
	for i := range 100 {
		list = append(list, padInput.Pack(pad{X: int8(i), Y: int8(i / 3), Fire: i%7 == 0}))
	}
	for _, limit := range []int{1, 2, 10, 60, 400, 1000} {
		head := []byte("head")
		b := AppendWindow(bytes.Clone(head), limit, before, list, game)
		if !bytes.HasPrefix(b, head) || len(b) > len(head)+limit {
			t.Fatalf("limit %d: %d bytes after the head", limit, len(b)-len(head))
		}
		r := wire.NewReader(b[len(head):])
		got, ok := ReadWindow(nil, &r, before, game)
		if !ok || len(got) > len(list) || limit == 1000 && len(got) != len(list) || limit >= 10 && len(got) == 0 {
			t.Fatalf("limit %d: %d inputs, %v", limit, len(got), ok)
		}
		for i := range got {
			if got[i] != list[i] {
				t.Fatalf("limit %d: input %d is %x, want %x", limit, i, got[i], list[i])
			}
		}
	}
}

// Bytes that AppendWindow does not write are refused: too many inputs, an input that no program can have, bits after the end.
func TestAMalformedWindowIsRefused(t *testing.T) {
	game := testGame()
	good := AppendWindow(nil, 100, code.Course{}, []ecs.InputBytes{padInput.Pack(pad{X: 1})}, game)
	for name, b := range map[string][]byte{
		"nothing": {}, "too many": append([]byte{MaxWindow + 1}, make([]byte, 100)...), "cut": good[:len(good)-1],
		"a byte more": append(bytes.Clone(good), 0), "a boolean that is 2": {1, 0b00001001, 0b01},
	} {
		r := wire.NewReader(b)
		if list, ok := ReadWindow(nil, &r, code.Course{}, game); ok {
			t.Errorf("%s: read as %x", name, list)
		}
	}
}
