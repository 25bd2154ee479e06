package reckon

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

// ownAvatar is one of the player's avatars on its own client, which is authoritative for its position. The first position
// comes from the server; so does the first of every epoch. In between, the server's view of it is compared only.
//
// Invariant: its row is in Mirror.Predicted exactly while it is placed.
type ownAvatar struct {
	entity   ecs.Entity
	epoch    uint8 // of the server's last correction
	placed   bool  // the server has sent a position
	sender   *motion.SendPolicy
	own      *echoCheck
	teleport bool         // the next record says that it was moved at once
	answered systems.Time // when the last record was sent
	last     claim        // the last record
	unacked  ecs.Tick     // messages with the input of this tick or a later one contain the last record; 0: it has arrived
	seen     bool
}

func (c *Client) motions(dst []ecs.Motion) []ecs.Motion {
	for i := range c.avatars {
		m, _ := c.World().Image().Motion(c.avatars[i].entity)
		dst = append(dst, m)
	}
	return dst
}

// hold moves avatars back that jumped in a tick. Such a jump is the server's to make: it sends a correction when it
// computes the tick.
func (c *Client) hold(before []ecs.Motion) {
	if !c.limits.doubts() {
		return
	}
	for i := range c.avatars {
		p := &c.avatars[i]
		if m, ok := c.World().Image().Motion(p.entity); ok && p.placed && m.Pos.Sub(before[i].Pos).Len() > c.limits.jump {
			c.World().Image().SetMotion(p.entity, ecs.Motion{Pos: before[i].Pos})
		}
	}
}

// claim adds a record of an avatar to the next messages, if one is due.
func (c *Client) claim(p *ownAvatar, at systems.Time) {
	m, ok := c.World().Image().Motion(p.entity)
	if !p.placed || !ok {
		return
	}
	r := &c.scratch.record
	c.limits.record(r, c.World(), p.entity, m, at)
	if p.teleport {
		r.Flags |= motion.FlagTeleport
	}
	if p.sender.Update(r, at, c.viewer(m.Pos)) == motion.NotDue {
		return
	}
	p.teleport, p.answered = false, at
	p.own.add(r, at)
	next := c.inputs.Sampled() + 1
	if p.unacked == next { // of this very frame
		r.Flags |= p.last.record.Flags & motion.FlagTeleport
	}
	p.last, p.unacked = claim{p.epoch, *r}, next
}

// acknowledged ends the repetition of the records that are in every message with an input.
func (c *Client) acknowledged(input ecs.Tick) {
	for i := range c.avatars {
		if p := &c.avatars[i]; p.unacked <= input {
			p.unacked = 0
		}
	}
}

// viewer returns the distance from a position to the nearest avatar of another player that is known here, 0 if there is
// none or Near is not set.
func (c *Client) viewer(from fixed.Vec3) (nearest fixed.Num) {
	if c.limits.Records.Near == 0 {
		return 0
	}
	for e := range c.steered.All(c.World()) {
		if int(e.A.Player) == c.Config.Seat {
			continue
		}
		if m, ok := c.World().Image().Motion(e.Entity()); ok {
			if far := m.Pos.Sub(from).Len(); nearest == 0 || far < nearest {
				nearest = max(far, 1)
			}
		}
	}
	return nearest
}

// avatar returns one of the player's avatars, nil if the entity is none.
func (c *Client) avatar(e ecs.Entity) *ownAvatar {
	for i := range c.avatars {
		if c.avatars[i].entity == e {
			return &c.avatars[i]
		}
	}
	return nil
}

// findAvatars updates the avatars to the state in the world, which is the server's.
func (c *Client) findAvatars() {
	player, ok := c.Player()
	if !ok {
		return
	}
	for i := range c.avatars {
		c.avatars[i].seen = false
	}
	for e := range avatarsIn(c.World(), c.steered) {
		if e.Owner() != ecs.OwnedBy(player) {
			continue
		}
		own := c.avatar(e)
		if own == nil {
			own = c.addAvatar(e)
		}
		if own != nil {
			own.seen = true
		}
	}
	c.avatars = slices.DeleteFunc(c.avatars, func(p ownAvatar) bool {
		if !p.seen {
			c.Predicted.Remove(p.entity.Row)
		}
		return !p.seen
	})
}

func (c *Client) addAvatar(e ecs.Entity) *ownAvatar {
	if len(c.avatars) >= maxAvatars {
		return nil
	}
	c.avatars = append(c.avatars, ownAvatar{entity: e, sender: motion.NewSendPolicy(c.limits.Records, &c.limits.Remotes.Rules),
		own: &echoCheck{maxSpeed: c.limits.guard().MaxSpeed, rules: &c.limits.Remotes.Rules}})
	return &c.avatars[len(c.avatars)-1]
}

// follow accepts a position of an avatar from the server. The server repeats it until the client's answer has arrived.
func (c *Client) follow(s *claim, now systems.Time) {
	p := c.avatar(s.record.Entity)
	if p == nil {
		return
	}
	if p.placed && p.epoch == s.epoch {
		if trip := c.rtt(); now-p.answered > trip+trip/2+systems.Second/10 {
			p.teleport = true // the answer was lost
		}
		return
	}
	if p.placed {
		c.Counted.Snaps++
		p.own.jump(c.rtt(), now)
	}
	p.epoch, p.placed = s.epoch, true
	c.Predicted.Add(p.entity.Row)
	c.put(p, ecs.Motion{Pos: s.record.Pos})
}

func (c *Client) put(p *ownAvatar, m ecs.Motion) {
	c.World().Image().SetMotion(p.entity, m)
	c.History.Save(c.World())
	p.sender.Reset()
	p.teleport, p.unacked = true, 0
}

// echo compares an avatar with the server's view of it, by a record that is age old.
func (c *Client) echo(p *ownAvatar, r motion.Record, age, now systems.Time) {
	is, ok := c.World().Image().Motion(p.entity)
	if !p.placed || !ok || r.Flags&motion.FlagTeleport != 0 {
		return
	}
	r, age = motion.LimitAge(r, age)
	m, ok := c.limits.Remotes.Rules.Predict(&r, age)
	if ok && p.own.check(is.Pos, m.Pos, c.rtt(), now) {
		c.Counted.Snaps++
		c.put(p, m)
	}
}

// echoCheck compares a client's own avatar with its echo, which is the server's view of it. The views differ, because the
// server extrapolates; the next record of the client corrects that. Only a difference that no extrapolation explains
// means that the server wants the avatar elsewhere.
//
// The server may still extrapolate from a record before a turn. With a long round trip and a lost record, the difference
// may then exceed any useful limit: 2 × v_max × (RTT + period). So echoCheck keeps the records that were sent.
type echoCheck struct {
	maxSpeed fixed.Num     // of the avatar, in world units per second
	rules    *motion.Rules // those that the server extrapolates by
	sent     [echoRecords]sentRecord
	count    int // records sent since the last jump
	jumped   systems.Time
	quiet    systems.Time // after the last jump, in which echoes are of before it
	snaps    uint64
}

// sentRecord is a record with the time at which it was sent.
type sentRecord struct {
	record motion.Record
	at     systems.Time
}

const (
	echoLimit   = 14 * fixed.One     // smallest difference that counts, in world units
	echoSlack   = systems.Second / 2 // added to the round trip, in which the avatar may have moved anywhere
	echoRecords = 32                 // records: 3 s of them at the highest rate
	echoMemory  = 2 * systems.Second // beyond the round trip, for which a record explains the server's view
)

// limit returns the extreme difference at a round trip: max(14, v_max × (RTT + 0.5 s)).
func (o *echoCheck) limit(rtt systems.Time) fixed.Num {
	return max(echoLimit, o.maxSpeed.Mul(motion.Seconds(min(max(rtt, 0), motion.MaxAge)+echoSlack)))
}

// add notes that a record of the avatar was sent at now.
func (o *echoCheck) add(r *motion.Record, now systems.Time) {
	o.sent[o.count%echoRecords] = sentRecord{*r, now}
	o.count++
}

// check compares the avatar's position with the echo, both at now, and reports whether the avatar must jump there. The
// client then sends a teleport.
func (o *echoCheck) check(own, echo fixed.Vec3, rtt, now systems.Time) (jump bool) {
	waits := o.snaps > 0 && now >= o.jumped && now-o.jumped < o.quiet
	if waits || own.Sub(echo).Len() <= o.limit(rtt) || o.explained(echo, rtt, now) {
		return false
	}
	o.jump(rtt, now)
	return true
}

// explained reports whether the echo is where the server may extrapolate a sent record to.
func (o *echoCheck) explained(echo fixed.Vec3, rtt, now systems.Time) bool {
	for i := range min(o.count, echoRecords) {
		s := &o.sent[i]
		age := now - s.at
		if age < 0 || age > max(rtt, 0)+echoMemory {
			continue
		}
		if m, ok := o.rules.Predict(&s.record, age); ok && m.Pos.Sub(echo).Len() <= o.limit(rtt) {
			return true
		}
	}
	return false
}

// jump notes that the server moved the avatar at now. Echoes under way are of before and are not compared, and records
// sent before explain nothing.
func (o *echoCheck) jump(rtt, now systems.Time) {
	o.snaps++
	o.count = 0
	o.jumped, o.quiet = now, max(rtt, 0)+echoSlack
}
