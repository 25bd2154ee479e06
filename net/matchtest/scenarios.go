package matchtest

import (
	"errors"
	"time"

	"tendon/ecs"
	"tendon/net/client"
)

// scenarios are what Conformance plays.
var scenarios = []scenario{
	{"a late joiner gets the image and the backlog", lateJoin},
	{"who comes back in time keeps seat and avatar", comeBack},
	{"who comes back too late has left and joins anew", comeBackLate},
	{"a spectator follows and changes nothing", spectate},
	{"one wrong bit is found, named and healed", wrongBit},
	{"who leaves is gone in the same tick for all", leaves},
	{"a server that is killed goes on where it was", killed},
}

// until plays on until done, at most for a while, and reports whether it was.
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

func lateJoin(s *stage) *Client {
	since := s.Net.Now()
	c := s.Join(s.plan())
	if !s.until(loading, c.Live) {
		s.fail("the joiner is %v after %v", c.Core.State(), loading)
		return c
	}
	s.judgeImage(c, since)
	s.keepsUp(c)
	s.wants(1, 0)
	if c.Mismatches > 0 || c.Core.Stats().Resyncs > 0 {
		s.fail("the joiner differed at %d ticks and was put right %d times", c.Mismatches, c.Core.Stats().Resyncs)
	}
	if c.Seat() < 0 || avatarOf(s.Room.World(), ecs.Player(c.Seat())).IsZero() {
		s.fail("the joiner sits on seat %d and has no avatar", c.Seat())
	}
	return c
}

// connections counts a client's connections that are served.
func (s *stage) connections(c *Client) (n int) {
	for _, p := range s.Room.AppendPeers(nil) {
		if p.Identity.ClientID == c.identity.ClientID && p.State != "leaving" {
			n++
		}
	}
	return n
}

func comeBack(s *stage) *Client {
	c := s.Clients[1]
	seat, reconnects := c.Seat(), c.Core.Stats().Reconnects
	avatar := avatarOf(s.Room.World(), ecs.Player(seat))
	old := c.server
	c.Reconnect()
	// The new connection is there long before the old one would be given up.
	if !s.until(time.Second, func() bool { return c.server != old }) {
		s.fail("no new connection came within a second")
	}
	if !s.until(time.Second, func() bool { return s.connections(c) == 1 }) {
		s.fail("%d connections of one client are served", s.connections(c))
	}
	if !s.until(loading, c.Live) {
		s.fail("who came back is %v after %v", c.Core.State(), loading)
		return c
	}
	s.keepsUp(c)
	s.Run(time.Duration(stageKeepSeat + stageTimeout)) // nothing may come after
	s.wants(0, 0)
	if c.Seat() != seat || c.Core.Stats().Reconnects != reconnects+1 || c.Mismatches > 0 {
		s.fail("who came back to seat %d sits on %d, reconnected %d times, and differed at %d ticks", seat, c.Seat(),
			c.Core.Stats().Reconnects-reconnects, c.Mismatches)
	}
	if now := avatarOf(s.Room.World(), ecs.Player(seat)); avatar.IsZero() || now != avatar {
		s.fail("the avatar was %v and is %v", avatar, now)
	}
	return c
}

func comeBackLate(s *stage) *Client {
	c := s.Clients[1]
	avatar := avatarOf(s.Room.World(), ecs.Player(c.Seat()))
	now := s.Net.Now()
	away := time.Duration(stageTimeout+stageKeepSeat) + 2*time.Second
	s.Net.Partition(c.node, s.server, now, now+away)
	s.RunUntil(now + time.Duration(stageKeepSeat+stageTimeout) - time.Second/2)
	s.wants(0, 0)
	s.RunUntil(now + away)
	s.wants(0, 1)
	if !avatarGone(s.Room.World(), avatar) {
		s.fail("the avatar of a player who left is still there")
	}
	if !s.until(2*loading, func() bool { return c.Live() && s.connections(c) == 1 }) {
		s.fail("who came back is %v, with %d connections", c.Core.State(), s.connections(c))
		return c
	}
	s.keepsUp(c)
	s.wants(1, 1)
	if c.Mismatches > 0 {
		s.fail("who came back differed at %d ticks, first at %d", c.Mismatches, c.FirstMismatch)
	}
	if again := avatarOf(s.Room.World(), ecs.Player(c.Seat())); again.IsZero() || again == avatar {
		s.fail("the avatar was %v and is %v after leaving and joining", avatar, again)
	}
	return c
}

func avatarGone(w *ecs.World, e ecs.Entity) bool { return !w.Exists(e) }

func spectate(s *stage) *Client {
	since, players := s.Net.Now(), s.Room.World().Players()
	p := s.plan()
	p.Spectator = true
	c := s.Join(p)
	if !s.until(loading, c.Live) {
		s.fail("the spectator is %v after %v", c.Core.State(), loading)
		return c
	}
	s.judgeImage(c, since)
	c.Core.SetInput(dotInput.Pack(dotPad{DX: 1, Throw: true})) // nobody may hear of it
	if err := c.Core.Order(ecs.Entity{}, []byte{1}); !errors.Is(err, client.ErrNotLive) {
		s.fail("a spectator's order: %v", err)
	}
	s.keepsUp(c)
	s.wants(0, 0)
	if len(s.orders) > 0 || s.Room.World().Players() != players || s.Room.Stats().Players != stagePlayers {
		s.fail("%d orders since a spectator came, players %b, %b before", len(s.orders), s.Room.World().Players(), players)
	}
	if c.Seat() != -1 || c.Mismatches > 0 || c.Core.Stats().Resyncs > 0 {
		s.fail("the spectator sits on seat %d, differed at %d ticks, and was put right %d times", c.Seat(), c.Mismatches, c.Core.Stats().Resyncs)
	}
	return c
}

// Bounds of how long a wrong bit may live: checksums are compared once a second, and a checksum and an image under its
// budget have their ways to go.
const (
	foundWithin  = 1*time.Second + 1500*time.Millisecond
	healedWithin = foundWithin + loading/2
)

func wrongBit(s *stage) *Client {
	if !s.strategy.Needs.Exact {
		return nil // there is nothing to differ from
	}
	c := s.Clients[1]
	wrong := s.Room.Tick() + ecs.Tick(s.game.TickRate)
	c.Fault(wrong, flipDust)
	s.until(2*time.Second, func() bool { return s.Room.Tick() >= wrong })
	at := s.Net.Now()
	if !s.until(foundWithin, func() bool { return s.Room.Stats().Resyncs == 1 }) {
		s.fail("the wrong bit was not found within %v", foundWithin)
	}
	if !s.until(at+healedWithin-s.Net.Now(), func() bool { return c.Core.Stats().Resyncs == 1 && c.Live() }) {
		s.fail("the wrong bit was not healed within %v: %d resyncs, %v", healedWithin, c.Core.Stats().Resyncs, c.Core.State())
	}
	found := c.Mismatches
	s.keepsUp(c)
	if found == 0 || c.FirstMismatch != wrong || c.Mismatches != found {
		s.fail("tick %d was made wrong: the client differed at %d ticks, first at %d, and at %d after it was healed", wrong, found,
			c.FirstMismatch, c.Mismatches-found)
	}
	if d := c.Core.Desyncs(); len(d) != 1 || d[0].Component != "dust" || d[0].Field != "C" || d[0].Here == d[0].There {
		s.fail("a wrong bit in dust.C is reported as %v", d)
	}
	if n := s.Room.Stats().Resyncs; n != 1 {
		s.fail("one wrong bit took %d resyncs", n)
	}
	s.wants(0, 0)
	return c
}

func leaves(s *stage) *Client {
	c := s.Clients[1]
	seat := ecs.Player(c.Seat())
	avatar := avatarOf(s.Room.World(), seat)
	c.Leave()
	s.Run(3 * time.Second)
	s.wants(0, 1)
	for _, other := range s.Clients {
		if other != c && !avatarGone(other.Core.World(), avatar) {
			s.fail("client %d still sees the avatar of who left", other.number)
		}
	}
	if avatar.IsZero() || !avatarGone(s.Room.World(), avatar) || s.Room.World().Players().Has(seat) || s.Room.Stats().Players != stagePlayers-1 {
		s.fail("who left is still there: avatar %v, players %b, %d seats taken", avatar, s.Room.World().Players(), s.Room.Stats().Players)
	}
	return c
}

// killed has no client that is not concerned: all come back by themselves, to a match that is what they confirmed.
func killed(s *stage) *Client {
	s.restarts = true
	clients, before := s.Clients[:len(s.before)], s.before
	s.before = nil
	var avatars []ecs.Entity
	for _, c := range clients {
		avatars = append(avatars, avatarOf(s.Room.World(), ecs.Player(c.Seat())))
	}
	tick := s.Room.Tick()
	s.Crash(0)
	s.Run(time.Second)
	if err := s.Recover(); err != nil {
		s.fail("the match did not come back: %v", err)
		return nil
	}
	if s.Room.Tick() != tick {
		s.fail("the server was killed at tick %d and came back at tick %d", tick, s.Room.Tick())
	}
	for i, c := range clients {
		if !s.until(2*loading, func() bool { return c.Live() && s.connections(c) == 1 }) {
			s.fail("client %d is %v after the server came back", i, c.Core.State())
			return nil
		}
	}
	for i, c := range clients {
		s.keepsUp(c)
		now := c.Core.Stats()
		if c.Mismatches > 0 || now.Resyncs != before[i].Resyncs || now.Session.Malformed != 0 {
			s.fail("client %d differed at %d ticks, first at %d, and was put right %d times", i, c.Mismatches, c.FirstMismatch, now.Resyncs-before[i].Resyncs)
		}
		if avatar := avatarOf(s.Room.World(), ecs.Player(c.Seat())); avatar.IsZero() || avatar != avatars[i] {
			s.fail("client %d's avatar was %v and is %v", i, avatars[i], avatar)
		}
	}
	s.wants(0, 0)
	if s.Rewritten > 0 || s.Room.Stats().Adopted > 0 {
		s.fail("%d ticks were computed otherwise, %d handed in", s.Rewritten, s.Room.Stats().Adopted)
	}
	return nil
}
