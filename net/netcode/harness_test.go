package netcode

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"slices"
	"testing"
	"time"
)

const testProtocol = 0xfeed

var (
	testServer = netip.MustParseAddrPort("192.0.2.1:40000")
	testStart  = time.Unix(1_700_000_000, 0)
)

// world is one server and its clients on a network without delay, in virtual time.
type world struct {
	tb      testing.TB
	now     time.Time
	random  io.Reader
	key     Key
	server  *Server
	clients map[netip.AddrPort]*Client
	order   []netip.AddrPort // of joining, so that every run is the same
	events  []Event
	lost    int // datagrams to addresses without a receiver
	sent    int // bytes the server sent
	out     Outbox
	reply   Outbox
	sealed  map[sealedNumber]string // packets by key and sequence number. Nil: they are not compared
}

// sealedNumber is the key of a packet and its sequence number, which is its nonce.
type sealedNumber struct {
	key      Key
	sequence uint64
}

// seal records a packet that was sealed with a key. Two packets with one number are an error unless they are equal.
func (w *world) seal(key Key, packet []byte) {
	if w.sealed == nil || kind(packet[0]&15) == kindRequest {
		return
	}
	h, drop := parseHeader(packet, 1<<kindCount-1)
	if drop != 0 {
		return
	}
	n := sealedNumber{key: key, sequence: h.sequence}
	if before, ok := w.sealed[n]; ok && before != string(packet) {
		w.tb.Errorf("number %x seals two packets of kinds %d and %d with one key", h.sequence, before[0]&15, h.kind)
	}
	w.sealed[n] = string(packet)
}

func newWorld(tb testing.TB, slots int, change ...func(*ServerConfig)) *world {
	tb.Helper()
	w := &world{tb: tb, now: testStart, random: newRandom(2), key: vectorKey, clients: map[netip.AddrPort]*Client{}, sealed: map[sealedNumber]string{}}
	config := ServerConfig{
		ProtocolID: testProtocol, Keys: []Key{w.key}, Addresses: []netip.AddrPort{testServer},
		Slots: slots, Random: w.random,
	}
	for _, f := range change {
		f(&config)
	}
	server, err := NewServer(config, w.now)
	if err != nil {
		tb.Fatal(err)
	}
	w.server = server
	return w
}

// token makes a token for a client id, good for 30 s with 5 s timeout, after the changes asked for.
func (w *world) token(clientID uint64, change ...func(*TokenRequest)) []byte {
	w.tb.Helper()
	r := TokenRequest{
		ProtocolID: testProtocol, Key: w.key, ClientID: clientID, Servers: []netip.AddrPort{testServer},
		UserData: binary.LittleEndian.AppendUint64([]byte("user"), clientID),
		Lifetime: 30 * time.Second, Timeout: 5 * time.Second, Random: w.random,
	}
	for _, f := range change {
		f(&r)
	}
	token, err := GenerateToken(r, w.now)
	if err != nil {
		w.tb.Fatal(err)
	}
	return token
}

var errTokenSeal = errors.New("the token is not sealed with this key")

// Open decrypts the private part with the private key, as a server does.
func (t *ConnectToken) Open(key Key) (*PrivateToken, error) {
	var plain [privateTokenSize]byte
	bound := tokenBound(t.ProtocolID, t.Expires)
	if _, err := newTokenAEAD(&key).Open(plain[:0], t.nonce[:], t.sealed[:], bound[:]); err != nil {
		return nil, errTokenSeal
	}
	private := new(PrivateToken)
	return private, private.take(plain[:])
}

// reseal changes both parts of a token in place.
func (w *world) reseal(token []byte, change func(*ConnectToken, *PrivateToken)) {
	w.tb.Helper()
	public, err := ParseConnectToken(token)
	if err != nil {
		w.tb.Fatal(err)
	}
	private, err := public.Open(w.key)
	if err != nil {
		w.tb.Fatal(err)
	}
	change(public, private)
	private.put(public.sealed[:])
	sealToken(public.sealed[:], newTokenAEAD(&w.key), public.ProtocolID, public.Expires, public.nonce[:])
	public.put(token)
}

// addr is the n-th client address.
func addr(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), uint16(1024+n%50000))
}

// join adds a client at an address, which begins to connect.
func (w *world) join(from netip.AddrPort, token []byte) *Client {
	w.tb.Helper()
	c := new(Client)
	if err := c.Connect(token, w.now); err != nil {
		w.tb.Fatal(err)
	}
	w.clients[from] = c
	if !slices.Contains(w.order, from) {
		w.order = append(w.order, from)
	}
	return c
}

// connected adds a client and runs until it is connected.
func (w *world) connected(from netip.AddrPort, token []byte) *Client {
	w.tb.Helper()
	c := w.join(from, token)
	w.run(300 * time.Millisecond)
	if c.State() != StateConnected {
		w.tb.Fatalf("client at %v is %v, want connected", from, c.State())
	}
	return c
}

// receive gives the server one datagram and carries what it answers.
func (w *world) receive(packet []byte, from netip.AddrPort) Event {
	w.reply.Reset()
	e := w.server.Receive(&w.reply, packet, from, w.now)
	if e.Kind != NoEvent {
		w.events = append(w.events, e)
	}
	w.carry(&w.reply)
	return e
}

// carry takes datagrams from the server to the clients.
func (w *world) carry(out *Outbox) {
	w.sent += out.Bytes()
	for i := range out.Len() {
		to, packet := out.At(i)
		if c := w.clients[to]; c != nil {
			w.seal(c.token.ServerToClient, packet)
			c.Receive(packet, testServer, w.now)
		} else {
			w.lost++
		}
	}
}

// step updates server and clients once at the present time.
func (w *world) step() {
	for _, from := range w.order {
		c := w.clients[from]
		if c == nil {
			continue
		}
		w.out.Reset()
		c.Update(&w.out, w.now)
		w.deliver(&w.out, from)
	}
	w.out.Reset()
	w.events = w.server.Update(&w.out, w.now, w.events)
	w.carry(&w.out)
}

// deliver takes a client's datagrams to the server.
func (w *world) deliver(out *Outbox, from netip.AddrPort) {
	for i := range out.Len() {
		to, packet := out.At(i)
		w.seal(w.clients[from].token.ClientToServer, packet)
		if to == testServer {
			w.receive(packet, from)
		} else {
			w.lost++
		}
	}
}

// run lets time pass in steps of 50 ms.
func (w *world) run(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(50 * time.Millisecond)
		w.step()
	}
}

// packets returns copies of the packets that a client would send now.
func (w *world) packets(f func(*Outbox)) [][]byte {
	var out Outbox
	f(&out)
	var all [][]byte
	for i := range out.Len() {
		_, packet := out.At(i)
		all = append(all, append([]byte(nil), packet...))
	}
	return all
}

// request returns the request packet of a token.
func (w *world) request(token []byte) []byte {
	w.tb.Helper()
	var c Client
	if err := c.Connect(token, w.now); err != nil {
		w.tb.Fatal(err)
	}
	return w.packets(func(out *Outbox) { c.Update(out, w.now) })[0]
}

// payload returns a payload packet of a client.
func (w *world) payload(c *Client, text string) []byte {
	w.tb.Helper()
	return w.packets(func(out *Outbox) {
		if err := c.Send(out, []byte(text), w.now); err != nil {
			w.tb.Fatal(err)
		}
	})[0]
}

func (w *world) count(c Counter) uint64 { return w.server.Counters()[c] }

// wantCount checks one counter of the server.
func (w *world) wantCount(c Counter, want uint64) {
	w.tb.Helper()
	if got := w.count(c); got != want {
		w.tb.Errorf("%v = %d, want %d; all: %v", c, got, want, w.server.Counters())
	}
}

func (w *world) wantClients(want int) {
	w.tb.Helper()
	if got := w.server.Clients(); got != want {
		w.tb.Errorf("%d clients connected, want %d", got, want)
	}
}
