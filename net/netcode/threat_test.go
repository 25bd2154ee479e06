package netcode

import (
	"encoding/binary"
	"flag"
	"go/parser"
	"go/token"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The threat table: each test is one row's pass rule for this layer.

var long = flag.Bool("long", false, "run the threat tests at the table's full size")

// flood is how many hostile datagrams a test sends.
func flood(full int) int {
	if *long || full <= 100_000 {
		return full
	}
	return 100_000
}

// heap returns the live heap in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// wantGoodClient checks that the flood has not kept anybody out.
func (w *world) wantGoodClient(id uint64) {
	w.tb.Helper()
	w.connected(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(id)}), 5000), w.token(id))
}

// 100 000 valid requests from addresses that never answer: 0 sessions, heap + < 1 MB. Two forms: as many tokens as
// addresses, and one token presented from everywhere, which has one pending challenge at a time.
func TestSpoofedSourcesGetNoSessionAndNoMemory(t *testing.T) {
	const n = 100_000
	t.Run("a token for each", func(t *testing.T) {
		w := newWorld(t, 64)
		template := w.request(w.token(1))
		key := newTokenAEAD(&w.key)
		private := PrivateToken{terms: terms{TimeoutSeconds: 5}}
		private.setServers([]netip.AddrPort{testServer})
		nonce := template[requestSize-privateTokenSize-tokenNonceSize : requestSize-privateTokenSize]
		sealed := template[requestSize-privateTokenSize:]
		expires := binary.LittleEndian.Uint64(template[1+versionSize+8:])
		packet := make([]byte, requestSize)
		before := heap()
		for i := range n {
			private.ClientID = uint64(1000 + i)
			private.ClientToServer[0], private.ServerToClient[0] = byte(i), byte(i>>8)
			binary.LittleEndian.PutUint64(nonce, uint64(i))
			private.put(sealed)
			sealToken(sealed, key, testProtocol, expires, nonce)
			copy(packet, template)
			w.receive(packet, addr(i))
		}
		grown := heap() - before
		w.wantCount(Challenges, n)
		w.wantClients(0)
		if len(w.events) != 0 {
			t.Errorf("%d events, want none", len(w.events))
		}
		if grown >= 1<<20 {
			t.Errorf("heap grew by %d bytes, want < 1 MB", grown)
		}
		w.wantGoodClient(1)
	})
	t.Run("one token", func(t *testing.T) {
		w := newWorld(t, 64)
		request := w.request(w.token(1))
		packet := make([]byte, requestSize)
		before := heap()
		for i := range n {
			copy(packet, request)
			w.receive(packet, addr(i))
		}
		grown := heap() - before
		w.wantCount(Challenges, n)
		w.wantCount(PendingEvicted, 0)
		w.wantClients(0)
		if pending := len(w.server.pending.byAddr); pending != 1 {
			t.Errorf("%d pending challenges, want 1", pending)
		}
		if grown >= 1<<20 {
			t.Errorf("heap grew by %d bytes, want < 1 MB", grown)
		}
		w.wantGoodClient(2)
	})
}

// The tables themselves are part of the promise: with the default sizes all that a server will ever hold for strangers
// fits into a megabyte.
func TestDefaultTablesForStrangersAreSmall(t *testing.T) {
	before := heap()
	var p pendingTable
	var h history
	p.init(minPending)
	h.init(minHistory)
	size := heap() - before
	runtime.KeepAlive(&p)
	runtime.KeepAlive(&h)
	if size >= 1<<20 {
		t.Errorf("tables take %d bytes, want < 1 MB", size)
	}
}

// Bytes out / bytes in ≤ 0.35 before a connection; 0 for invalid tokens.
func TestAmplificationIsBelowOne(t *testing.T) {
	w := newWorld(t, 1)
	request := w.request(w.token(1))
	in := 0
	for range 1000 { // the same request again and again: always a challenge
		in += len(request)
		w.receive(slices.Clone(request), addr(1))
	}
	if ratio := float64(w.sent) / float64(in); ratio > 0.35 || ratio == 0 {
		t.Errorf("challenges: %.3f bytes out for each byte in, want > 0 and ≤ 0.35", ratio)
	}

	w.connected(addr(2), w.token(2)) // full
	denied := w.request(w.token(3))
	w.sent = 0
	w.receive(denied, addr(3))
	if ratio := float64(w.sent) / requestSize; ratio > 0.35 || ratio == 0 {
		t.Errorf("denial: %.3f bytes out for each byte in, want > 0 and ≤ 0.35", ratio)
	}

	w.sent = 0
	for i := range requestSize {
		bad := w.request(w.token(4))
		bad[i] ^= 1
		w.receive(bad, addr(4))
	}
	if w.sent != 0 {
		t.Errorf("%d bytes out for invalid requests, want 0", w.sent)
	}
}

// 1 M datagrams of junk: goroutines and heap flat, a good client still connects, the connected one is not disturbed.
func TestJunkChangesNothing(t *testing.T) {
	w := newWorld(t, 4)
	victim := w.connected(addr(1), w.token(1))
	random := newRandom(9)
	packet := make([]byte, 1500)
	goroutines := runtime.NumGoroutine()
	n := flood(1_000_000)
	dropped := w.server.Counters().Dropped()
	var before int64
	for i := range n {
		if i == n/10 {
			before = heap() // warm
		}
		size := int(random.Uint64() % 1500)
		if i%4 == 0 {
			size = requestSize
		}
		_, _ = random.Read(packet[:size])
		from := addr(i)
		switch i % 3 { // a third in the name of the connected client, a third that look like its packets
		case 0:
			from = addr(1)
		case 1:
			from = addr(1)
			if size > 0 {
				packet[0] = byte(4+i%3) | byte(1+i%8)<<4
			}
		}
		if i%4 == 0 {
			packet[0] = 0
			binary.LittleEndian.PutUint64(packet[1+copy(packet[1:], version):], testProtocol)
		}
		if e := w.server.Receive(&w.reply, packet[:size], from, w.now); e.Kind != NoEvent {
			t.Fatalf("junk made %+v", e)
		}
	}
	if grown := heap() - before; grown > 64<<10 {
		t.Errorf("heap grew by %d bytes over %d datagrams, want flat", grown, n)
	}
	if w.reply.Len() != 0 {
		t.Errorf("%d replies to junk, want 0", w.reply.Len())
	}
	if got := runtime.NumGoroutine(); got > goroutines {
		t.Errorf("%d goroutines, had %d", got, goroutines)
	}
	if got := w.server.Counters().Dropped() - dropped; got != uint64(n) {
		t.Errorf("%d datagrams counted as dropped, want %d", got, n)
	}
	w.wantGoodClient(2)
	if e := w.receive(w.payload(victim, "still here"), addr(1)); e.Kind != Payload {
		t.Errorf("the connected client's payload made %+v", e)
	}
}

// Each datagram three times, in order, reversed, from another port: the state does not change.
func TestReplayedPacketsChangeNothing(t *testing.T) {
	w := newWorld(t, 2)
	token := w.token(1)
	recorded := [][]byte{w.request(token)}
	c := w.join(addr(1), token)
	w.step()
	recorded = append(recorded, w.packets(func(out *Outbox) { c.Update(out, w.now) })...)
	w.receive(slices.Clone(recorded[1]), addr(1)) // the response
	for range 50 {
		recorded = append(recorded, w.payload(c, "payload"))
	}
	w.now = w.now.Add(time.Second)
	keepAlive := w.packets(func(out *Outbox) { c.Update(out, w.now) })
	recorded = append(recorded, keepAlive...)
	payloads := 0
	for _, p := range recorded[2:] {
		if w.receive(slices.Clone(p), addr(1)).Kind == Payload {
			payloads++
		}
	}
	if payloads != 50 || len(recorded) != 53 {
		t.Fatalf("%d payloads of %d packets, want 50 of 53", payloads, len(recorded))
	}

	lastReceive, events, sent := w.server.slots[0].lastReceive, len(w.events), w.sent
	w.now = w.now.Add(time.Second)
	backwards := slices.Clone(recorded)
	slices.Reverse(backwards)
	elsewhere := netip.AddrPortFrom(addr(1).Addr(), 6)
	for _, order := range [][][]byte{recorded, recorded, recorded, backwards} {
		for _, p := range order {
			w.receive(slices.Clone(p), addr(1))
			w.receive(slices.Clone(p), elsewhere)
		}
	}
	if len(w.events) != events || w.sent != sent || w.server.slots[0].lastReceive != lastReceive {
		t.Errorf("replay made %d events and %d bytes, last receive at %d, was %d", len(w.events)-events, w.sent-sent,
			w.server.slots[0].lastReceive, lastReceive)
	}
	w.wantCount(DropReplay, 4*51+strangerBurst) // the other ones from elsewhere are not opened
	w.wantClients(1)

	// The other direction: the client too takes each packet once, from its server only.
	w.out.Reset()
	_ = w.server.Send(&w.out, 0, []byte("once"), w.now)
	_, packet := w.out.At(w.out.Len() - 1)
	if got := c.Receive(slices.Clone(packet), elsewhere, w.now); got != nil {
		t.Errorf("payload %q from an address that is not the server's", got)
	}
	for i := range 3 {
		if got := c.Receive(slices.Clone(packet), testServer, w.now); (got != nil) != (i == 0) {
			t.Errorf("copy %d of a packet gave %q", i, got)
		}
	}
}

// Expired, wrong server, same client id, connected once before: refused, each with its own counter.
func TestReplayedAndForeignTokensAreRefused(t *testing.T) {
	w := newWorld(t, 4)
	token := w.token(1)
	w.connected(addr(1), token)
	show := func(what string, token []byte, from netip.AddrPort, want Counter) {
		t.Helper()
		before, sent := w.count(want), w.sent
		w.receive(w.request(token), from)
		if w.count(want) != before+1 || w.sent != sent {
			t.Errorf("%s: %v rose by %d, %d bytes answered; want 1, 0", what, want, w.count(want)-before, w.sent-sent)
		}
	}
	show("same client id", w.token(1), addr(3), DropIgnored)
	show("same address", w.token(5), addr(1), DropIgnored)
	elsewhere := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:40001")}
	show("wrong server", w.token(3, func(r *TokenRequest) { r.Servers = elsewhere }), addr(3), DropServer)
	show("wrong game", w.token(3, func(r *TokenRequest) { r.ProtocolID++ }), addr(3), DropProtocol)

	late := w.token(4)
	w.now = testStart.Add(29 * time.Second) // made in the first second, good for 30
	show("to expire soon", late, addr(1), DropIgnored)
	w.now = w.now.Add(time.Second)
	show("expired", late, addr(4), DropExpired)
}

// A token makes one connection, even for the address that had it: with the same keys both sides would seal two packets
// under one number.
func TestTokenMakesOneConnectionOnly(t *testing.T) {
	w := newWorld(t, 2)
	token := w.token(1)
	c := w.connected(addr(1), token)
	for _, p := range w.packets(func(out *Outbox) { c.Disconnect(out, w.now) }) {
		w.receive(p, addr(1))
	}
	w.wantClients(0)
	w.receive(w.request(token), addr(1))
	w.wantCount(DropReused, 1)
	w.connected(addr(1), w.token(1))
}

// A used token stays known while a stream of other tokens passes through a full history; unused ones give way first.
func TestUsedTokensOutliveUnusedOnesInTheHistory(t *testing.T) {
	w := newWorld(t, 2)
	w.server.history.init(8)
	token := w.token(1)
	c := w.connected(addr(1), token)
	for i := range 100 {
		w.receive(w.request(w.token(uint64(100+i))), addr(100+i))
	}
	for _, p := range w.packets(func(out *Outbox) { c.Disconnect(out, w.now) }) {
		w.receive(p, addr(1))
	}
	w.receive(w.request(token), addr(1))
	w.wantCount(DropReused, 1)
	w.wantCount(DropHistory, 0)
}

// A history that is full of used tokens refuses other tokens until one has expired. It drops none before.
func TestAFullHistoryRefusesFurtherTokens(t *testing.T) {
	w := newWorld(t, 4)
	w.server.history.init(2)
	for i := range 2 {
		w.connected(addr(i), w.token(uint64(i)))
	}
	c := w.join(addr(2), w.token(2, func(r *TokenRequest) { r.Lifetime = time.Minute }))
	c.token.TimeoutSeconds = 0
	w.run(20 * time.Second)
	if c.State() != StateRequesting || w.count(DropHistory) == 0 {
		t.Errorf("client %v, %d requests refused for the history", c.State(), w.count(DropHistory))
	}
	w.run(11 * time.Second)
	if c.State() != StateConnected || w.server.history.floor != uint64(testStart.Unix())+30 {
		t.Errorf("client %v after a used token has expired, floor %d", c.State(), w.server.history.floor)
	}
}

// A client that reconnects without end fills only its own part of the history.
func TestOneClientCannotFillTheHistory(t *testing.T) {
	w := newWorld(t, 2, func(c *ServerConfig) { c.Admit = replaceSame })
	for i := range tokensPerClient {
		w.connected(addr(i), w.token(1))
		w.now = testStart
	}
	more := w.join(addr(1000), w.token(1))
	w.run(time.Second)
	if more.State() != StateRequesting || w.count(DropHistory) == 0 {
		t.Errorf("token %d of one client: %v", tokensPerClient+1, more.State())
	}
	w.connected(addr(1001), w.token(2))
	w.now = testStart.Add(31 * time.Second)
	w.run(2 * time.Second) // sweeps
	w.connected(addr(1002), w.token(1))
}

// A clock that is set back makes no used token valid again. New tokens by the same clock are valid.
func TestAUsedTokenStaysUsedWhenTheClockIsSetBack(t *testing.T) {
	w := newWorld(t, 2)
	token := w.token(1)
	w.connected(addr(1), token)
	w.now = testStart.Add(31 * time.Second)
	w.run(10 * time.Second)
	w.wantClients(0)
	if len(w.server.history.byClient) != 0 {
		t.Errorf("clients with used tokens after their expiry: %v", w.server.history.byClient)
	}
	w.receive(w.request(token), addr(2))
	w.wantCount(DropExpired, 1)
	w.now = testStart.Add(time.Second)
	w.receive(w.request(token), addr(2))
	w.wantCount(DropReused, 1)
	w.connected(addr(3), w.token(3))
	for i := range w.server.history.ring {
		w.server.history.drop(&w.server.history.ring[i])
	}
	w.receive(w.request(token), addr(2))
	w.wantCount(DropHistory, 1)
}

// A token is presented from two addresses, and its entry is replaced between. Only one of them gets its connection.
func TestATokenWhoseEntryWasReplacedMakesOneConnection(t *testing.T) {
	w := newWorld(t, 4)
	w.server.history.init(1)
	token := w.token(1)
	first, second := w.join(addr(1), token), w.join(addr(2), token)
	ask := func(c *Client, from netip.AddrPort) {
		for _, p := range w.packets(func(out *Outbox) { c.Update(out, w.now) }) {
			w.receive(p, from)
		}
	}
	ask(first, addr(1))
	w.receive(w.request(w.token(9)), addr(9)) // replaces the entry
	ask(second, addr(2))
	if first.State() != StateResponding || second.State() != StateResponding {
		t.Fatalf("clients %v and %v, want two challenges", first.State(), second.State())
	}
	ask(second, addr(2))
	ask(first, addr(1))
	w.wantClients(1)
	w.wantCount(DropReused, 1)
}

// Every bit of every kind of packet flipped, one at a time: 0 accepted, session alive.
func TestTamperedPacketsAreRefused(t *testing.T) {
	w := newWorld(t, 2)
	c := w.connected(addr(1), w.token(1))
	w.now = w.now.Add(time.Second)
	genuine := [][]byte{w.payload(c, "forty-two"), w.packets(func(out *Outbox) { w.now = w.now.Add(time.Second); c.Update(out, w.now) })[0]}
	leaving := *c
	genuine = append(genuine, w.packets(func(out *Outbox) { leaving.Disconnect(out, w.now) })[0])
	flipped := 0
	for _, p := range genuine {
		for bit := range len(p) * 8 {
			bad := slices.Clone(p)
			bad[bit/8] ^= 1 << (bit % 8)
			if e := w.receive(bad, addr(1)); e.Kind != NoEvent {
				t.Errorf("bit %d of %x: accepted as %+v", bit, p[0], e)
			}
			flipped++
		}
	}
	if got := w.server.Counters().Dropped(); got != uint64(flipped) || flipped < 400 {
		t.Errorf("%d of %d tampered packets counted as dropped", got, flipped)
	}
	for i, want := range []EventKind{Payload, NoEvent, Disconnected} { // the originals are still good
		if e := w.receive(genuine[i], addr(1)); e.Kind != want {
			t.Errorf("original packet %d made %+v", i, e)
		}
	}
}

// The same for the handshake and for the client: no flipped bit of a request, response, challenge, denial, keep-alive,
// payload or disconnect packet moves anybody.
func TestTamperedHandshakeIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	token := w.token(1)
	request := w.request(token)
	for bit := range len(request) * 8 {
		bad := slices.Clone(request)
		bad[bit/8] ^= 1 << (bit % 8)
		w.receive(bad, addr(1))
	}
	w.wantCount(Challenges, 0)

	c := w.join(addr(1), token)
	w.step()
	response := w.packets(func(out *Outbox) { c.Update(out, w.now) })[0]
	for bit := range len(response) * 8 {
		bad := slices.Clone(response)
		bad[bit/8] ^= 1 << (bit % 8)
		w.receive(bad, addr(1))
	}
	w.wantClients(0)
	w.receive(response, addr(1))
	w.wantClients(1)

	want := reference(t)
	var client Client
	if err := client.Connect(want["token"], w.now); err != nil {
		t.Fatal(err)
	}
	for _, state := range []State{StateRequesting, StateResponding, StateConnected} {
		client.state = state
		before := client
		for _, name := range []string{"denied", "challenge", "keep_alive", "payload_37"} {
			for bit := range len(want[name]) * 8 {
				bad := slices.Clone(want[name])
				bad[bit/8] ^= 1 << (bit % 8)
				if p := client.Receive(bad, vectorServers[0], w.now); p != nil {
					t.Errorf("%s, bit %d: payload %q", name, bit, p)
				}
			}
		}
		if client.state != state || client.window != before.window || client.response != before.response {
			t.Errorf("tampered packets moved the client from %v to %v", state, client.state)
		}
	}
}

// A vanished client's slot is free within the token's timeout, and not before.
func TestVanishedClientFreesItsSlotInTime(t *testing.T) {
	w := newWorld(t, 1)
	w.connected(addr(1), w.token(1))
	gone := w.now
	delete(w.clients, addr(1))
	w.events = nil
	for w.server.Clients() == 1 {
		w.now = w.now.Add(50 * time.Millisecond)
		w.step()
	}
	if d := w.now.Sub(gone); d < 4900*time.Millisecond || d > 5050*time.Millisecond {
		t.Errorf("slot was free after %v, want 5 s", d)
	}
	if len(w.events) != 1 || w.events[0].Kind != Disconnected {
		t.Errorf("events %+v, want one Disconnected by timeout", w.events)
	}
	w.wantCount(TimedOut, 1)
	w.wantGoodClient(2)
}

// Kicked: no return without a new token, from no address, by no packet of the old connection.
func TestKickedClientCannotReturnWithoutANewToken(t *testing.T) {
	w := newWorld(t, 2)
	token := w.token(1)
	c := w.join(addr(1), token)
	w.step()
	response := w.packets(func(out *Outbox) { c.Update(out, w.now) })[0]
	w.receive(slices.Clone(response), addr(1))
	w.out.Reset()
	w.server.Disconnect(&w.out, 0, w.now)
	w.wantClients(0)
	for i, from := range []netip.AddrPort{addr(1), addr(2)} {
		w.receive(w.request(token), from)
		w.wantCount(DropReused, uint64(i+1))
		w.receive(slices.Clone(response), from)
		if e := w.receive(w.payload(c, "me again"), from); e.Kind != NoEvent {
			t.Errorf("event %+v after the kick", e)
		}
	}
	w.wantClients(0)
	w.connected(addr(1), w.token(1))
}

// Identity is the slot, found by address and proven by the key. Another client's sealed packet under a forged source is
// dropped, and the client id comes from the token alone.
func TestForgedIdentityIsRefused(t *testing.T) {
	w := newWorld(t, 3)
	victim, attacker := w.connected(addr(1), w.token(1)), w.connected(addr(2), w.token(2))
	victim.sequence, attacker.sequence = 1<<62+100, 1<<62+200 // new to both windows, so only the keys differ
	if e := w.receive(w.payload(attacker, "I am the other"), addr(1)); e.Kind != NoEvent {
		t.Errorf("attacker's packet from the victim's address made %+v", e)
	}
	w.wantCount(DropForged, 1)
	if e := w.receive(w.payload(victim, "captured"), addr(2)); e.Kind != NoEvent {
		t.Errorf("victim's packet from the attacker's address made %+v", e)
	}
	w.wantCount(DropForged, 2)
	leaving := *attacker
	for _, p := range w.packets(func(out *Outbox) { leaving.Disconnect(out, w.now) }) {
		w.receive(p, addr(1))
	}
	w.wantClients(2)
}

// A challenge is good for its own token only. Otherwise a client could keep an old challenge, with an old token's user
// data (its role, its room), and answer a new token's challenge with it.
func TestChallengeOfAnotherTokenIsRefused(t *testing.T) {
	w := newWorld(t, 2)
	forRole := func(role string) []byte {
		return w.token(1, func(r *TokenRequest) { r.UserData = []byte(role) })
	}
	a := w.join(addr(1), forRole("player"))
	w.step()
	b := w.join(addr(2), forRole("spectator"))
	w.step()
	if a.State() != StateConnected || b.State() != StateRequesting {
		t.Fatalf("clients are %v and %v", a.State(), b.State())
	}
	delete(w.clients, addr(1))
	for _, p := range w.packets(func(out *Outbox) { left := *a; left.Disconnect(out, w.now) }) {
		w.receive(p, addr(1))
	}
	w.now = w.now.Add(100 * time.Millisecond)
	w.out.Reset()
	b.Update(&w.out, w.now)
	w.deliver(&w.out, addr(2))
	if b.State() != StateResponding {
		t.Fatalf("client is %v, want challenged", b.State())
	}
	b.response = a.response
	w.receive(w.packets(func(out *Outbox) { b.Update(out, w.now) })[0], addr(2))
	w.wantCount(DropChallenge, 1)
	w.wantClients(0)
}

// 1 M bad packets make no log line, since the package cannot write one; nor can it read a clock, open a socket or start
// a goroutine. Counters replace log lines.
func TestPackageHasNoLogNoClockNoSocketNoGoroutine(t *testing.T) {
	allowed := strings.Fields("bytes cmp slices crypto/cipher crypto/rand encoding/binary errors fmt golang.org/x/crypto/chacha20poly1305 io math net/netip strconv time tendon/net/limit")
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), source, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", e.Name(), path)
			}
		}
		for _, forbidden := range []string{"time.Now", "time.Since", "time.After", "time.New", "fmt.Print", "\tgo "} {
			if strings.Contains(string(source), forbidden) {
				t.Errorf("%s contains %q", e.Name(), forbidden)
			}
		}
		files++
	}
	if files < 10 {
		t.Errorf("%d files read, want the whole package", files)
	}
}
