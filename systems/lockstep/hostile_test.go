package lockstep

import (
	"errors"
	"reflect"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/net/wire"
	"tendon/systems"
)

// receive passes the server a message of peer 0.
func (l *loop) receive(ch systems.Channel, message []byte) error {
	return l.server.Receive(0, ch, message, l.Net.Now(), l)
}

func newRunning(t testing.TB, c Config) *loop {
	l := newLoop(t, c, testGame(), 2, 2, zigzag)
	for range 120 {
		l.Step()
	}
	return l
}

// Messages that do not follow the standard are refused and change nothing.
func TestMalformedMessagesAreRefusedAndChangeNothing(t *testing.T) {
	l := newRunning(t, Config{})
	game := l.server.Game
	good, _ := (&opsMessage{received: 100, executed: 90, live: true, lead: 3, stalled: 7, first: 900, ops: []op{{in: padInput.Pack(pad{DX: 1})},
		{isOrder: true, number: 1, target: ecs.Entity{Row: 9, Born: 300}, payload: []byte("x")}}}).append(nil, game)
	ahead, _ := (&opsMessage{received: l.server.syncs.sync + 1, executed: 3}).append(nil, game)
	early, _ := (&opsMessage{received: 2, executed: 3}).append(nil, game)
	many, _ := (&opsMessage{received: 100, executed: 90, stalled: shares + 1}).append(nil, game)
	hash := (&hashMessage{60, 1}).append(nil)
	result := (&resultMessage{tick: 60, result: []byte{1}}).append(nil)
	for name, c := range map[string]struct {
		ch      systems.Channel
		message []byte
	}{
		"empty": {systems.Reliable, nil}, "unknown kind": {systems.Reliable, []byte{9}}, "wrong way": {systems.Datagram, []byte{kindSync, 1}},
		"short": {systems.Datagram, good[:len(good)-1]}, "long": {systems.Datagram, append(append([]byte{}, good...), 0)},
		"ahead": {systems.Datagram, ahead}, "executed what it has not": {systems.Datagram, early}, "stalls more than always": {systems.Datagram, many},
		"hash as datagram": {systems.Datagram, hash}, "short hash": {systems.Reliable, hash[:5]}, "result as datagram": {systems.Datagram, result},
		"result of a game that has none": {systems.Reliable, result},
	} {
		was := l.server.Peers[0]
		if err := l.receive(c.ch, c.message); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
		now := l.server.Peers[0]
		was.Own.received, now.Own.received = 0, 0
		if !reflect.DeepEqual(now.Own, was.Own) || now.Acked != was.Acked || now.Resync != was.Resync || l.server.running.touched != 0 {
			t.Errorf("%s changed something", name)
		}
	}
	if err := l.receive(systems.Datagram, good); err != nil || l.server.running.touched != 1 {
		t.Errorf("what is well-formed was not taken: %v", err)
	}
	if err := l.server.Receive(1, systems.Datagram, good, 0, l); err != nil {
		t.Error(err)
	}
	l.server.Peers[1].Seat = -1
	if err := l.server.Receive(1, systems.Datagram, good, 0, l); !errors.Is(err, ErrMessage) {
		t.Errorf("a spectator's operations: %v", err)
	}
}

// A checksum of a state that a resync has replaced, or will replace, is no vote.
func TestAChecksumFromBeforeAResyncIsNoVote(t *testing.T) {
	l := newRunning(t, Config{})
	s, p := l.server, &l.server.Peers[0]
	counts := func(f ecs.Tick) bool {
		before := p.Stats.Checked
		if err := l.receive(systems.Reliable, (&hashMessage{f, 1}).append(nil)); err != nil {
			t.Fatal(err)
		}
		return p.Stats.Checked != before
	}
	if !counts(60) || counts(61) || counts(0) || counts(6000) {
		t.Error("before a resync, the checksum of tick 60 is to count, and no other")
	}
	p.Resync.Request()
	if counts(60) {
		t.Error("a checksum counts while an image is needed")
	}
	s.Open(0, 0, s.Done(), l.Now(), l)
	if counts(60) {
		t.Errorf("the checksum of tick 60 counts for a peer that was opened with tick %d", s.Done())
	}
}

// A flood of messages is refused beyond the sender's budget. The log stays bounded and the other players play on.
func TestAFloodIsBounded(t *testing.T) {
	for _, c := range []Config{{}, Article()} {
		l := newRunning(t, c)
		number := uint32(5000)
		from := l.server.log.bytes
		for range 120 {
			for range 40 {
				m := opsMessage{received: l.server.syncs.sync, executed: l.server.syncs.sync, first: number, live: true}
				for i := range 20 {
					m.ops = append(m.ops, op{in: padInput.Pack(pad{DX: int8(i), DY: int8(number)})}, op{isOrder: true, number: uint64(i + 1), payload: raworder.Bytes(20)})
				}
				number += 40
				message, _ := m.append(nil, l.server.Game)
				if err := l.receive(systems.Datagram, message); err != nil {
					t.Fatal(err)
				}
			}
			l.Step()
		}
		s := l.server
		if st := s.PeerStats(0); st.Refused < 1000 || waiting(s) > 200 || s.relayed > maxNumber {
			t.Errorf("%+v, %d orders wait", st, waiting(s))
		}
		if grown := s.log.bytes - from; grown > 12000 {
			t.Errorf("the log grew by %d bytes", grown)
		}
		if c := l.clients[1]; !c.Live() || c.at()+20 < s.Done() {
			t.Errorf("the other is at %d of %d", c.at(), s.Done())
		}
	}
}

// Operations with numbers that were received before are ignored. Numbers that jump only harm their sender.
func TestNumbersOfOperationsMayRepeatAndJump(t *testing.T) {
	l := newRunning(t, Config{})
	say := func(first uint32, dx ...int8) {
		m := opsMessage{received: 100, executed: 100, first: first}
		for _, d := range dx {
			m.ops = append(m.ops, op{in: padInput.Pack(pad{DX: d})})
		}
		message, _ := m.append(nil, l.server.Game)
		if err := l.receive(systems.Datagram, message); err != nil {
			t.Fatal(err)
		}
	}
	dx := func() int8 { return padInput.Unpack(l.server.running.inputs[0]).DX }
	say(1000, 5, 6)
	say(1000, 9, 9)
	say(999, 9, 9, 9, 7)
	if dx() != 7 {
		t.Errorf("DX is %d", dx())
	}
	say(1<<31+1001, 8)
	if dx() != 8 && l.server.Peers[0].Own.operated != 1002 {
		t.Errorf("DX is %d after %d", dx(), l.server.Peers[0].Own.operated)
	}
	say(1002, 9)
	if dx() == 9 {
		t.Error("an old number was taken")
	}
}

// A client refuses messages that do not follow the standard, and they change nothing.
func TestAClientRefusesMalformedMessages(t *testing.T) {
	l := newRunning(t, Config{})
	c := l.clients[0]
	sync := func(h syncHead, codes ...uint64) []byte {
		w := wire.NewWriter(nil, 200)
		h.append(&w)
		bits := wire.NewBitWriter(w.Bytes(), w.Room())
		for _, code := range codes {
			bits.Bits(code, 64)
		}
		return bits.Bytes()
	}
	next := c.log.last + 1
	order := stamped{tick: next + 3, number: 0, order: image.Order{Kind: image.OrderGame, Payload: []byte("x")}}
	whole := order.append(nil, c.Game)
	far := order
	far.tick = next + 100000
	for name, message := range map[string][]byte{
		"nothing": {}, "kind": {kindOps}, "no such interval": sync(syncHead{first: next, interval: 4}), "more frames than bits": sync(syncHead{first: next, count: 65, interval: 2}, 0),
		"frame 0": sync(syncHead{first: 0, interval: 2}), "trailing": sync(syncHead{first: next, count: 1, interval: 2}, 0, 0),
		"nothing special": sync(syncHead{first: next, count: 1, interval: 2}, 1), "too far": sync(syncHead{first: next, ahead: maxAhead + 1, interval: 2}),
		"padding": sync(syncHead{first: next, count: 1, interval: 2}, 1<<40), "short": whole[:len(whole)-1], "order too far": far.append(nil, c.Game),
	} {
		last, announced, held := c.log.last, c.announced, len(c.incoming.held)
		if err := c.Receive(systems.Reliable, message, 0); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
		if c.log.last != last || c.announced != announced || len(c.incoming.held) != held {
			t.Errorf("%s changed something", name)
		}
	}
	if err := c.Receive(systems.Datagram, whole, 0); !errors.Is(err, ErrMessage) {
		t.Error("an order as a datagram", err)
	}
	if c.Receive(systems.Reliable, whole, 0) != nil || c.Receive(systems.Reliable, whole, 0) != nil || len(c.incoming.held) != 1 {
		t.Error("an order that comes twice", len(c.incoming.held))
	}
	if err := c.Receive(systems.Datagram, sync(syncHead{first: next, count: 60, interval: 2}, 0), 0); err != nil || c.log.last != next+59 {
		t.Error("frames in which nothing happens", err, c.log.last)
	}
}

// Operations that wait for their frame are bounded.
func TestOperationsThatWaitAreBounded(t *testing.T) {
	l := newRunning(t, Config{})
	c := l.clients[0]
	for i := range 3 * maxHeld {
		s := stamped{tick: c.announced + 1 + ecs.Tick(i/1000), number: i % 1000, order: image.Order{Kind: image.OrderGame}}
		_ = c.Receive(systems.Reliable, s.append(nil, c.Game), 0)
	}
	if len(c.incoming.held) != maxHeld {
		t.Error(len(c.incoming.held))
	}
}

// waiting returns the number of orders of frames that have not ended.
func waiting(s *Server) int {
	var orders []image.Order
	for f := s.Done() + 1; f <= s.stamped.tick; f++ {
		orders = s.orders.AppendAt(orders, f)
	}
	return len(orders)
}
