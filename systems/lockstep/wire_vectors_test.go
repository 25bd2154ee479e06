package lockstep

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/net/wire/vectors"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// vector is a line of testdata/vectors.txt.
type vector vectors.Vector

// receiver is a running server and a client of it, both at frame near.
type receiver struct {
	world  *ecs.World
	game   *ecs.Game
	config Config
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{game: ending()}
	var err error
	if r.config, err = (Config{}).withDefaults(); err != nil {
		t.Fatal(err)
	}
	if r.world, err = ecs.NewWorld(r.game, 1); err != nil {
		t.Fatal(err)
	}
	for range near {
		r.world.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, r.game.MaxPlayers)})
	}
	return r
}

func (r *receiver) client(t *testing.T) *Client {
	c, err := newClient(r.config, systems.ClientConfig{World: r.world, Seat: 0})
	if err != nil {
		t.Fatal(err)
	}
	c.Load(0, near, 0)
	return c.(*Client)
}

// take passes the bytes to a new half of the side that accepts them, and returns its error.
func (r *receiver) take(t *testing.T, v *vector) error {
	switch v.Kind {
	case "ops", "hash", "result":
		s, err := newServer(r.config, systems.ServerConfig{World: r.world, Peers: 1})
		if err != nil {
			t.Fatal(err)
		}
		s.Open(0, 0, near, 0, nil)
		return s.Receive(0, systems.Reliable, v.Bytes, 0, nil)
	case "sync", "stamped":
		return r.client(t).Receive(systems.Reliable, v.Bytes, 0)
	case "params":
		c := Config{}
		if c.readParams(v.Bytes) != nil {
			return ErrMessage
		}
		return nil
	}
	return fmt.Errorf("no kind %q", v.Kind)
}

func padText(in ecs.InputBytes) string {
	p := padInput.Unpack(in)
	text := fmt.Sprintf("%d,%d", p.DX, p.DY)
	if p.Throw {
		text += "!"
	}
	return text
}

func padsText(inputs []ecs.InputBytes) (text string) {
	for _, in := range inputs {
		text += " " + padText(in)
	}
	return text
}

func actionText(target ecs.Entity, payload []byte) string {
	return strings.TrimSpace(fmt.Sprintf("row %d born %d payload %x", target.Row, target.Born, payload))
}

func orderText(o *image.Order) string {
	text := fmt.Sprintf("order kind %d player %d", o.Kind, o.Player)
	if hasAction(o.Kind) {
		text += " " + actionText(o.Entity, o.Payload)
	}
	return text
}

// decode says what well-formed bytes mean, in the words of the vectors.
func (v *vector) decode(game *ecs.Game) (text string, err error) {
	switch v.Kind {
	case "ops":
		var m opsMessage
		err = m.read(v.Bytes, near, game)
		text = fmt.Sprintf("received %d executed %d live %t lead %d stalled %d first %d", m.received, m.executed, m.live, m.lead, m.stalled, m.first)
		for i := range m.ops {
			if o := &m.ops[i]; o.isOrder {
				text += fmt.Sprintf("; order number %d ", o.number) + actionText(o.target, o.payload)
			} else {
				text += "; pad " + padText(o.in)
			}
		}
	case "sync":
		return v.decodeSync(game)
	case "stamped":
		var s stamped
		err = s.read(v.Bytes, game)
		text = fmt.Sprintf("frame %d number %d ", s.tick, s.number)
		if s.input {
			text += fmt.Sprintf("player %d pad %s", s.player, padText(s.in))
		} else {
			text += orderText(&s.order)
		}
	case "hash":
		var m hashMessage
		err = m.read(v.Bytes)
		text = fmt.Sprintf("frame %d sum %x", m.tick, uint64(m.sum))
	case "result":
		var m resultMessage
		err = m.read(v.Bytes)
		text = strings.TrimSpace(fmt.Sprintf("frame %d sum %x result %x", m.tick, uint64(m.sum), m.result))
	case "params":
		var c Config
		err = c.readParams(v.Bytes)
		text = fmt.Sprintf("catches up %t reliable %t waits %t interval %d margin %d", !c.NoCatchUp, c.Reliable, c.Closing != Optimistic, c.Interval, c.Margin)
	}
	return text, err
}

func (v *vector) decodeSync(game *ecs.Game) (text string, err error) {
	var h syncHead
	r := wire.NewReader(v.Bytes)
	if err = h.read(&r, near); err != nil {
		return "", err
	}
	text = fmt.Sprintf("first %d ahead %d interval %d acknowledged %d", h.first, h.ahead, h.interval, h.acked)
	bits := wire.NewBitReader(r.Rest())
	f := newFrame(game)
	if h.key {
		for p := range f.inputs {
			if _, ok := code.ReadChange(&bits, &f.inputs[p], game); !ok {
				return "", ErrMessage
			}
		}
		text += "; key" + padsText(f.inputs)
	}
	for range h.count {
		switch digest, whole, ok := f.read(&bits, f.inputs, game); {
		case !ok:
			return "", ErrMessage
		case !whole:
			text += fmt.Sprintf("; digest %x", digest)
		default:
			text += "; frame" + padsText(f.inputs)
			for i := range f.orders {
				text += "; " + orderText(&f.orders[i])
			}
		}
	}
	return text, bits.Close()
}

// phrase is a piece of a meaning that is being read.
type phrase struct {
	t    *testing.T
	text string
}

func (p phrase) scan(format string, into ...any) {
	if _, err := fmt.Sscanf(p.text, format, into...); err != nil && !strings.HasSuffix(p.text, "payload") && !strings.HasSuffix(p.text, "result") {
		p.t.Fatalf("%q: %v", p.text, err)
	}
}

func (p phrase) pads() (inputs []ecs.InputBytes) {
	_, pads, _ := strings.Cut(p.text, " ")
	for _, word := range strings.Fields(pads) {
		now := pad{Throw: strings.HasSuffix(word, "!")}
		phrase{p.t, strings.TrimSuffix(word, "!")}.scan("%d,%d", &now.DX, &now.DY)
		inputs = append(inputs, padInput.Pack(now))
	}
	return inputs
}

func (p phrase) order() (o image.Order) {
	p.scan("order kind %d player %d", &o.Kind, &o.Player)
	if hasAction(o.Kind) {
		p.scan("order kind %d player %d row %d born %d payload %x", &o.Kind, &o.Player, &o.Entity.Row, &o.Entity.Born, &o.Payload)
	}
	return o
}

// encode writes what a meaning says.
func (v *vector) encode(t *testing.T, game *ecs.Game) []byte {
	parts := strings.Split(v.Meaning, "; ")
	head := phrase{t, parts[0]}
	switch v.Kind {
	case "ops":
		var m opsMessage
		head.scan("received %d executed %d live %t lead %d stalled %d first %d", &m.received, &m.executed, &m.live, &m.lead, &m.stalled, &m.first)
		for _, part := range parts[1:] {
			o := op{isOrder: strings.HasPrefix(part, "order")}
			if p := (phrase{t, part}); o.isOrder {
				p.scan("order number %d row %d born %d payload %x", &o.number, &o.target.Row, &o.target.Born, &o.payload)
			} else {
				o.in = p.pads()[0]
			}
			m.ops = append(m.ops, o)
		}
		b, _ := m.append(nil, game)
		return b
	case "sync":
		return v.encodeSync(t, game)
	case "stamped":
		var s stamped
		head.scan("frame %d number %d", &s.tick, &s.number)
		if at := strings.Index(v.Meaning, "order"); at >= 0 {
			s.order = phrase{t, v.Meaning[at:]}.order()
		} else {
			s.input = true
			head.scan("frame %d number %d player %d", &s.tick, &s.number, &s.player)
			s.in = phrase{t, v.Meaning[strings.Index(v.Meaning, "pad"):]}.pads()[0]
		}
		return s.append(nil, game)
	case "hash":
		var m hashMessage
		head.scan("frame %d sum %x", &m.tick, (*uint64)(&m.sum))
		return m.append(nil)
	case "result":
		var m resultMessage
		head.scan("frame %d sum %x result %x", &m.tick, (*uint64)(&m.sum), &m.result)
		return m.append(nil)
	}
	var c Config
	var catchesUp, waits bool
	head.scan("catches up %t reliable %t waits %t interval %d margin %d", &catchesUp, &c.Reliable, &waits, &c.Interval, &c.Margin)
	if c.NoCatchUp = !catchesUp; waits {
		c.Closing = Waiting
	}
	return c.appendParams(nil)
}

func (v *vector) encodeSync(t *testing.T, game *ecs.Game) []byte {
	parts := strings.Split(v.Meaning, "; ")
	var h syncHead
	phrase{t, parts[0]}.scan("first %d ahead %d interval %d acknowledged %d", &h.first, &h.ahead, &h.interval, &h.acked)
	before, zero := make([]ecs.InputBytes, game.MaxPlayers), ecs.InputBytes{}
	bits := wire.NewBitWriter(nil, systems.MaxDatagram)
	frames, codes := parts[1:], [][]image.Order{}
	if h.key = len(frames) > 0 && strings.HasPrefix(frames[0], "key"); h.key {
		before, frames = phrase{t, frames[0]}.pads(), frames[1:]
		for p := range before {
			code.AppendChange(&bits, &zero, &before[p], game)
		}
	}
	for i, part := range frames {
		codes = append(codes, nil)
		if strings.HasPrefix(part, "frame") {
			for _, o := range frames[i+1:] {
				if !strings.HasPrefix(o, "order") {
					break
				}
				codes[i] = append(codes[i], phrase{t, o}.order())
			}
		}
	}
	for i, part := range frames {
		p := phrase{t, part}
		switch word, _, _ := strings.Cut(part, " "); word {
		case "digest":
			var digest uint32
			p.scan("digest %x", &digest)
			bits.Bits(3|uint64(digest)<<2, digestBits)
			h.count++
		case "frame":
			f := frame{inputs: p.pads(), orders: codes[i]}
			f.append(&bits, before, game)
			before = f.inputs
			h.count++
		}
	}
	w := wire.NewWriter(nil, systems.MaxDatagram)
	h.append(&w)
	return append(w.Bytes(), bits.Bytes()...)
}

// The vectors are the standard: what is written there is what is sent, and what is refused there a running peer
// refuses, and takes all else.
func TestTheWireVectorsHoldBothWays(t *testing.T) {
	peer := newReceiver(t)
	kinds := map[string]int{}
	for _, line := range vectors.Read(t) {
		v := vector(line)
		err := peer.take(t, &v)
		if v.Meaning == vectors.Refused {
			if !errors.Is(err, ErrMessage) {
				t.Errorf("%s: %v", v.Name, err)
			}
			kinds[v.Kind+" refused"]++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if got, err := v.decode(peer.game); err != nil || got != v.Meaning {
			t.Errorf("%s: %v\n got %q\nwant %q", v.Name, err, got, v.Meaning)
			continue
		}
		if again := v.encode(t, peer.game); !bytes.Equal(again, v.Bytes) {
			t.Errorf("%s: encodes to %x", v.Name, again)
		}
		kinds[v.Kind]++
	}
	for _, kind := range []string{"ops", "sync", "stamped", "hash", "result", "params"} {
		if kinds[kind] < 2 || kinds[kind+" refused"] < 2 {
			t.Errorf("%d vectors of kind %s, and %d that are refused", kinds[kind], kind, kinds[kind+" refused"])
		}
	}
}

// A frame by digest waits for its operations, and is whole with the last of them. The digest is that of the frame that
// they form.
func TestTheDigestOfTheVectorsIsOfTheirOperations(t *testing.T) {
	c := newReceiver(t).client(t)
	list := map[string][]byte{}
	for _, v := range vectors.Read(t) {
		list[v.Name] = v.Bytes
	}
	for i, name := range []string{"sync/by-digest", "stamped/change", "stamped/game-order"} {
		if c.log.last != near {
			t.Errorf("the frame is whole before %s", name)
		}
		if err := c.Receive(systems.Reliable, list[name], systems.Time(i)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.log.last != near+1 {
		t.Error("the frame is not whole")
	}
}

// The kind of a rare order follows the player. No other order may be coded so.
func TestRareOrdersAreCodedWithTheirKind(t *testing.T) {
	game := ending()
	f, before := newFrame(game), make([]ecs.InputBytes, game.MaxPlayers)
	f.orders = []image.Order{{Kind: image.OrderJoin, Player: 3}, {Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, "relay", []byte{7})},
		{Kind: image.OrderGame, Player: 1, Entity: ecs.Entity{Row: 4, Born: 5}, Payload: []byte("x")}, {Kind: image.OrderPause, Player: 2}}
	w := wire.NewBitWriter(nil, worstCode(game))
	f.append(&w, before, game)
	r, got := wire.NewBitReader(w.Bytes()), newFrame(game)
	if _, whole, ok := got.read(&r, before, game); !ok || !whole || r.Err() != nil || fmt.Sprint(got.orders) != fmt.Sprint(f.orders) {
		t.Errorf("read %v, wrote %v", got.orders, f.orders)
	}
	for kind := range uint64(256) {
		w := wire.NewBitWriter(nil, 64)
		w.Bits(rareKind, 2)
		w.Bits(1, 6)
		w.Bits(kind, 8)
		appendAction(&w, ecs.Entity{}, nil)
		r := wire.NewBitReader(w.Bytes())
		want := kind >= rareKind && image.OrderKind(kind).Shared()
		if o, ok := readOrder(&r, r.Bits(8), game); ok != want || ok && uint64(o.Kind) != kind {
			t.Errorf("kind %d as a rare order: %v, %v", kind, o, ok)
		}
	}
}
