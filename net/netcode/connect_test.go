package netcode

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestClientConnectsAndBothSidesExchangePayloads(t *testing.T) {
	w := newWorld(t, 4)
	c := w.connected(addr(1), w.token(77))
	if len(w.events) != 1 || w.events[0].Kind != Connected || w.events[0].Slot != 0 || w.events[0].Replaced {
		t.Fatalf("events %+v, want one Connected of slot 0", w.events)
	}
	if !w.server.Connected(0) || w.server.ClientID(0) != 77 || w.server.slots[0].peer != addr(1) {
		t.Errorf("slot 0: %v %d %v", w.server.Connected(0), w.server.ClientID(0), w.server.slots[0].peer)
	}
	if got := w.server.UserData(0); !bytes.HasPrefix(got[:], []byte("user\x4d")) {
		t.Errorf("user data %q, want what the token held", got[:12])
	}
	for i := range 300 { // more than the window holds
		text := fmt.Sprintf("to the server %d", i)
		if e := w.receive(w.payload(c, text), addr(1)); e.Kind != Payload || e.Slot != 0 || string(e.Payload) != text {
			t.Fatalf("event %+v, want payload %q", e, text)
		}
		text = fmt.Sprintf("to the client %d", i)
		w.out.Reset()
		if err := w.server.Send(&w.out, 0, []byte(text), w.now); err != nil {
			t.Fatal(err)
		}
		_, packet := w.out.At(w.out.Len() - 1)
		if got := c.Receive(packet, testServer, w.now); string(got) != text {
			t.Fatalf("client received %q, want %q", got, text)
		}
	}
	if c.Counters().Dropped() != 0 || w.count(Payloads) != 300 {
		t.Errorf("client dropped %d, server took %d payloads", c.Counters().Dropped(), w.count(Payloads))
	}
}

// A challenge is answered by the next Update, not 100 ms later: connecting costs two round trips and no waiting.
func TestConnectingWaitsForNothingButTheNetwork(t *testing.T) {
	w := newWorld(t, 1)
	c := w.join(addr(1), w.token(1))
	w.step() // request, challenge
	w.step() // response, keep-alive
	if c.State() != StateConnected {
		t.Errorf("client is %v after two steps at one instant, want connected", c.State())
	}
}

func TestPayloadSizesAreBounded(t *testing.T) {
	w := newWorld(t, 1)
	c := w.connected(addr(1), w.token(1))
	for size, want := range map[int]error{0: ErrPayloadSize, 1: nil, MaxPayload: nil, MaxPayload + 1: ErrPayloadSize} {
		var out Outbox
		if err := c.Send(&out, make([]byte, size), w.now); err != want {
			t.Errorf("client Send of %d bytes: %v, want %v", size, err, want)
		}
		if err := w.server.Send(&out, 0, make([]byte, size), w.now); err != want {
			t.Errorf("server Send of %d bytes: %v, want %v", size, err, want)
		}
		for i := range out.Len() {
			if _, p := out.At(i); len(p) > MaxPacket {
				t.Errorf("packet of %d bytes, want at most %d", len(p), MaxPacket)
			}
		}
	}
	for _, slot := range []int{-1, 1} {
		if err := w.server.Send(&w.out, slot, []byte("x"), w.now); err != ErrNotConnected {
			t.Errorf("Send to slot %d: %v, want %v", slot, err, ErrNotConnected)
		}
	}
	if err := new(Client).Send(&w.out, []byte("x"), w.now); err != ErrNotConnected {
		t.Errorf("Send of an idle client: %v, want %v", err, ErrNotConnected)
	}
}

func TestIdleConnectionLivesOnTenKeepAlivesASecond(t *testing.T) {
	w := newWorld(t, 1)
	c := w.connected(addr(1), w.token(1))
	before, heard := w.count(KeepAlives), c.Counters()[KeepAlives]
	w.run(60 * time.Second)
	if c.State() != StateConnected || w.server.Clients() != 1 {
		t.Fatalf("client %v, %d clients after a silent minute", c.State(), w.server.Clients())
	}
	if sent, got := w.count(KeepAlives)-before, c.Counters()[KeepAlives]-heard; sent != 600 || got != 600 {
		t.Errorf("%d and %d keep-alives in 60 s, want 600 each", sent, got)
	}
}

// The server repeats the keep-alive before every payload until it receives a packet from the client. Without a
// keep-alive the client is not connected and drops the payload.
func TestPayloadToAnUnconfirmedClientBringsItsOwnKeepAlive(t *testing.T) {
	w := newWorld(t, 1)
	c := w.join(addr(1), w.token(1))
	w.step()
	delete(w.clients, addr(1)) // the first keep-alive is lost
	response := w.packets(func(out *Outbox) { c.Update(out, w.now) })[0]
	if e := w.receive(response, addr(1)); e.Kind != Connected {
		t.Fatalf("event %+v, want Connected", e)
	}
	sent := w.packets(func(out *Outbox) { _ = w.server.Send(out, 0, []byte("first"), w.now) })
	if len(sent) != 2 {
		t.Fatalf("%d packets for one payload to an unconfirmed client, want 2", len(sent))
	}
	if got := c.Receive(sent[0], testServer, w.now); got != nil || c.State() != StateConnected {
		t.Errorf("after the keep-alive: payload %q, %v", got, c.State())
	}
	if got := c.Receive(sent[1], testServer, w.now); string(got) != "first" {
		t.Errorf("payload %q, want first", got)
	}
	w.receive(w.payload(c, "hello"), addr(1))
	if sent = w.packets(func(out *Outbox) { _ = w.server.Send(out, 0, []byte("second"), w.now) }); len(sent) != 1 {
		t.Errorf("%d packets for one payload to a confirmed client, want 1", len(sent))
	}
}

func TestDisconnectingTellsTheOtherSideTenfold(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.connected(addr(1), w.token(1)), w.connected(addr(2), w.token(2))

	packets := w.packets(func(out *Outbox) { a.Disconnect(out, w.now) })
	if len(packets) != 10 || a.State() != StateDisconnected {
		t.Fatalf("%d disconnect packets, client %v; want 10, disconnected", len(packets), a.State())
	}
	if e := w.receive(packets[7], addr(1)); e.Kind != Disconnected || e.Slot != 0 {
		t.Errorf("event %+v, want Disconnected of slot 0 by the client", e)
	}
	for _, p := range packets {
		if e := w.receive(p, addr(1)); e.Kind != NoEvent {
			t.Errorf("further disconnect packet made %+v", e)
		}
	}

	packets = w.packets(func(out *Outbox) { w.server.Disconnect(out, 1, w.now) })
	if len(packets) != 10 || w.server.Clients() != 0 {
		t.Fatalf("%d disconnect packets, %d clients; want 10, 0", len(packets), w.server.Clients())
	}
	b.Receive(packets[9], testServer, w.now)
	if b.State() != StateDisconnected {
		t.Errorf("client is %v, want disconnected", b.State())
	}
}

func TestFullServerDenies(t *testing.T) {
	w := newWorld(t, 1)
	w.connected(addr(1), w.token(1))
	late := w.join(addr(2), w.token(2))
	w.run(300 * time.Millisecond)
	if late.State() != StateDenied {
		t.Errorf("client of a full server is %v, want denied", late.State())
	}
	w.wantClients(1)
}

// A denial contains the reason of Admit and does not use the token. The client later connects with the same token.
func TestADenialHasItsReason(t *testing.T) {
	w := newWorld(t, 1)
	reason, token := uint8(7), w.token(1)
	w.server.admit = func(a *Arrival) Action {
		if a.Reason = reason; reason != 0 && a.Challenged {
			return Deny
		}
		return Accept
	}
	c := w.join(addr(1), token)
	w.run(300 * time.Millisecond)
	if c.State() != StateDenied || c.Reason() != 7 {
		t.Errorf("client is %v for reason %d, want denied for 7", c.State(), c.Reason())
	}
	reason = 0
	if err := c.Connect(token, w.now); err != nil {
		t.Fatal(err)
	}
	w.run(300 * time.Millisecond)
	if c.State() != StateConnected {
		t.Errorf("client is %v, want connected", c.State())
	}
}

// Two clients hold challenges for the last slot: the second to answer is denied.
func TestLastSlotGoesToTheFirstResponse(t *testing.T) {
	w := newWorld(t, 1)
	a, b := w.join(addr(1), w.token(1)), w.join(addr(2), w.token(2))
	w.step()
	if a.State() != StateResponding || b.State() != StateResponding {
		t.Fatalf("clients are %v and %v, want both challenged", a.State(), b.State())
	}
	w.run(300 * time.Millisecond)
	if a.State() == b.State() || a.State()+b.State() != StateConnected+StateDenied {
		t.Errorf("clients are %v and %v, want one connected, one denied", a.State(), b.State())
	}
	w.wantClients(1)
}

func TestClientGoesThroughTheTokensServersInOrder(t *testing.T) {
	w := newWorld(t, 1)
	dead := netip.MustParseAddrPort("[2001:db8::9]:1")
	c := w.join(addr(1), w.token(1, func(r *TokenRequest) { r.Servers = []netip.AddrPort{dead, dead, testServer} }))
	w.run(9 * time.Second) // timeout is 5 s each
	if c.Server() != dead || c.State() != StateRequesting {
		t.Errorf("after 9 s: %v at %v, want still requesting at the second", c.State(), c.Server())
	}
	w.run(2 * time.Second)
	if c.State() != StateConnected || c.Server() != testServer {
		t.Errorf("after 11 s: %v at %v, want connected at the third", c.State(), c.Server())
	}
}

func TestEveryFailureEndsInItsState(t *testing.T) {
	nowhere := func(r *TokenRequest) { r.Servers = []netip.AddrPort{netip.MustParseAddrPort("203.0.113.1:9")} }
	t.Run("request timed out", func(t *testing.T) {
		w := newWorld(t, 1)
		c := w.join(addr(1), w.token(1, nowhere))
		w.run(6 * time.Second)
		if c.State() != StateRequestTimedOut {
			t.Errorf("%v", c.State())
		}
	})
	t.Run("response timed out", func(t *testing.T) {
		w := newWorld(t, 1)
		c := w.join(addr(1), w.token(1))
		w.step()
		for range 120 {
			w.now = w.now.Add(50 * time.Millisecond)
			w.out.Reset()
			c.Update(&w.out, w.now)
		}
		if c.State() != StateResponseTimedOut {
			t.Errorf("%v", c.State())
		}
	})
	t.Run("connection timed out", func(t *testing.T) {
		w := newWorld(t, 1)
		c := w.connected(addr(1), w.token(1))
		for range 120 {
			w.now = w.now.Add(50 * time.Millisecond)
			w.out.Reset()
			c.Update(&w.out, w.now)
		}
		if c.State() != StateTimedOut {
			t.Errorf("%v", c.State())
		}
	})
	// The lifetime is counted over all servers, on the client's own clock.
	t.Run("token expired", func(t *testing.T) {
		w := newWorld(t, 1)
		c := w.join(addr(1), w.token(1, nowhere, func(r *TokenRequest) { r.Timeout = time.Hour }))
		w.run(29 * time.Second)
		if c.State() != StateRequesting {
			t.Errorf("%v after 29 s of 30", c.State())
		}
		w.run(2 * time.Second)
		if c.State() != StateTokenExpired {
			t.Errorf("%v", c.State())
		}
	})
	t.Run("invalid token", func(t *testing.T) {
		var c Client
		if err := c.Connect(make([]byte, TokenSize), testStart); !errors.Is(err, ErrToken) || c.State() != StateInvalidToken {
			t.Errorf("%v, %v", err, c.State())
		}
	})
}

// A token whose timeout is negative never times out, on either side; one that never expires can be shown for ever.
func TestTokenWithoutTimeoutAndExpiryLastsForEver(t *testing.T) {
	w := newWorld(t, 1)
	token := w.token(1)
	w.reseal(token, func(public *ConnectToken, private *PrivateToken) {
		public.Expires, public.TimeoutSeconds, private.TimeoutSeconds = math.MaxUint64, -1, -1
	})
	w.now = w.now.Add(24 * 365 * 50 * time.Hour)
	c := w.connected(addr(1), token)
	w.now = w.now.Add(24 * 365 * 50 * time.Hour)
	w.events = w.server.Update(&w.out, w.now, w.events[:0])
	c.Update(&w.out, w.now)
	if c.State() != StateConnected || len(w.events) != 0 {
		t.Errorf("client %v, events %v after fifty silent years", c.State(), w.events)
	}
}

// A failed attempt may be repeated with the same token, but never with the same sequence numbers under the same key.
func TestRepeatedAttemptGoesOnWithTheSequence(t *testing.T) {
	w := newWorld(t, 1)
	token := w.token(1)
	c := w.join(addr(1), token)
	w.step()
	w.out.Reset()
	w.deliver(&w.out, addr(2)) // lost: a response, sealed with the first number
	next := c.sequence
	if err := c.Connect(token, w.now); err != nil {
		t.Fatal(err)
	}
	if c.sequence != next {
		t.Errorf("sequence %x, want %x, with the same key", c.sequence, next)
	}
	w.run(200 * time.Millisecond)
	if c.State() != StateConnected {
		t.Errorf("second attempt: %v", c.State())
	}
}

// A client that goes from token A to B and back to A continues the numbers of A.
func TestAClientKeepsTheSequenceOfEachKey(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.token(1), w.token(2)
	c := w.join(addr(1), a)
	w.step()
	w.step0(addr(1)) // responds
	next := c.sequence
	for _, token := range [][]byte{b, a} {
		if err := c.Connect(token, w.now); err != nil {
			t.Fatal(err)
		}
	}
	if c.sequence != next {
		t.Errorf("sequence %x of A, want %x", c.sequence, next)
	}
	w.run(300 * time.Millisecond)
}

// Two processes use one token, for example from one file. Their packets have different numbers, even if an attacker forwards
// the packets of the server to both.
func TestTwoClientsOfOneTokenShareNoNumber(t *testing.T) {
	w := newWorld(t, 2)
	token := w.token(1)
	first, second := w.join(addr(1), token), w.join(addr(2), token)
	delete(w.clients, addr(1))
	w.order = nil
	for range 20 { // packets from the server to the first client reach both
		w.now = w.now.Add(50 * time.Millisecond)
		w.out.Reset()
		first.Update(&w.out, w.now)
		_ = first.Send(&w.out, []byte("first"), w.now) // refused until it is connected
		w.reply.Reset()
		for i := range w.out.Len() {
			_, packet := w.out.At(i)
			w.seal(first.token.ClientToServer, packet)
			w.server.Receive(&w.reply, packet, addr(1), w.now)
		}
		for i := range w.reply.Len() {
			_, packet := w.reply.At(i)
			second.Receive(bytes.Clone(packet), testServer, w.now)
			first.Receive(packet, testServer, w.now)
		}
		w.out.Reset()
		second.Update(&w.out, w.now)
		_ = second.Send(&w.out, []byte("second"), w.now)
		for i := range w.out.Len() {
			_, packet := w.out.At(i)
			w.seal(second.token.ClientToServer, packet)
		}
	}
	if first.State() != StateConnected || second.State() != StateConnected {
		t.Errorf("clients %v and %v, want both deceived", first.State(), second.State())
	}
}

// A token with two servers has one connection with each. Their packets are sealed with one key and have different numbers.
func TestTheServersOfATokenShareNoNumber(t *testing.T) {
	other := netip.MustParseAddrPort("192.0.2.2:40000")
	w := newWorld(t, 1)
	token := w.token(1, func(r *TokenRequest) { r.Servers = []netip.AddrPort{other, testServer} })
	for i, at := range []netip.AddrPort{other, testServer} {
		config := ServerConfig{ProtocolID: testProtocol, Keys: []Key{w.key}, Addresses: []netip.AddrPort{at}, Slots: 1}
		server, err := NewServer(config, w.now)
		if err != nil {
			t.Fatal(err)
		}
		w.server = server
		var c Client
		if err := c.Connect(token, w.now); err != nil {
			t.Fatal(err)
		}
		c.try(i, 0)
		for range 10 {
			w.now = w.now.Add(50 * time.Millisecond)
			w.out.Reset()
			w.reply.Reset()
			c.Update(&w.out, w.now)
			for j := range w.out.Len() {
				_, packet := w.out.At(j)
				server.Receive(&w.reply, packet, addr(1), w.now)
			}
			server.Update(&w.reply, w.now, nil)
			_ = server.Send(&w.reply, 0, []byte{byte(i)}, w.now) // refused until the client is connected
			for j := range w.reply.Len() {
				_, packet := w.reply.At(j)
				w.seal(c.token.ServerToClient, packet)
				c.Receive(packet, at, w.now)
			}
		}
		if c.State() != StateConnected {
			t.Errorf("server %d: %v", i, c.State())
		}
	}
}

func TestServerAcceptsTheCurrentAndThePreviousKey(t *testing.T) {
	previous, unknown := countingKey(99), countingKey(55)
	w := newWorld(t, 3, func(c *ServerConfig) { c.Keys = append(c.Keys, previous) })
	w.connected(addr(1), w.token(1))
	w.connected(addr(2), w.token(2, func(r *TokenRequest) { r.Key = previous }))
	w.receive(w.request(w.token(3, func(r *TokenRequest) { r.Key = unknown })), addr(3))
	w.wantCount(DropToken, 1)
	w.wantClients(2)
}

// IPv4 in IPv6 clothes, as a dual-stack socket reports it, is the same address.
func TestMappedAddressIsTheSameAddress(t *testing.T) {
	w := newWorld(t, 1)
	token := w.token(1)
	mapped := netip.AddrPortFrom(netip.AddrFrom16(addr(1).Addr().As16()), addr(1).Port())
	c := w.join(addr(1), token)
	w.receive(w.request(token), mapped)
	w.receive(w.packets(func(out *Outbox) { c.Update(out, w.now) })[0], addr(1))
	w.wantClients(1)
	if w.server.slots[0].peer != addr(1) {
		t.Errorf("address %v, want %v", w.server.slots[0].peer, addr(1))
	}
}

// replaceSame lets a returning client take its old slot.
func replaceSame(a *Arrival) Action {
	if a.SameClient >= 0 {
		return Accept
	}
	return a.Standard()
}

func TestReconnectWithAFreshTokenReplacesTheSlotAtOnce(t *testing.T) {
	for name, from := range map[string]netip.AddrPort{"another address": addr(9), "the same address": addr(2)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, func(c *ServerConfig) { c.Admit = replaceSame })
			w.connected(addr(1), w.token(1))
			old := w.connected(addr(2), w.token(2))
			w.connected(addr(3), w.token(3)) // full
			w.run(time.Second)
			w.events = nil
			c := w.connected(from, w.token(2))
			if len(w.events) != 1 || w.events[0].Kind != Connected || !w.events[0].Replaced || w.events[0].Slot != 1 {
				t.Errorf("events %+v, want slot 1 connected and replaced", w.events)
			}
			if w.server.slots[1].peer != from {
				t.Errorf("slot 1 belongs to %v, want %v", w.server.slots[1].peer, from)
			}
			if from != addr(2) && old.State() != StateDisconnected {
				t.Errorf("the old client is %v, want disconnected", old.State())
			}
			w.wantClients(3)
			if e := w.receive(w.payload(c, "back"), from); e.Kind != Payload || e.Slot != 1 {
				t.Errorf("event %+v, want a payload of slot 1", e)
			}
		})
	}
}

// The result of Admit at the request has no effect on the slot: a request alone replaces no client.
func TestRequestAloneReplacesNoClient(t *testing.T) {
	w := newWorld(t, 1, func(c *ServerConfig) { c.Admit = replaceSame })
	old := w.connected(addr(1), w.token(1))
	w.receive(w.request(w.token(1)), addr(2))
	w.wantCount(Challenges, 2)
	w.run(time.Second)
	if old.State() != StateConnected || w.server.slots[0].peer != addr(1) {
		t.Errorf("client %v, slot of %v; want connected, %v", old.State(), w.server.slots[0].peer, addr(1))
	}
}

// No two slots share an address or a client id, for an Admit that accepts all.
func TestAdmitCannotGiveOneClientTwoSlots(t *testing.T) {
	w := newWorld(t, 3, func(c *ServerConfig) { c.Admit = func(*Arrival) Action { return Accept } })
	w.connected(addr(1), w.token(1))
	w.connected(addr(2), w.token(2))
	w.join(addr(3), w.token(1)) // replaces the client of slot 0
	w.receive(w.request(w.token(4)), addr(2))
	w.run(time.Second)
	w.wantClients(2)
	w.wantCount(Connects, 3)
	w.connected(addr(4), w.token(4))
	w.receive(w.request(w.token(5)), addr(5)) // no slot is free
	w.wantCount(Denials, 1)
}

func TestConfigErrorsNameTheField(t *testing.T) {
	good := ServerConfig{Keys: []Key{{}}, Addresses: []netip.AddrPort{testServer}, Slots: 1}
	for field, spoil := range map[string]func(*ServerConfig){
		"Keys":         func(c *ServerConfig) { c.Keys = nil },
		"Keys ":        func(c *ServerConfig) { c.Keys = make([]Key, 3) },
		"Addresses ":   func(c *ServerConfig) { c.Addresses = nil },
		"Addresses[0]": func(c *ServerConfig) { c.Addresses = make([]netip.AddrPort, 1) },
		"Slots":        func(c *ServerConfig) { c.Slots = 0 },
		"Random":       func(c *ServerConfig) { c.Random = strings.NewReader("short") },
	} {
		config := good
		spoil(&config)
		if _, err := NewServer(config, testStart); err == nil || !strings.Contains(err.Error(), "ServerConfig."+field) {
			t.Errorf("%s: error %v does not name it", field, err)
		}
	}
	request := TokenRequest{Servers: []netip.AddrPort{testServer}}
	for field, spoil := range map[string]func(*TokenRequest){
		"Servers":    func(r *TokenRequest) { r.Servers = nil },
		"Servers ":   func(r *TokenRequest) { r.Servers = make([]netip.AddrPort, 33) },
		"Servers[0]": func(r *TokenRequest) { r.Servers = make([]netip.AddrPort, 1) },
		"UserData":   func(r *TokenRequest) { r.UserData = make([]byte, 257) },
		"Lifetime":   func(r *TokenRequest) { r.Lifetime = time.Millisecond },
		"Timeout":    func(r *TokenRequest) { r.Timeout = time.Millisecond },
		"Random":     func(r *TokenRequest) { r.Random = strings.NewReader("short") },
	} {
		r := request
		spoil(&r)
		if _, err := GenerateToken(r, testStart); err == nil || !strings.Contains(err.Error(), "TokenRequest."+field) {
			t.Errorf("%s: error %v does not name it", field, err)
		}
	}
}

func TestTokenHoldsThirtyTwoServersAndNoMore(t *testing.T) {
	for _, n := range []int{1, 2, 31, 32} {
		var servers []netip.AddrPort
		for i := range n {
			servers = append(servers, netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}), uint16(i)))
		}
		token, err := GenerateToken(TokenRequest{Servers: servers, Key: vectorKey, UserData: bytes.Repeat([]byte{7}, 256)}, testStart)
		if err != nil {
			t.Fatal(err)
		}
		public, err := ParseConnectToken(token)
		if err != nil {
			t.Fatal(err)
		}
		private, err := public.Open(vectorKey)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(public.Servers()) != fmt.Sprint(servers) || fmt.Sprint(private.Servers()) != fmt.Sprint(servers) {
			t.Errorf("%d servers come back as %v and %v", n, public.Servers(), private.Servers())
		}
		if private.UserData != [256]byte(bytes.Repeat([]byte{7}, 256)) || private.ClientToServer != public.ClientToServer ||
			private.ServerToClient != public.ServerToClient || public.ServerToClient == public.ClientToServer {
			t.Errorf("%d servers: what follows the list is wrong", n)
		}
	}
}

// The request is repeated until its challenge arrives, so several challenges may be in flight. They hold the same token
// under different packet numbers, so an answer to any of them is accepted.
func TestAnswerToAnyCopyOfTheChallengeIsGood(t *testing.T) {
	w := newWorld(t, 1)
	token := w.token(1)
	c := w.join(addr(1), token)
	w.step()
	first := c.response
	w.receive(w.request(token), addr(1))
	w.receive(w.request(token), addr(1))
	w.wantCount(Challenges, 3)
	if c.State() != StateResponding || c.response != first || c.Counters()[DropUnwanted] != 2 {
		t.Errorf("client %v, %d challenges unwanted; want one kept, two dropped", c.State(), c.Counters()[DropUnwanted])
	}
	w.step()
	if c.State() != StateConnected {
		t.Errorf("client is %v, want connected", c.State())
	}
	if w.server.challenges != 1 {
		t.Errorf("%d challenge tokens made for one token, want 1", w.server.challenges)
	}
}

// An open challenge ends with the token's timeout, counted from the last request.
func TestOpenChallengeEndsWithTheTimeout(t *testing.T) {
	for wait, want := range map[time.Duration]int{4900 * time.Millisecond: 1, 5100 * time.Millisecond: 0} {
		w := newWorld(t, 1)
		c := w.join(addr(1), w.token(1))
		w.step()
		response := w.packets(func(out *Outbox) { c.Update(out, w.now) })[0]
		w.now = w.now.Add(wait)
		w.receive(response, addr(1))
		w.wantClients(want)
		if open := len(w.server.pending.byAddr); open != 0 {
			t.Errorf("after %v: %d challenges open, want 0", wait, open)
		}
	}
}

// A new challenge replaces the oldest one, so a full table refuses no client.
func TestFullPendingTableEvictsTheOldest(t *testing.T) {
	w := newWorld(t, 8)
	w.server.pending.init(4)
	for i := range 6 {
		w.join(addr(i), w.token(uint64(i)))
		w.step0(addr(i))
	}
	w.wantCount(PendingEvicted, 2)
	w.run(100 * time.Millisecond)
	w.wantClients(4)
	for i := range 6 {
		want := StateConnected
		if i < 2 {
			want = StateResponding
		}
		if got := w.clients[addr(i)].State(); got != want {
			t.Errorf("client %d is %v, want %v", i, got, want)
		}
	}
	if open := len(w.server.pending.byAddr); open != 0 {
		t.Errorf("%d challenges open, want 0", open)
	}
}

// step0 updates one client once.
func (w *world) step0(from netip.AddrPort) {
	w.out.Reset()
	w.clients[from].Update(&w.out, w.now)
	w.deliver(&w.out, from)
}

// This is a known error of implementations. Challenges and denials share a key with the packets of the connection, so
// their sequence numbers come from the upper half. No two runs of a server start at the same number.
func TestHandshakePacketsNeverShareASequenceWithTheConnection(t *testing.T) {
	a := newWorld(t, 1)
	b := newWorld(t, 1, func(c *ServerConfig) { c.Random = newRandom(77) })
	if a.server.global < 1<<63 || b.server.global < 1<<63 || a.server.global == b.server.global {
		t.Errorf("global sequences start at %x and %x, want two numbers ≥ 2^63", a.server.global, b.server.global)
	}
	if a.server.global > 3<<62 {
		t.Errorf("global sequence starts at %x, which leaves no room", a.server.global)
	}
	challenge := a.packets(func(out *Outbox) { a.server.Receive(out, a.request(a.token(1)), addr(1), a.now) })[0]
	second := a.packets(func(out *Outbox) { a.server.Receive(out, a.request(a.token(2)), addr(2), a.now) })[0]
	first, _ := parseHeader(challenge, 1<<kindChallenge)
	if next, _ := parseHeader(second, 1<<kindChallenge); next.sequence != first.sequence+1 {
		t.Errorf("challenges have sequences %x and %x, want successive ones", first.sequence, next.sequence)
	}
	if len(challenge) != 333 || challenge[0] != 0x82 {
		t.Errorf("challenge has %d bytes and prefix %x, want 333 and 82", len(challenge), challenge[0])
	}
	a.connected(addr(1), a.token(1))
	a.out.Reset()
	_ = a.server.Send(&a.out, 0, []byte("x"), a.now)
	if _, p := a.out.At(0); p[0] != 0x15 || p[1] > 10 {
		t.Errorf("payload header % x, want a small sequence of one byte", p[:2])
	}
}

// The challenge shows whether the process of an earlier connection sent it.
func TestTheChallengeIdentifiesAnotherProcess(t *testing.T) {
	w := newWorld(t, 4)
	a := w.connected(addr(1), w.token(1))
	if a.Restarted(a) {
		t.Error("the process of the connection itself counts as another one")
	}
	b := w.connected(addr(2), w.token(2))
	next := newWorld(t, 4, func(c *ServerConfig) { c.Random = newRandom(99) })
	c := next.join(addr(1), next.token(1))
	if c.Restarted(a) {
		t.Error("another process is reported before there is a challenge")
	}
	next.run(300 * time.Millisecond)
	if b.Restarted(a) || !c.Restarted(a) {
		t.Errorf("the same process: %v, another process: %v", b.Restarted(a), c.Restarted(a))
	}
	a.peer = netip.AddrPortFrom(testServer.Addr(), 1)
	if c.Restarted(a) {
		t.Error("a connection to another address counts as ended")
	}
}

// Update sends keep-alives to all clients and visits no slot after the last one. The order in which clients come and go is irrelevant.
func TestUpdateVisitsTheSlotsInUse(t *testing.T) {
	w := newWorld(t, 100)
	for n, gone := range []int{0, 2, 1} {
		for i := range 3 {
			w.connected(addr(10*n+i), w.token(uint64(10*n+i+1)))
		}
		w.server.Disconnect(&w.out, gone, w.now)
		w.out.Reset()
		w.now = w.now.Add(200 * time.Millisecond)
		w.server.Update(&w.out, w.now, nil)
		if used := []int{3, 2, 3}[n]; w.out.Len() != 2 || w.server.used != used {
			t.Errorf("without slot %d: %d keep-alives, %d slots visited; want 2, %d", gone, w.out.Len(), w.server.used, used)
		}
		for slot := range 3 {
			w.server.Disconnect(&w.out, slot, w.now)
		}
		if w.server.used != 0 {
			t.Errorf("%d slots visited without clients", w.server.used)
		}
	}
}
