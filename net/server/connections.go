package server

import (
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/net/link"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems"
)

// connTable is the table of connections and rooms, with the netcode server that opens and seals their packets. All of it is
// under one lock. conns[slot] is set if and only if netcode has a client in the slot. The count of a room is the number of
// conns with that room.
type connTable struct {
	mu      sync.Mutex
	config  *Config
	netcode *netcode.Server
	clock   serverClock
	wall    wallClock
	public  []netip.AddrPort
	workers []*worker
	conns   []*conn
	rooms   map[string]*hostedRoom
	revoked revoked
	bans    banList
	known   time.Time    // tokens that were issued before may have been used with an earlier process
	now     time.Time    // of the batch of datagrams that is processed
	read    systems.Time // when a batch last emptied the socket
	updated systems.Time // when update last did
	stage   stage

	polled  atomic.Int64                // systems.Time at which a worker last read the socket
	limit   limit.Limiter[systems.Time] // of the packets of a new connection
	excess  limit.Limiter[systems.Time] // of the packets of a new connection above that limit
	events  []netcode.Event
	counts  ConnectionStats
	packets PacketStats
}

const (
	packetsPerTick = 2               // that a client may send
	packetsExtra   = 40              // per second, such as keep-alives
	packetsBurst   = 128             // after a stall of the network
	floodSeconds   = 10              // a client that sends above twice its limit is expelled after this time
	reconnectLife  = 2 * time.Minute // how long a reconnect token is valid, besides KeepSeat: 30 s until the next one, and a minute and a half to come back
)

func newConnTable(c *Config, public []netip.AddrPort) (*connTable, error) {
	epoch := time.Now()
	host := c.Clock().Round(0)
	known := host.Add(time.Millisecond - 1).Truncate(time.Millisecond) // tokens have milliseconds
	begun := known
	if used := c.UsedTokens; used != nil {
		known = used.Since()
		begun = slices.MaxFunc([]time.Time{host, known, time.Unix(int64(used.Floor()), 0)}, time.Time.Compare)
	} else {
		time.Sleep(known.Sub(host))
	}
	slots, perSecond := c.maxClients(), packetsPerTick*c.Room.Game.TickRate+packetsExtra
	t := &connTable{config: c, clock: serverClock{epoch: epoch}, wall: wallClock{host: c.Clock, start: epoch, begun: begun}, known: known, public: public, rooms: map[string]*hostedRoom{}, conns: make([]*conn, slots),
		revoked: revoked{of: map[uint64]revocation{}, kicks: map[uint64]kick{}, limit: 2*slots + 1024, life: c.reconnectLife()}, bans: newBanList(c.Bans, host, epoch),
		limit:  limit.New(systems.Second/systems.Time(perSecond), max(packetsBurst, 2*c.Room.Game.TickRate)),
		excess: limit.New(systems.Second/systems.Time(perSecond), floodSeconds*perSecond)}
	t.polled.Store(math.MinInt64 / 2)
	n, err := netcode.NewServer(netcode.ServerConfig{ProtocolID: ProtocolID(c.Room.Game.Name), Keys: c.Keys, Addresses: public,
		Slots: slots, Admit: t.admit, Clock: t.wall.earlier}, epoch)
	t.netcode = n
	return t, err
}

func (t *connTable) at(now time.Time) systems.Time { return t.clock.at(now) }

// receive processes a batch of datagrams. Replies are added to out.
func (t *connTable) receive(a *arrivals, out *netcode.Outbox, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = now
	at := t.at(now)
	t.packets.PacketsIn += uint64(a.count)
	for i := range a.count {
		t.packets.BytesIn += uint64(a.sizes[i])
		switch e := t.netcode.Receive(out, a.packet(i), a.from[i], now); e.Kind {
		case netcode.Payload:
			c := t.conns[e.Slot]
			if !c.packets.Allow(at) {
				t.packets.PacketsFlood++
				if c.floods++; !c.excess.Allow(at) && !c.flooded {
					c.flooded = true
					c.room.worker.queue.add(workItem{kind: workFlood, conn: c})
				}
				continue
			}
			c.room.worker.queue.packet(c, e.Payload, t.arrived(at, a.ages[i]))
		case netcode.Connected:
			t.join(e, a.from[i], now)
		case netcode.Disconnected:
			t.counts.Left++
			t.end(t.conns[e.Slot], workLeft, now)
		}
	}
	if a.pause {
		t.read = at
	}
}

// arrived returns when a datagram arrived that was in the socket for so long. The clock of the host, which measured that, may have
// been set meanwhile. The result is not before the moment at which the socket was last empty, and not after this one.
func (t *connTable) arrived(at systems.Time, age time.Duration) systems.Time {
	return max(at-max(age, 0), t.read)
}

// admit decides about a client with a valid token. netcode calls it under the lock of the table.
func (t *connTable) admit(a *netcode.Arrival) netcode.Action {
	pass, err := ParsePass(a.UserData)
	if err != nil {
		t.counts.TokensBad++
		return netcode.Ignore
	}
	if t.early(a, &pass) { // also no denial, which would be sealed with a key of the token
		t.counts.TokensEarly++
		return netcode.Ignore
	}
	if action, stops := t.stops(&pass); stops {
		a.Reason = uint8(session.CodeShutdown)
		return action
	}
	var old *conn
	if a.SameClient >= 0 {
		old = t.conns[a.SameClient]
	}
	if t.outdated(a.ClientID, &pass, old) {
		t.counts.TokensPast++
		switch {
		case t.revoked.before(a.ClientID, &pass):
			a.Reason = uint8(session.CodeKicked)
		case pass.Reconnect:
			a.Reason = uint8(session.CodeReplaced)
		default:
			return netcode.Ignore
		}
		return netcode.Deny
	}
	if a.SameAddr >= 0 && a.SameAddr != a.SameClient {
		return netcode.Ignore // another client of the same address, whose timeout is not over
	}
	if full := t.full(&pass, old, a.Free); full != 0 {
		t.counts.Full++
		if full == session.CodeRooms {
			t.counts.NoRoom++
		}
		a.Reason = uint8(full)
		return netcode.Deny
	}
	if a.Challenged && t.config.UsedTokens != nil {
		return t.record(a)
	}
	return netcode.Accept
}

// record begins to record a token, and accepts its client once the token is recorded. A denial does not use the token and repeats
// no packet number, so it needs no record.
func (t *connTable) record(a *netcode.Arrival) netcode.Action {
	switch recorded, err := t.config.UsedTokens.Record(a.Token, a.Expires, t.wall.earlier(t.now)); {
	case recorded:
		return netcode.Accept
	case err != nil:
		t.counts.Unrecorded++
		a.Reason = uint8(session.CodeStorage)
		return netcode.Deny
	}
	return netcode.Ignore // the client repeats its response
}

// early reports whether an earlier process may have accepted a token. Without a record of used tokens, that may be any token
// issued before this process. A token issued in the future is refused until that time. Otherwise its use in this process would
// be before its issue, and the next process would accept it again.
func (t *connTable) early(a *netcode.Arrival, pass *Pass) bool {
	used := t.config.UsedTokens
	if used == nil {
		return pass.Issued.Before(t.known) || pass.Issued.After(t.wall.later(t.now))
	}
	return used.Used(a.Token, a.Expires) || pass.Issued.Before(t.known)
}

// outdated reports whether a token is revoked, or older than the present connection of its client, which may be nil.
func (t *connTable) outdated(client uint64, pass *Pass, old *conn) bool {
	switch {
	case t.revoked.refuses(client, pass):
		return true
	case old == nil:
		return false
	case pass.Reconnect:
		return old.hasToken.Load() && pass.Epoch < old.epoch
	}
	// A second token of a backend replaces a connection only if it is newer than that connection.
	return !pass.Issued.After(old.since)
}

// full returns the code of the limit that leaves no place for a client, or 0 if there is a place. old is the present connection of
// the client, or nil.
func (t *connTable) full(pass *Pass, old *conn, free int) session.Code {
	h := t.rooms[pass.Room]
	switch {
	case h == nil && len(t.rooms) >= t.config.MaxRooms:
		return session.CodeRooms
	case h != nil && h.count >= t.config.Room.MaxPeers && (old == nil || old.room != h):
		return session.CodeFull
	case old == nil && free == 0:
		return session.CodeClients
	}
	return 0
}

func (t *connTable) join(e netcode.Event, from netip.AddrPort, now time.Time) {
	if e.Replaced {
		t.counts.Replaced++
		t.end(t.conns[e.Slot], workLost, now)
	}
	pass, err := ParsePass(t.netcode.UserData(e.Slot))
	if err != nil {
		panic("server: a connection was made whose pass admit had refused; report this as a bug of net/netcode")
	}
	h := t.rooms[pass.Room]
	if h == nil {
		h = &hostedRoom{name: pass.Room, conns: make([]*conn, t.config.Room.MaxPeers)}
		h.assign(t.workers)
		t.rooms[pass.Room] = h
	}
	client := t.netcode.ClientID(e.Slot)
	c := &conn{slot: e.Slot, client: client, pass: pass, since: now, room: h, epoch: t.revoked.nextEpoch(client, &pass), packets: t.limit, excess: t.excess,
		web: t.config.Web != nil && t.config.Web.Serves(from)}
	if e.Replaced && !pass.Reconnect { // otherwise the replaced client, which is alive, would reconnect at once
		t.revoked.add(client, c.epoch, now)
	}
	t.conns[e.Slot] = c
	h.count++
	t.counts.Joined++
	h.worker.queue.add(workItem{kind: workJoined, conn: c, at: t.at(now)})
}

// end removes a connection, which netcode has removed, and queues its end for its worker.
func (t *connTable) end(c *conn, how workKind, now time.Time) {
	t.remove(c, now)
	c.room.worker.queue.add(workItem{kind: how, conn: c, at: t.at(now)})
}

func (t *connTable) remove(c *conn, now time.Time) {
	t.conns[c.slot] = nil
	if c.room.count--; c.room.count == 0 {
		c.room.empty = t.at(now)
	}
	if c.hasToken.Load() {
		t.revoked.add(c.client, c.epoch, now)
	}
}

// seal seals the packets of a worker into its outbox and ends the connections that it dropped. It ignores connections that
// have ended meanwhile. The lock is held for 64 packets at a time, about 20 µs of work.
func (t *connTable) seal(o *workItems, out *netcode.Outbox, now time.Time) {
	for batch := range slices.Chunk(o.list, 64) {
		t.mu.Lock()
		for i := range batch {
			item := &batch[i]
			c := item.conn
			switch {
			case t.conns[c.slot] != c:
			case item.kind == workPacket:
				_ = t.netcode.Send(out, c.slot, o.bytes[item.from:item.to], now) // it refuses only sizes that no link emits
			default:
				t.netcode.Disconnect(out, c.slot, now)
				t.counts.Dropped++
				t.remove(c, now)
			}
		}
		t.mu.Unlock()
	}
}

// update sends keep-alives, ends connections at their timeout, and closes rooms that have been empty for emptyRoom, once in
// updateInterval. It returns the number of the remaining rooms.
func (t *connTable) update(out *netcode.Outbox, now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.at(now)
	if at-t.updated < systems.Time(updateInterval) {
		return len(t.rooms)
	}
	t.updated = at
	t.events = t.netcode.Update(out, now, t.events[:0])
	for _, e := range t.events {
		t.counts.TimedOut++
		t.end(t.conns[e.Slot], workLost, now)
	}
	for name, h := range t.rooms {
		if h.count == 0 && (h.given || at-h.empty >= t.config.emptyRoom()) {
			delete(t.rooms, name)
			h.worker.assigned--
			h.worker.queue.call(func(w *worker) { w.close(h) })
		}
	}
	return len(t.rooms)
}

func (t *connTable) disconnect(out *netcode.Outbox, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for slot := range t.conns {
		t.netcode.Disconnect(out, slot, now)
		t.conns[slot] = nil
	}
}

// conn is one connection from its handshake to its end. It has ended when its slot in the table holds another one or none.
// The fields of each block belong to one goroutine, or never change.
type conn struct {
	// Constant.
	slot   int
	client uint64
	pass   Pass
	epoch  uint32 // number of this connection of the client: see revoked
	since  time.Time
	room   *hostedRoom
	web    bool // of Config.Web

	// Under the lock of the table.
	packets limit.Limiter[systems.Time]
	excess  limit.Limiter[systems.Time] // of the packets above that limit
	floods  uint64                      // packets above the first limit
	flooded bool                        // it exceeded both limits

	// Of the worker.
	link      *link.Link   // nil before the worker has the connection, and after the end
	endBy     systems.Time // when the connection ends at the latest; 0: its room has it
	emit      func([]byte) // adds a packet of the link to the output of the worker
	peer      systems.Peer
	servers   uint64 // hashOf those in its newest reconnect token; 0: none was sent
	endpoints uint64 // xxHash64 of the list that was sent last, for connections of Config.Web; 0: none

	hasToken atomic.Bool // a reconnect token was acknowledged; set by the worker, read by the table
}

// hostedRoom is a room with its place in the table. It exists before the room is made, and for a moment after its end.
type hostedRoom struct {
	name   string
	worker *worker

	// Under the lock of the table.
	count int          // connections
	empty systems.Time // since when count is 0
	given bool         // its match was given up, or it was not opened: it is removed with its last connection

	// Of the worker.
	room      *room.Room                // nil until the first connection has joined, and after the end
	match     uint64                    // its number
	joining   []*conn                   // connections that wait until it is open
	conns     []*conn                   // by peer
	gone      func(systems.Peer, error) // ends a connection
	target    []netip.AddrPort          // addresses of the server to which the room moves; empty: it stays
	moved     chan struct{}             // closed when the room is removed; nil unless Move was called
	moveBy    systems.Time              // latest time of the suspension; set by Move
	stood     systems.Time              // serverClock.lost when OpenRoom began
	others    []netip.AddrPort          // servers at the last comparison
	compareAt systems.Time              // when they are compared next
	observer  image.Observer            // of the room; may be nil
}

// assign gives a room to the worker with the fewest rooms. The caller holds the lock of the table.
func (h *hostedRoom) assign(workers []*worker) {
	h.worker = slices.MinFunc(workers, func(a, b *worker) int { return a.assigned - b.assigned })
	h.worker.assigned++
}
