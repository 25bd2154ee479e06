package server

import (
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tendon/net/netcode"
	"tendon/systems"
)

// port is where packets become messages of connections and back: it owns the netcode server, the table of connections
// and the directory of rooms. All of it is under one lock, which is held for at most a batch of packets and never
// during a system call or a tick.
//
// Invariants: conns[slot] is there if and only if netcode has a client in the slot; place.conns is the number of
// conns with that place; a name is in places at most once.
type port struct {
	mu      sync.Mutex
	config  *Config
	netcode *netcode.Server
	epoch   time.Time // of systems.Time
	public  []netip.AddrPort
	workers []*worker
	conns   []*conn
	places  map[string]*place
	floors  floors
	closing bool
	log     *lines

	polled   atomic.Int64 // systems.Time at which a worker last read the socket
	interval systems.Time // of a client's packets
	burst    int
	events   []netcode.Event
	counts   portCounts
}

// portCounts counts what netcode does not.
type portCounts struct {
	badPass, pastToken, full uint64 // arrivals turned away
	received, flood          uint64 // datagrams; packets above a client's bounds
	receivedBytes            uint64 // of the datagrams
	joined, replaced         uint64
	timedOut, left, dropped  uint64
}

// A client may send paceFactor packets a tick, and keep-alives. Bursts are what a stalled network lets go at once.
const (
	paceFactor = 2
	paceExtra  = 40 // packets a second
	paceBurst  = 128
)

// reconnectLife is how long a reconnect token is good: the 30 s until the next one, and a minute and a half to come back.
const reconnectLife = 2 * time.Minute

// floorLife is how long what a client's tokens were is remembered: longer than any of them is good.
const floorLife = reconnectLife + time.Minute

func newPort(c *Config, public []netip.AddrPort, epoch time.Time, log *lines) (*port, error) {
	p := &port{config: c, epoch: epoch, public: public, places: map[string]*place{}, conns: make([]*conn, c.MaxClients), log: log,
		floors: floors{of: map[uint64]floor{}, limit: 2*c.MaxClients + 1024}}
	p.interval = systems.Second / systems.Time(paceFactor*c.rate()+paceExtra)
	p.burst = max(paceBurst, 2*c.rate())
	p.polled.Store(math.MinInt64 / 2)
	n, err := netcode.NewServer(netcode.ServerConfig{ProtocolID: ProtocolID(c.game().Name), Keys: c.Keys, Addresses: public,
		Slots: c.MaxClients, Admit: p.admit}, epoch)
	p.netcode = n
	return p, err
}

// at is a moment as rooms and links know it.
func (p *port) at(now time.Time) systems.Time { return systems.Time(now.Sub(p.epoch)) }

// receive takes a batch of datagrams. Replies are added to out.
func (p *port) receive(a *arrivals, out *netcode.Outbox, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.at(now)
	p.counts.received += uint64(a.count)
	for i := range a.count {
		p.counts.receivedBytes += uint64(a.sizes[i])
		switch e := p.netcode.Receive(out, a.packet(i), a.from[i], now); e.Kind {
		case netcode.Payload:
			c := p.conns[e.Slot]
			if !c.pace.take(at, p.interval, p.burst) {
				p.counts.flood++
				continue
			}
			c.place.worker.inbox.packet(c, e.Payload, at)
		case netcode.Connected:
			p.join(e, now)
		case netcode.Disconnected:
			p.counts.left++
			p.end(p.conns[e.Slot], letterLeft, now)
		}
	}
}

// admit decides on a client with a good token; netcode asks it under the port's lock.
func (p *port) admit(a *netcode.Arrival) netcode.Verdict {
	pass, err := ParsePass(a.UserData)
	if err != nil {
		p.counts.badPass++
		return netcode.Verdict{Action: netcode.Ignore}
	}
	if p.closing {
		return netcode.Verdict{Action: netcode.Deny}
	}
	var old *conn
	if a.SameClient >= 0 {
		old = p.conns[a.SameClient]
	}
	if p.past(a.ClientID, &pass, old) {
		p.counts.pastToken++
		return netcode.Verdict{Action: netcode.Ignore}
	}
	if a.SameAddr >= 0 && a.SameAddr != a.SameClient {
		return netcode.Verdict{Action: netcode.Ignore} // another client behind the same address, not yet timed out
	}
	if !p.fits(&pass, old) || old == nil && a.Free == 0 {
		p.counts.full++
		return netcode.Verdict{Action: netcode.Deny}
	}
	if old != nil {
		return netcode.Verdict{Action: netcode.Replace, Slot: old.slot}
	}
	return netcode.Verdict{Action: netcode.Accept}
}

// past reports whether a token was overtaken by what happened since it was made. old is the client's connection, if
// it has one.
func (p *port) past(client uint64, pass *Pass, old *conn) bool {
	switch {
	case p.floors.refuses(client, pass):
		return true
	case old == nil:
		return false
	case pass.Reconnect:
		return old.minted.Load() && pass.Epoch < old.epoch
	}
	// A second token from the backend replaces a connection only if it is newer than that connection.
	return !pass.Issued.After(old.since)
}

// fits reports whether there is a place for one more connection in the room that a pass names.
func (p *port) fits(pass *Pass, old *conn) bool {
	at := p.places[pass.Room]
	if at == nil {
		return len(p.places) < p.config.MaxRooms
	}
	return at.conns < p.config.Room.MaxPeers || old != nil && old.place == at
}

// join enters a new connection and tells its worker.
func (p *port) join(e netcode.Event, now time.Time) {
	if e.Replaced {
		p.counts.replaced++
		p.end(p.conns[e.Slot], letterGone, now)
	}
	client := p.netcode.ClientID(e.Slot)
	pass, err := ParsePass(p.netcode.UserData(e.Slot))
	if err != nil {
		panic("server: a connection was made whose pass admit had refused; report this as a bug of net/netcode")
	}
	at := p.places[pass.Room]
	if at == nil {
		at = &place{name: pass.Room, worker: p.idlest()}
		at.worker.rooms++
		p.places[pass.Room] = at
	}
	c := &conn{slot: e.Slot, client: client, pass: pass, addr: p.netcode.Addr(e.Slot), since: now, place: at,
		epoch: p.floors.next(client, &pass), room: linkQueue - framing}
	if e.Replaced && !pass.Reconnect { // or the client that was replaced, which is alive, would come back at once
		p.floors.raise(client, floor{epoch: c.epoch, until: now.Add(floorLife)}, now)
	}
	p.conns[e.Slot] = c
	at.conns++
	p.counts.joined++
	at.worker.inbox.news(letter{kind: letterJoined, conn: c, at: p.at(now)})
}

// idlest returns the worker with the fewest rooms.
func (p *port) idlest() *worker {
	best := p.workers[0]
	for _, w := range p.workers {
		if w.rooms < best.rooms {
			best = w
		}
	}
	return best
}

// end takes a connection, which netcode has no more, out of the tables and tells its worker.
func (p *port) end(c *conn, how letterKind, now time.Time) {
	p.forget(c, now)
	c.place.worker.inbox.news(letter{kind: how, conn: c, at: p.at(now)})
}

func (p *port) forget(c *conn, now time.Time) {
	p.conns[c.slot] = nil
	c.place.conns--
	if c.place.conns == 0 {
		c.place.empty = now
	}
	if c.minted.Load() {
		p.floors.raise(c.client, floor{epoch: c.epoch, until: now.Add(floorLife)}, now)
	}
}

// outgoing is what a worker wants done at the port after a turn: payloads to be sealed, connections to be ended.
type outgoing struct {
	to    []*conn
	ends  []int
	bytes []byte
	drops []*conn
}

func (o *outgoing) add(c *conn, payload []byte) {
	o.bytes = append(o.bytes, payload...)
	o.to = append(o.to, c)
	o.ends = append(o.ends, len(o.bytes))
}

func (o *outgoing) reset() {
	clear(o.to)
	clear(o.drops)
	o.to, o.ends, o.bytes, o.drops = o.to[:0], o.ends[:0], o.bytes[:0], o.drops[:0]
}

func (o *outgoing) empty() bool { return len(o.to) == 0 && len(o.drops) == 0 }

// sealAtOnce bounds how many packets are sealed under one hold of the lock: about 20 µs of work.
const sealAtOnce = 64

// seal seals what a worker sends into its own outbox. Payloads of connections that are over by now are left out.
func (p *port) seal(o *outgoing, out *netcode.Outbox, now time.Time) {
	from := 0
	for first := 0; first < len(o.to); first += sealAtOnce {
		p.mu.Lock()
		for i := first; i < min(first+sealAtOnce, len(o.to)); i++ {
			if c := o.to[i]; p.conns[c.slot] == c {
				// The size is the link's to keep, and the connection is there: it cannot fail.
				_ = p.netcode.Send(out, c.slot, o.bytes[from:o.ends[i]], now)
			}
			from = o.ends[i]
		}
		p.mu.Unlock()
	}
	if len(o.drops) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range o.drops {
		if p.conns[c.slot] == c {
			p.netcode.Disconnect(out, c.slot, now)
			p.counts.dropped++
			p.forget(c, now)
		}
	}
}

// bar makes all tokens worthless that a connection's client may have by now.
func (p *port) bar(c *conn, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floors.raise(c.client, floor{epoch: c.epoch + 1, issued: now, until: now.Add(floorLife)}, now)
}

// update keeps connections alive, ends silent ones, and closes rooms that were empty long enough.
func (p *port) update(out *netcode.Outbox, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = p.netcode.Update(out, now, p.events[:0])
	for _, e := range p.events {
		p.counts.timedOut++
		p.end(p.conns[e.Slot], letterGone, now)
	}
	for name, at := range p.places {
		if at.conns == 0 && now.Sub(at.empty) >= p.config.EmptyRoom {
			delete(p.places, name)
			at.worker.rooms--
			at.worker.inbox.news(letter{kind: letterCall, call: func(w *worker) { w.close(at) }})
		}
	}
}

// close turns away whoever comes from now on.
func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = true
}

// disconnect ends every connection.
func (p *port) disconnect(out *netcode.Outbox, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := range p.conns {
		p.netcode.Disconnect(out, slot, now)
		p.conns[slot] = nil
	}
}

// place returns a room's entry, or nil.
func (p *port) place(name string) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places[name]
}
