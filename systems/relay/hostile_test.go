package relay

import (
	"errors"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/predictor"
)

// A player who sends everything twenty times is counted, and changes nothing: one input is consumed in a tick.
func TestInputsAtTwentyTimesTheRateChangeNothing(t *testing.T) {
	m := four(t, profile(t, "P3"), 50, systems.ClientConfig{})
	p := m.clients[0].peer
	p.Half = repeating{p.Half}
	m.Net.RunUntil(8 * time.Second)
	m.clients[0].peer.Flagged = nil
	m.wantSound(300)
	if st := m.server.PeerStats(0); st.Refused < 1000 {
		t.Errorf("%+v", st)
	}
	for id := systems.Peer(1); id < 4; id++ {
		if st := m.server.PeerStats(id); st.Refused > 0 || st.Substituted > 60 {
			t.Errorf("another pays: %+v", st)
		}
	}
}

// repeating sends every message twenty times.
type repeating struct{ systems.Client }

func (r repeating) Send(now systems.Time, out systems.Outbox) {
	r.Client.Send(now, halves.Outbox(func(to systems.Peer, ch systems.Channel, message []byte) {
		for range 20 {
			out.Send(to, ch, message)
		}
	}))
}

// A player whose clock runs half as fast again moves as far as the others.
func TestAFastClockMovesNoPlayerFaster(t *testing.T) {
	m := newMatch(t, testGame(), 51)
	right := func(*player, int) pad { return pad{DX: 15} }
	m.join(profile(t, "P3"), simnet.Clock{DriftPPM: 500_000}, systems.ClientConfig{Seat: 0}, 60, right)
	m.join(profile(t, "P3"), simnet.Clock{}, systems.ClientConfig{Seat: 1}, 60, right)
	m.Net.RunUntil(20 * time.Second)
	var x [2]int
	for e := range steered.All(m.server.World()) {
		x[e.B.Player] = e.A.Pos.X.Int() - 3*int(e.B.Player)
	}
	if ticks := int(m.server.World().Tick()); x[0] > ticks || x[0] > x[1]+60 || x[1] < ticks/2 {
		t.Errorf("moved %v in %d ticks", x, ticks)
	}
	m.wantSound(300)
	if c := m.clients[1]; c.Stats().Stalls > 0 {
		t.Errorf("another pays: %+v", c.Stats())
	}
}

// A client that lies about its checksum is the only one that is flagged.
func TestAFalseChecksumFlagsOnlyItsSender(t *testing.T) {
	m := four(t, profile(t, "P3"), 52, systems.ClientConfig{})
	m.Net.At(5*time.Second, func() {
		for _, lie := range []hashMessage{{240, 1}, {180, 2}, {1 << 40, 3}, {0, 4}, {61, 5}} {
			m.clients[1].peer.Send(0, systems.Reliable, lie.append(nil))
		}
	})
	m.Net.RunUntil(8 * time.Second)
	for i, c := range m.clients {
		want := 0
		if i == 1 {
			want = 1
		}
		if st := m.server.PeerStats(c.peer.ID); len(c.peer.Flagged) != want || int(st.Desyncs) != want || c.checked < 200 || !c.Live() {
			t.Errorf("client %d: flagged %d, %+v, %+v", i, len(c.peer.Flagged), st, c.Stats())
		}
	}
}

// A checksum of a state that a resync has replaced is not compared.
func TestAChecksumFromBeforeAResyncIsNotCompared(t *testing.T) {
	half, err := NewServer(systems.ServerConfig{World: newWorld(t, testGame(), 1), Peers: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := half.(*Server)
	s.Open(0, 0, 0, 0, halves.Discard)
	for range 130 {
		s.Tick(0)
	}
	s.Open(0, 0, 60, 0, halves.Discard)
	for _, c := range []struct {
		tick             ecs.Tick
		checked, desyncs uint64
	}{{60, 0, 0}, {120, 1, 1}, {120, 1, 1}} { // the last one while an image is needed
		if err := s.Receive(0, systems.Reliable, (&hashMessage{c.tick, 1}).append(nil), 0, halves.Discard); err != nil {
			t.Fatal(err)
		}
		if st := s.PeerStats(0); st.Checked != c.checked || st.Desyncs != c.desyncs {
			t.Errorf("after a wrong checksum of tick %d: %+v", c.tick, st)
		}
	}
}

// Anything may come from a peer. Nothing of it reaches another, or grows.
func TestRandomMessagesAreRefusedAndNotForwarded(t *testing.T) {
	m := four(t, profile(t, "P3"), 53, systems.ClientConfig{})
	m.Hostile = true
	bad := m.clients[3]
	r := image.NewRand(9)
	m.Net.RunUntil(3 * time.Second)
	bad.peer.Off = true
	sent := 0
	m.Net.Every(bad.peer.Node, bad.peer.Now(), 600, func(int64, simnet.Time) {
		message := make([]byte, 1+r.IntN(200))
		for i := range message {
			message[i] = byte(r.Uint64())
		}
		message[0] = byte(r.IntN(7))
		bad.peer.Send(0, systems.Channel(r.IntN(2)), message)
		sent++
	})
	m.Net.RunUntil(8 * time.Second)
	if st := m.server.PeerStats(bad.peer.ID); st.Refused < uint64(sent)/2 {
		t.Errorf("%d sent, %+v", sent, st)
	}
	for _, c := range m.clients[:3] {
		if st := m.server.PeerStats(c.peer.ID); len(c.peer.Flagged) > 0 || c.checked < 300 || st.Refused > 0 || !c.Live() {
			t.Errorf("client %d: %+v %+v", c.peer.ID, st, c.Stats())
		}
	}
	if n := len(m.server.requested); n > 4*10 {
		t.Error(n, "orders wait")
	}
}

// table is a server with a player and a spectator, and what both refuse.
func TestTheServerRefusesMalformedMessages(t *testing.T) {
	m := newMatch(t, testGame(), 54)
	out := halves.Discard
	s := m.server
	s.Open(0, 0, 0, 0, out)
	s.Open(1, -1, 0, 0, out)
	s.Stamp(image.Order{Kind: image.OrderJoin, Player: 0}, out)
	for i := range 300 {
		s.Tick(systems.Time(i) * systems.Second / 60)
	}
	in := padInput.Pack(pad{DX: 1})
	input := func(received ecs.Tick, n int) []byte {
		message := inputMessage{received: received}
		for range n {
			message.inputs = append(message.inputs, in)
		}
		return message.to(s, 0)
	}
	tooMany := input(200, 180)
	tooMany[3] = 181
	for name, v := range map[string]struct {
		peer systems.Peer
		ch   systems.Channel
		m    []byte
	}{
		"empty":                  {0, systems.Datagram, nil},
		"of another kind":        {0, systems.Datagram, []byte{9, 1, 2}},
		"confirmation":           {0, systems.Datagram, []byte{kindConfirm, 1, 0, 0, 0, 1, 0, 0, 0}},
		"short":                  {0, systems.Datagram, input(290, 5)[:7]},
		"trailing":               {0, systems.Datagram, append(input(290, 5), 0)},
		"ahead of the server":    {0, systems.Datagram, input(301, 0)},
		"too many":               {0, systems.Datagram, tooMany},
		"inputs of a spectator":  {1, systems.Datagram, input(290, 1)},
		"order of a spectator":   {1, systems.Reliable, appendRequest(nil, 1, ecs.Entity{}, nil)},
		"order as a datagram":    {0, systems.Datagram, appendRequest(nil, 1, ecs.Entity{}, nil)},
		"order too long":         {0, systems.Reliable, appendRequest(nil, 1, ecs.Entity{}, make([]byte, image.MaxOrderBytes+1))},
		"checksum as a datagram": {0, systems.Datagram, (&hashMessage{60, 1}).append(nil)},
		"checksum, trailing":     {0, systems.Reliable, append((&hashMessage{60, 1}).append(nil), 0)},
		"from nobody":            {5, systems.Datagram, input(290, 1)},
	} {
		before := s.Peers[:cap(s.Peers)][v.peer]
		if err := s.Receive(v.peer, v.ch, v.m, 0, nil); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
		after := s.Peers[:cap(s.Peers)][v.peer]
		if after.Acked != before.Acked || after.Resync != before.Resync || len(s.requested) != 0 {
			t.Errorf("%s: changed the server", name)
		}
	}
	// Ticks outside the window of a seat are counted, and none is taken.
	if err := s.Receive(0, systems.Datagram, input(300, 120), 0, nil); err != nil || s.PeerStats(0).Refused < 50 {
		t.Error(err, s.PeerStats(0))
	}
	// The first input stays.
	in = padInput.Pack(pad{DX: -1})
	if err := s.Receive(0, systems.Datagram, input(300, 1), 0, nil); err != nil {
		t.Error(err)
	}
	s.Tick(301 * systems.Second / 60)
	if got := padInput.Unpack(s.Step.Inputs[0]); got.DX != 1 {
		t.Errorf("tick 301 used %+v", got)
	}
	// Orders beyond the budget are counted.
	for range 50 {
		if err := s.Receive(0, systems.Reliable, appendRequest(nil, 1, ecs.Entity{}, []byte{1}), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.requested) != orderBurst {
		t.Errorf("%d orders of 50 wait", len(s.requested))
	}
}

// A message that is refused changes nothing on a client either, wherever in it the fault lies.
func TestTheClientRefusesMalformedMessages(t *testing.T) {
	game := testGame()
	half, err := NewClient(systems.ClientConfig{World: newWorld(t, game, 1)})
	if err != nil {
		t.Fatal(err)
	}
	c := half.(*Client)
	if err := c.Receive(systems.Datagram, []byte{kindConfirm}, 0); !errors.Is(err, ErrMessage) {
		t.Error("before Load:", err)
	}
	c.Load(0, 0, 0)
	confirm := func(h confirmHead, ticks ...finalTick) []byte {
		w := wire.NewWriter(nil, systems.MaxDatagram)
		h.append(&w)
		bits := wire.NewBitWriter(w.Bytes(), w.Room())
		before := make([]code.Course, game.MaxPlayers)
		for i := range ticks {
			if ticks[i].inputs == nil {
				ticks[i].inputs = make([]ecs.InputBytes, game.MaxPlayers)
			}
			ticks[i].append(&bits, before, game, nil)
		}
		return bits.Bytes()
	}
	plain := confirm(confirmHead{first: 1, count: 2}, finalTick{}, finalTick{})
	for name, message := range map[string][]byte{
		"no ticks":          confirm(confirmHead{first: 1}),
		"tick 0":            confirm(confirmHead{first: 0, count: 1}, finalTick{}),
		"count too large":   confirm(confirmHead{first: 1, count: 200}, finalTick{}),
		"trailing":          append(plain, 0),
		"padding":           append(plain[:len(plain)-1:len(plain)-1], 0x80),
		"much more":         confirm(confirmHead{first: 1, count: 1, more: backlog + 1}, finalTick{}),
		"nothing differs":   append(confirm(confirmHead{first: 1, count: 1}), 1),
		"short":             plain[:5],
		"input message":     (&inputMessage{}).alone(game),
		"a player's order":  appendRequest(nil, 1, ecs.Entity{}, nil),
		"order for tick 0":  (&stampedOrder{}).append(nil),
		"order of player 4": (&stampedOrder{tick: 3, order: image.Order{Player: 4}}).append(nil),
		"order of no kind":  (&stampedOrder{tick: 3, order: image.Order{Kind: 77}}).append(nil),
		"a server's order":  (&stampedOrder{tick: 3, order: image.Order{Kind: image.OrderView}}).append(nil),
	} {
		if err := c.Receive(systems.Reliable, message, 0); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
		if c.timeline.Received() != 0 || c.Counted.ServerTick != 0 || (c.Phase > predictor.Waiting) || c.timeline.Orders(3) != 0 {
			t.Fatalf("%s: changed the client", name)
		}
	}
	if err := c.Receive(systems.Datagram, plain, 0); err != nil || c.timeline.Received() != 2 {
		t.Fatal(err, c.timeline.Received())
	}
}

func TestAGameWhoseTickDoesNotFitADatagramIsRefusedWithFigures(t *testing.T) {
	type wide struct{ A [32]uint8 }
	game := &ecs.Game{Name: "wide", TickRate: 60, MaxPlayers: 64, Input: ecs.NewInput[wide](), Components: ecs.Components(bodyComp)}
	w := newWorld(t, game, 1)
	if _, err := NewServer(systems.ServerConfig{World: w, Peers: 1}); err == nil {
		t.Error("accepted")
	}
	if _, err := NewClient(systems.ClientConfig{World: w}); err == nil {
		t.Error("accepted")
	}
}

// Orders take effect after the median round trip of the players. Neither a player nor a spectator whose acknowledgements stay
// behind delays the orders of the others.
func TestOnePeerDoesNotDelayTheOrdersOfTheOthers(t *testing.T) {
	m := four(t, profile(t, "P3"), 52, systems.ClientConfig{})
	m.join(profile(t, "P3"), simnet.Clock{}, systems.ClientConfig{Seat: -1}, 60, idle)
	m.Net.RunUntil(4 * time.Second)
	before := m.server.ahead()
	m.Lost = func(toClient bool, id int, _ systems.Channel, _ []byte) bool {
		return !toClient && (id == 0 || id == 4)
	}
	m.Net.RunUntil(6 * time.Second)
	if after := m.server.ahead(); after > before+1 || before < 4 {
		t.Errorf("orders take effect %d ticks later, %d with two peers that acknowledge nothing", before, after)
	}
	for _, id := range []systems.Peer{0, 4} {
		if behind := m.server.Done() - m.server.Peers[id].Acked; behind < 60 {
			t.Fatalf("peer %d is %d ticks behind: the run proves nothing", id, behind)
		}
	}
}
