package matchtest

import (
	"errors"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
)

// scenarios are the scenarios of Conformance.
var scenarios = []scenario{
	{"a late joiner receives the image and the backlog", joinLate},
	{"a client that reconnects in time keeps its seat and avatar", reconnectInTime},
	{"a client that reconnects too late has left and joins again", reconnectLate},
	{"a spectator follows the match and changes nothing", spectate},
	{"one wrong bit is found, reported and corrected", wrongBit},
	{"a player that leaves is removed in the same tick everywhere", leave},
	{"a killed server resumes the match", killServer},
}

// until runs until done, at most for a while, and reports whether it was done.
func (s *stage) until(most time.Duration, done func() bool) bool {
	for end := s.Net.Now() + most; !done(); s.Run(time.Second / 60) {
		if s.Net.Now() >= end {
			return false
		}
	}
	return true
}

// loading is how long an image may take to arrive on the worst link, and its receiver to catch up.
const loading = 10 * time.Second

// becomesLive fails, and returns false, unless a client is live by one connection in time.
func (s *stage) becomesLive(c *matchsim.Client, most time.Duration) bool {
	live := s.until(most, func() bool { return c.Live() && s.connections(c) == 1 })
	if !live {
		s.fail("client %d is %v after %v, with %d connections", c.Number, c.Core.State(), most, s.connections(c))
	}
	return live
}

func joinLate(s *stage) *matchsim.Client {
	since := s.Net.Now()
	c := s.Join(s.plan())
	if !s.becomesLive(c, loading) {
		return c
	}
	s.checkImage(c, since)
	s.settles(c, 1, 0)
	if c.Seat() < 0 || s.avatar(c).IsZero() {
		s.fail("the joiner has seat %d and no avatar", c.Seat())
	}
	return c
}

// settles fails unless a client keeps up, without a difference or a resync, and exactly these joins and leaves were stamped.
func (s *stage) settles(c *matchsim.Client, joins, leaves int) {
	s.keepsUp(c)
	s.wantOrders(joins, leaves)
	if n := c.Core.Stats().Resyncs; c.Mismatches > 0 || n > 0 {
		s.fail("client %d differed at %d ticks, first at %d, and was resynced %d times", c.Number, c.Mismatches, c.FirstMismatch, n)
	}
}

// avatar returns the server's entity of a client's player.
func (s *stage) avatar(c *matchsim.Client) ecs.Entity {
	return halves.Dot(s.Room.World(), ecs.Player(c.Seat()))
}

// connections counts a client's connections that the room serves.
func (s *stage) connections(c *matchsim.Client) (n int) {
	for _, p := range s.Room.AppendPeers(nil) {
		if p.Identity.ClientID == c.ID() && p.State != "leaving" {
			n++
		}
	}
	return n
}

func reconnectInTime(s *stage) *matchsim.Client {
	c := s.Clients[1]
	seat, reconnects := c.Seat(), c.Core.Stats().Reconnects
	avatar := s.avatar(c)
	old, _ := c.Connection()
	c.Reconnect()
	// The new connection arrives long before the old one times out.
	if !s.until(time.Second, func() bool { now, _ := c.Connection(); return now != old }) {
		s.fail("no new connection arrived within a second")
	}
	if !s.until(time.Second, func() bool { return s.connections(c) == 1 }) {
		s.fail("%d connections of one client are served", s.connections(c))
	}
	if !s.becomesLive(c, loading) {
		return c
	}
	s.Run(time.Duration(stageKeepSeat + stageTimeout)) // no leave may follow
	s.settles(c, 0, 0)
	if n := c.Core.Stats().Reconnects - reconnects; c.Seat() != seat || n != 1 {
		s.fail("the client of seat %d has seat %d and reconnected %d times", seat, c.Seat(), n)
	}
	if now := halves.Dot(s.Room.World(), ecs.Player(seat)); avatar.IsZero() || now != avatar {
		s.fail("the avatar was %v and is %v", avatar, now)
	}
	return c
}

func reconnectLate(s *stage) *matchsim.Client {
	c := s.Clients[1]
	avatar := s.avatar(c)
	now := s.Net.Now()
	away := time.Duration(stageTimeout+stageKeepSeat) + 2*time.Second
	s.Net.Partition(c.Node, s.Server, now, now+away)
	s.RunUntil(now + time.Duration(stageKeepSeat+stageTimeout) - time.Second/2)
	s.wantOrders(0, 0)
	s.RunUntil(now + away)
	s.wantOrders(0, 1)
	if s.Room.World().Exists(avatar) {
		s.fail("the avatar of a player who left still exists")
	}
	if !s.becomesLive(c, 2*loading) {
		return c
	}
	s.settles(c, 1, 1)
	if again := s.avatar(c); again.IsZero() || again == avatar {
		s.fail("the avatar was %v and is %v after leaving and joining", avatar, again)
	}
	return c
}

func spectate(s *stage) *matchsim.Client {
	since, players := s.Net.Now(), s.Room.World().Players()
	p := s.plan()
	p.Spectator = true
	c := s.Join(p)
	if !s.becomesLive(c, loading) {
		return c
	}
	s.checkImage(c, since)
	c.Core.SetInput(halves.PadInput.Pack(halves.Pad{DX: 1, Throw: true})) // must have no effect
	if _, err := c.Core.Order(ecs.Entity{}, []byte{1}); !errors.Is(err, client.ErrNotLive) {
		s.fail("a spectator's order: %v", err)
	}
	s.settles(c, 0, 0)
	if len(s.orders) > 0 || s.Room.World().Players() != players || s.Room.Stats().Players != stagePlayers {
		s.fail("%d orders since a spectator joined, players %b, %b before", len(s.orders), s.Room.World().Players(), players)
	}
	if c.Seat() != -1 {
		s.fail("the spectator has seat %d", c.Seat())
	}
	return c
}

// Bounds of how long a wrong bit may last. Checksums are compared once per second. A checksum takes its time to arrive,
// and so does an image within its budget.
const (
	foundWithin     = 1*time.Second + 1500*time.Millisecond
	correctedWithin = foundWithin + loading/2
)

func wrongBit(s *stage) *matchsim.Client {
	if !s.strategy.Needs.Exact {
		return nil // clients compute nothing that could differ
	}
	c := s.Clients[1]
	wrong := s.Room.Tick() + ecs.Tick(s.Game.TickRate)
	c.Fault(wrong, flipDust)
	s.until(2*time.Second, func() bool { return s.Room.Tick() >= wrong })
	at := s.Net.Now()
	if !s.until(foundWithin, func() bool { return s.Room.Stats().Resyncs == 1 }) {
		s.fail("the wrong bit was not found within %v", foundWithin)
	}
	if !s.until(at+correctedWithin-s.Net.Now(), func() bool { return c.Core.Stats().Resyncs == 1 && c.Live() }) {
		s.fail("the wrong bit was not corrected within %v: %d resyncs, %v", correctedWithin, c.Core.Stats().Resyncs, c.Core.State())
	}
	found := c.Mismatches
	s.keepsUp(c)
	if found == 0 || c.FirstMismatch != wrong || c.Mismatches != found {
		s.fail("tick %d was made wrong: the client differed at %d ticks, first at %d, and at %d after the resync", wrong, found,
			c.FirstMismatch, c.Mismatches-found)
	}
	if d := c.Core.Desyncs(); len(d) != 1 || d[0].Component != "dust" || d[0].Field != "C" || d[0].Here == d[0].There {
		s.fail("a wrong bit in dust.C is reported as %v", d)
	}
	if n := s.Room.Stats().Resyncs; n != 1 {
		s.fail("one wrong bit took %d resyncs", n)
	}
	s.wantOrders(0, 0)
	return c
}

func leave(s *stage) *matchsim.Client {
	c := s.Clients[1]
	seat := ecs.Player(c.Seat())
	avatar := halves.Dot(s.Room.World(), seat)
	c.Leave()
	s.Run(3 * time.Second)
	s.wantOrders(0, 1)
	for _, other := range s.Clients {
		if other != c && other.Core.World().Exists(avatar) {
			s.fail("client %d still has the avatar of the player who left", other.Number)
		}
	}
	if avatar.IsZero() || s.Room.World().Exists(avatar) || s.Room.World().Players().Has(seat) || s.Room.Stats().Players != stagePlayers-1 {
		s.fail("the player who left is still there: avatar %v, players %b, %d seats taken", avatar, s.Room.World().Players(), s.Room.Stats().Players)
	}
	return c
}

// killServer affects all clients: they reconnect by themselves, to the match that they had confirmed.
func killServer(s *stage) *matchsim.Client {
	s.restarts = true
	clients, before := s.Clients[:len(s.before)], s.before
	s.before = nil
	var avatars []ecs.Entity
	for _, c := range clients {
		avatars = append(avatars, s.avatar(c))
	}
	tick := s.Room.Tick()
	s.Crash(0)
	s.Run(time.Second)
	if err := s.Recover(); err != nil {
		s.fail("the match was not recovered: %v", err)
		return nil
	}
	if s.Room.Tick() != tick {
		s.fail("the server was killed at tick %d and recovered at tick %d", tick, s.Room.Tick())
	}
	for _, c := range clients {
		if !s.becomesLive(c, 2*loading) {
			return nil
		}
	}
	for i, c := range clients {
		s.keepsUp(c)
		now := c.Core.Stats()
		if c.Mismatches > 0 || now.Resyncs != before[i].Resyncs || now.Session.Malformed != 0 {
			s.fail("client %d differed at %d ticks, first at %d, and was resynced %d times", i, c.Mismatches, c.FirstMismatch, now.Resyncs-before[i].Resyncs)
		}
		if avatar := s.avatar(c); avatar.IsZero() || avatar != avatars[i] {
			s.fail("client %d's avatar was %v and is %v", i, avatars[i], avatar)
		}
	}
	s.wantOrders(0, 0)
	if s.Rewritten > 0 || s.Room.Stats().Adopted > 0 {
		s.fail("%d ticks were computed differently, %d adopted", s.Rewritten, s.Room.Stats().Adopted)
	}
	return nil
}
