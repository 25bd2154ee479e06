package netcode

import (
	"net/netip"
	"slices"
	"testing"
	"time"
)

// move lets the datagrams of a client come from another address from now on.
func (w *world) move(from, to netip.AddrPort) {
	w.clients[to] = w.clients[from]
	delete(w.clients, from)
	w.order[slices.Index(w.order, from)] = to
}

// bytesTo returns the bytes of the datagrams to an address.
func bytesTo(out *Outbox, to netip.AddrPort) (n int) {
	for i := range out.Len() {
		if at, packet := out.At(i); at == to {
			n += len(packet)
		}
	}
	return n
}

// A client whose address has changed keeps its connection: its next packet moves it. Nothing is lost afterwards.
func TestAConnectionFollowsItsClientToAnotherAddress(t *testing.T) {
	w := newWorld(t, 4)
	a, b := w.connected(addr(1), w.token(1)), w.connected(addr(2), w.token(2))
	w.run(time.Second)
	for n := range 20 { // again and again, slowly
		from, to := addr(1+100*n), addr(101+100*n)
		w.move(from, to)
		if e := w.receive(w.payload(a, "from elsewhere"), to); e.Kind != Payload || string(e.Payload) != "from elsewhere" {
			t.Fatalf("move %d: %+v", n, e)
		}
		w.wantCount(Moves, uint64(n+1))
		w.run(time.Second)
		if w.server.slots[0].unproven() || w.server.slots[0].peer != to {
			t.Fatalf("move %d: at %v, unproven %v", n, w.server.slots[0].peer, w.server.slots[0].unproven())
		}
	}
	w.run(10 * time.Second)
	w.wantClients(2)
	if a.State() != StateConnected || b.State() != StateConnected || len(w.events) != 22 {
		t.Errorf("%v and %v, %d events", a.State(), b.State(), len(w.events))
	}
	w.wantCount(Withheld, 0)
}

// Keep-alives alone move a connection, also if the number of its packets passes into the next block.
func TestAQuietConnectionMovesWithItsKeepAlives(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	for _, sequence := range []uint64{3<<blockBits - 1, 3 << blockBits, 1<<40 - 1, 1 << 40} {
		c.sequence = max(sequence, c.sequence)
		w.run(time.Second)
		to := addr(1000 + int(sequence%7))
		w.move(w.order[0], to)
		w.run(500 * time.Millisecond)
		if s := &w.server.slots[0]; s.peer != to || s.unproven() || len(w.server.byBlock) != 1 {
			t.Fatalf("sequence %x: at %v, unproven %v, %d blocks", sequence, s.peer, s.unproven(), len(w.server.byBlock))
		}
	}
	for _, p := range w.packets(func(out *Outbox) { c.Disconnect(out, w.now) }) {
		w.receive(p, addr(7))
	}
	w.wantClients(0)
	if len(w.server.byBlock) != 0 {
		t.Errorf("%d blocks without a connection", len(w.server.byBlock))
	}
}

// Captured packets from another address move nothing: a packet that was received, one that is older than the newest, and one
// that was changed.
func TestACapturedPacketMovesNothing(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	late, received := w.payload(c, "late"), w.payload(c, "received")
	w.receive(slices.Clone(received), addr(1))
	forged := w.payload(c, "forged")
	forged[len(forged)-1] ^= 1
	w.receive(slices.Clone(received), addr(9))
	w.wantCount(DropReplay, 1)
	w.receive(forged, addr(9))
	w.wantCount(DropForged, 1)
	if e := w.receive(late, addr(9)); e.Kind != Payload {
		t.Errorf("a packet that was overtaken: %+v", e)
	}
	w.wantCount(Moves, 0)
	if w.server.slots[0].peer != addr(1) || w.lost != 0 {
		t.Errorf("at %v, %d packets to other addresses", w.server.slots[0].peer, w.lost)
	}
}

// A copy of each packet arrives first, from the address of a victim. The client goes on, so each of its packets moves the
// connection back, and the victim receives less than three times what was sent in its name.
func TestCopiesFromAnotherAddressNeitherHijackNorAmplify(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	victim := addr(9)
	in, out, mine := 0, 0, 0
	for i := range 600 {
		w.now = w.now.Add(time.Second / 60)
		packet := w.payload(c, "a packet of a player")
		var reply Outbox
		if i%2 == 0 { // otherwise all are replays of the copies
			in += len(packet)
			w.server.Receive(&reply, slices.Clone(packet), victim, w.now)
		}
		w.server.Receive(&reply, packet, addr(1), w.now)
		for range 20 { // far more than the client sends
			_ = w.server.Send(&reply, 0, make([]byte, 1000), w.now)
		}
		w.events = w.server.Update(&reply, w.now, w.events[:0])
		out += bytesTo(&reply, victim)
		mine += bytesTo(&reply, addr(1))
	}
	if out > amplification*in || mine < 100*out {
		t.Errorf("the victim received %d bytes for %d in its name, the client %d", out, in, mine)
	}
	w.receive(w.payload(c, "at last"), addr(1))
	if s := &w.server.slots[0]; s.peer != addr(1) || s.unproven() || w.server.Clients() != 1 {
		t.Errorf("at %v, unproven %v", s.peer, s.unproven())
	}
}

// A client that forges its address has a victim sent three times its own bytes at most, however long it goes on.
func TestAForgedAddressIsSentAtMostThreeTimesItsBytes(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	in, out := 0, 0
	for i := range 600 {
		w.now = w.now.Add(time.Second / 60)
		packet := w.payload(c, "x")
		if i%10 == 5 { // numbers of keep-alives that it guesses
			c.lastReceive = c.since(w.now)
			c.proof, c.echo = [8]byte{byte(i)}, true
			packet = w.packets(func(out *Outbox) { c.Update(out, w.now) })[0]
		}
		in += len(packet)
		var reply Outbox
		w.server.Receive(&reply, packet, addr(9), w.now)
		for range 20 {
			_ = w.server.Send(&reply, 0, make([]byte, 1000), w.now)
		}
		w.server.Update(&reply, w.now, nil)
		out += bytesTo(&reply, addr(9))
		if ratio := float64(out) / float64(in); ratio > amplification {
			t.Fatalf("%.2f bytes out for each byte in", ratio)
		}
	}
	if w.count(Withheld) == 0 || !w.server.slots[0].unproven() {
		t.Error("nothing was withheld")
	}
}

// The number that proves an address proves no other one.
func TestANumberProvesOneAddress(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	w.now = w.now.Add(time.Second)
	var out Outbox
	w.server.Receive(&out, w.payload(c, "x"), addr(8), w.now)
	_, first := out.At(0)
	c.Receive(slices.Clone(first), testServer, w.now)
	if !c.echo {
		t.Fatal("the client has no number to return")
	}
	answer := w.packets(func(out *Outbox) { c.Update(out, w.now) })[0]
	w.server.Receive(&out, answer, addr(9), w.now)
	if s := &w.server.slots[0]; s.peer != addr(9) || !s.unproven() {
		t.Errorf("at %v, unproven %v", s.peer, s.unproven())
	}
}

// Moves are limited, but a connection can always return to the address that it has proven.
func TestMovesAreLimited(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	for i := range 100 {
		w.receive(w.payload(c, "x"), addr(100+i))
		w.now = w.now.Add(strangerInterval)
	}
	w.wantCount(Moves, movesBurst)
	w.receive(w.payload(c, "x"), addr(1))
	if s := &w.server.slots[0]; s.peer != addr(1) || s.unproven() {
		t.Errorf("at %v, unproven %v", s.peer, s.unproven())
	}
}

// A flood of junk with the numbers of a connection, from many addresses, costs a bounded number of decryptions. A client that
// moves meanwhile is found when one of its packets is among them.
func TestJunkWithPlausibleNumbersCostsBoundedDecryptions(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	junk := w.payload(c, "a packet")
	for i := range 10_000 {
		bad := slices.Clone(junk)
		bad[len(bad)-1] ^= byte(1 + i%255)
		w.receive(bad, addr(100+i))
		w.now = w.now.Add(10 * time.Microsecond)
	}
	if opened := w.count(DropForged); opened == 0 || opened > strangerBurst+uint64(100*time.Millisecond/strangerInterval)+1 {
		t.Errorf("%d packets of 10 000 in 100 ms were opened", opened)
	}
	w.wantCount(Moves, 0)
	if len(w.events) != 1 || w.sent == 0 {
		t.Errorf("%d events", len(w.events))
	}
	w.now = w.now.Add(10 * time.Millisecond)
	w.move(addr(1), addr(2))
	w.run(time.Second)
	if w.server.slots[0].peer != addr(2) {
		t.Error("the client was not found after the flood")
	}
}

// A client that gets the address of another one waits until that one has moved. Neither loses its connection.
func TestTwoClientsExchangeTheirAddresses(t *testing.T) {
	w := newWorld(t, 4)
	a, b := w.connected(addr(1), w.token(1)), w.connected(addr(2), w.token(2))
	if e := w.receive(w.payload(a, "a"), addr(2)); e.Kind != NoEvent {
		t.Errorf("%+v from the address of another client", e)
	}
	w.receive(w.payload(b, "b"), addr(3)) // b moves on
	if e := w.receive(w.payload(a, "a"), addr(2)); e.Kind != Payload || e.Slot != 0 || w.server.slots[0].peer != addr(2) {
		t.Errorf("%+v, a at %v", e, w.server.slots[0].peer)
	}
	w.wantClients(2)
}

// A token may be presented from another address until it has had its connection.
func TestATokenMayBePresentedFromAnotherAddress(t *testing.T) {
	w := newWorld(t, 4)
	token := w.token(1)
	for i := range 20 {
		w.receive(w.request(token), addr(100+i))
	}
	w.connected(addr(1), token)
	w.receive(w.request(token), addr(2))
	w.wantCount(Connects, 1)
	w.wantCount(Challenges, 21)
}

// The time in which the server was suspended counts for no timeout.
func TestASuspendedServerTimesNoClientOut(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(1))
	w.run(time.Second)
	for _, suspended := range []time.Duration{2 * time.Second, 35 * time.Second, 10 * time.Minute} {
		w.now = w.now.Add(suspended)
		w.events = w.server.Update(&w.reply, w.now, w.events[:0])
		w.reply.Reset()
		c.epoch = c.epoch.Add(suspended) // it was suspended, too
		w.run(2 * time.Second)
		w.wantClients(1)
	}
	delete(w.clients, addr(1))
	w.run(6 * time.Second)
	w.wantClients(0)
}
