package session

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tendon/net/wire"
	"tendon/net/wire/vectors"
)

type coded = message

// decodeMeaning decodes any message and formats it as in vectors.txt; again is the message encoded again.
func decodeMeaning(message []byte) (meaning string, again []byte, err error) {
	if len(message) == 0 {
		return "", nil, wire.ErrShort
	}
	k, body := kind(message[0]), message[1:]
	var m coded
	switch k {
	case kindHello:
		m = new(Hello)
	case kindWelcome:
		m = new(Welcome)
	case kindRefusal:
		m = new(Error)
	case kindImageHead:
		m = new(imageHead)
	case kindTailAsk:
		m = new(tailAsk)
	case kindTail:
		return fmt.Sprintf("tail %x", body), append([]byte{uint8(kindTail)}, body...), nil
	case kindReady:
		m = new(ready)
	case kindToken:
		m = new(token)
	case kindChat:
		m = new(chat)
	case kindChatLine:
		m = new(ChatLine)
	case kindPing:
		m = new(ping)
	case kindPong:
		m = new(pong)
	case kindNotice:
		m = new(notice)
	case kindEnd:
		m = new(endMessage)
	default:
		return "", nil, errValue
	}
	err = new(coder).decode(body, m)
	if h, ok := m.(*Hello); ok && err == nil && h.Version != Version {
		return fmt.Sprintf("hello version=%d", h.Version), message, nil
	}
	return describe(m), new(coder).encode(nil, k, m), err
}

func describe(m coded) string {
	switch m := m.(type) {
	case *Hello:
		return fmt.Sprintf("hello version=%d game=%x build=%q target=%q name=%q match=%x have=%d chain=%x final=%d", m.Version, m.Fingerprint,
			m.Build, m.Target, m.Name, m.Match, m.Have, m.Chain, m.Final)
	case *Welcome:
		return fmt.Sprintf("welcome strategy=%q params=%x match=%x rate=%d seat=%d role=%v epoch=%d tick=%d delay=%d image=%t",
			m.Strategy, m.Params, m.Match, m.Rate, m.Seat, m.Role, m.Epoch, m.Tick, m.Delay, m.Image)
	case *Error:
		return fmt.Sprintf("refusal code=%d game=%x text=%q", m.Code, m.Theirs, m.Text)
	case *imageHead:
		return fmt.Sprintf("image-head epoch=%d tick=%d chain=%x size=%d sum=%x", m.epoch, m.tick, m.chain, m.size, m.sum)
	case *tailAsk:
		return fmt.Sprintf("tail-ask from=%d", *m)
	case *ready:
		return fmt.Sprintf("ready epoch=%d tick=%d", m.epoch, m.tick)
	case *token:
		return fmt.Sprintf("token %x", *m)
	case *chat:
		return fmt.Sprintf("chat %q", *m)
	case *ChatLine:
		return fmt.Sprintf("said seat=%d name=%q text=%q", m.Seat, m.Name, m.Text)
	case *ping:
		return fmt.Sprintf("ping epoch=%d stamp=%d", m.epoch, m.stamp)
	case *pong:
		return fmt.Sprintf("pong epoch=%d stamp=%d tick=%d", m.epoch, m.stamp, m.tick)
	case *notice:
		return fmt.Sprintf("notice seconds=%d text=%q", m.seconds, m.text)
	case *endMessage:
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

// FuzzMessage checks that an accepted message is the only encoding of its meaning.
func FuzzMessage(f *testing.F) {
	f.Add(new(coder).encode(nil, kindHello, &Hello{Version: Version, Name: "ada"}))
	f.Add(new(coder).encode(nil, kindWelcome, &Welcome{Strategy: "relay", Rate: 60, Seat: 1, Image: true}))
	f.Add(AppendRefusal(nil, CodeFull, 1, "full"))
	f.Add(new(coder).encode(nil, kindChatLine, &ChatLine{Seat: -1, Text: "hi"}))
	f.Add(new(coder).encode(nil, kindEnd, &endMessage{1, CodeLeft, ""}))
	f.Fuzz(func(t *testing.T, message []byte) {
		if _, again, err := decodeMeaning(message); err == nil && !bytes.Equal(again, message) {
			t.Fatalf("read % x, wrote % x", message, again)
		}
	})
}

// FuzzServer checks that no sequence of messages panics a Server or exceeds its bounds.
func FuzzServer(f *testing.F) {
	f.Add([]byte{1, 9, 0, 0})
	f.Add(append([]byte{40, 0}, new(coder).encode(nil, kindHello, &Hello{Version: Version})...))
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
	hello := new(coder).encode(nil, kindWelcome, &Welcome{Strategy: "s", Rate: 60, Role: 1, Seat: -1, Image: true})
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
