package web

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"tendon/net/limit"
)

// Prefix contains the addresses of all sessions. Addresses of it are never routed (RFC 6666).
var Prefix = netip.MustParsePrefix("100::/64")

// MaxPacket is the largest packet of a session, in bytes.
const MaxPacket = 1177

const (
	queuedPackets    = 4096                   // received packets that wait for the server, of all sessions
	unsentPackets    = 128                    // packets of one session that wait to be sent
	lateAfter        = 100 * time.Millisecond // a packet that has waited so long is not sent
	packetsPerSecond = 2500                   // of one session
	packetsBurst     = 256

	unansweredLimit  = 5 * time.Second  // how long a session may exist before the server sends a packet to it
	silentLimit      = 15 * time.Second // how long the server may send nothing to a session
	unansweredOfHost = 16               // sessions of one network without an answer
	unansweredShare  = 4                // one of so many of all sessions may be without an answer
)

// transport sends the packets of one session. send may block.
type transport interface {
	send(packet []byte) error
	close()
}

// sessions is the table of all sessions.
type sessions struct {
	mu      sync.RWMutex
	max     int
	last    uint64 // number of the newest session
	of      map[netip.AddrPort]*session
	waiting map[netip.Prefix]int // sessions without an answer, by network
	pending int                  // their sum
	closed  bool
	stats   Stats

	received chan packet
	done     chan struct{} // closed by close
}

// Stats counts the sessions and packets of a Listener since it was made.
type Stats struct {
	Sessions  int    // open now
	Pending   int    // of those, without an answer of the server
	Opened    uint64 // WebTransport and WebSocket sessions
	Sockets   uint64 // of those, WebSockets
	Refused   uint64 // sessions above a limit
	Expired   uint64 // sessions that were closed because the server did not send to them
	Flood     uint64 // received packets above the rate of a session
	Overflow  uint64 // received packets that found the queue full
	Oversized uint64 // received packets that are larger than MaxPacket, or empty
	Late      uint64 // packets that were not sent because they had waited too long
}

type packet struct {
	from netip.AddrPort
	data []byte
}

func newSessions(limit int) *sessions {
	return &sessions{max: limit, of: map[netip.AddrPort]*session{}, waiting: map[netip.Prefix]int{}, received: make(chan packet, queuedPackets), done: make(chan struct{})}
}

// session is one client.
type session struct {
	table     *sessions
	address   netip.AddrPort // in Prefix
	network   netip.Prefix   // of the client
	remote    netip.AddrPort
	transport transport
	queue     queue

	// Under the lock of the table.
	answered bool
	since    time.Time // of the last packet of the server, or when it was opened
	packets  limit.Limiter[time.Duration]
	opened   time.Time
}

// open adds a session, or returns nil if there are too many.
func (t *sessions) open(remote netip.AddrPort, of transport, now time.Time) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	network := networkOf(remote.Addr())
	if t.closed || len(t.of) >= t.max || t.pending >= max(1, t.max/unansweredShare) || t.waiting[network] >= unansweredOfHost {
		t.stats.Refused++
		return nil
	}
	t.last++
	s := &session{table: t, address: addressOf(t.last), network: network, remote: remote, transport: of, since: now, opened: now,
		packets: limit.New(time.Second/packetsPerSecond, packetsBurst)}
	s.queue.ready.L = &s.queue.mu
	t.of[s.address] = s
	t.waiting[network]++
	t.pending++
	t.stats.Opened++
	go s.write()
	return s
}

// addressOf returns the address of a session by its number.
func addressOf(number uint64) netip.AddrPort {
	address := Prefix.Addr().As16()
	binary.BigEndian.PutUint64(address[8:], number)
	return netip.AddrPortFrom(netip.AddrFrom16(address), 1)
}

// networkOf returns the network whose sessions are counted together: an IPv4 address, or 64 bits of an IPv6 address.
func networkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // fails for the zero address only, whose network is the zero prefix
	return p
}

// remove ends a session. It may be called more than once.
func (t *sessions) remove(s *session) {
	t.mu.Lock()
	if t.of[s.address] == s {
		delete(t.of, s.address)
		t.settle(s)
	}
	t.mu.Unlock()
	s.queue.close()
	s.transport.close()
}

// settle removes a session from those without an answer. The caller holds the lock.
func (t *sessions) settle(s *session) {
	if s.answered {
		return
	}
	s.answered = true
	t.pending--
	if t.waiting[s.network]--; t.waiting[s.network] == 0 {
		delete(t.waiting, s.network)
	}
}

// receive queues a packet of a session for the server. It keeps data.
func (t *sessions) receive(s *session, data []byte, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(data) == 0 || len(data) > MaxPacket:
		t.stats.Oversized++
		return
	case !s.packets.Allow(now.Sub(s.opened)):
		t.stats.Flood++
		return
	}
	select {
	case t.received <- packet{s.address, data}:
	default:
		t.stats.Overflow++
	}
}

// send queues a packet for a session. It returns false if there is no such session.
func (t *sessions) send(data []byte, to netip.AddrPort, now time.Time) bool {
	t.mu.Lock()
	s := t.of[to]
	if s != nil {
		t.settle(s)
		s.since = now
	}
	t.mu.Unlock()
	if s == nil {
		return false
	}
	if dropped, _ := s.queue.add(data, now); dropped > 0 {
		t.late(dropped)
	}
	return true
}

// late counts packets that were not sent.
func (t *sessions) late(n int) { t.count(func(s *Stats) { s.Late += uint64(n) }) }

func (t *sessions) count(f func(s *Stats)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.stats)
}

// sweep closes the sessions to which the server does not send.
func (t *sessions) sweep(now time.Time) {
	var expired []*session
	t.mu.Lock()
	for _, s := range t.of {
		limit := silentLimit
		if !s.answered {
			limit = unansweredLimit
		}
		if now.Sub(s.since) >= limit {
			expired = append(expired, s)
		}
	}
	t.stats.Expired += uint64(len(expired))
	t.mu.Unlock()
	for _, s := range expired {
		t.remove(s)
	}
}

// close ends all sessions and refuses new ones.
func (t *sessions) close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.done)
	}
	all := make([]*session, 0, len(t.of))
	for _, s := range t.of {
		all = append(all, s)
	}
	t.mu.Unlock()
	for _, s := range all {
		t.remove(s)
	}
}

func (t *sessions) figures() Stats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.stats
	s.Sessions, s.Pending = len(t.of), t.pending
	return s
}

// write sends the packets of the queue until the session ends.
func (s *session) write() {
	buffer := make([]byte, 0, MaxPacket)
	for {
		next, late, ok := s.queue.next(buffer, time.Now)
		if late > 0 {
			s.table.late(late)
		}
		if !ok {
			return
		}
		if s.transport.send(next) != nil {
			s.table.remove(s)
			return
		}
	}
}

// queue holds the packets that wait for one session's line, oldest first.
type queue struct {
	mu     sync.Mutex
	ready  sync.Cond
	list   []waiting
	spare  [][]byte // buffers of packets that were sent
	closed bool
}

type waiting struct {
	data  []byte
	since time.Time
}

// add appends a copy of a packet. If the queue is full, it drops the oldest packet. It returns the number of dropped packets; ok is false if
// the queue is closed.
func (q *queue) add(data []byte, now time.Time) (dropped int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, false
	}
	if len(q.list) == unsentPackets {
		q.drop(1)
		dropped = 1
	}
	var buffer []byte
	if n := len(q.spare); n > 0 {
		buffer, q.spare = q.spare[n-1], q.spare[:n-1]
	}
	q.list = append(q.list, waiting{append(buffer[:0], data...), now})
	q.ready.Signal()
	return dropped, true
}

// drop removes the first n packets.
func (q *queue) drop(n int) {
	for _, w := range q.list[:n] {
		q.spare = append(q.spare, w.data)
	}
	q.list = append(q.list[:0], q.list[n:]...)
}

// next waits for a packet, and copies it into buffer. It drops those that have waited for lateAfter. ok is false after close.
func (q *queue) next(buffer []byte, clock func() time.Time) (data []byte, late int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.list) == 0 && !q.closed {
			q.ready.Wait()
		}
		if q.closed {
			return nil, late, false
		}
		old, now := 0, clock()
		for old < len(q.list) && now.Sub(q.list[old].since) >= lateAfter {
			old++
		}
		q.drop(old)
		late += old
		if len(q.list) > 0 {
			data = append(buffer[:0], q.list[0].data...)
			q.drop(1)
			return data, late, true
		}
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.list, q.spare = true, nil, nil
	q.ready.Broadcast()
}
