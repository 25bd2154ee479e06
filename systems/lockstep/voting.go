package lockstep

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/vote"
)

// votedMatch is the server as the votes use it.
type votedMatch struct{ *Server }

// Advance computes the next frame of a world on demand.
func (m votedMatch) Advance() {
	c := &m.behind
	if c.at != m.World().Tick() {
		panic("lockstep: the server's world was changed from outside: it is only to be read")
	}
	c.next(m.log)
	c.validate(m.World(), m.valid)
	m.World().Step(ecs.TickInputs{Players: m.valid, Orders: c.orders})
	m.votes.Computed(nil)
}

// Save returns the state of the world.
func (m votedMatch) Save() *image.Snapshot { return m.States.Save(m.World()) }

// Attended reports whether a player is connected.
func (m votedMatch) Attended() bool {
	for i := range m.Peers {
		if p := &m.Peers[i]; p.Open && p.Seat >= 0 {
			return true
		}
	}
	return false
}

// Blame requests an image for the peer of a player whose state differs, or its removal if that happened too often.
func (m votedMatch) Blame(player ecs.Player, tick ecs.Tick, strikes int) {
	if p := m.PeerOf(player); p != nil {
		p.Stats.Desyncs++
		p.Stats.Differed, p.Stats.Claim, p.Stats.Own = tick, 0, 0
		p.Resync.Request()
		p.Stats.Expelled = p.Stats.Expelled || strikes >= vote.MaxStrikes
	}
}

// Conclude decides every match that has ended, with the votes received so far.
func (s *Server) Conclude() { s.votes.Conclude() }

// receiveHash accepts the checksum that a peer claims of a state: a player's claim, or a spectator's for comparison.
func (s *Server) receiveHash(m systems.Message) error {
	s.pass(m.Now)
	p := &s.Peers[m.From]
	f, claim, ok, err := s.ClaimedChecksum(m, vote.Every)
	if !ok {
		return err
	}
	if p.Seat >= 0 {
		p.Stats.Checked++
		s.votes.Hashes.Cast(p.Player(), f, claim)
	} else if own, kept := s.votes.Checksum(f); kept {
		p.Compare(f, own, claim)
	}
	return nil
}

func (s *Server) receiveResult(m systems.Message) error {
	s.pass(m.Now)
	var r resultMessage
	p := &s.Peers[m.From]
	if r.read(m.Body) != nil || p.Seat < 0 || r.tick > s.Done() || s.Game.Result == nil {
		return ErrMessage
	}
	if !s.votes.Claim(p.Player(), r.tick, r.sum, r.result, s.now) {
		p.Stats.Refused++
	}
	return nil
}
