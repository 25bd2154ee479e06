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

// decodeMeaning decodes any message and formats it as in vectors.txt; again is the message encoded again.
func decodeMeaning(message []byte) (meaning string, again []byte, err error) {
	if len(message) == 0 {
		return "", nil, wire.ErrShort
	}
	body := message[1:]
	switch kind(message[0]) {
	case kindHello:
		h, err := decodeHello(body)
		if err == nil && h.Version != Version {
			return fmt.Sprintf("hello version=%d", h.Version), message, nil
		}
		return fmt.Sprintf("hello version=%d game=%x build=%q target=%q name=%q match=%x have=%d chain=%x final=%d", h.Version, h.Fingerprint,
			h.Build, h.Target, h.Name, h.Match, h.Have, h.Chain, h.Final), appendHello(nil, h), err
	case kindWelcome:
		m, err := decodeWelcome(body)
		return fmt.Sprintf("welcome strategy=%q params=%x match=%x rate=%d seat=%d role=%v epoch=%d tick=%d delay=%d image=%t",
			m.Strategy, m.Params, m.Match, m.Rate, m.Seat, m.Role, m.Epoch, m.Tick, m.Delay, m.Image), appendWelcome(nil, m), err
	case kindRefusal:
		e, err := decodeRefusal(body)
		return fmt.Sprintf("refusal code=%d game=%x text=%q", e.Code, e.Theirs, e.Text), AppendRefusal(nil, e.Code, e.Theirs, e.Text), err
	case kindImageHead:
		h, err := decodeImageHead(body)
		return fmt.Sprintf("image-head epoch=%d tick=%d chain=%x size=%d sum=%x", h.epoch, h.tick, h.chain, h.size, h.sum), appendImageHead(nil, h), err
	case kindTailAsk:
		from, err := decodeTailAsk(body)
		return fmt.Sprintf("tail-ask from=%d", from), appendTailAsk(nil, from), err
	case kindTail:
		return fmt.Sprintf("tail %x", body), appendTail(nil, body), nil
	case kindReady:
		m, err := decodeReady(body)
		return fmt.Sprintf("ready epoch=%d tick=%d", m.epoch, m.tick), appendReady(nil, m), err
	case kindToken:
		token, err := decodeToken(body)
		return fmt.Sprintf("token %x", token), appendToken(nil, token), err
	case kindChat:
		text, err := decodeChat(body)
		return fmt.Sprintf("chat %q", text), appendChat(nil, text), err
	case kindChatLine:
		m, err := decodeChatLine(body)
		return fmt.Sprintf("said seat=%d name=%q text=%q", m.Seat, m.Name, m.Text), appendChatLine(nil, m), err
	case kindPing:
		epoch, stamp, err := decodePing(body)
		return fmt.Sprintf("ping epoch=%d stamp=%d", epoch, stamp), appendPing(nil, epoch, stamp), err
	case kindPong:
		m, err := decodePong(body)
		return fmt.Sprintf("pong epoch=%d stamp=%d tick=%d", m.epoch, m.stamp, m.tick), appendPong(nil, m), err
	case kindNotice:
		m, err := decodeNotice(body)
		return fmt.Sprintf("notice seconds=%d text=%q", m.seconds, m.text), appendNotice(nil, m), err
	case kindEnd:
		m, err := decodeEnd(body)
		return fmt.Sprintf("bye epoch=%d code=%d text=%q", m.epoch, m.code, m.text), appendEnd(nil, m), err
	}
	return "", nil, errValue
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
	f.Add(appendHello(nil, Hello{Version: Version, Name: "ada"}))
	f.Add(appendWelcome(nil, Welcome{Strategy: "relay", Rate: 60, Seat: 1, Image: true}))
	f.Add(AppendRefusal(nil, CodeFull, 1, "full"))
	f.Add(appendChatLine(nil, ChatLine{Seat: -1, Text: "hi"}))
	f.Add(appendEnd(nil, endMessage{1, CodeLeft, ""}))
	f.Fuzz(func(t *testing.T, message []byte) {
		if _, again, err := decodeMeaning(message); err == nil && !bytes.Equal(again, message) {
			t.Fatalf("read % x, wrote % x", message, again)
		}
	})
}

// FuzzServer checks that no sequence of messages panics a Server or exceeds its bounds.
func FuzzServer(f *testing.F) {
	f.Add([]byte{1, 9, 0, 0})
	f.Add(append([]byte{40, 0}, appendHello(nil, Hello{Version: Version})...))
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
	hello := appendWelcome(nil, Welcome{Strategy: "s", Rate: 60, Role: 1, Seat: -1, Image: true})
	f.Add(append([]byte{byte(len(hello)), 1}, hello...))
	f.Fuzz(func(t *testing.T, script []byte) {
		s, err := NewClient(ClientConfig{}, &memory{room: 1 << 20}, 0)
		if err != nil {
			t.Fatal(err)
		}
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
