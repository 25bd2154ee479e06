package inputs

import (
	"bytes"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
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
		got, ok := new(WindowDecoder).Read(&r, 1, before, game)
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
		"as large as a message can be": append(bytes.Clone(good), make([]byte, systems.MaxReliable)...),
	} {
		r, d := wire.NewReader(b), new(WindowDecoder)
		if list, ok := d.Read(&r, 1, code.Course{}, game); ok {
			t.Errorf("%s: read as %x", name, list)
		}
		if held := cap(d.last.codes) + cap(d.next.codes); held > 0 {
			t.Errorf("%s: %d bytes are held", name, held)
		}
	}
}

// A window is read as the same inputs whatever was read before it: later or earlier ticks, other inputs, or a refused window.
func TestAWindowDoesNotDependOnTheLastOne(t *testing.T) {
	game, r := testGame(), image.NewRand(7)
	next := func() ecs.InputBytes {
		return padInput.Pack(pad{X: int8(r.IntN(5)), Y: int8(r.IntN(100)), Fire: r.Chance(1, 4)})
	}
	all := make([]ecs.InputBytes, 1000)
	for i := range all {
		all[i] = next()
	}
	var d WindowDecoder
	first, repeated, refused := 2, 0, 0
	for range 5000 {
		switch r.IntN(8) {
		case 0: // the server substituted an input, or the client skipped a tick
			all[first+r.IntN(10)-2] = next()
		case 1:
			first = max(2, first-r.IntN(20))
		case 2:
			first += r.IntN(30)
		default:
			first += r.IntN(3)
		}
		if first+MaxWindow+20 > len(all) {
			first = 2
		}
		list := all[first : first+r.IntN(20)]
		if r.Chance(1, 50) {
			list = all[first : first+MaxWindow]
		}
		before := code.Course{Last: all[first-1], Before: all[first-2]}
		message := AppendWindow(nil, 1000, before, list, game)
		if r.Chance(1, 4) {
			message[r.IntN(len(message))] ^= 1 << r.IntN(8)
		}
		probe, bits := WindowDecoder{last: d.last}, wire.NewBitReader(message[1:])
		probe.next = window{first: ecs.Tick(first), inputs: []ecs.InputBytes{before.Before, before.Last}}
		if _, ok := probe.repeated(&bits); ok {
			repeated++
		}
		one, other := wire.NewReader(message), wire.NewReader(message)
		got, ok := d.Read(&one, ecs.Tick(first), before, game)
		want, wantOK := new(WindowDecoder).Read(&other, 1, before, game)
		if ok != wantOK || !slices.Equal(got, want) {
			t.Fatalf("from tick %d: %x is %v, %v, want %v, %v", first, message, got, ok, want, wantOK)
		}
		if !ok {
			refused++
		}
	}
	if repeated < 1000 || refused < 100 {
		t.Errorf("proves nothing: %d windows begin with an input of the window before, %d were refused", repeated, refused)
	}
}
