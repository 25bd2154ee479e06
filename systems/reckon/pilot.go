package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/internal/inputs"
)

// pilot is one of the player's avatars on his own client, which decides where it is. It begins with the server's word
// where that is; so does every epoch. In between, the server's view of it is compared and left alone.
//
// Invariant: its row is in Client.own while it flies, and only then.
type pilot struct {
	entity   ecs.Entity
	epoch    uint8 // of the server's last word
	flies    bool  // the server's word has come
	sender   *Sender
	own      *Own
	teleport bool         // the next record says that it was put somewhere
	casts    bool         // the next record begins action
	action   uint8        //
	answered systems.Time // when the last record left
	seen     bool
}

// Frame computes the ticks that are due.
func (c *Client) Frame(now systems.Time) {
	if !c.loaded {
		return
	}
	c.frame = now
	due := c.labels.advance(now)
	if c.config.Seat < 0 {
		for range due {
			c.labels.next(now, c.game.TickRate)
		}
		return
	}
	if c.labels.lead.Settled() {
		c.locked, c.rtt = true, c.labels.lead.RTT()
	}
	if next := int(c.labels.done) + 1 + c.labels.shift; next <= int(c.confirmed) {
		// The server is ahead: this client was suspended. What it measured before tells nothing of now.
		c.labels.jump(c.stats.ServerTick + ecs.Tick(c.leadTicks()))
	}
	if !c.playing && c.heard && c.ready && c.locked && c.clocked() {
		c.play()
	}
	for range due {
		label, at := c.labels.next(now, c.game.TickRate)
		c.tick(ecs.Tick(max(label, 1)), at)
	}
}

// play begins to take the player's inputs. His avatars follow when the server has said where they are.
func (c *Client) play() {
	c.playing = true
	c.present = max(c.present, c.sampled.Sampled())
	if c.world.PutTick(c.present, c.world.Players()) == nil {
		c.save()
		c.world.Save(&c.previous)
	}
}

// tick gives the tick of a label its input, and computes it if the player plays. A label that was given before is
// computed again, from the present state: what the player presses waits for the next. So does what is farther ahead than
// a message can tell: from labels that are never sent, nobody would learn that they are wrong.
func (c *Client) tick(label ecs.Tick, at systems.Time) {
	label = min(label, c.stats.ServerTick+inputs.MaxWindow)
	fresh := label > c.sampled.Sampled()
	for f := c.sampled.Sampled() + 1; f <= label; f++ {
		missed := f < label // passed over: nobody knows what the player did in it
		c.sampled.Put(f, c.sampled.Next(missed || !c.playing, c.game), missed || !c.playing)
		if !missed {
			c.labels.lead.Sent(uint64(f), float64(int(f)-int(c.labels.done)), c.frame)
		}
	}
	c.unsent = true
	if !c.playing {
		return
	}
	in := c.sampled.Last()
	if !fresh {
		label, in = c.present, c.game.PredictInput(c.doing)
	}
	c.scratch.motions = c.motions(c.scratch.motions[:0])
	c.step(label, in, at)
	if fresh {
		c.effects.Predicted(label, c.world.Events())
	}
	c.hold(c.scratch.motions)
	c.previous, c.current = c.current, c.previous
	c.save()
	for i := range c.pilots {
		c.tell(&c.pilots[i], at)
	}
}

// step computes the tick of a label, that of a moment, from the state that the world is in.
func (c *Client) step(label ecs.Tick, in ecs.InputBytes, at systems.Time) {
	if c.world.Tick() != label-1 && c.world.PutTick(label-1, c.world.Players()) != nil {
		panic("reckon: a world refuses its own players: report this")
	}
	c.crowd.place(at)
	c.scratch.inputs[c.config.Seat] = in
	c.world.Step(ecs.TickInputs{Players: c.scratch.inputs})
	c.present = label
}

// motions appends where the avatars are.
func (c *Client) motions(dst []ecs.Motion) []ecs.Motion {
	for i := range c.pilots {
		m, _ := c.world.Motion(c.pilots[i].entity)
		dst = append(dst, m)
	}
	return dst
}

// hold keeps avatars where they were before a tick whose systems made them jump: that is the server's word to say, and it
// does as soon as the tick is computed there.
func (c *Client) hold(before []ecs.Motion) {
	if !c.limits.doubts() {
		return
	}
	for i := range c.pilots {
		p := &c.pilots[i]
		if m, ok := c.world.Motion(p.entity); ok && p.flies && m.Pos.Sub(before[i].Pos).Len() > c.limits.Jump {
			c.world.SetMotion(p.entity, ecs.Motion{Pos: before[i].Pos})
		}
	}
}

// tell tells of an avatar if it is time to.
func (c *Client) tell(p *pilot, at systems.Time) {
	m, ok := c.world.Motion(p.entity)
	if !p.flies || !ok {
		return
	}
	r := &c.scratch.record
	*r = Record{Entity: p.entity, Stamp: StampOf(at), Pos: m.Pos, Vel: m.Vel}
	if c.limits.Mode != nil {
		c.limits.Mode(c.world, r)
	}
	if p.teleport {
		r.Flags |= FlagTeleport
	}
	if p.casts {
		r.Flags |= FlagCast
		r.Action = p.action
	}
	if p.sender.Update(r, at, c.viewer(m.Pos)) == Not {
		return
	}
	c.counts.Claims++
	p.teleport, p.casts, p.answered = false, false, at
	p.own.Sent(r, at)
	for i := range c.scratch.move.claims {
		if old := &c.scratch.move.claims[i]; old.record.Entity == p.entity { // of this very frame
			r.Flags |= old.record.Flags & (FlagTeleport | FlagCast)
			if old.record.Flags&FlagCast != 0 {
				r.Action = old.record.Action
			}
			*old = claim{p.epoch, *r}
			return
		}
	}
	c.scratch.move.claims = append(c.scratch.move.claims, claim{p.epoch, *r})
}

// viewer returns how far the nearest avatar of another player is from a place, of those that this client hears of, 0 if
// there is none, or it does not matter.
func (c *Client) viewer(from fixed.Vec3) (nearest fixed.Num) {
	if c.limits.Records.Near == 0 {
		return 0
	}
	for e := range c.steered.All(c.world) {
		if int(e.A.Player) == c.config.Seat {
			continue
		}
		if m, ok := c.world.Motion(e.Entity()); ok {
			if far := m.Pos.Sub(from).Len(); nearest == 0 || far < nearest {
				nearest = max(far, 1)
			}
		}
	}
	return nearest
}

// Cast lets an avatar of the player's begin an action, which the others are told of: they see it from its beginning. It
// reports whether e is such an avatar, and the server has said where it is.
func (c *Client) Cast(e ecs.Entity, action uint8) bool {
	p := c.pilot(e)
	if p == nil || !p.flies {
		return false
	}
	p.casts, p.action = true, action
	return true
}

func (c *Client) pilot(e ecs.Entity) *pilot {
	for i := range c.pilots {
		if c.pilots[i].entity == e {
			return &c.pilots[i]
		}
	}
	return nil
}

// muster brings the pilots in step with the state in the world, which is the server's.
func (c *Client) muster() {
	if c.config.Seat < 0 {
		return
	}
	for i := range c.pilots {
		c.pilots[i].seen = false
	}
	player := ecs.Player(c.config.Seat)
	for e := range c.steered.All(c.world) {
		if e.A.Player != player || e.Entity().Owner() != ecs.OwnedBy(player) {
			continue
		}
		if _, ok := c.world.Motion(e.Entity()); !ok {
			continue
		}
		p := c.pilot(e.Entity())
		if p == nil {
			if p = c.recruit(e.Entity()); p == nil {
				continue
			}
		}
		p.seen = true
	}
	for i := len(c.pilots) - 1; i >= 0; i-- {
		if p := &c.pilots[i]; !p.seen {
			c.own.Remove(p.entity.Row)
			last := len(c.pilots) - 1
			*p = c.pilots[last]
			c.pilots[last] = pilot{}
			c.pilots = c.pilots[:last]
		}
	}
}

// recruit adds an avatar, nil if there are too many.
func (c *Client) recruit(e ecs.Entity) *pilot {
	if len(c.pilots) >= maxAvatars {
		return nil
	}
	sender, err := NewSender(c.limits.Records, &c.limits.Ghosts.Rules)
	own, err2 := NewOwn(c.limits.own(), &c.limits.Ghosts.Rules)
	if err != nil || err2 != nil {
		panic("reckon: what Check took is refused now")
	}
	c.pilots = append(c.pilots, pilot{entity: e, sender: sender, own: own})
	return &c.pilots[len(c.pilots)-1]
}

// obey takes the server's word about where an avatar is. It is repeated until the answer has come through.
func (c *Client) obey(s *claim, now systems.Time) {
	p := c.pilot(s.record.Entity)
	if p == nil {
		return
	}
	if p.flies && p.epoch == s.epoch {
		if trip := c.trip(); now-p.answered > trip+trip/2+systems.Second/10 {
			p.teleport = true // the answer was lost
		}
		return
	}
	if p.flies {
		c.counts.Snaps++
		p.own.Jumped(c.trip(), now)
	}
	p.epoch, p.flies = s.epoch, true
	c.own.Add(p.entity.Row)
	c.put(p, ecs.Motion{Pos: s.record.Pos})
}

// put puts an avatar somewhere at once.
func (c *Client) put(p *pilot, m ecs.Motion) {
	c.world.SetMotion(p.entity, m)
	c.save()
	p.sender.Reset()
	p.teleport = true
}

// echo compares an avatar with the server's view of it, of a record that is age old.
func (c *Client) echo(p *pilot, r Record, age, now systems.Time) {
	is, ok := c.world.Motion(p.entity)
	if !p.flies || !ok || r.Flags&FlagTeleport != 0 {
		return
	}
	r, age = Arrived(r, age)
	m, ok := c.limits.Ghosts.Rules.Predict(&r, age)
	if ok && p.own.Echo(is.Pos, m.Pos, c.trip(), now) {
		c.counts.Snaps++
		c.put(p, m)
	}
}

// Send sends the inputs that the server has not consumed as far as is heard, and the records that are due: after each
// tick (a spectator's message: after news), or a little more than a tick's time after the last where nothing happens.
func (c *Client) Send(now systems.Time, out systems.Outbox) {
	if !c.loaded {
		return
	}
	if c.probe != nil {
		for {
			c.scratch.message = c.probe.Append(c.scratch.message[:0], now)
			if len(c.scratch.message) == 0 {
				break
			}
			out.Send(0, systems.Datagram, c.scratch.message)
		}
	}
	tick := systems.Second / systems.Time(c.game.TickRate)
	if !c.unsent && now-c.lastSend < tick+tick/4 {
		return
	}
	c.unsent, c.lastSend = false, now
	m := &c.scratch.move
	m.received, m.ack, m.helpless = c.stats.ServerTick, c.receiver.Ack(), c.useless >= patience
	if !c.heard {
		m.received = c.confirmed
	}
	m.held = c.crowd.heldNow(m.held[:0])
	m.done = m.done[:0]
	if c.config.Seat >= 0 && c.sampled.Sampled() < m.received+2*inputs.Window {
		m.done = c.sampled.AppendFrom(m.done, m.received+1)
	}
	c.scratch.message = m.append(c.scratch.message[:0], c.game)
	m.claims = m.claims[:0]
	out.Send(0, systems.Datagram, c.scratch.message)
}
