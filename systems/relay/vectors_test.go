package relay

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/net/wire/vectors"
)

// vector is a line of testdata/vectors.txt.
type vector vectors.Vector

func padText(in ecs.InputBytes) string {
	p := padInput.Unpack(in)
	text := fmt.Sprintf("%d,%d", p.DX, p.DY)
	if p.Throw {
		text += "!"
	}
	return text
}

func padsText(inputs []ecs.InputBytes) string {
	var list []string
	for _, in := range inputs {
		list = append(list, padText(in))
	}
	return strings.Join(list, " ")
}

func parsePads(t *testing.T, text string) (inputs []ecs.InputBytes) {
	for _, word := range strings.Fields(text) {
		var p pad
		if _, err := fmt.Sscanf(strings.TrimSuffix(word, "!"), "%d,%d", &p.DX, &p.DY); err != nil {
			t.Fatal(word, err)
		}
		p.Throw = strings.HasSuffix(word, "!")
		inputs = append(inputs, padInput.Pack(p))
	}
	return inputs
}

// decode says what the bytes mean, in the words of the vectors.
func (v *vector) decode(game *ecs.Game) (string, error) {
	switch v.Kind {
	case "input":
		var m inputMessage
		err := m.readAlone(v.Bytes, near, game)
		return strings.TrimSpace(fmt.Sprintf("received %d: %s", m.received, padsText(m.inputs))), err
	case "confirm":
		var c confirmation
		if err := c.read(v.Bytes, game); err != nil {
			return "", ErrMessage
		}
		text := fmt.Sprintf("first %d more %d", c.head.first, c.head.more)
		if c.head.withoutOwn {
			text = "without own " + text
		}
		if c.head.hasMargin {
			text += fmt.Sprintf(" margin %d of %d", c.head.margin.Value, c.head.margin.Tick)
		}
		for i := range c.ticks {
			text += fmt.Sprintf("; %s altered %x orders %x", padsText(c.ticks[i].inputs), uint64(c.ticks[i].altered), c.ticks[i].orders)
		}
		return text, nil
	case "stamped":
		var s stampedOrder
		err := s.read(v.Bytes, game)
		return fmt.Sprintf("tick %d number %d kind %d player %d row %d born %d payload %x", s.tick, s.number, s.order.Kind, s.order.Player, s.order.Entity.Row, s.order.Entity.Born, s.order.Payload), err
	case "order":
		n, target, payload, err := readRequest(v.Bytes)
		return fmt.Sprintf("number %d row %d born %d payload %x", n, target.Row, target.Born, payload), err
	case "hash":
		var m hashMessage
		err := m.read(v.Bytes)
		return fmt.Sprintf("tick %d sum %x", m.tick, uint64(m.sum)), err
	}
	return "", fmt.Errorf("no kind %q", v.Kind)
}

// encode writes what a meaning says.
func (v *vector) encode(t *testing.T, game *ecs.Game) []byte {
	scan := func(format string, into ...any) {
		if _, err := fmt.Sscanf(v.Meaning, format, into...); err != nil && !strings.HasSuffix(v.Meaning, "payload") {
			t.Fatalf("%s: %v", v.Name, err)
		}
	}
	switch v.Kind {
	case "input":
		var m inputMessage
		head, pads, _ := strings.Cut(v.Meaning, ":")
		if _, err := fmt.Sscanf(head, "received %d", &m.received); err != nil {
			t.Fatal(err)
		}
		m.inputs = parsePads(t, pads)
		return m.alone(game)
	case "confirm":
		return v.encodeConfirm(t, game)
	case "stamped":
		var s stampedOrder
		scan("tick %d number %d kind %d player %d row %d born %d payload %x", &s.tick, &s.number, &s.order.Kind, &s.order.Player, &s.order.Entity.Row, &s.order.Entity.Born, &s.order.Payload)
		return s.append(nil)
	case "order":
		var target ecs.Entity
		var payload []byte
		var n uint64
		scan("number %d row %d born %d payload %x", &n, &target.Row, &target.Born, &payload)
		return appendRequest(nil, n, target, payload)
	}
	var m hashMessage
	scan("tick %d sum %x", &m.tick, (*uint64)(&m.sum))
	return m.append(nil)
}

func (v *vector) encodeConfirm(t *testing.T, game *ecs.Game) []byte {
	var c confirmation
	parts := strings.Split(v.Meaning, ";")
	parts[0], c.head.withoutOwn = strings.CutPrefix(parts[0], "without own ")
	if c.head.hasMargin = strings.Contains(parts[0], "margin"); c.head.hasMargin {
		if _, err := fmt.Sscanf(parts[0], "first %d more %d margin %d of %d", &c.head.first, &c.head.more, &c.head.margin.Value, &c.head.margin.Tick); err != nil {
			t.Fatal(err)
		}
	} else if _, err := fmt.Sscanf(parts[0], "first %d more %d", &c.head.first, &c.head.more); err != nil {
		t.Fatal(err)
	}
	for _, part := range parts[1:] {
		pads, rest, _ := strings.Cut(part, "altered")
		tick := finalTick{inputs: parsePads(t, pads)}
		if _, err := fmt.Sscanf(rest, " %x orders %x", (*uint64)(&tick.altered), &tick.orders); err != nil {
			t.Fatal(v.Name, err)
		}
		c.ticks = append(c.ticks, tick)
	}
	c.head.count = len(c.ticks)
	return c.append(nil, game)
}

// The vectors are the standard: what is written there is what is sent, and what is refused there is refused.
func TestTheVectorsHoldBothWays(t *testing.T) {
	game := testGame()
	kinds := map[string]int{}
	for _, line := range vectors.Read(t) {
		v := vector(line)
		got, err := v.decode(game)
		if v.Meaning == vectors.Refused {
			if !errors.Is(err, ErrMessage) {
				t.Errorf("%s: %v %q", v.Name, err, got)
			}
			continue
		}
		if got = strings.TrimSpace(got); err != nil || got != v.Meaning {
			t.Errorf("%s: %v\n got %q\nwant %q", v.Name, err, got, v.Meaning)
			continue
		}
		if again := v.encode(t, game); !bytes.Equal(again, v.Bytes) {
			t.Errorf("%s: encodes to %x", v.Name, again)
		}
		kinds[v.Kind]++
	}
	for _, kind := range []string{"input", "confirm", "order", "stamped", "hash"} {
		if kinds[kind] < 2 {
			t.Errorf("%d vectors of kind %s", kinds[kind], kind)
		}
	}
}
