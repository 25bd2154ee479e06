package predict

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/net/wire/vectors"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
	"tendon/systems/predictor"
	"tendon/systems/state"
)

// near is the tick that short ticks are expanded against in fuzz targets and vectors.
const near = 1000

// vector is a line of testdata/vectors.txt.
type vector vectors.Vector

// wholeSnapshot is a decoded snapshot, with a body that is not decoded.
type wholeSnapshot struct {
	head snapshotHead
	body []byte
}

func (s *wholeSnapshot) append(dst []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	s.head.append(&w)
	w.Raw(s.body)
	return w.Bytes()
}

func (s *wholeSnapshot) read(message []byte) error {
	r := wire.NewReader(message)
	err := s.head.read(&r, near)
	s.body = r.Rest()
	return err
}

func entryText(e entry) string {
	p := padInput.Unpack(e.In)
	text := fmt.Sprintf("%d,%d", p.DX, p.DY)
	for _, b := range []struct {
		on   bool
		name string
	}{{p.Step, "s"}, {p.Fire, "f"}, {p.Hurt, "h"}} {
		if b.on {
			text += b.name
		}
	}
	if e.View.Tick != 0 {
		text += fmt.Sprintf("@%d+%d", e.View.Tick, e.View.Part)
	}
	return text
}

func parseEntry(t *testing.T, word string) (e entry) {
	var p pad
	word, view, seen := strings.Cut(word, "@")
	if _, err := fmt.Sscanf(word, "%d,%d", &p.DX, &p.DY); err != nil {
		t.Fatal(word, err)
	}
	p.Step, p.Fire, p.Hurt = strings.Contains(word, "s"), strings.Contains(word, "f"), strings.Contains(word, "h")
	if seen {
		if _, err := fmt.Sscanf(view, "%d+%d", &e.View.Tick, &e.View.Part); err != nil {
			t.Fatal(view, err)
		}
	}
	e.In = padInput.Pack(p)
	return e
}

// decode returns the meaning of the bytes, in the words of the vectors.
func (v *vector) decode(game *ecs.Game) (string, error) {
	switch v.Kind {
	case "input":
		var m inputMessage
		err := m.read(v.Bytes, near, game)
		text := fmt.Sprintf("received %d ack %t %d %x refused %t %d needs %d delay %d back %d:", m.received, m.ack.Any, m.ack.Newest, m.ack.Older,
			m.ack.Lost, m.ack.Refused, m.need, m.delay, m.back)
		for _, e := range m.done {
			text += " " + entryText(e)
		}
		return text, err
	case "snapshot":
		var s wholeSnapshot
		err := s.read(v.Bytes)
		h := &s.head
		return fmt.Sprintf("altered %d lacks %d events %d measured %t %d of %d body %x", h.altered, h.lacks, h.events, h.hasMargin, h.margin.Value, h.margin.Tick, s.body), err
	case "events":
		list, ok := code.ReadEvents(nil, v.Bytes, kindEvents, game.Schema())
		if !ok {
			return "", ErrMessage
		}
		text := ""
		for _, e := range list {
			text += fmt.Sprintf("tick %d type %d row %d born %d ordinal %d value %x; ", e.Key.Tick, e.Key.Type, e.Key.Entity.Row, e.Key.Entity.Born, e.Key.Ordinal, e.Value)
		}
		return strings.TrimSuffix(text, "; "), nil
	case "order":
		n, target, payload, err := readRequest(v.Bytes)
		return fmt.Sprintf("number %d row %d born %d payload %x", n, target.Row, target.Born, payload), err
	case "params":
		c, _ := Config{}.withDefaults()
		if c.takeParams(v.Bytes) != nil {
			return "", ErrMessage
		}
		return fmt.Sprintf("rate %d views %t bounded %t smoothing %d always %t speed %v", c.SnapshotRate, c.MaxView > 0, c.Interest > 0, c.Smoothing, c.Unconditional, c.MaxSpeed), nil
	}
	return "", fmt.Errorf("no kind %q", v.Kind)
}

// encode returns the bytes of a meaning.
func (v *vector) encode(t *testing.T, game *ecs.Game) []byte {
	scan := func(text, format string, into ...any) {
		if _, err := fmt.Sscanf(text, format, into...); err != nil && !strings.HasSuffix(text, "payload") && !strings.HasSuffix(text, "body") {
			t.Fatalf("%s: %v", v.Name, err)
		}
	}
	switch v.Kind {
	case "input":
		var m inputMessage
		head, done, _ := strings.Cut(v.Meaning, ":")
		scan(head, "received %d ack %t %d %x refused %t %d needs %d delay %d back %d", &m.received, &m.ack.Any, &m.ack.Newest, &m.ack.Older,
			&m.ack.Lost, &m.ack.Refused, &m.need, &m.delay, &m.back)
		for _, word := range strings.Fields(done) {
			m.done = append(m.done, parseEntry(t, word))
		}
		return m.append(nil, game)
	case "snapshot":
		var s wholeSnapshot
		h := &s.head
		scan(v.Meaning, "altered %d lacks %d events %d measured %t %d of %d body %x", &h.altered, &h.lacks, &h.events, &h.hasMargin, &h.margin.Value, &h.margin.Tick, &s.body)
		return s.append(nil)
	case "events":
		var events []byte
		for i, part := range strings.Split(v.Meaning, ";") {
			var k image.EventKey
			var value []byte
			scan(strings.TrimSpace(part), "tick %d type %d row %d born %d ordinal %d value %x", &k.Tick, &k.Type, &k.Entity.Row, &k.Entity.Born, &k.Ordinal, &value)
			if i == 0 {
				events = binary.AppendUvarint(events, uint64(k.Tick))
			}
			events = binary.AppendUvarint(binary.AppendUvarint(events, uint64(k.Type)), uint64(k.Entity.Row))
			if k.Entity.Row != 0 {
				events = binary.AppendUvarint(events, uint64(k.Tick-k.Entity.Born))
			}
			events = append(binary.AppendUvarint(events, uint64(k.Ordinal)), value...)
		}
		return code.AppendEvents(nil, kindEvents, events)
	}
	if v.Kind == "params" {
		var c Config
		var views, bounded bool
		var speed string
		scan(v.Meaning, "rate %d views %t bounded %t smoothing %d always %t speed %s", &c.SnapshotRate, &views, &bounded, &c.Smoothing, &c.Unconditional, &speed)
		c.MaxSpeed = fixed.MustParse(speed)
		if views {
			c.MaxView = 1
		}
		if bounded {
			c.Interest = 1
		}
		return c.params()
	}
	var target ecs.Entity
	var payload []byte
	var n uint64
	scan(v.Meaning, "number %d row %d born %d payload %x", &n, &target.Row, &target.Born, &payload)
	return appendRequest(nil, n, target, payload)
}

// The vectors are the standard: messages are encoded and decoded as written there, and refused where they are.
func TestTheVectorsHoldBothWays(t *testing.T) {
	game := newRules(exactBody).game(60)
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
		if again := v.encode(t, game); !bytes.Equal(again, v.Bytes) {
			t.Errorf("%s: encodes to %x", v.Name, again)
		}
		if got = strings.TrimSpace(got); err != nil || got != v.Meaning {
			t.Errorf("%s: %v\n got %q\nwant %q", v.Name, err, got, v.Meaning)
			continue
		}
		kinds[v.Kind]++
	}
	for _, kind := range []string{"input", "snapshot", "events", "order", "params"} {
		if kinds[kind] < 2 {
			t.Errorf("%d vectors of kind %s", kinds[kind], kind)
		}
	}
}

func seeds(f *testing.F, kind string) {
	for _, v := range vectors.Read(f) {
		if v.Kind == kind {
			f.Add(v.Bytes)
		}
	}
}

// A message that decodes is encoded to the same bytes. Any other is an error. The number of inputs is bounded.
func FuzzInput(f *testing.F) {
	seeds(f, "input")
	game := newRules(exactBody).game(60)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m inputMessage
		if m.read(data, near, game) != nil {
			return
		}
		if len(m.done) > inputs.MaxWindow || len(m.done) > 8*len(data) {
			t.Fatal(len(m.done))
		}
		if again := m.append(nil, game); !bytes.Equal(again, data) && len(data) <= systems.MaxDatagram {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	seeds(f, "snapshot")
	f.Fuzz(func(t *testing.T, data []byte) {
		var s wholeSnapshot
		if s.read(data) != nil || len(data) > systems.MaxDatagram {
			return
		}
		if again := s.append(nil); !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzEvents(f *testing.F) {
	seeds(f, "events")
	game := newRules(exactBody).game(60)
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, ok := code.ReadEvents(nil, data, kindEvents, game.Schema()); ok && (len(list) == 0 || len(list) > len(data)) {
			t.Fatal(len(list))
		}
	})
}

func FuzzOrder(f *testing.F) {
	seeds(f, "order")
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, target, payload, err := readRequest(data); err == nil {
			if again := appendRequest(nil, n, target, payload); !bytes.Equal(again, data) {
				t.Fatalf("%x became %x", data, again)
			}
		}
	})
}

// Params that are accepted are those of a valid Config, and are encoded to the same bytes.
func FuzzParams(f *testing.F) {
	seeds(f, "params")
	for _, c := range []Config{{}, {SnapshotRate: 1000, MaxView: -1, Interest: 1 << 40}, {Smoothing: 3, Unconditional: true, MaxSpeed: 1 << 62}} {
		f.Add(New(c).Params)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Config{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if c.takeParams(data) != nil {
			return
		}
		if again := c.params(); !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
		if full, err := c.withDefaults(); err != nil || full != c {
			t.Fatalf("%x is %+v: %v", data, c, err)
		}
	})
}

// Any message leaves a running server and a running client without a panic, and bounded.
func FuzzReceive(f *testing.F) {
	for _, kind := range []string{"input", "snapshot", "events", "order"} {
		seeds(f, kind)
	}
	r := newRig(f, slow(newRules(exactBody)).game(60), 2, 3, 3, Config{}, systems.ClientConfig{})
	r.Run(60)
	r.lose = func(bool, int, []byte) bool { return true } // nothing is sent
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, ch := range []systems.Channel{systems.Datagram, systems.Reliable} {
			_ = r.server.Receive(0, ch, data, r.Now(), r)
			_ = r.clients[1].Receive(ch, data, r.Now())
		}
		r.clients[1].Effects(func(systems.Effect) {})
		if c := r.clients[1]; r.server.Waiting() > orderBurst+2 || c.World().Tick() != c.Tick || c.Tick > c.Received+30 {
			t.Fatal(r.server.Waiting(), c.World().Tick(), c.Tick, c.Received)
		}
	})
}

// A client reports a body that cannot be used with the next input. The server sends the entities whole, and the state
// continues.
func TestAnUnusableBodyIsSentWhole(t *testing.T) {
	r := newRig(t, slow(newRules(exactBody)).game(60), 1, 3, 3, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	r.pads[0].DX = 1
	r.Run(30)
	c.Receiver.Load() // it drops all baselines but the newest state
	r.Run(60)
	if c.Refused == 0 || c.Unusable > 0 {
		t.Errorf("%d snapshots refused, the last %d of them", c.Refused, c.Unusable)
	}
	if _, complete := c.Replica(); !complete || c.Received+10 < r.server.Done() {
		t.Errorf("complete %v, confirmed %d, the server is at %d", complete, c.Received, r.server.Done())
	}
	if r.x(0) < r.xIn(r.server.World(), 0) {
		t.Error("the figure is behind the server's")
	}
}

// Acknowledgements of the future, of unsent bodies and inputs of a spectator are refused and change nothing.
func TestHostileMessagesAreRefused(t *testing.T) {
	r := newRig(t, slow(newRules(exactBody)).game(60), 2, 3, 3, Config{}, systems.ClientConfig{})
	r.server.Peers[1].Seat = -1
	good := r.clients[0].Receiver.Ack()
	for name, c := range map[string]struct {
		peer systems.Peer
		m    inputMessage
	}{
		"a tick of the future":        {0, inputMessage{received: r.server.Done() + 1, ack: good}},
		"a body that was not sent":    {0, inputMessage{received: r.server.Done(), ack: state.Ack{Any: true, Newest: good.Newest + 500}}},
		"bodies before the first":     {0, inputMessage{received: r.server.Done(), ack: state.Ack{Any: true, Newest: 1, Older: 1}}},
		"an input of a spectator":     {1, inputMessage{received: r.server.Done(), ack: r.clients[1].Receiver.Ack(), done: make([]entry, 1)}},
		"a refusal of an unsent body": {0, inputMessage{received: r.server.Done(), ack: state.Ack{Lost: true, Refused: 60000}}},
	} {
		before := r.server.Peers[c.peer].Stats
		if err := r.server.Receive(c.peer, systems.Datagram, c.m.append(nil, r.Game), r.Now(), r); err != ErrMessage {
			t.Errorf("%s: %v", name, err)
		}
		after := r.server.Peers[c.peer].Stats
		if after.Refused != before.Refused+1 || after.Acked != before.Acked {
			t.Errorf("%s: %+v", name, after)
		}
	}
	// Inputs far ahead do not displace those that are due.
	far := inputMessage{received: r.server.Done(), ack: good, done: make([]entry, inputs.MaxWindow)}
	refused := r.server.Peers[0].Stats.Refused
	if err := r.server.Receive(0, systems.Datagram, far.append(nil, r.Game), r.Now(), r); err != nil || r.server.Peers[0].Stats.Refused < refused+100 {
		t.Errorf("%v, %d inputs refused", err, r.server.Peers[0].Stats.Refused-refused)
	}
	// A flood is dropped without an error.
	m := inputMessage{received: r.server.Done(), ack: good}
	flood := m.append(nil, r.Game)
	for range 2 * authority.MaxMessages {
		if err := r.server.Receive(0, systems.Datagram, flood, r.Now(), r); err != nil {
			t.Fatal(err)
		}
	}
	if r.server.Peers[0].Stats.Refused < authority.MaxMessages {
		t.Errorf("%d messages of a flood were refused", r.server.Peers[0].Stats.Refused)
	}
	for range 100 {
		_ = r.server.Receive(0, systems.Reliable, appendRequest(nil, 1, ecs.Entity{}, []byte{1}), r.Now(), r)
	}
	if r.server.Waiting() > orderBurst {
		t.Errorf("%d orders of one second were accepted", r.server.Waiting())
	}
}

// A client that cannot use the bodies for long requests an image, and receives one.
func TestAHelplessClientIsSentAnImage(t *testing.T) {
	m := newMatch(t, slow(newRules(exactBody)).game(60), 2, Config{})
	p := m.join(profile(t, "P2"), simnetClock, systems.ClientConfig{}, 60, wander(4))
	m.Net.RunUntil(seconds(3))
	p.Unusable = predictor.MostUnusable
	m.Net.RunUntil(seconds(6))
	if p.peer.Loads != 2 || !p.Live() || p.Unusable != 0 || m.server.PeerStats(0).Desyncs != 1 {
		t.Errorf("%d images, live %v, %+v", p.peer.Loads, p.Live(), m.server.PeerStats(0))
	}
}

const orderBurst = 20 // of ecs.OrderBudget
