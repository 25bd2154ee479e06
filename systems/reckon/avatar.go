package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/motion"
)

// avatar is an entity that a client has the authority over: it lies in the region of a player whom its ecs.Seat names,
// and it has a place. It is where belief leads; where the server had the last word and the client has not answered yet,
// it is held where the server put it.
//
// Invariant: a record of another epoch than the avatar's changes nothing.
type avatar struct {
	entity ecs.Entity
	player ecs.Player
	guard  *Guard
	belief motion.Remote // its record is the newest that was believed
	epoch  uint8         // counts the server's words about where the avatar is

	held    bool // it is kept at snap's place
	snap    motion.Record
	unheard bool // the client has not answered to snap
	fresh   bool // something is not told to the others
	ordered bool // the running tick says where it is
	seen    bool // it is in the state
	tokens  int  // records that the client may still send, in 1/TickRate
}

// The budget of an avatar's records: half as many again as the sender's policy lets out, and what jitter held up.
const (
	claimShare = 3 // halves of SenderConfig.MaxRate
	claimBurst = 4 // seconds of it that may come at once
)

// roster brings the list of avatars in step with the world, and gives the server's word where a system moved one far. At
// due 0 nobody is heard of: ticks of the past are computed.
func (s *Server) roster(due systems.Time) {
	for i := range s.avatars {
		s.avatars[i].seen = false
	}
	for e := range s.steered.All(s.world) {
		p := e.A.Player
		if int(p) >= len(s.seats) || e.Entity().Owner() != ecs.OwnedBy(p) {
			continue
		}
		if m, ok := s.world.Image().Motion(e.Entity()); ok {
			s.enlist(e.Entity(), p, m, due)
		}
	}
	for i := len(s.avatars) - 1; i >= 0; i-- {
		if a := &s.avatars[i]; !a.seen {
			last := len(s.avatars) - 1
			*a = s.avatars[last]
			s.avatars[last] = avatar{}
			s.avatars = s.avatars[:last]
		}
	}
}

// enlist notes that the state has an avatar, at m.
func (s *Server) enlist(e ecs.Entity, p ecs.Player, m ecs.Motion, due systems.Time) {
	a := s.avatar(e)
	if a == nil {
		count := 0
		for i := range s.avatars {
			if s.avatars[i].player == p {
				count++
			}
		}
		if count >= maxAvatars || len(s.avatars) >= maxPlaced {
			return
		}
		s.avatars = append(s.avatars, avatar{entity: e, player: p, epoch: uint8(e.Born), tokens: claimBurst * s.claimRate() * s.game.TickRate})
		a = &s.avatars[len(s.avatars)-1]
		s.word(a, m.Pos, due)
	} else if a.ordered && !s.world.Image().Placed(e) {
		s.counts.Snaps++
		s.word(a, m.Pos, due)
	}
	a.seen, a.ordered = true, false
}

// avatar returns the avatar that an entity is, nil if it is none.
func (s *Server) avatar(e ecs.Entity) *avatar {
	for i := range s.avatars {
		if s.avatars[i].entity == e {
			return &s.avatars[i]
		}
	}
	return nil
}

// served reports whether the client of a player is connected.
func (s *Server) served(player ecs.Player) bool {
	for i := range s.peers {
		if p := &s.peers[i]; p.open && p.seat == int(player) {
			return true
		}
	}
	return false
}

// word gives the server's word that an avatar is at a place: records of before count no more, and it waits there for the
// client's answer. Nobody waits for a client that is not there.
func (s *Server) word(a *avatar, at fixed.Vec3, now systems.Time) {
	a.epoch++
	a.belief = motion.Remote{}
	a.snap = motion.Record{Entity: a.entity, Stamp: motion.StampOf(now), Flags: motion.FlagTeleport | motion.FlagStop, Pos: at}
	a.held = s.served(a.player)
	a.unheard, a.fresh = a.held, true
	if a.guard == nil {
		a.guard = s.newGuard()
	}
	a.guard.Place(at)
}

func (s *Server) newGuard() *Guard {
	g, err := NewGuard(s.limits.guard())
	if err != nil {
		panic("reckon: what Check took is refused now: " + err.Error())
	}
	return g
}

// greet begins anew with the client of a player, whose clock may be another one: it starts where its avatars are.
func (s *Server) greet(player ecs.Player, now systems.Time) {
	for i := range s.avatars {
		a := &s.avatars[i]
		if a.player != player {
			continue
		}
		a.guard, a.tokens = nil, claimBurst*s.claimRate()*s.game.TickRate
		m, _ := s.world.Image().Motion(a.entity)
		s.word(a, m.Pos, now)
	}
}

// claimRate is how many records of an avatar are taken, per second.
func (s *Server) claimRate() int {
	rate := s.limits.Records.MaxRate
	if rate == 0 {
		rate = 10
	}
	return rate * claimShare / 2
}

// claim takes what a client says of an avatar. clientNow is what its clock shows, if that is known.
func (s *Server) claim(p *peer, c *claim, clientNow systems.Time, known bool, now systems.Time) {
	s.counts.Claims++
	a := s.avatar(c.record.Entity)
	switch {
	case a == nil || int(a.player) != p.seat:
		s.counts.Foreign++
		return
	case a.tokens < s.game.TickRate:
		s.counts.Excessive++
		return
	}
	a.tokens -= s.game.TickRate
	switch {
	case !known && s.limits.Assumed == 0:
		s.counts.Early++ // such a stamp cannot be told from one of 41 s before
		return
	case c.epoch != a.epoch:
		s.counts.Outdated++
		return
	}
	r := c.record
	p.near = max(p.near, r.Stamp)
	p.clock.heard(r.Stamp, now)
	if last, ok := a.belief.Record(); ok && last.Mode >= motion.Attached && r.Mode < motion.Attached {
		m, _ := s.world.Image().Motion(a.entity) // where the ride has brought it
		a.guard.Place(m.Pos)
	}
	switch a.guard.Check(&r, now) {
	case Stale:
		s.counts.Outdated++
		return
	case Refused:
		s.counts.Refused++
		s.counts.Snaps++
		s.word(a, a.guard.At(), now)
		return
	case Clamped:
		s.counts.Clamped++
		s.counts.Snaps++
		s.counts.Believed++
		s.word(a, r.Pos, now)
		return
	}
	s.counts.Believed++
	age := max(s.limits.age(r.Stamp, clientNow), 0) // one of the future is believed to be of now
	if a.belief.Receive(&s.limits.Remotes, r, age, now) {
		a.held, a.unheard, a.fresh = false, false, true
	}
}

// place enters where the avatars are in the tick that is due.
func (s *Server) place(due systems.Time) {
	s.scratch.payloads = s.scratch.payloads[:0]
	for i := range s.avatars {
		a := &s.avatars[i]
		a.tokens = min(a.tokens+s.claimRate(), claimBurst*s.claimRate()*s.game.TickRate)
		m, ok := ecs.Motion{Pos: a.snap.Pos}, a.held
		if !ok {
			m, ok = a.belief.Predicted(&s.limits.Remotes, due)
		}
		if a.ordered = ok; !ok {
			continue
		}
		from := len(s.scratch.payloads)
		s.scratch.payloads = image.AppendPlacement(s.scratch.payloads, image.Placement{Motion: m, Within: s.limits.Jump})
		payload := s.scratch.payloads[from:len(s.scratch.payloads):len(s.scratch.payloads)]
		s.scratch.orders = append(s.scratch.orders, image.Order{Kind: image.OrderMotion, Player: a.player, Entity: a.entity, Payload: payload})
	}
}

// telling returns what the others are to be told of an avatar that a client speaks for, or that is held; ok is false if
// the systems move it.
func (a *avatar) telling(u *motion.Rules, due systems.Time) (r motion.Record, ok bool) {
	if a.held {
		r = a.snap
		r.Stamp = motion.StampOf(due)
		return r, true
	}
	return a.belief.Forwarded(u, due)
}

// Guard returns what was counted of the doubts about an avatar since its client was connected; ok is false for what is no
// avatar.
func (s *Server) Guard(e ecs.Entity) (stats GuardStats, ok bool) {
	if a := s.avatar(e); a != nil {
		return a.guard.Stats(), true
	}
	return GuardStats{}, false
}

// Epoch returns how often the server had the last word about where an avatar is, modulo 256, and whether its client has
// answered.
func (s *Server) Epoch(e ecs.Entity) (epoch uint8, answered bool) {
	if a := s.avatar(e); a != nil {
		return a.epoch, !a.unheard
	}
	return 0, false
}
