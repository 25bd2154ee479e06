package netcode

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"
)

// Offsets into the public token: where the timeout stands, and the server list after it.
const (
	timeoutAt = versionSize + 24 + tokenNonceSize + privateTokenSize
	serversAt = timeoutAt + 4
)

func TestMalformedTokensAreRefused(t *testing.T) {
	good := reference(t)["token"]
	for what, spoil := range map[string]func([]byte) []byte{
		"short":                 func(b []byte) []byte { return b[:TokenSize-1] },
		"long":                  func(b []byte) []byte { return append(b, 0) },
		"empty":                 func([]byte) []byte { return nil },
		"older version":         func(b []byte) []byte { b[11] = '1'; return b },
		"version unterminated":  func(b []byte) []byte { b[12] = ' '; return b },
		"no servers":            func(b []byte) []byte { b[serversAt] = 0; return b },
		"33 servers":            func(b []byte) []byte { b[serversAt] = 33; return b },
		"2^31 servers":          func(b []byte) []byte { b[serversAt+3] = 0x80; return b },
		"address type 0":        func(b []byte) []byte { b[serversAt+4] = 0; return b },
		"address type 3":        func(b []byte) []byte { b[serversAt+4] = 3; return b },
		"expires before it was": func(b []byte) []byte { binary.LittleEndian.PutUint64(b[versionSize+16:], vectorCreated-1); return b },
	} {
		if _, err := ParseConnectToken(spoil(slices.Clone(good))); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v, want ErrToken", what, err)
		}
	}
	for _, spoil := range []func([]byte){
		func(b []byte) { b[12] = 0 },  // servers
		func(b []byte) { b[12] = 33 }, // servers
		func(b []byte) { b[16] = 0 },  // type of the first
		func(b []byte) { b[16] = 3 },
	} {
		w := newWorld(t, 1)
		token := w.token(1)
		public, _ := ParseConnectToken(token)
		private, err := public.Open(w.key)
		if err != nil {
			t.Fatal(err)
		}
		private.put(public.sealed[:])
		spoil(public.sealed[:])
		sealToken(public.sealed[:], newTokenAEAD(&w.key), testProtocol, public.Expires, public.nonce[:])
		public.put(token)
		w.receive(w.request(token), addr(1))
		w.wantCount(DropMalformed, 1)
		w.wantCount(Challenges, 0)
	}
}

// Sealed by a peer that has the keys, but of a size that its kind does not have: dropped after opening, and the number
// counts as received.
func TestGenuinePacketsOfAWrongSizeAreDropped(t *testing.T) {
	for _, c := range []struct {
		kind kind
		size int
	}{
		{kindPayload, 0}, {kindPayload, MaxPayload + 1}, {kindKeepAlive, 0}, {kindKeepAlive, 7}, {kindKeepAlive, 9},
		{kindDisconnect, 1}, {kindDisconnect, 8},
	} {
		w := newWorld(t, 1)
		client := w.join(addr(1), w.token(1))
		client.sequence = 0 // a number of eight bytes would make the longest packet too long
		w.run(300 * time.Millisecond)
		up := client.codec.seal(nil, client.seal, c.kind, 100, make([]byte, c.size))
		if e := w.receive(slices.Clone(up), addr(1)); e.Kind != NoEvent {
			t.Errorf("kind %d with %d bytes made %+v", c.kind, c.size, e)
		}
		w.wantCount(DropBody, 1)
		w.receive(slices.Clone(up), addr(1))
		w.wantCount(DropReplay, 1)

		down := client.codec.seal(nil, client.open, c.kind, 100, make([]byte, c.size))
		if p := client.Receive(down, testServer, w.now); p != nil || client.State() != StateConnected || client.Counters()[DropBody] != 1 {
			t.Errorf("kind %d with %d bytes: payload %d, %v, %d dropped", c.kind, c.size, len(p), client.State(), client.Counters()[DropBody])
		}
	}
	for size, kinds := range map[int][]kind{0: {kindChallenge}, 307: {kindChallenge}, 309: {kindChallenge}, 2: {kindDenied}} {
		var client Client
		if err := client.Connect(reference(t)["token"], testStart); err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			client.Receive(client.codec.seal(nil, client.open, k, 1<<63, make([]byte, size)), vectorServers[0], testStart)
			if client.State() != StateRequesting || client.Counters()[DropBody] != 1 {
				t.Errorf("kind %d with %d bytes: %v", k, size, client.State())
			}
		}
	}
}

// A packet with a bad header is dropped before any cipher runs, and each fault has its counter.
func TestHeaderFaultsHaveTheirCounters(t *testing.T) {
	w := newWorld(t, 1)
	w.connected(addr(1), w.token(1))
	packet := func(prefix byte, size int) []byte {
		p := make([]byte, size)
		if size > 0 {
			p[0] = prefix
		}
		return p
	}
	for _, c := range []struct {
		what string
		p    []byte
		want Counter
	}{
		{"nothing", packet(0, 0), DropShort},
		{"17 bytes", packet(0x15, minPacket-1), DropShort},
		{"room for the shortest sequence only", packet(0x25, minPacket), DropShort},
		{"longer than any packet", packet(0x15, MaxPacket+1), DropLong},
		{"request too short", packet(0, requestSize-1), DropShort},
		{"request too long", packet(0, requestSize+1), DropLong},
		{"request of no version", packet(0, requestSize), DropVersion},
		{"request that is sealed", packet(0x10, 100), DropKind},
		{"denied, to a server", packet(0x11, 100), DropKind},
		{"challenge, to a server", packet(0x12, 333), DropKind},
		{"unknown kind 7", packet(0x17, 100), DropKind},
		{"unknown kind 15", packet(0x1f, 100), DropKind},
		{"no sequence", packet(0x05, 100), DropSequence},
		{"sequence of nine bytes", packet(0x95, 100), DropSequence},
		{"response nobody asked for", packet(0x13, 326), DropStranger},
	} {
		before := w.count(c.want)
		w.receive(c.p, addr(1))
		if w.count(c.want) != before+1 {
			t.Errorf("%s: %v did not rise: %v", c.what, c.want, w.server.Counters())
		}
	}
	if got := Counter(200).String(); got != "unknown" {
		t.Errorf("name of no counter: %q", got)
	}
	for c := range counterCount {
		if c.String() == "" {
			t.Errorf("counter %d has no name", c)
		}
	}
}

// The count is checked: a list of 33 complete addresses is refused.
func TestServerListOfThirtyThreeIsRefused(t *testing.T) {
	for count, good := range map[int]bool{0: false, 1: true, 32: true, 33: false} {
		raw := binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(count))
		for i := range count {
			raw = append(raw, addressIPv4, 10, 0, 0, byte(i), 1, 0)
		}
		var l terms
		if _, err := l.take(append(raw, make([]byte, 700)...)); (err == nil) != good || good && l.count != count {
			t.Errorf("%d addresses: %v, %d read", count, err, l.count)
		}
	}
}

func TestGenuineResponsesOfAWrongSizeAreDropped(t *testing.T) {
	for _, size := range []int{0, 7, 307, 309} {
		w := newWorld(t, 1)
		c := w.join(addr(1), w.token(1))
		w.step()
		w.receive(c.codec.seal(nil, c.seal, kindResponse, 0, make([]byte, size)), addr(1))
		w.wantCount(DropBody, 1)
		w.step()
		w.wantClients(1)
	}
}
