package server

import (
	"cmp"
	"slices"
	"sync"

	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
)

// Stats is what a server counted since it was made, and its rooms as they were a second ago at most. It is meant for
// live tables, metrics and JSON.
type Stats struct {
	Rooms, MaxRooms     int
	Clients, MaxClients int

	Joined   uint64 // connections made
	Replaced uint64 // of those, by a reconnect token in place of an older one
	TimedOut uint64 // connections ended by silence
	Left     uint64 // by the client
	Dropped  uint64 // by this server

	TokensPast uint64 // arrivals turned away: the token was overtaken by a later one, or its client was put out
	TokensBad  uint64 // the token is none for this server
	Full       uint64 // no room or no place in it

	PacketsIn      uint64 // datagrams received
	PacketsOut     uint64 // payload packets sent, keep-alives not counted
	BytesIn        uint64 // of the datagrams received
	BytesOut       uint64 // of the payload packets sent, sealed
	PacketsRefused uint64 // that net/netcode dropped; Netcode says why
	PacketsFlood   uint64 // above a client's bounds
	PacketsLost    uint64 // received, and no room to keep them until the next tick
	PacketsUnsent  uint64 // that the system did not take
	Malformed      uint64 // opened packets that are no channel parts

	Turns     uint64 // of the workers
	LateTurns uint64 // that began more than a tick late

	Netcode netcode.Counters `json:"-"` // by reason; netcode.Counter has the names
	Table   []RoomStats      // by name
	Past    room.Stats       // of all rooms that were closed, since everybody had left
}

// RoomStats is one room's line.
type RoomStats struct {
	Name   string
	Worker int
	room.Stats
}

// published is what a worker tells of itself, once a second.
type published struct {
	next systems.Time

	mu     sync.Mutex
	rooms  []RoomStats
	past   room.Stats
	counts workerCounts
}

// publish makes the worker's figures visible.
func (w *worker) publish(at systems.Time) {
	w.published.next = at + systems.Second
	p := &w.published
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts, p.past = w.counts, w.ended
	p.rooms = p.rooms[:0]
	for _, hosts := range w.hosts {
		for _, h := range hosts {
			p.rooms = append(p.rooms, RoomStats{Name: h.place.name, Worker: w.number, Stats: h.room.Stats()})
		}
	}
}

// Stats returns what was counted. It may be called at any time from any goroutine.
func (s *Server) Stats() Stats {
	st := Stats{MaxRooms: s.config.MaxRooms, MaxClients: s.config.MaxClients}
	s.port.fill(&st)
	for _, w := range s.workers {
		p := &w.published
		p.mu.Lock()
		st.Table = append(st.Table, p.rooms...)
		st.Past.Add(&p.past)
		st.PacketsOut += p.counts.packetsOut
		st.BytesOut += p.counts.bytesOut
		st.PacketsUnsent += p.counts.unsent
		st.PacketsLost += p.counts.lost
		st.Malformed += p.counts.malformed
		st.Turns += p.counts.turns
		st.LateTurns += p.counts.late
		p.mu.Unlock()
	}
	slices.SortFunc(st.Table, func(a, b RoomStats) int { return cmp.Compare(a.Name, b.Name) })
	return st
}

// Total returns what all rooms counted together, those that were closed included.
func (s *Stats) Total() room.Stats {
	all := s.Past
	for i := range s.Table {
		all.Add(&s.Table[i].Stats)
	}
	return all
}

func (p *port) fill(st *Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.counts
	st.Rooms, st.Clients = len(p.places), p.netcode.Clients()
	st.Joined, st.Replaced, st.TimedOut, st.Left, st.Dropped = c.joined, c.replaced, c.timedOut, c.left, c.dropped
	st.TokensPast, st.TokensBad, st.Full, st.PacketsFlood = c.pastToken, c.badPass, c.full, c.flood
	st.Netcode = *p.netcode.Counters()
	st.PacketsRefused = st.Netcode.Dropped()
	st.PacketsIn, st.BytesIn = c.received, c.receivedBytes
}
