package netcode

import (
	"testing"
	"time"
	"unsafe"

	"tendon/ecs/race"
)

// pair is a connected client and server whose packets a test carries by hand.
type pair struct {
	*world
	client  *Client
	up      Outbox
	down    Outbox
	payload []byte
}

func newPair(tb testing.TB) *pair {
	w := newWorld(tb, 16)
	return &pair{world: w, client: w.connected(addr(1), w.token(1)), payload: make([]byte, MaxPayload)}
}

// exchange sends one full payload each way and says whether both arrived.
func (p *pair) exchange() bool {
	p.up.Reset()
	p.down.Reset()
	if p.client.Send(&p.up, p.payload, p.now) != nil || p.server.Send(&p.down, 0, p.payload, p.now) != nil {
		return false
	}
	_, packet := p.up.At(0)
	e := p.server.Receive(&p.down, packet, addr(1), p.now)
	_, packet = p.down.At(0)
	return e.Kind == Payload && p.client.Receive(packet, testServer, p.now) != nil
}

func TestPacketsAllocateNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	p := newPair(t)
	p.exchange()
	p.exchange()
	if n := testing.AllocsPerRun(100, func() {
		if !p.exchange() {
			t.Fatal("a payload was lost")
		}
	}); n != 0 {
		t.Errorf("a payload each way allocates %v times, want 0", n)
	}

	events := make([]Event, 0, 4)
	p.now = p.now.Add(100 * time.Millisecond)
	if n := testing.AllocsPerRun(100, func() {
		p.now = p.now.Add(100 * time.Millisecond)
		p.up.Reset()
		p.down.Reset()
		p.client.Update(&p.up, p.now)
		p.server.Update(&p.down, p.now, events)
		_, packet := p.up.At(0)
		p.server.Receive(&p.down, packet, addr(1), p.now)
		_, packet = p.down.At(0)
		p.client.Receive(packet, testServer, p.now)
	}); n != 0 {
		t.Errorf("a keep-alive each way allocates %v times, want 0", n)
	}

	junk := make([]byte, 100)
	bad := p.request(p.token(5, func(r *TokenRequest) { r.Key = Key{} }))
	if n := testing.AllocsPerRun(100, func() {
		junk[0] = 0x15
		p.server.Receive(&p.down, junk, addr(1), p.now)
		p.server.Receive(&p.down, junk, addr(2), p.now)
		p.server.Receive(&p.down, bad, addr(3), p.now)
	}); n != 0 {
		t.Errorf("junk allocates %v times, want 0", n)
	}
	p.wantClients(1)
}

// The whole of a connection on the server: its slot, two ciphers of 32 bytes, two map entries.
func TestConnectionCostsLessThanAKilobyte(t *testing.T) {
	if size := unsafe.Sizeof(slot{}) + 2*32 + 2*64; size > 1024 {
		t.Errorf("a connection takes %d bytes, want ≤ 1024", size)
	}
	before := heap()
	w := newWorld(t, 1000)
	w.sealed = nil
	for i := range 1000 {
		w.join(addr(i), w.token(uint64(i)))
		w.step()
		w.step()
		delete(w.clients, addr(i))
	}
	w.order = nil
	w.wantClients(1000)
	tables := int64(unsafe.Sizeof(pending{}))*4000 + int64(unsafe.Sizeof(usedToken{}))*8000
	if each := (heap() - before - tables) / 1000; each > 2048 {
		t.Errorf("a connection costs %d bytes of heap beside the fixed tables, want ≤ 2 KB", each)
	} else {
		t.Logf("%d bytes of heap per connection; slot %d, pending %d, history %d", each,
			unsafe.Sizeof(slot{}), unsafe.Sizeof(pending{}), unsafe.Sizeof(usedToken{}))
	}
	w.wantClients(1000)
}
