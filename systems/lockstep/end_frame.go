package lockstep

import (
	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/code"
	"tendon/systems/vote"
)

const (
	largestInline = 512                           // most bytes of the code of a frame in a datagram
	leastBlocks   = 1 + redundant/blockFrames + 1 // in the log: with all frames that a datagram may repeat
	trimSteps     = 8                             // frames that a world on demand computes at once when the log is too large
)

func (s *Server) endFrame() {
	s.pass(s.Step.Due)
	f := &s.running
	f.orders = s.orders.AppendAt(f.orders[:0], s.Done()+1)
	byDigest := s.settings.RelayAtOnce
	for i := range f.orders {
		if s.enter(&f.orders[i]) {
			byDigest = false
		}
	}
	f.finish()
	s.keep(byDigest)
	s.Step.Orders = append(s.Step.Orders, f.orders...)
}

// enter updates the set of members. A player who joins starts with the input that they have already sent. enter reports
// whether clients need the whole frame: if there is such an input, or if the order is rare, since neither was relayed.
func (s *Server) enter(o *image.Order) (whole bool) {
	p := o.Player
	switch {
	case o.Kind == image.OrderJoin && !s.members.Has(p):
		s.members = s.members.With(p)
		if in, ok := s.idle[p]; ok {
			s.running.change(p, in, s.Game)
			delete(s.idle, p)
			return true
		}
	case o.Kind == image.OrderLeave:
		s.members, s.waits.waited[p] = s.members.Without(p), 0
		s.votes.Forget(p)
	}
	return rare(o.Kind)
}

// keep adds the running frame to the log. byDigest says that its operations were sent to all peers already.
func (s *Server) keep(byDigest bool) {
	f, tick := &s.running, s.Done()+1
	s.log.add(f, s.before)
	s.syncs.stirred = f.touched != 0 || len(f.orders) > 0
	stored := s.log.code(tick)
	switch bits := code.StoredBits(stored); {
	case byDigest && bits > 1:
		s.syncs.digests.Put(tick, digest(stored))
	case bits > 8*largestInline:
		s.syncs.large = tick
	}
}

// digest is a checksum of the operations of a frame, for peers that receive them one by one.
func digest(stored []byte) uint32 {
	sum := xxhash.Sum64(stored)
	return uint32(sum ^ sum>>32)
}

// simulate computes the running frame, unless the world is computed on demand, and opens the vote on its checksum.
func (s *Server) simulate() {
	copy(s.Step.Inputs, s.running.inputs)
	s.Step.State = nil
	if s.always {
		s.running.validate(s.World(), s.Step.Inputs)
		s.World().Step(ecs.TickInputs{Players: s.Step.Inputs, Orders: s.Step.Orders})
		if s.Config.States || s.World().Tick()%vote.Every == 0 {
			s.Step.State = s.States.Save(s.World())
		}
	}
	s.votes.Ended(s.Done()+1, s.members, s.Step.State, s.now)
}

func (s *Server) beginFrame() {
	f := &s.running
	copy(s.before, f.inputs)
	f.follow(s.before, s.Game)
	f.orders = s.orders.AppendAt(f.orders[:0], s.Done()+1)
	s.relayed, f.orders = len(f.orders), f.orders[:0]
	s.orders.DropBefore(s.Done() + 1)
}

// trim bounds the log. A world on demand must have computed what is dropped.
func (s *Server) trim() {
	if s.log.bytes <= s.settings.Backlog {
		return
	}
	for range trimSteps {
		if s.World().Tick() < s.Done() {
			votedMatch{s}.Advance()
		}
	}
	if oldest := s.log.blocks[0].last(); oldest < s.World().Tick() && len(s.log.blocks) > leastBlocks {
		s.log.dropThrough(oldest)
	}
}
