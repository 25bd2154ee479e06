package session

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tendon/net/wire"
	"tendon/net/wire/vectors"
	"tendon/rollback/record"
)

// decodeMeaning decodes any message and formats it as in vectors.txt; again is the message encoded again.
func decodeMeaning(b []byte) (meaning string, again []byte, err error) {
	m, err := new(coder).decode(b)
	if err == nil && m.kind == kindHello && m.hello.Version != Version {
		return fmt.Sprintf("hello version=%d", m.hello.Version), b, nil
	}
	if err != nil {
		return "", nil, err
	}
	return describe(m), new(coder).encode(nil, m), nil
}

func describe(m message) string {
	switch m.kind {
	case kindHello:
		m := m.hello
		return fmt.Sprintf("hello version=%d game=%x build=%q target=%q name=%q match=%x have=%d chain=%x final=%d packet=%d", m.Version, m.Fingerprint,
			m.Build, m.Target, m.Name, m.Match, m.Have, m.Chain, m.Final, m.PacketLimit)
	case kindWelcome:
		m := m.welcome
		return fmt.Sprintf("welcome strategy=%q params=%x match=%x rate=%d seat=%d role=%v epoch=%d tick=%d delay=%d image=%t",
			m.Strategy, m.Params, m.Match, m.Rate, m.Seat, m.Role, m.Epoch, m.Tick, m.Delay, m.Image)
	case kindRefusal:
		return fmt.Sprintf("refusal code=%d game=%x text=%q", m.code, m.theirs, m.text)
	case kindImageHead:
		return fmt.Sprintf("image-head epoch=%d tick=%d chain=%x strategy=%q params=%x size=%d sum=%x", m.epoch, m.image.tick, m.image.chain,
			m.image.strategy, m.image.params, m.image.size, m.image.sum)
	case kindTailAsk:
		return fmt.Sprintf("tail-ask from=%d", m.tick)
	case kindTail:
		return fmt.Sprintf("tail %x", m.data)
	case kindProof:
		return fmt.Sprintf("proof epoch=%d tick=%d %x", m.epoch, m.tick, m.data)
	case kindReady:
		return fmt.Sprintf("ready epoch=%d tick=%d", m.epoch, m.tick)
	case kindToken:
		return fmt.Sprintf("token %x", m.data)
	case kindEndpoints:
		return fmt.Sprintf("endpoints %x", m.data)
	case kindChat:
		return fmt.Sprintf("chat %q", m.text)
	case kindChatLine:
		return fmt.Sprintf("said seat=%d name=%q text=%q", m.line.Seat, m.line.Name, m.line.Text)
	case kindPing:
		return fmt.Sprintf("ping epoch=%d stamp=%d", m.epoch, m.stamp)
	case kindPong:
		return fmt.Sprintf("pong epoch=%d stamp=%d tick=%d", m.epoch, m.stamp, m.tick)
	case kindNotice:
		return fmt.Sprintf("notice seconds=%d text=%q", m.seconds, m.text)
	case kindPause:
		return fmt.Sprintf("pause on=%t", m.on)
	case kindPaused:
		return fmt.Sprintf("paused on=%t seat=%d tick=%d seconds=%d", m.paused.On, m.paused.Seat, m.paused.Tick, m.paused.Seconds)
	case kindSeat:
		return fmt.Sprintf("seat %d name=%q connected=%t bot=%t", m.seat.Seat, m.seat.Name, m.seat.Connected, m.seat.Bot)
	case kindPings:
		text := "pings"
		for seat, ms := range m.pings {
			if ms != 0 {
				text += fmt.Sprintf(" %d:%d", seat, ms)
			}
		}
		return text
	case kindVerdict:
		m := m.verdict
		return fmt.Sprintf("verdict tick=%d how=%v result=%q registered=%x voted=%x dissented=%x", m.Tick, m.How, m.Result, m.Registered, m.Voted, m.Dissented)
	case kindRefused:
		return fmt.Sprintf("refused number=%d type=%d reason=%q", m.refused.Number, m.refused.Type, m.refused.Reason)
	case kindEnd:
		return fmt.Sprintf("bye epoch=%d code=%d text=%q", m.epoch, m.code, m.text)
	}
	return ""
}

// The layouts of STANDARD.md section 4, encoded and decoded.
func TestVectors(t *testing.T) {
	words := map[string]error{"short": wire.ErrShort, "too-long": wire.ErrTooLong, "not-canonical": wire.ErrNotCanonical,
		"trailing": wire.ErrTrailing, "value": errValue}
	list := vectors.Read(t)
	for _, v := range list {
		got, again, err := decodeMeaning(v.Bytes)
		if word, bad := strings.CutPrefix(v.Meaning, "error "); bad {
			if !errors.Is(err, words[word]) || err == nil {
				t.Errorf("%s: error %v, want %s", v.Name, err, word)
			}
			continue
		}
		if err != nil || got != v.Meaning {
			t.Errorf("%s: %q (%v), want %q", v.Name, got, err, v.Meaning)
		}
		if !bytes.Equal(again, v.Bytes) {
			t.Errorf("%s: encoded again: % x", v.Name, again)
		}
	}
	if len(list) < 25 {
		t.Errorf("%d vectors read, want at least 25", len(list))
	}
}

func encoded(m message) []byte { return new(coder).encode(nil, m) }

// FuzzMessage checks that an accepted message is the only encoding of its meaning.
func FuzzMessage(f *testing.F) {
	f.Add(encoded(message{kind: kindHello, hello: &Hello{Version: Version, Name: "ada", PacketLimit: wire.PacketLimit}}))
	f.Add(encoded(message{kind: kindWelcome, welcome: &Welcome{Strategy: "relay", Rate: 60, Seat: 1, Image: true}}))
	f.Add(encoded(message{kind: kindSeat, seat: &Seat{Seat: 2, Name: "ada", Connected: true}}))
	f.Add(encoded(message{kind: kindPings, pings: &Pings{1: 30, 63: 1}}))
	f.Add(AppendRefusal(nil, CodeFull, 1, "full"))
	f.Add(encoded(message{kind: kindChatLine, line: &ChatLine{Seat: -1, Text: "hi"}}))
	f.Add(encoded(message{kind: kindEnd, epoch: 1, code: CodeLeft}))
	f.Add(encoded(message{kind: kindProof, epoch: 1, tick: 6, data: make([]byte, record.ProofBytes)}))
	f.Add(encoded(message{kind: kindRefused, refused: &Refused{Number: 300, Type: 2, Reason: "too dear"}}))
	f.Add(encoded(message{kind: kindPaused, paused: &Paused{On: true, Seat: 1, Tick: 6, Seconds: 60}}))
	f.Fuzz(func(t *testing.T, message []byte) {
		if _, again, err := decodeMeaning(message); err == nil && !bytes.Equal(again, message) {
			t.Fatalf("read % x, wrote % x", message, again)
		}
	})
}

// FuzzServer checks that no sequence of messages panics a Server or exceeds its bounds.
func FuzzServer(f *testing.F) {
	f.Add([]byte{1, 9, 0, 0})
	f.Add(append([]byte{40, 0}, encoded(message{kind: kindHello, hello: &Hello{Version: Version}})...))
	f.Fuzz(func(t *testing.T, script []byte) {
		s, err := NewServer(ServerConfig{TickRate: 60}, &memory{room: 1 << 20}, 0)
		if err != nil {
			t.Fatal(err)
		}
		replay(script, func(ch byte, message []byte, now int64) {
			switch e := s.Receive(channelOf(ch), message, timeOf(now)); e.Kind {
			case EventHello:
				s.Welcome(Welcome{Strategy: "s", Rate: 60, Role: 1, Seat: -1, Image: true}, 0, timeOf(now))
			case EventReady:
				s.Opened()
			case EventTail:
				s.AskTail(1)
			}
			s.Frame(timeOf(now), 1)
		})
	})
}

// FuzzClient checks the same for a Client, whose image must not grow beyond what arrived.
func FuzzClient(f *testing.F) {
	hello := encoded(message{kind: kindWelcome, welcome: &Welcome{Strategy: "s", Rate: 60, Role: 1, Seat: -1, Image: true}})
	f.Add(append([]byte{byte(len(hello)), 1}, hello...))
	f.Fuzz(func(t *testing.T, script []byte) {
		s := NewClient(Hello{}, 0, &memory{room: 1 << 20}, 0)
		replay(append(append([]byte{byte(len(hello)), 1}, hello...), script...), func(ch byte, message []byte, now int64) {
			if e := s.Receive(channelOf(ch), message, timeOf(now)); e.Kind == EventImage {
				s.Ready()
			}
			s.Frame(timeOf(now))
			if most := 2 * imagePiece * (1 + len(script)/2); cap(s.sink.raw) > most {
				t.Fatalf("%d bytes held for an image, want at most %d", cap(s.sink.raw), most)
			}
		})
	})
}

// replay cuts the bytes of a fuzzer into messages: a length, a channel, the message.
func replay(script []byte, f func(ch byte, message []byte, now int64)) {
	for now := int64(0); len(script) >= 2; now += 10e6 {
		n := min(int(script[0]), len(script)-2)
		f(script[1], script[2:2+n], now)
		script = script[2+n:]
	}
}
