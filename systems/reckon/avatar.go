package reckon

import (
	"iter"
	"slices"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/systems"
	"tendon/systems/motion"
)

// avatar is an entity that a client has authority over. Its newest accepted record leads to its position. After a correction
// by the server, it is held at the corrected position until the client has answered.
//
// Invariant: a record of another epoch than the avatar's changes nothing.
type avatar struct {
	entity ecs.Entity
	player ecs.Player
	guard  *motion.Guard
	belief motion.Remote // of the newest accepted record
	epoch  uint8         // corrections of the position, modulo 256

	held    bool // it is held at snap's position: the client has not answered
	snap    motion.Record
	fresh   bool // its newest record was not sent to the other clients
	ordered bool // the running tick has an order with its position
	seen    bool // it is in the state
	records limit.Limiter[ecs.Tick]
}

// The limit of an avatar's records: half as many again as the send policy sends, and a burst after jitter.
const (
	claimRate  = motion.MaxRate * 3 / 2 // per second
	claimBurst = 4 * claimRate
)

// updateAvatars updates the list of avatars from the state, and corrects those that a system moved far.
func (s *Server) updateAvatars() {
	for i := range s.avatars {
		s.avatars[i].seen = false
	}
	for e, m := range avatarsIn(s.World(), s.steered) {
		if p, _ := e.Owner().Player(); int(p) < len(s.Seats) {
			s.updateAvatar(e, p, m)
		}
	}
	s.avatars = slices.DeleteFunc(s.avatars, func(a avatar) bool { return !a.seen })
}

// avatarsIn yields the avatars in a world with their motion. An avatar belongs to its player.
func avatarsIn(w *ecs.World, steered *ecs.Query1[ecs.Seat, ecs.Seat]) iter.Seq2[ecs.Entity, ecs.Motion] {
	return func(yield func(ecs.Entity, ecs.Motion) bool) {
		for row := range steered.All(w) {
			e := row.Entity()
			if e.Owner() != ecs.OwnedBy(row.A.Player) {
				continue
			}
			if m, placed := w.Image().Motion(e); placed && !yield(e, m) {
				return
			}
		}
	}
}

// updateAvatar takes the motion of an avatar in the state.
func (s *Server) updateAvatar(e ecs.Entity, p ecs.Player, m ecs.Motion) {
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
		s.avatars = append(s.avatars, avatar{entity: e, player: p, epoch: uint8(e.Born), records: s.newRecordLimit()})
		a = &s.avatars[len(s.avatars)-1]
		s.correct(a, m.Pos, s.Step.Due)
	} else if a.ordered && !s.World().Image().Placed(e) {
		s.correct(a, m.Pos, s.Step.Due)
	}
	a.seen, a.ordered = true, false
}

// avatar returns the avatar that an entity is, nil for none.
func (s *Server) avatar(e ecs.Entity) *avatar {
	for i := range s.avatars {
		if s.avatars[i].entity == e {
			return &s.avatars[i]
		}
	}
	return nil
}

// correct moves an avatar to a position. Earlier records of the client are not valid any more, and the avatar is held until the
// client answers, if it is connected.
func (s *Server) correct(a *avatar, at fixed.Vec3, now systems.Time) {
	a.epoch++
	a.belief = motion.Remote{}
	a.snap = motion.Record{Entity: a.entity, Stamp: motion.StampOf(now), Flags: motion.FlagTeleport | motion.FlagStop, Pos: at}
	a.held, a.fresh = s.PeerOf(a.player) != nil, true
	if a.guard == nil {
		a.guard = motion.NewGuard(s.guardOf(a.entity))
	}
	a.guard.Place(at)
}

// guardOf returns the limits of an avatar.
func (s *Server) guardOf(e ecs.Entity) motion.GuardConfig {
	g := s.settings.guard()
	if cost := s.Game.Physics.MoveCost; cost != nil {
		g.Cost = func(from, to fixed.Vec3) (fixed.Num, bool) { return cost(s.World(), e, from, to) }
	}
	return g
}

// restartAvatars starts with a new client of a player, whose clock may be another one, from the positions of its avatars.
func (s *Server) restartAvatars(player ecs.Player, now systems.Time) {
	for i := range s.avatars {
		a := &s.avatars[i]
		if a.player != player {
			continue
		}
		a.guard, a.records = nil, s.newRecordLimit()
		m, _ := s.World().Image().Motion(a.entity)
		s.correct(a, m.Pos, now)
	}
}

// newRecordLimit returns a limit of an avatar's records of which nothing is used, in 1/claimRate of a tick.
func (s *Server) newRecordLimit() limit.Limiter[ecs.Tick] {
	return limit.New(ecs.Tick(s.Game.TickRate), claimBurst)
}

// claim applies a client's record of an avatar. clientNow is the client's time, if it is known. late is the longest time for
// which the record can have been under way.
func (s *Server) claim(p *peer, c *claim, clientNow systems.Time, known bool, late, now systems.Time) {
	a := s.avatar(c.record.Entity)
	switch {
	case a == nil || int(a.player) != p.Seat, c.epoch != a.epoch, a.repeated(c.record.Stamp), !a.records.Allow(claimRate * s.Done()):
		return
	case !known && s.settings.Assumed == 0: // its stamp may be one of 41 s before
		return
	}
	r := c.record
	p.Own.clock.received(r.Stamp, now)
	if v := s.check(a, &r, late, now); v != motion.Accepted {
		if v != motion.Stale {
			s.correct(a, a.guard.At(), now)
		}
		return
	}
	age := max(s.settings.age(r.Stamp, clientNow), 0) // a stamp of the future counts as the present
	if a.belief.Receive(&s.settings.Remotes, r, age, now) {
		a.held, a.fresh = false, true
	}
}

// repeated reports whether a record is a repetition: it is not newer than the last that was accepted.
func (a *avatar) repeated(stamp motion.Stamp) bool {
	last, ok := a.belief.Record()
	return ok && stamp <= last.Stamp
}

// check decides on a client's record of an avatar. It confirms the record's parent or path against the game. The motion of a
// confirmed parent does not count toward the speed limit. check replaces any other parent or path by an absolute position.
func (s *Server) check(a *avatar, r *motion.Record, late, now systems.Time) motion.Verdict {
	rules := &s.settings.Remotes.Rules
	if last, ok := a.belief.Record(); ok && last.Mode == motion.Attached {
		at, known := rules.Free(last)
		if !known { // its parent is gone
			m, _ := s.World().Image().Motion(a.entity)
			at.Pos = m.Pos
		}
		a.guard.Place(at.Pos)
	}
	free, known := rules.Free(*r)
	if !known {
		return a.guard.Check(r, late, now)
	}
	carried := s.carries(r)
	if carried && r.Mode == motion.Attached {
		free.Vel = r.Vel
	}
	verdict := a.guard.Check(&free, late, now)
	if carried {
		r.Vel = free.Vel
	} else {
		*r = free
	}
	return verdict
}

// leads reports whether an avatar may be extrapolated from one position to another.
func (s *Server) leads(a *avatar, from, to fixed.Vec3) bool {
	blocked := s.Game.Physics.Blocked
	return (blocked == nil || !blocked(from, to)) && a.guard.Leads(to, s.Step.Due)
}

// carries reports whether the game has the entity of a record on the record's parent or path. Avatars that carry each other
// have no parent.
func (s *Server) carries(r *motion.Record) bool {
	switch w := s.World(); {
	case r.Mode < motion.Attached:
		return false
	case !s.settings.doubts():
		return true
	case r.Mode == motion.Scripted:
		path, _, _, ok := track(w, r.Entity)
		return ok && path == r.Path && r.Speed.Abs() <= s.settings.MaxSpeed
	case carrier(w, r.Entity) != r.Parent:
		return false
	}
	on := r.Parent
	for range s.avatars {
		a := s.avatar(on)
		if on == r.Entity || a == nil {
			break
		}
		last, _ := a.belief.Record()
		if last.Mode != motion.Attached {
			break
		}
		on = last.Parent
	}
	return on != r.Entity
}

// predict extrapolates an avatar to the running tick. It ends a ride if the game does not have the avatar on its parent or
// path any more. It stops an avatar whose extrapolation crosses an obstacle or goes too far.
func (s *Server) predict(a *avatar) (m ecs.Motion, ok bool) {
	last, known := a.belief.Record()
	if m, ok = a.belief.Predicted(&s.settings.Remotes, s.Step.Due); !known {
		return m, ok
	}
	is, _ := s.World().Image().Motion(a.entity)
	switch {
	case last.Mode >= motion.Attached:
		if s.carries(&last) {
			return m, ok
		}
		a.guard.Place(is.Pos)
	case m.Pos == last.Pos || !s.settings.doubts() || s.leads(a, last.Pos, m.Pos):
		return m, ok
	case a.fresh:
		is.Pos = last.Pos // not extrapolated yet
	}
	is.Vel = fixed.Vec3{}
	last.Flags |= motion.FlagStop
	if last.Mode == motion.Ballistic {
		is.Vel.Z, last.Flags = m.Vel.Z, last.Flags&^motion.FlagStop
	} else {
		last.Mode = motion.Ground
	}
	last.Pos, last.Vel = is.Pos, is.Vel
	a.belief, a.fresh = motion.Remote{}, true
	a.belief.Receive(&s.settings.Remotes, last, 0, s.Step.Due)
	return is, true
}

// placeAvatars enters the positions of the avatars into the running tick, as orders.
func (s *Server) placeAvatars() {
	s.scratch.payloads = s.scratch.payloads[:0]
	for i := range s.avatars {
		a := &s.avatars[i]
		m, ok := ecs.Motion{Pos: a.snap.Pos}, a.held
		if !ok {
			m, ok = s.predict(a)
		}
		a.ordered = ok
		if !ok {
			continue
		}
		from := len(s.scratch.payloads)
		s.scratch.payloads = image.AppendPlacement(s.scratch.payloads, image.Placement{Motion: m, Within: s.settings.jump})
		payload := s.scratch.payloads[from:len(s.scratch.payloads):len(s.scratch.payloads)]
		s.Step.Orders = append(s.Step.Orders, image.Order{Kind: image.OrderMotion, Player: a.player, Entity: a.entity, Payload: payload})
	}
}

// replicated returns the record of an avatar for the other clients. ok is false if the systems move the avatar.
func (a *avatar) replicated(u *motion.Rules, due systems.Time) (r motion.Record, ok bool) {
	if a.held {
		r = a.snap
		r.Stamp = motion.StampOf(due)
		return r, true
	}
	return a.belief.Forwarded(u, due)
}
