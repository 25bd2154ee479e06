package netcode

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/net/wire/vectors"
)

// wantBounded checks the rule of the threat table: no decoder allocates more than twice its input.
func wantBounded(t *testing.T, got uint64, input int) {
	t.Helper()
	if !race.Enabled && got > uint64(2*input) {
		t.Errorf("%d bytes allocated for %d bytes of input, want at most twice as many", got, input)
	}
}

// FuzzServerReceive gives arbitrary datagrams to a server with one connected and one challenged client. They are raw,
// and sealed with the right keys, so that the code behind the seals runs too.
func FuzzServerReceive(f *testing.F) {
	for _, v := range reference(f) {
		for mode := range byte(6) {
			f.Add(mode, byte(kindPayload), uint64(1000), v)
		}
	}
	f.Add(byte(3), byte(kindResponse), uint64(9), make([]byte, 8+challengeSize))
	f.Add(byte(4), byte(kindDisconnect), uint64(9), []byte(nil))
	f.Add(byte(4), byte(kindKeepAlive), uint64(9), make([]byte, 7))
	f.Add(byte(5), byte(0), uint64(9), bytes.Repeat([]byte{255}, privateTokenSize))
	f.Fuzz(func(t *testing.T, mode, k byte, sequence uint64, data []byte) {
		if len(data) > 2000 {
			return
		}
		w := newWorld(t, 2)
		w.server.pending.init(2)
		w.server.history.init(2)
		connected := w.connected(addr(1), w.token(1))
		challenged := w.token(2)
		w.receive(w.request(challenged), addr(2))
		public, _ := ParseConnectToken(challenged)

		from, packet := addr(int(mode%3)+1), data
		switch mode % 6 {
		case 3: // sealed by the challenged client
			packet = connected.codec.seal(nil, newAEAD(&public.ClientToServer), kind(k%16), sequence, data)
			from = addr(2)
		case 4: // sealed by the connected client
			packet = connected.codec.seal(nil, connected.seal, kind(k%16), sequence, data)
			from = addr(1)
		case 5: // a token sealed by the backend, with arbitrary contents
			if len(data) >= privateTokenSize {
				packet = w.request(challenged)
				sealed := packet[requestSize-privateTokenSize:]
				copy(sealed, data)
				sealToken(sealed, newTokenAEAD(&w.key), testProtocol, public.Expires, public.nonce[:])
			}
		}
		var copied []byte
		var e Event
		dropped := w.server.Counters().Dropped()
		grown := vectors.LeastAllocated(func() {
			copied = slices.Clone(packet)
			w.reply.Reset()
		}, func() {
			e = w.server.Receive(&w.reply, copied, from, w.now)
		})
		wantBounded(t, grown, max(len(packet), minPacket))
		if w.reply.Bytes() > max(len(packet), 400) {
			t.Errorf("%d bytes answered to %d", w.reply.Bytes(), len(packet))
		}
		if mode%6 < 3 && w.server.Counters().Dropped() == dropped {
			t.Errorf("%d unsealed bytes accepted: %+v", len(packet), e)
		}
		if e.Kind == Payload && (len(e.Payload) < 1 || len(e.Payload) > MaxPayload) {
			t.Errorf("payload of %d bytes", len(e.Payload))
		}
		if n := len(w.server.byAddr); n != w.server.Clients() || n != len(w.server.byClient) || n > 2 {
			t.Errorf("%d clients, %d addresses, %d ids", w.server.Clients(), n, len(w.server.byClient))
		}
	})
}

// FuzzClientReceive gives a client in each state arbitrary datagrams, raw or sealed by its server.
func FuzzClientReceive(f *testing.F) {
	for _, v := range reference(f) {
		for mode := range byte(6) {
			f.Add(mode, byte(kindKeepAlive), uint64(3), v)
		}
	}
	f.Add(byte(1), byte(kindChallenge), uint64(1)<<63, make([]byte, 8+challengeSize))
	f.Add(byte(3), byte(kindKeepAlive), uint64(0), make([]byte, 8))
	f.Fuzz(func(t *testing.T, mode, k byte, sequence uint64, data []byte) {
		if len(data) > 2000 {
			return
		}
		var c Client
		vector := vectorToken()
		token := make([]byte, TokenSize)
		vector.put(token)
		if err := c.Connect(token, testStart); err != nil {
			t.Fatal(err)
		}
		c.state = State(1 + mode/2%3)
		start := c
		packet := data
		if mode%2 == 1 {
			packet = vectorCodec().seal(nil, newAEAD(&vectorServerToClient), kind(k%16), sequence, data)
		}
		var copied, payload []byte
		grown := vectors.LeastAllocated(func() {
			c = start
			copied = slices.Clone(packet)
		}, func() {
			payload = c.Receive(copied, vectorServers[0], testStart)
		})
		wantBounded(t, grown, max(len(packet), minPacket))
		if payload != nil && (start.state != StateConnected || len(payload) > MaxPayload) {
			t.Errorf("payload of %d bytes while %v", len(payload), start.state)
		}
		var out Outbox
		c.Update(&out, testStart.Add(time.Second))
		c.Disconnect(&out, testStart.Add(time.Second))
		if c.State() > StateDisconnected {
			t.Errorf("%v after Disconnect", c.State())
		}
	})
}

// FuzzParseConnectToken checks that an accepted token is written back unchanged, except bytes that the standard leaves
// open.
func FuzzParseConnectToken(f *testing.F) {
	f.Add(reference(f)["token"])
	f.Add(make([]byte, TokenSize))
	f.Fuzz(func(t *testing.T, data []byte) {
		var token *ConnectToken
		var err error
		grown := vectors.LeastAllocated(func() {}, func() { token, err = ParseConnectToken(data) })
		wantBounded(t, grown, max(len(data), TokenSize)) // an error or a token is allocated, nothing else
		if err != nil {
			if !errors.Is(err, ErrToken) {
				t.Errorf("error %v does not wrap ErrToken", err)
			}
			return
		}
		again := make([]byte, TokenSize)
		token.put(again)
		back, err := ParseConnectToken(again)
		if err != nil || *back != *token {
			t.Errorf("token changes when it is written and read again: %v", err)
		}
		var c Client
		if err := c.Connect(data, testStart); err != nil {
			t.Errorf("parsed, but Connect says %v", err)
		}
	})
}

// FuzzPrivateToken reads arbitrary plaintext, which only a broken backend could send.
func FuzzPrivateToken(f *testing.F) {
	f.Add(reference(f)["private_plain"])
	f.Fuzz(func(t *testing.T, data []byte) {
		var token, back PrivateToken
		if err := token.take(data); err != nil {
			if !errors.Is(err, ErrToken) {
				t.Errorf("error %v does not wrap ErrToken", err)
			}
			return
		}
		if n := len(token.Servers()); n < 1 || n > MaxServers {
			t.Errorf("%d servers", n)
		}
		var again [privateTokenSize]byte
		token.put(again[:])
		if err := back.take(again[:]); err != nil || back != token {
			t.Errorf("token changes when it is written and read again: %v", err)
		}
	})
}

// FuzzHeader: a header that is accepted is written back by the sealer, if its sequence is encoded as short as can be.
func FuzzHeader(f *testing.F) {
	for _, v := range reference(f) {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, drop := parseHeader(data, 1<<kindCount-1)
		if drop != 0 {
			return
		}
		if h.size < 2 || h.size > 9 || h.size+tagSize > len(data) || h.kind >= kindCount {
			t.Fatalf("header %+v of %d bytes", h, len(data))
		}
		sealed := vectorCodec().seal(nil, newAEAD(&vectorKey), h.kind, h.sequence, nil)
		if shortest := h.size == 2 || data[h.size-1] != 0; shortest && !bytes.Equal(sealed[:h.size], data[:h.size]) {
			t.Errorf("header % x is written as % x", data[:h.size], sealed[:h.size])
		}
	})
}

// The zero AddrPort, as a socket without addresses would report it, is a stranger like any other.
func TestPacketsFromNoAddressAreDropped(t *testing.T) {
	w := newWorld(t, 1)
	for _, p := range reference(t) {
		if e := w.receive(p, netip.AddrPort{}); e.Kind != NoEvent {
			t.Errorf("event %+v", e)
		}
	}
	w.wantClients(0)
	if c := new(Client); c.Receive([]byte{1}, netip.AddrPort{}, testStart) != nil || c.State() != StateDisconnected {
		t.Error("an idle client took a packet")
	}
}
