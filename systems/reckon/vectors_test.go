package reckon

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/net/wire/vectors"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
	"tendon/systems/state"
)

// Ticks and stamps that short ones are expanded against, in fuzz targets and vectors.
const (
	nearTick  = 1000
	nearStamp = 100_000
)

func recordText(r *motion.Record) string {
	s := fmt.Sprintf("%d@%d stamp %d age %d", r.Entity.Row, r.Entity.Born, r.Stamp, r.Age/(160*ms))
	for i, name := range []string{"stop", "turn", "cast", "teleport"} {
		if r.Flags>>i&1 != 0 {
			s += " " + name
		}
	}
	if r.Flags&motion.FlagCast != 0 {
		s += fmt.Sprintf(" %d", r.Action)
	}
	switch r.Mode {
	case motion.Ballistic:
		s += " ballistic"
	case motion.Attached:
		s += fmt.Sprintf(" on %d@%d", r.Parent.Row, r.Parent.Born)
	case motion.Scripted:
		return s + fmt.Sprintf(" path %d along %v speed %v", r.Path, r.Along, r.Speed)
	}
	if r.Anchor != 0 {
		s += fmt.Sprintf(" from %d", r.Anchor)
	}
	if r.Sets != 0 {
		s += fmt.Sprintf(" sets %d", r.Sets)
	}
	return s + fmt.Sprintf(" at %v %v %v going %v %v %v", r.Pos.X, r.Pos.Y, r.Pos.Z, r.Vel.X, r.Vel.Y, r.Vel.Z)
}

func moveText(m *moveMessage) string {
	s := fmt.Sprintf("received %d ack %v %d %x %v %d helpless %v", m.received, m.ack.Any, m.ack.Newest, m.ack.Older, m.ack.Lost, m.ack.Refused, m.helpless)
	for i := range m.claims {
		s += fmt.Sprintf("; epoch %d: %s", m.claims[i].epoch, recordText(&m.claims[i].record))
	}
	for _, h := range m.anchors {
		s += fmt.Sprintf("; holds %d of %d", h.anchor, h.row)
	}
	for _, in := range m.done {
		p := padInput.Unpack(in)
		s += fmt.Sprintf("; %d %v %v %v", p.Heading, p.Walk, p.Shoot, p.Hurt)
	}
	return s
}

// wholeUpdate is a decoded update, with a body that is not decoded.
type wholeUpdate struct {
	head    updateHead
	records []motion.Record
	body    []byte
}

func (n *wholeUpdate) append(dst []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	n.head.append(&w)
	w.U8(uint8(len(n.records)))
	for i := range n.records {
		n.records[i].Append(&w)
	}
	w.Raw(n.body)
	return w.Bytes()
}

func (n *wholeUpdate) read(message []byte) (err error) {
	r := wire.NewReader(message)
	if err = n.head.read(&r, nearTick, nearStamp); err == nil {
		n.records, err = readRecords(n.records[:0], &r, nearStamp)
	}
	if err == nil && !n.head.has(headBody) && r.Len() > 0 {
		err = ErrMessage
	}
	n.body = r.Rest()
	return err
}

func (n *wholeUpdate) String() string {
	h := &n.head
	s := fmt.Sprintf("tick %d ready %v altered %d events %d", h.tick, h.has(headReady), h.altered, h.events)
	if h.has(headMargin) {
		s += fmt.Sprintf(" margin %d of %d", h.margin.Value, h.margin.Tick)
	}
	for i := range h.snaps {
		s += fmt.Sprintf("; snap %d: %s", h.snaps[i].epoch, recordText(&h.snaps[i].record))
	}
	for i := range n.records {
		s += "; " + recordText(&n.records[i])
	}
	if h.has(headBody) {
		s += fmt.Sprintf("; body %x", n.body)
	}
	return s
}

// decode returns the meaning of a message in the words of the vectors, and encodes the message again.
func decode(kind string, b []byte) (text string, again []byte, err error) {
	switch kind {
	case "move":
		var m moveMessage
		if err = m.read(b, nearTick, nearStamp, new(inputs.WindowDecoder), testGame(false)); err == nil {
			again = m.append(nil, testGame(false))
		}
		return moveText(&m), again, err
	case "news":
		var n wholeUpdate
		if err = n.read(b); err == nil {
			again = n.append(nil)
		}
		return n.String(), again, err
	case "order":
		n, target, payload, err := readRequest(b)
		return fmt.Sprintf("%d to %d@%d:%x", n, target.Row, target.Born, payload), appendRequest(nil, n, target, payload), err
	case "events":
		list, ok := code.ReadEvents(nil, b, kindEvents, testGame(false).Schema())
		if !ok {
			err = ErrMessage
		}
		for _, e := range list {
			text += fmt.Sprintf("type %d of %d@%d in %d: %x; ", e.Key.Type, e.Key.Entity.Row, e.Key.Entity.Born, e.Key.Tick, e.Value)
		}
		return strings.TrimSuffix(text, "; "), b, err
	case "params":
		var c Config
		err = c.takeParams(b)
		text = fmt.Sprintf("rate %d assumed %d trusting %v speed %v", c.StateRate, c.Assumed/motion.StampUnit, c.Trusting, c.MaxSpeed)
		if s := c.Records; len(c.params()) > len((&Config{StateRate: c.StateRate, Assumed: c.Assumed, MaxSpeed: c.MaxSpeed}).params()) {
			text += fmt.Sprintf(" reading %d deadline %d turn %v near %v", s.Reading, c.Remotes.Deadline, s.Turn, s.Near)
		}
		return text, c.params(), err
	}
	panic("no kind " + kind)
}

// Messages of the standard are read and written as these bytes.
func TestTheMessagesAreTheseBytes(t *testing.T) {
	kinds := map[string]int{}
	for _, v := range vectors.Read(t) {
		kinds[v.Kind]++
		text, again, err := decode(v.Kind, v.Bytes)
		switch {
		case v.Meaning == vectors.Refused:
			if err == nil {
				t.Errorf("%s is read as %q", v.Name, text)
			}
		case err != nil || text != v.Meaning:
			t.Errorf("%s means %q, want %q (%v)", v.Name, text, v.Meaning, err)
		case !bytes.Equal(again, v.Bytes):
			t.Errorf("%s is written as %x, want %x", v.Name, again, v.Bytes)
		}
	}
	for _, kind := range []string{"move", "news", "order", "events", "params"} {
		if kinds[kind] < 2 {
			t.Errorf("%d vectors of %s", kinds[kind], kind)
		}
	}
}

// samples returns messages of all kinds, for vectors and as seeds.
func samples() map[string][]byte {
	e := ecs.Entity{Row: 1 << 20, Born: 40}
	at := motion.Record{Entity: e, Stamp: nearStamp + 7, Age: 3 * (160 * ms), Sets: 4, Pos: vec("1.5", "-2.25", "0"), Vel: vec("3", "0", "0.5")}
	stop := motion.Record{Entity: e, Stamp: nearStamp, Flags: motion.FlagStop | motion.FlagTeleport, Pos: vec("100", "0", "0")}
	near := motion.Record{Entity: ecs.Entity{Row: 1 << 20}, Stamp: nearStamp - 9, Flags: motion.FlagTurn | motion.FlagCast, Action: 200, Anchor: 4, Pos: vec("3.75", "-3.75", "0"), Vel: vec("0", "4.5", "0")}
	rides := motion.Record{Entity: e, Stamp: nearStamp, Mode: motion.Attached, Parent: ecs.Entity{Row: 3, Born: 1}, Pos: vec("1", "0", "0"), Vel: vec("0", "1", "0")}
	path := motion.Record{Entity: e, Stamp: nearStamp, Mode: motion.Scripted, Path: 300, Along: num("7.5"), Speed: num("2")}
	fall := motion.Record{Entity: e, Stamp: nearStamp, Mode: motion.Ballistic, Pos: vec("0", "0", "9"), Vel: vec("1", "0", "-3")}
	own := at
	own.Sets = 0
	walkOn, shoot := padInput.Pack(pad{Heading: 256, Walk: true}), padInput.Pack(pad{Heading: 256, Walk: true, Shoot: true})
	game := testGame(false)
	move := func(m moveMessage) []byte { return m.append(nil, game) }
	news := func(n wholeUpdate) []byte { return n.append(nil) }
	limited := Config{StateRate: 5, MaxSpeed: fixed.FromInt(5), Assumed: 80e6}
	trusting := Config{StateRate: 60, Trusting: true}
	literal := Config{StateRate: 5, Records: motion.SendConfig{Reading: motion.Instant}, Remotes: motion.RemoteConfig{Deadline: motion.RestartAlways}}
	dynamic := Config{StateRate: 5, Records: motion.SendConfig{Turn: fixed.Half, Near: 20 * fixed.One}}
	return map[string][]byte{
		"move/nothing":       move(moveMessage{received: nearTick}),
		"move/spectator":     move(moveMessage{received: nearTick, ack: state.Ack{Any: true, Newest: 77, Older: 0x3ff}}),
		"move/helpless":      move(moveMessage{received: nearTick, ack: state.Ack{Lost: true, Refused: 76}, helpless: true}),
		"move/walking":       move(moveMessage{received: nearTick, claims: []claim{{3, own}}, done: []ecs.InputBytes{walkOn, walkOn, shoot, walkOn}}),
		"move/stop":          move(moveMessage{received: nearTick, claims: []claim{{255, stop}}}),
		"move/holds":         move(moveMessage{received: nearTick, anchors: []anchorAck{{1 << 20, 4}, {9, 15}}}),
		"news/nothing":       news(wholeUpdate{head: updateHead{tick: nearTick}}),
		"news/ready":         news(wholeUpdate{head: updateHead{tick: nearTick, flags: headReady | headMargin, altered: 300, events: 9, margin: inputs.Margin{Tick: nearTick - 4, Value: -64}}}),
		"news/snap":          news(wholeUpdate{head: updateHead{tick: nearTick, flags: headReady, snaps: []claim{{4, stop}}}}),
		"news/records":       news(wholeUpdate{head: updateHead{tick: nearTick, flags: headReady}, records: []motion.Record{at, near, rides, path, fall}}),
		"news/body":          news(wholeUpdate{head: updateHead{tick: nearTick, flags: headReady | headBody}, records: []motion.Record{near}, body: []byte{1, 2, 3}}),
		"order/nothing":      appendRequest(nil, 1, ecs.Entity{}, nil),
		"order/of-an-entity": appendRequest(nil, 1, e, []byte{7, 8}),
		"events/one":         code.AppendEvents(nil, kindEvents, []byte{0xe8, 7, 0, 0, 0, 1}),
		"params/limited":     limited.params(),
		"params/trusting":    trusting.params(),
		"params/literal":     literal.params(),
		"params/dynamic":     dynamic.params(),
	}
}

// A fuzzed message that is valid is written the same again, but for encodings that are longer than necessary.
func fuzz(f *testing.F, kind string) {
	for name, b := range samples() {
		if strings.HasPrefix(name, kind+"/") {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, again, err := decode(kind, b)
		if err != nil || len(b) > systems.MaxDatagram { // which would be cut when it is written
			return
		}
		text2, _, err := decode(kind, again)
		if err != nil || text2 != text {
			t.Errorf("%x is %q, and again %q (%v)", b, text, text2, err)
		}
	})
}

func FuzzMove(f *testing.F)   { fuzz(f, "move") }
func FuzzNews(f *testing.F)   { fuzz(f, "news") }
func FuzzOrder(f *testing.F)  { fuzz(f, "order") }
func FuzzEvents(f *testing.F) { fuzz(f, "events") }

// FuzzParams checks that params that are accepted are those of a valid Config, and are encoded to the same bytes.
func FuzzParams(f *testing.F) {
	for _, v := range vectors.Read(f) {
		if v.Kind == "params" {
			f.Add(v.Bytes)
		}
	}
	for _, c := range []Config{{}, {StateRate: maxStateRate, Assumed: maxAssumed, MaxSpeed: motion.MaxVelocity, Trusting: true, Terrain: true},
		{Records: motion.SendConfig{Reading: motion.Instant, Turn: 1 << 31, Near: 1 << 40}, Remotes: motion.RemoteConfig{Deadline: motion.RestartAlways}}} {
		f.Add(New(c).Params)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Config
		if c.takeParams(data) != nil {
			return
		}
		if again := c.params(); !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
		full, err := c.withDefaults(nil)
		if again := full.params(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%x is %+v, and with the defaults %x: %v", data, c, again, err)
		}
	})
}

// FuzzHalves sends messages to both halves of a running match. Nothing panics, and the remote walker is at its
// position.
func FuzzHalves(f *testing.F) {
	for _, b := range samples() {
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, toServer bool) {
		r := newRig(t, 2, 2, 2, Config{}, false)
		r.pads[1].Walk = true
		r.Hostile = true // the server may refuse answers to forged messages
		for i := range 3 {
			m := slices.Clone(b)
			if len(m) > 5 { // near the ticks of the match
				copy(m[1:5], []byte{byte(r.server.Done()), byte(r.server.Done() >> 8), 0, 0})
			}
			if toServer {
				_ = r.server.Receive(0, systems.Channel(i%2), m, r.Now(), r)
			} else {
				_ = r.clients[0].Receive(systems.Channel(i%2), m, r.Local(0))
			}
			r.Step()
		}
		if d := far(r.own(1), r.believed(1)); d > 2 {
			t.Errorf("the remote walker is off by %.2f", d)
		}
	})
}
