package room

import (
	"tendon/ecs"
	"tendon/net/session"
	"tendon/systems"
)

// Stats counts what a room did.
type Stats struct {
	Tick          ecs.Tick     `json:"tick"`
	Peers         int          `json:"peers"`          // connections now
	Players       int          `json:"players"`        // seats held now
	Late          uint64       `json:"late"`           // ticks computed more than one tick after they were due
	MostLate      systems.Time `json:"most_late"`      // longest time from when a tick was due to when it was computed
	Lateness      Lateness     `json:"lateness"`       // distribution of that time
	Deferred      uint64       `json:"deferred"`       // Frames that left due ticks to the next Frame
	GivenUp       systems.Time `json:"given_up"`       // by which ticks were moved because the server stood still or was too slow, and not for a journal
	Images        uint64       `json:"images"`         // images made
	Resyncs       uint64       `json:"resyncs"`        // images sent because a state differed or a peer fell too far behind
	Refused       uint64       `json:"refused"`        // connections and clients that were refused
	Unwritten     uint64       `json:"unwritten"`      // Frames in which a Commit failed, so that the match waited
	Adopted       uint64       `json:"adopted"`        // ticks received from clients after a restart
	TailsRefused  uint64       `json:"tails_refused"`  // offers of such ticks that do not continue the journal or are not proven
	Paused        int          `json:"paused"`         // 1 while the match is paused
	PausesRefused uint64       `json:"pauses_refused"` // requests of players that the rule refused
	RingBytes     int          `json:"ring_bytes"`     // memory of the snapshots, the unused ones included
}

// Add adds the counters of another room. Tick and MostLate become the larger value of both rooms.
func (s *Stats) Add(o *Stats) {
	s.Tick, s.MostLate = max(s.Tick, o.Tick), max(s.MostLate, o.MostLate)
	s.Peers, s.Players, s.RingBytes = s.Peers+o.Peers, s.Players+o.Players, s.RingBytes+o.RingBytes
	s.Paused, s.PausesRefused = s.Paused+o.Paused, s.PausesRefused+o.PausesRefused
	s.Late, s.Deferred, s.Images, s.Resyncs = s.Late+o.Late, s.Deferred+o.Deferred, s.Images+o.Images, s.Resyncs+o.Resyncs
	s.Refused, s.Unwritten, s.GivenUp = s.Refused+o.Refused, s.Unwritten+o.Unwritten, s.GivenUp+o.GivenUp
	s.Adopted, s.TailsRefused = s.Adopted+o.Adopted, s.TailsRefused+o.TailsRefused
	for i, n := range o.Lateness {
		s.Lateness[i] += n
	}
}

// Lateness is a histogram of how late ticks were computed, in eighths of a tick. Element i counts the ticks that were i
// to i + 1 eighths late; the last element counts all later ones.
type Lateness [9]uint64

// Share returns the share of ticks that were at least so many eighths of a tick late, in [0, 1].
func (l *Lateness) Share(eighths int) float64 {
	all, late := uint64(0), uint64(0)
	for i, n := range l {
		all += n
		if i >= eighths {
			late += n
		}
	}
	return float64(late) / float64(max(all, 1))
}

func (r *Room) noteLateness(due systems.Time) {
	late, length := r.strategyTime()-due, systems.Second/systems.Time(r.config.Game.TickRate)
	r.stats.MostLate = max(r.stats.MostLate, late)
	r.stats.Lateness[min(int(8*late/length), len(r.stats.Lateness)-1)]++
	if late > length {
		r.stats.Late++
	}
}

// Stats returns the counters of the room.
func (r *Room) Stats() Stats {
	s := r.stats
	s.Tick, s.RingBytes = r.Tick(), r.World().Image().PageBytes()
	for range r.present() {
		s.Peers++
	}
	if r.clock.on {
		s.Paused = 1
	}
	for i := range r.seats {
		if r.seats[i].Held {
			s.Players++
		}
	}
	return s
}

// StatePaused is the PeerInfo.State of a player whose match is paused.
const StatePaused = "paused"

// PeerInfo is one line of a live table of peers.
type PeerInfo struct {
	Peer     systems.Peer
	Identity Identity
	Seat     int    // −1: none
	State    string // "connecting", "loading", "playing", StatePaused, "watching" or "leaving"
	Session  session.Stats
	Strategy systems.PeerStats
}

// AppendPeers appends a line per connection and returns the extended slice.
func (r *Room) AppendPeers(dst []PeerInfo) []PeerInfo {
	for i := range r.peers {
		if r.peers[i].session != nil {
			dst = append(dst, r.Peer(systems.Peer(i)))
		}
	}
	return dst
}

// Peer returns the line of one connection, from Enter until Gone or Vanish.
func (r *Room) Peer(id systems.Peer) PeerInfo {
	p := &r.peers[id]
	info := PeerInfo{Peer: id, Identity: p.identity, Seat: p.seat, State: "connecting", Session: p.session.Stats()}
	if p.open {
		info.Strategy, info.State = r.strategy.PeerStats(id), "watching"
		info.Strategy.Refused -= p.excused
	}
	switch {
	case p.session.Err() != nil:
		info.State = "leaving"
	case p.open && p.seat >= 0:
		if info.State = "playing"; r.clock.on {
			info.State = StatePaused
		}
	case !p.open && p.session.Loading():
		info.State = "loading"
	}
	return info
}
