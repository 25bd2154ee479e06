package server

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tendon/net/link"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
)

// Stats is what a server counted since it was made, with its rooms as they were at most a second ago. It is meant for live
// tables, metrics and JSON.
type Stats struct {
	Rooms      int `json:"rooms"`
	MaxRooms   int `json:"max_rooms"`
	Clients    int `json:"clients"`
	MaxClients int `json:"max_clients"`
	Bans       int `json:"bans"` // clients that are banned
	ConnectionStats
	PacketStats
	TurnStats
	Netcode netcode.Counters `json:"-"`     // refused packets by reason
	Table   []RoomStats      `json:"table"` // by name
	Past    room.Stats       `json:"past"`  // of all closed rooms
}

// ConnectionStats counts connections.
type ConnectionStats struct {
	Joined   uint64 `json:"joined"`    // connections made
	Replaced uint64 `json:"replaced"`  // of those, in place of an older connection of the same client
	TimedOut uint64 `json:"timed_out"` // ended by the timeout
	Left     uint64 `json:"left"`      // ended by the client
	Dropped  uint64 `json:"dropped"`   // ended by the server

	Expelled   uint64 `json:"expelled"`    // for lying, flooding or malformed messages
	Banned     uint64 `json:"banned"`      // refused: the client is banned
	TokensPast uint64 `json:"tokens_past"` // refused: the token is revoked or older than the present connection
	// TokensEarly counts requests with tokens that an earlier process may have accepted, or that were issued in the future.
	TokensEarly uint64 `json:"tokens_early"`
	TokensBad   uint64 `json:"tokens_bad"` // refused: the token is not for this server
	Full        uint64 `json:"full"`       // refused: no room, or no place in the room
	NoRoom      uint64 `json:"no_room"`    // of those, because there are MaxRooms rooms
	Unrecorded  uint64 `json:"unrecorded"` // refused: the token cannot be recorded, such as on a full disk
}

// PacketStats counts packets.
type PacketStats struct {
	PacketsIn      uint64 `json:"packets_in"`      // datagrams received
	PacketsOut     uint64 `json:"packets_out"`     // payload packets sent, without keep-alives
	BytesIn        uint64 `json:"bytes_in"`        // of the datagrams received
	BytesOut       uint64 `json:"bytes_out"`       // of the payload packets sent, sealed
	PacketsRefused uint64 `json:"packets_refused"` // by net/netcode
	PacketsFlood   uint64 `json:"packets_flood"`   // above the rate limit of a client
	PacketsLost    uint64 `json:"packets_lost"`    // received, and dropped because the queue of the worker was full
	PacketsUnsent  uint64 `json:"packets_unsent"`  // refused by the system, or dropped after a standstill
	Malformed      uint64 `json:"malformed"`       // opened packets that the link refused
}

// TurnStats counts the turns of the workers.
type TurnStats struct {
	Turns     uint64 `json:"turns"`
	LateTurns uint64 `json:"late_turns"` // turns in which more than one tick was due
	Crashes   uint64 `json:"crashes"`    // rooms whose rules panicked
}

// RoomStats is one line of the table of rooms.
type RoomStats struct {
	Name     string `json:"name"`
	Worker   int    `json:"worker"`
	Strategy string `json:"strategy"` // at present
	room.Stats
}

func (w *worker) publish(at systems.Time) {
	w.publishAt = at + systems.Second
	p := w.figures
	for _, h := range w.rooms {
		p.rooms = append(p.rooms, RoomStats{Name: h.name, Worker: w.number, Strategy: h.room.Strategy().Name, Stats: h.room.Stats()})
	}
	w.published.Store(&p)
}

// Stats returns the counters of the server. It may be called at any time from any goroutine.
func (s *Server) Stats() Stats {
	st := Stats{MaxRooms: s.config.MaxRooms, MaxClients: s.config.maxClients()}
	t := s.conns
	t.mu.Lock()
	st.Rooms, st.Clients = len(t.rooms), t.netcode.Clients()
	st.ConnectionStats, st.PacketStats = t.counts, t.packets
	st.Netcode, st.Bans = *t.netcode.Counters(), len(t.bans.list(time.Now()))
	t.mu.Unlock()
	st.PacketsRefused = st.Netcode.Dropped()
	for _, w := range s.workers {
		p := w.published.Load()
		st.Table = append(st.Table, p.rooms...)
		st.Past.Add(&p.past)
		st.PacketsOut += p.packets.PacketsOut
		st.BytesOut += p.packets.BytesOut
		st.PacketsUnsent += p.packets.PacketsUnsent
		st.PacketsLost += p.packets.PacketsLost
		st.Malformed += p.packets.Malformed
		st.Turns += p.turns.Turns
		st.LateTurns += p.turns.LateTurns
		st.Crashes += p.turns.Crashes
	}
	slices.SortFunc(st.Table, func(a, b RoomStats) int { return cmp.Compare(a.Name, b.Name) })
	return st
}

// Total returns the sum over all rooms, the closed ones included.
func (s *Stats) Total() room.Stats {
	all := s.Past
	for i := range s.Table {
		all.Add(&s.Table[i].Stats)
	}
	return all
}

// PeerInfo is one line of a live table of the connections of a room.
type PeerInfo struct {
	room.PeerInfo
	Link link.Stats
	// Accepted is the number of packets received from the client, Newest the largest of their numbers: see the Received of
	// netcode.Server. The packets lost between two moments are the increase of Newest less that of Accepted.
	Accepted, Newest uint64
	Since            time.Time // when the connection was made
	Floods           uint64    // packets above the rate limit of the connection
}

// Peers returns the connections of a room, by peer. It waits for the next turn of the room, a few milliseconds.
func (s *Server) Peers(name string) (list []PeerInfo, err error) {
	err = s.hosted(context.Background(), name, func(_ *worker, h *hostedRoom) error {
		peers := h.room.AppendPeers(nil)
		s.conns.mu.Lock()
		defer s.conns.mu.Unlock()
		for _, p := range peers {
			if c := h.conns[p.Peer]; c != nil && s.conns.conns[c.slot] == c { // otherwise it has ended
				list = append(list, s.conns.peerInfo(c, p))
			}
		}
		return nil
	})
	return list, err
}
