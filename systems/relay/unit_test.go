package relay

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/internal/inputs"
)

// A margin is a fraction of a tick on the room's grid, whenever the server computes. There is none before the grid is
// known.
func TestMarginsAreFractionsOfATickOnTheRoomsGrid(t *testing.T) {
	l := newLoop(t, testGame(), 1, 1, zigzag)
	s, epoch := l.server, 1000*systems.Second
	send := func(received ecs.Tick, n int, now systems.Time) {
		m := inputMessage{received: received, inputs: make([]ecs.InputBytes, n)}
		if err := s.Receive(0, systems.Datagram, m.to(s, 0), now, nil); err != nil {
			t.Fatal(err)
		}
	}
	send(0, 3, epoch)
	if _, ok := s.Seats[0].Worst(); ok {
		t.Error("measured before the first tick")
	}
	for f := ecs.Tick(1); f <= 30; f++ {
		s.Tick(systems.TickTime(epoch, f, 60))
	}
	send(30, 2, systems.TickTime(epoch, 30, 60)+s.Grid.Tick/2)
	if w, _ := s.Seats[0].Worst(); w != (inputs.Margin{Tick: 31, Value: inputs.MarginUnit / 2}) {
		t.Errorf("half a tick before its use: %+v", w)
	}
	// Tick 31 was due long ago: what comes now for 32 is too late by the grid, whatever was computed.
	send(30, 5, systems.TickTime(epoch, 36, 60))
	if w, _ := s.Seats[0].Worst(); w.Tick != 33 || w.Value != -3*inputs.MarginUnit {
		t.Errorf("three ticks late: %+v", w)
	}
}

// A client whose clock is so wrong that none of its inputs is in time receives the error. This happens on a connection
// of two seconds before the first round trip is measured.
func TestAClockThatIsFarOffReceivesTheError(t *testing.T) {
	l := newLoop(t, testGame(), 1, 1, zigzag)
	s := l.server
	for f := ecs.Tick(1); f <= 200; f++ {
		s.Tick(systems.TickTime(0, f, 60))
	}
	for name, c := range map[string]struct {
		received ecs.Tick
		count    int
		early    int16
	}{"two seconds late": {70, 10, -120}, "two seconds early": {200, 120, 120}} {
		s.Seats[0].PopWorst()
		m := inputMessage{received: c.received, inputs: make([]ecs.InputBytes, c.count)}
		if err := s.Receive(0, systems.Datagram, m.to(s, 0), systems.TickTime(0, 200, 60), nil); err != nil {
			t.Fatal(err)
		}
		far := c.received + ecs.Tick(c.count)
		if m, ok := s.Seats[0].Worst(); c.early < 0 && (!ok || m.Tick != far || m.Value != c.early*inputs.MarginUnit) || !ok {
			t.Errorf("%s: %+v, %v", name, m, ok)
		}
	}
}

// More ticks may be under way than a datagram holds. Then successive confirmations carry successive ticks up to the
// present, and start again from the last acknowledged one. A client that is two seconds away receives all in three
// datagrams.
func TestConfirmationsGoOnWhereTheLastEnded(t *testing.T) {
	game := largeGame(16)
	r := image.NewRand(1)
	l := newLoop(t, game, 1, 1, zigzag)
	s := l.server
	for p := range 16 {
		s.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)}, l)
	}
	for range 120 {
		for p := range s.Seats {
			s.Seats[p].Put(s.Done()+1, s.Done(), inputs.Entry{In: padInput.Pack(pad{DX: int8(r.IntN(99)), DY: int8(r.IntN(99))})}, game)
		}
		s.Tick(0)
	}
	p := &s.Peers[0]
	p.Acked, p.Own.sent = 0, 0
	next, datagrams := ecs.Tick(1), 0
	for round := range 2 {
		for first := true; first || next <= s.Done(); first = false {
			m := bytes.Clone(confirmationOf(s, p))
			var head confirmHead
			reader := wire.NewReader(m)
			if err := head.read(&reader, 0); err != nil || head.first != next || head.last()+head.more != s.Done() {
				t.Fatalf("round %d: ticks %d … %d of %d, want from %d on, %v", round, head.first, head.last(), s.Done(), next, err)
			}
			next = head.last() + 1
			datagrams++
		}
		next = 1
	}
	if datagrams < 6 {
		t.Errorf("%d datagrams: the test shows nothing", datagrams)
	}
}

// Inputs that wait from one connection are not used for the next one in the seat.
func TestASeatDoesNotInheritInputsThatWait(t *testing.T) {
	l := newLoop(t, testGame(), 2, 1, zigzag)
	s := l.server
	for range 40 {
		l.Step()
	}
	m := inputMessage{received: s.Done(), inputs: make([]ecs.InputBytes, 30)}
	for i := range m.inputs {
		m.inputs[i] = padInput.Pack(pad{DX: 7, Throw: true})
	}
	if err := s.Receive(0, systems.Datagram, m.to(s, 0), 0, nil); err != nil {
		t.Fatal(err)
	}
	for range 8 { // the first of them have come before
		s.Tick(0)
	}
	if padInput.Unpack(s.Step.Inputs[0]).DX != 7 {
		t.Fatal("the test proves nothing")
	}
	s.Close(0)
	s.Open(0, 0, s.Done(), 0, l)
	s.Tick(0)
	if in := padInput.Unpack(s.Step.Inputs[0]); in.DX != 7 || in.Throw {
		t.Errorf("%+v: want the held input without the presses of the earlier player", in)
	}
	// A player who takes the seat does not continue with the inputs held in it.
	s.Stamp(image.Order{Kind: image.OrderLeave, Player: 0}, l)
	s.Stamp(image.Order{Kind: image.OrderJoin, Player: 0}, l)
	for range 60 {
		s.Tick(0)
	}
	if in := padInput.Unpack(s.Step.Inputs[0]); in != (pad{}) || !s.World().Players().Has(0) {
		t.Errorf("holds %+v", in)
	}
}

// An image may be older than the newest tick that a client has confirmed. Orders between the two are sent again. Each
// is taken once, whether the client has dropped it already or not.
func TestOrdersAreTakenOnceAcrossAnImage(t *testing.T) {
	for wait := range 30 {
		l := newLoop(t, testGame(), 1, 2, zigzag)
		for range 40 {
			l.Step()
		}
		var s image.Snapshot
		l.server.World().Image().Save(&s)
		encoded, have := s.AppendImage(nil), l.server.Done()
		for i := range 10 {
			l.server.Stamp(image.Order{Payload: []byte{byte(i)}}, l)
			l.Step()
		}
		for range wait {
			l.Step()
		}
		c, p := l.clients[0], l.Peers[0]
		p.Take(encoded)
		p.Load(l.server.Done())
		if wait%2 == 0 {
			l.Step()
		}
		p.OpenNow(have)
		for range 60 {
			l.Step()
		}
		if !c.Live() || l.server.PeerStats(0).Desyncs > 0 || c.timeline.Confirmed() < have+60 {
			t.Fatalf("after %d ticks: %+v", wait, c.Stats())
		}
	}
}

// An order that the reliable channel has lost holds up everything behind it: it is sent again beside the confirmations.
func TestALostOrderIsRepeatedWhileTheClientWaits(t *testing.T) {
	l := newLoop(t, testGame(), 1, 2, zigzag)
	for range 40 {
		l.Step()
	}
	f := ecs.Tick(0)
	for i := range 3 {
		f = l.server.Stamp(image.Order{Payload: []byte{byte(i)}}, halves.Discard) // which is lost
	}
	for range 60 {
		l.Step()
	}
	c := l.clients[0]
	if !c.Live() || c.timeline.Confirmed() < f+30 || l.server.PeerStats(0).Desyncs > 0 {
		t.Errorf("orders of tick %d were lost: %+v", f, c.Stats())
	}
	sent := l.Down.Bytes
	for range 60 {
		l.Step()
	}
	if now := l.Down.Bytes - sent; now > 60*40 {
		t.Errorf("%d bytes in a second in which nothing is waited for", now)
	}
}

// An order is stamped as far ahead as the median player needs: at least 2 ticks and at most half a second. A peer that is not
// open does not count.
func TestAnOrderIsStampedForTheMedianPlayer(t *testing.T) {
	half, err := NewServer(systems.ServerConfig{World: newWorld(t, testGame(), 1), Peers: 4})
	if err != nil {
		t.Fatal(err)
	}
	s := half.(*Server)
	for id := range 3 {
		s.Open(systems.Peer(id), id, 0, 0, halves.Discard)
	}
	for range 100 {
		s.Tick(0)
	}
	for _, c := range []struct {
		behind [3]ecs.Tick
		ahead  ecs.Tick
	}{
		{[3]ecs.Tick{0, 0, 0}, 2}, {[3]ecs.Tick{1, 1, 1}, 2}, {[3]ecs.Tick{3, 0, 2}, 3}, {[3]ecs.Tick{5, 12, 3}, 6}, {[3]ecs.Tick{3, 5, 12}, 6},
		{[3]ecs.Tick{29, 0, 0}, 2}, {[3]ecs.Tick{0, 30, 30}, 30}, {[3]ecs.Tick{100, 7, 1}, 8}, {[3]ecs.Tick{12, 3, 12}, 13},
	} {
		for id, behind := range c.behind {
			s.Peers[id].Acked = s.Done() - behind
		}
		if got := s.ahead(); got != c.ahead {
			t.Errorf("peers %d ticks behind: stamped %d ticks ahead, want %d", c.behind, got, c.ahead)
		}
	}
	if f := s.Stamp(image.Order{Payload: []byte{1}}, halves.Discard); f != s.Done()+13 {
		t.Errorf("an order of tick %d is stamped into tick %d", s.Done(), f)
	}
	s.Close(0)
	if got := s.ahead(); got != 4 {
		t.Errorf("without the last peer: %d ticks ahead, want 4", got)
	}
}

// A confirmation never exceeds a datagram, and what does not fit follows.
func TestAConfirmationFillsADatagramAndNoMore(t *testing.T) {
	game := largeGame(16)
	r := image.NewRand(1)
	l := newLoop(t, game, 1, 1, zigzag)
	s := l.server
	for p := range 16 {
		s.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)}, l)
	}
	for range 300 {
		for p := range s.Seats {
			s.Seats[p].Put(s.Done()+1, s.Done(), inputs.Entry{In: padInput.Pack(pad{DX: int8(r.IntN(99)), DY: int8(r.IntN(99)), Throw: r.Chance(1, 2)})}, game)
		}
		s.Tick(0)
	}
	message := confirmationOf(s, &s.Peers[0])
	if len(message) > systems.MaxDatagram || len(message) < systems.MaxDatagram-100 {
		t.Errorf("%d bytes", len(message))
	}
	c := l.clients[0]
	s.Open(0, 0, 0, 0, halves.Outbox(func(_ systems.Peer, ch systems.Channel, m []byte) {
		if err := c.Receive(ch, m, 0); err != nil {
			t.Fatal(err)
		}
	}))
	for rounds := 0; c.timeline.Received() < s.Done(); rounds++ {
		if rounds > 40 {
			t.Fatalf("%d of %d", c.timeline.Received(), s.Done())
		}
		s.Peers[0].Acked = c.timeline.Received()
		if err := c.Receive(systems.Datagram, confirmationOf(s, &s.Peers[0]), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// Inputs that do not fit a datagram wait, newest first; the message stays whole.
func TestAnInputMessageHoldsTheOldestThatFit(t *testing.T) {
	type wide struct{ A [32]uint8 }
	wideInput := ecs.NewInput[wide]()
	game := &ecs.Game{Name: "wide", TickRate: 60, MaxPlayers: 2, Input: wideInput, Components: ecs.Components(bodyComp)}
	newWorld(t, game, 1)
	r := image.NewRand(2)
	sent := inputMessage{received: 990}
	for range 150 {
		var w wide
		for i := range w.A {
			w.A[i] = uint8(r.Uint64())
		}
		sent.inputs = append(sent.inputs, wideInput.Pack(w))
	}
	message := sent.alone(game)
	var got inputMessage
	if err := got.readAlone(message, near, game); err != nil || len(message) > systems.MaxDatagram || len(got.inputs) < 25 {
		t.Fatal(err, len(message), len(got.inputs))
	}
	for i, in := range got.inputs {
		if in != sent.inputs[i] {
			t.Fatal(i)
		}
	}
}

// The third desync is the last, across the connections of a player. The next player in the seat starts anew. A state
// that is only too old is no fault, and other players are not charged.
func TestAPlayerIsRemovedAtTheThirdDesync(t *testing.T) {
	out := halves.Discard
	half, err := NewServer(systems.ServerConfig{World: newWorld(t, testGame(), 1), Peers: 3})
	if err != nil {
		t.Fatal(err)
	}
	s := half.(*Server)
	seats := []int{0, 1, -1}
	open := func(id systems.Peer) { s.Open(id, seats[id], s.Done(), 0, out) }
	for id, seat := range seats {
		if open(systems.Peer(id)); seat >= 0 {
			s.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, out)
		}
	}
	differs := func(id systems.Peer) systems.PeerStats {
		for s.Tick(0); s.Done()%checkEvery != 0; {
			s.Tick(0)
		}
		sum, _ := s.States.At(s.Done())
		for range 2 { // checksums of states that a resync replaces do not count
			lie := hashMessage{s.Done(), sum.Checksum() ^ 1}
			if err := s.Receive(id, systems.Reliable, lie.append(nil), 0, out); err != nil {
				t.Fatal(err)
			}
		}
		return s.PeerStats(id)
	}
	for _, id := range []systems.Peer{0, 2} {
		for i := range 3 {
			if st := differs(id); st.Expelled != (i == 2) || st.Desyncs == 0 {
				t.Fatalf("peer %d, time %d: %+v", id, i+1, st)
			}
			if id == 0 && i == 1 {
				s.Close(id) // and comes back
			}
			open(id)
		}
	}
	for range backlog + 1 {
		s.Tick(0)
	}
	s.Send(0, out)
	if st := s.PeerStats(1); s.Peers[1].Resync != authority.Needed || st.Expelled || st.Desyncs != 0 {
		t.Errorf("another, whose state is too old: %+v", st)
	}
	s.Close(0)
	s.Stamp(image.Order{Kind: image.OrderLeave, Player: 0}, out)
	for range 60 {
		s.Tick(0)
	}
	s.Stamp(image.Order{Kind: image.OrderJoin, Player: 0}, out)
	open(0)
	for i := range 3 {
		if st := differs(0); st.Expelled != (i == 2) {
			t.Errorf("who took the seat next, time %d: %+v", i+1, st)
		}
		open(0)
	}
}

// confirmationOf returns the next confirmation to a peer.
func confirmationOf(s *Server, p *peer) []byte {
	first, last := s.nextTicks(p)
	return s.confirmation(p, first, last)
}

// On a line without losses, three confirmations contain each tick, without the receiver's own inputs. If all three of a tick are
// lost, all ticks since are repeated, and those of the next ten seconds, too.
func TestThreeConfirmationsCarryATick(t *testing.T) {
	l := newLoop(t, testGame(), 2, 3, func(seat, tick int) pad { return pad{DX: int8(tick % 3), DY: int8(tick % (5 + seat))} })
	lost, sent, own, most := false, map[ecs.Tick]int{}, 0, 0
	l.Lost = func(toClient bool, seat int, _ systems.Channel, message []byte) bool {
		if !toClient || seat != 0 || message[0] != kindConfirm {
			return false
		}
		var head confirmHead
		r := wire.NewReader(message)
		if err := head.read(&r, l.server.Done()); err != nil {
			t.Fatal(err)
		}
		for f := head.first; f <= head.last(); f++ {
			sent[f]++
		}
		most = max(most, head.count)
		if !head.withoutOwn {
			own++
		}
		return lost
	}
	steps := func(n int) {
		clear(sent)
		own, most = 0, 0
		for range n {
			l.Step()
		}
	}
	client := l.Peers[0].Half.(*Client)
	behind := func() ecs.Tick { return l.server.Done() - client.timeline.Received() }
	steps((cautious + 2) * 60)
	usual := behind()
	steps(120)
	for f := l.server.Done() - 100; f < l.server.Done()-copies; f++ {
		if sent[f] != copies {
			t.Fatalf("tick %d was sent %d times", f, sent[f])
		}
	}
	if own > 0 || most != copies {
		t.Errorf("%d confirmations held the receiver's own inputs, one had %d ticks", own, most)
	}
	lost = true
	steps(copies)
	lost = false
	if steps(20); behind() != usual || most <= copies {
		t.Errorf("%d ticks behind, usually %d; a confirmation had %d ticks", behind(), usual, most)
	}
	if steps(60 * (cautious - 2)); sent[l.server.Done()-100] <= copies {
		t.Errorf("tick %d was sent %d times", l.server.Done()-100, sent[l.server.Done()-100])
	}
}

// A confirmation contains the receiver's own inputs of ticks for which it may have sent others. These are the ticks before its player
// entered with this connection, and those that it may have sampled before it loaded an image.
func TestOwnInputsAreSentWhereTheReceiverMayLackThem(t *testing.T) {
	l := newLoop(t, testGame(), 2, 1, zigzag)
	s, p := l.server, &l.server.Peers[0]
	check := func(when string, want bool) {
		t.Helper()
		if got := s.hasOwn(p, s.Done()); got != want {
			t.Errorf("%s: own inputs are left out: %v", when, got)
		}
	}
	steps := func(n int) {
		for range n {
			l.Step()
		}
	}
	steps(120)
	check("in a match", true)
	if s.hasOwn(p, 1) {
		t.Error("own inputs are left out in a tick before the player's")
	}
	s.Open(0, 0, s.Done(), l.Now(), l)
	check("after an image", false)
	steps(recentTicks)
	check("at the last tick that may have been sampled twice", false)
	steps(1)
	check("later", true)
	s.Stamp(image.Order{Kind: image.OrderLeave, Player: 0}, l)
	steps(60)
	check("after the player left", false)
}

// Where congestion control skips most confirmations, ticks are repeated only while an acknowledgement is overdue: each repeated
// tick would delay those that follow.
func TestACongestedLineCarriesFewRepeatedTicks(t *testing.T) {
	l := newLoop(t, testGame(), 2, 1, zigzag)
	p := &l.server.Peers[0]
	done := l.server.Done
	for range 60 {
		l.Step()
	}
	p.Own.repeated, p.Own.waits = done(), 0
	if p.Own.confirmed = [copies]ecs.Tick{done(), done() - 1, done() - 2}; !l.server.repeats(p) {
		t.Error("ticks are not repeated although an acknowledgement was overdue")
	}
	if p.Own.confirmed = [copies]ecs.Tick{done(), done() - 4, done() - 8}; l.server.repeats(p) {
		t.Error("ticks are repeated on a congested line")
	}
	if p.Own.waits = patience + 1; !l.server.repeats(p) {
		t.Error("ticks are not repeated while an acknowledgement is overdue")
	}
}
