package verify

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/net/wire/vectors"
	"tendon/systems"
)

// near is the tick that short ticks are expanded against in fuzz targets and vectors.
const near = 1000

// vector is a line of testdata/vectors.txt.
type vector vectors.Vector

func commandText(c *Command) string {
	if c.Kind == CommandOrder {
		return strings.TrimSpace(fmt.Sprintf("number %d row %d born %d payload %x", c.Given, c.Target.Row, c.Target.Born, c.Order))
	}
	p := padInput.Unpack(c.Input)
	text := fmt.Sprintf("pad %d %d", p.DX, p.DY)
	if p.Throw {
		text += " fire"
	}
	return text
}

// decode says what the bytes mean, in the words of the vectors.
func (v *vector) decode(game *ecs.Game) (string, error) {
	switch v.Kind {
	case "ask":
		var m askMessage
		err := m.read(v.Bytes, near, game)
		text := fmt.Sprintf("held %d lost %t first %d skip %d", m.held, m.lost, m.first, m.skip)
		for i := range m.asked {
			text += "; " + commandText(&m.asked[i])
		}
		return text, err
	case "state":
		var m stateMessage
		err := m.read(v.Bytes)
		text := fmt.Sprintf("base %d tick %d answered %d", m.base, m.tick, m.answered)
		for _, r := range m.rejected {
			text += fmt.Sprintf("; rejected %d for %d", r.number, r.reason)
		}
		for _, b := range m.happened {
			text += fmt.Sprintf("; happened %x", b)
		}
		return text + fmt.Sprintf("; delta %x", m.delta), err
	case "piece":
		more, piece, err := readPiece(v.Bytes)
		return fmt.Sprintf("more %t: %x", more, piece), err
	case "params":
		var c Config
		if c.takeParams(v.Bytes) != nil {
			return "", ErrMessage
		}
		return fmt.Sprintf("reliable %t outstanding %d timeout %d", c.Reliable, c.MaxOutstanding, c.Timeout/millisecond), nil
	}
	return "", fmt.Errorf("no kind %q", v.Kind)
}

// encode writes what a meaning says.
func (v *vector) encode(t *testing.T, game *ecs.Game) []byte {
	parts := strings.Split(v.Meaning, "; ")
	scan := func(text, format string, into ...any) {
		if _, err := fmt.Sscanf(text, format, into...); err != nil && !strings.HasSuffix(text, "payload") {
			t.Fatalf("%s: %q: %v", v.Name, text, err)
		}
	}
	switch v.Kind {
	case "ask":
		var m askMessage
		scan(parts[0], "held %d lost %t first %d skip %d", &m.held, &m.lost, &m.first, &m.skip)
		for _, part := range parts[1:] {
			c := Command{}
			if strings.HasPrefix(part, "number") {
				c.Kind = CommandOrder
				scan(part, "number %d row %d born %d payload %x", &c.Given, &c.Target.Row, &c.Target.Born, &c.Order)
			} else {
				var p pad
				scan(part, "pad %d %d", &p.DX, &p.DY)
				p.Throw = strings.HasSuffix(part, "fire")
				c.Input = padInput.Pack(p)
			}
			m.asked = append(m.asked, c)
		}
		b, _ := m.append(nil, systems.MaxDatagram, game)
		return b
	case "state":
		var m stateMessage
		scan(parts[0], "base %d tick %d answered %d", &m.base, &m.tick, &m.answered)
		for _, part := range parts[1:] {
			var r rejection
			var b []byte
			switch word, _, _ := strings.Cut(part, " "); word {
			case "rejected":
				scan(part, "rejected %d for %d", &r.number, &r.reason)
				m.rejected = append(m.rejected, r)
			case "happened":
				scan(part, "happened %x", &b)
				m.happened = append(m.happened, b)
			default:
				scan(part, "delta %x", &m.delta)
			}
		}
		return m.append(nil)
	case "piece":
		var more bool
		var b []byte
		scan(v.Meaning, "more %t: %x", &more, &b)
		return appendPiece(nil, more, b)
	}
	var c Config
	scan(v.Meaning, "reliable %t outstanding %d timeout %d", &c.Reliable, &c.MaxOutstanding, (*int64)(&c.Timeout))
	c.Timeout *= millisecond
	return c.params()
}

// The vectors are the standard: what is written there is what is sent, and what is refused there is refused.
func TestTheVectorsHoldBothWays(t *testing.T) {
	game := testGame(60)
	kinds := map[string]int{}
	for _, line := range vectors.Read(t) {
		v := vector(line)
		got, err := v.decode(game)
		if v.Meaning == vectors.Refused {
			if !errors.Is(err, ErrMessage) {
				t.Errorf("%s: %v %q", v.Name, err, got)
			}
			kinds[v.Kind+" refused"]++
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
	for _, kind := range []string{"ask", "state", "piece", "params"} {
		if kinds[kind] < 2 || kinds[kind+" refused"] < 2 {
			t.Errorf("%d vectors of kind %s, and %d that are refused", kinds[kind], kind, kinds[kind+" refused"])
		}
	}
}
