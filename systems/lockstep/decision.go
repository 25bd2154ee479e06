package lockstep

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/vote"
)

// hearNext opens the ballot on the match after, if somebody said that it has ended, too.
func (s *Server) hearNext() {
	c := &s.court
	for p := range c.next {
		if next := &c.next[p]; next.End > c.decided {
			if !c.open {
				s.openClaimed(next.End)
			}
			s.cast(ecs.Player(p), next)
		}
		c.next[p].Result = vote.Result{}
	}
}

// judge goes on with what is to be judged. It is called in every frame.
func (s *Server) judge() {
	c := &s.court
	c.hashes.Step(s.now)
	c.hashes.Contested(c.contested)
	c.hashes.Blamed(c.blamed)
	s.settle(false)
	switch {
	case s.always || s.game.Result == nil:
	case s.attended():
		c.attended = s.done
	case s.done > c.attended+ecs.Tick(leftAfter*s.game.TickRate):
		c.until = s.done // there is time to see what the match has come to
	}
	for left := replayed; left > 0 && s.world.Tick() < min(c.until, s.done); left-- {
		s.advance()
	}
}

// leftAfter is for how long, in seconds, nobody who may vote has been connected when the server begins to play the match
// again: one who comes back at once has it wait.
const leftAfter = 2

// attended reports whether anybody is connected who may vote.
func (s *Server) attended() bool {
	for i := range s.peers {
		if p := &s.peers[i]; p.open && p.seat >= 0 {
			return true
		}
	}
	return false
}

// settle decides what can be decided: the ballot that is going on, if it is over, and the matches of which the server
// knows the result and nobody said it in time. now says that the time of what the server knows is over, whatever the clock
// says.
func (s *Server) settle(now bool) {
	c := &s.court
	for {
		at := s.now
		if now {
			at = never
		}
		own := c.ownAfter(c.decided)
		switch {
		case now && own == nil:
			return
		case c.open:
		case own == nil || !now && own.End+c.voting > s.done:
			return
		default:
			s.openBallot(own.players, c.decided)
			at = never
		}
		if s.decide(c.ballot.Step(at)); c.open {
			return
		}
		s.hearNext()
	}
}

// never is a time by which every deadline has passed.
const never systems.Time = 1<<63 - 1

// Conclude decides every match that has ended, with the votes that are there. A server that only kept the log plays it
// from where its world stands, and believes no majority that says of a match that it ended which did not.
func (s *Server) Conclude() {
	if s.game.Result == nil {
		return
	}
	for s.world.Tick() < s.done {
		s.advance()
	}
	s.settle(true)
}

// finish ends the ballot that is going on, since the next is to begin. It is for a server that computes the match: it
// knows at once what it would have to play again.
func (s *Server) finish() {
	if s.court.open {
		s.decide(s.court.ballot.Step(never))
	}
}

// decide tells what a ballot has come to, or has the match played again.
func (s *Server) decide(state vote.State) {
	c := &s.court
	own := c.ownAfter(c.began)
	if state == vote.Replaying {
		if own == nil {
			if !c.replays {
				c.replays, c.until = true, max(c.until, s.done)
			}
			if s.world.Tick() >= c.until {
				c.open, c.replays = false, false // no match has ended: who said so was wrong
			}
			return
		}
		_ = c.ballot.Replayed(own.Result) // it asked for it
	}
	v, ok := c.ballot.Verdict()
	if !ok {
		return
	}
	c.open, c.replays, c.decided = false, false, v.Result.End
	if own != nil && own.Result != v.Result {
		v.Result, v.How, v.Dissented = own.Result, systems.ByAudit, 0
		for p := range v.Voted.All() {
			if had, _ := c.ballot.Vote(p); had != own.Result {
				v.Dissented |= 1 << p
			}
		}
		c.decided = own.End
	}
	s.tell(&v, own)
	c.own = slices.DeleteFunc(c.own, func(r ownResult) bool { return r.End <= c.decided })
}

// tell says what was decided.
func (s *Server) tell(v *vote.Verdict, own *ownResult) {
	c := &s.court
	if s.room.Decided == nil {
		return
	}
	in := c.roll.at(v.Result.End) // of those who could vote
	d := systems.Decision{Tick: v.Result.End, How: v.How, Replays: v.Replays, Votes: make([]image.Checksum, s.game.MaxPlayers)}
	if own != nil && own.Result == v.Result {
		d.Result, in = own.bytes, own.players
	}
	d.Registered, d.Voted, d.Dissented, d.Doubled, d.Silent = in, v.Voted&in, v.Dissented&in, v.Doubled&in, in&^v.Voted
	for p := range v.Voted.All() {
		had, _ := c.ballot.Vote(p)
		if d.Voted.Has(p) {
			d.Votes[p] = had.Hash
		}
		if d.Result == nil && had == v.Result {
			d.Result = c.said[p]
		}
	}
	s.room.Decided(d)
}
