package authority

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/state"
)

// Peer is a connection of the room. P is the part that the strategy adds. The zero Peer with an ID is not open.
type Peer[P any] struct {
	ID     systems.Peer
	Open   bool
	Seat   int      // −1 for a spectator
	Acked  ecs.Tick // newest tick that it has acknowledged, as the strategy counts
	Opened ecs.Tick // tick of the state that it held when it was opened
	Stats  systems.PeerStats
	Resync Resync
	Sight  *Sight        // the match as the peer may know it
	Sender *state.Sender // nil without Config.Replicates
	Events peerEvents    // unused without Config.Replicates
	Own    P

	messages limit.Limiter[ecs.Tick] // its time is messagesPerTick × the tick
}

// Player returns the player whose seat the peer holds. It must not be a spectator.
func (p *Peer[P]) Player() ecs.Player { return ecs.Player(p.Seat) }

// The limits of a peer's messages. A client sends at most one message a tick, at up to 1.1 times the nominal pace, and a few
// others. After a hitch many arrive at once.
const (
	messagesPerTick = 2
	MaxMessages     = 256 // at once
)

// AllowMessage reports whether a peer may send one more message. It counts the message as sent or as refused.
func (s *Server[C, P]) AllowMessage(p *Peer[P]) bool {
	if p.messages.Allow(messagesPerTick * s.done) {
		return true
	}
	p.Stats.Refused++
	return false
}

// Open starts to serve a peer that holds State(have). It panics for a seat that the game does not have, and for a state
// that cannot be served.
func (s *Server[C, P]) Open(id systems.Peer, seat int, have ecs.Tick, now systems.Time, out systems.Outbox) {
	s.checkOpen(seat, have)
	s.Peers = s.Peers[:max(len(s.Peers), int(id)+1)]
	p := &s.Peers[id]
	again := p.Open && p.Seat == seat
	if !p.Open {
		*p = Peer[P]{ID: id, messages: limit.New[ecs.Tick](1, MaxMessages)}
	}
	if seat >= 0 && !again && s.config.Buffers {
		s.Seats[seat].Forget(s.done)
	}
	p.Open, p.Seat, p.Acked, p.Opened, p.Resync = true, seat, have, have, InSync
	p.Stats.Acked = have
	sight := s.sightOf(seat)
	if s.Changes != nil {
		s.openReplication(p, sight)
	}
	p.Sight = sight
	if s.config.Opened != nil {
		s.Sending.Now, s.Sending.Out = now, out
		s.config.Opened(p, again)
	}
}

func (s *Server[C, P]) checkOpen(seat int, have ecs.Tick) {
	if seat < -1 || seat >= s.Game.MaxPlayers {
		panic(fmt.Sprintf("%s: Open with seat %d in a game of %d players: a spectator's is -1", s.config.Name, seat, s.Game.MaxPlayers))
	}
	if _, kept := s.keptState(have); have > s.done || have < s.OldestServable() && !kept {
		panic(fmt.Sprintf("%s: Open of a peer that holds tick %d: ask Serves first; the oldest is %d, the last %d", s.config.Name, have, s.OldestServable(), s.done))
	}
}

func (s *Server[C, P]) isOpen(id systems.Peer) bool {
	return int(id) < len(s.Peers) && s.Peers[id].Open
}

// Close stops serving a peer.
func (s *Server[C, P]) Close(id systems.Peer) {
	if !s.isOpen(id) {
		return
	}
	old := s.Peers[id]
	s.Peers[id] = Peer[P]{ID: id}
	for n := len(s.Peers); n > 0 && !s.Peers[n-1].Open; n-- {
		s.Peers = s.Peers[:n-1]
	}
	if s.config.Closed != nil {
		s.config.Closed(&old)
	}
}

// Receive passes a message from an open peer to the system that accepts its kind.
func (s *Server[C, P]) Receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time, out systems.Outbox) error {
	if !s.isOpen(id) {
		return s.config.Malformed
	}
	p := &s.Peers[id]
	known, err := s.schedule.Receive(s.config.Context, systems.Message{From: id, Channel: ch, Body: message, Now: now, Out: out})
	if !known {
		err = s.config.Malformed
	}
	if err != nil {
		p.Stats.Refused++
	}
	return err
}

// Send runs the systems of phase Send.
func (s *Server[C, P]) Send(now systems.Time, out systems.Outbox) {
	s.Sending.Now, s.Sending.Out = now, out
	s.schedule.Run(systems.Send, s.config.Context)
	s.sendRefusals()
}

// Serve calls f for every open peer to which messages may be sent in this tick, ascending. It is for systems of phase Send.
func (s *Server[C, P]) Serve(f func(C, *Peer[P])) {
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open && s.Sending.Out.Ready(p.ID) {
			f(s.config.Context, p)
		}
	}
}

// PeerOf returns the peer that holds a player's seat, nil if none is open.
func (s *Server[C, P]) PeerOf(p ecs.Player) *Peer[P] {
	for i := range s.Peers {
		if peer := &s.Peers[i]; peer.Open && peer.Seat == int(p) {
			return peer
		}
	}
	return nil
}

// Interval returns the number of the running interval at rate messages a second to a peer, counted from 1. The intervals
// of different peers begin in different ticks, so that the work of a server is spread evenly.
func (s *Server[C, P]) Interval(p *Peer[P], rate int) uint64 {
	ticks := uint64(s.Game.TickRate)
	return (uint64(s.done)*uint64(rate)+uint64(p.ID)*ticks/uint64(cap(s.Peers)))/ticks + 1
}

// Desynced calls f for each peer that needs an image and was not reported since it was opened.
func (s *Server[C, P]) Desynced(f func(systems.Peer)) {
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open && p.Resync == Needed {
			p.Resync = Reported
			f(p.ID)
		}
	}
}

// PeerStats returns the counters of an open peer.
func (s *Server[C, P]) PeerStats(id systems.Peer) systems.PeerStats {
	if !s.isOpen(id) {
		return systems.PeerStats{}
	}
	p := &s.Peers[id]
	st := p.Stats
	if p.Seat >= 0 && s.config.Buffers {
		seat := &s.Seats[p.Seat]
		st.Substituted, st.Late, st.Margin = seat.Substituted, seat.Late, seat.MeanMargin()
	}
	if p.Sender != nil {
		sent := p.Sender.Stats()
		st.Overdue, st.LongestWait = sent.Late, sent.Longest
	}
	return st
}

// Resync is whether a peer needs an image. It changes from InSync to Needed to Reported, and back to InSync when the peer
// is opened again.
type Resync uint8

// The states of a Resync.
const (
	InSync   Resync = iota
	Needed          // the peer's state differs, it asked for an image, or it is too far behind
	Reported        // the room was informed
)

// Request makes a peer that is in sync need an image.
func (r *Resync) Request() {
	if *r == InSync {
		*r = Needed
	}
}

// ClaimedChecksum returns the checksum of State(f) that a message of a peer claims, of a kind that code.AppendChecksum wrote.
// Checksums are exchanged every so many ticks. ok is false if the claim does not count: the message is malformed, which is an
// error, or a resync has replaced or will replace the state.
func (s *Server[C, P]) ClaimedChecksum(m systems.Message, every ecs.Tick) (f ecs.Tick, sum image.Checksum, ok bool, err error) {
	p := &s.Peers[m.From]
	if f, sum, ok = code.ReadChecksum(m.Body, m.Body[0]); !ok {
		return f, sum, false, s.config.Malformed
	}
	return f, sum, f > p.Opened && f <= s.done && f%every == 0 && p.Resync == InSync, nil
}

// Compare compares the checksum of State(f) that a peer claims with the server's, and reports whether they differ. If so,
// the peer needs an image.
func (p *Peer[P]) Compare(f ecs.Tick, own, claim image.Checksum) (differs bool) {
	p.Stats.Checked++
	if claim == own {
		return false
	}
	p.Stats.Desyncs++
	p.Stats.Differed, p.Stats.Claim, p.Stats.Own = f, claim, own
	p.Resync.Request()
	return true
}
