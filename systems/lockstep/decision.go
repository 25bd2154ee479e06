package lockstep

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/vote"
)

// judge continues with the votes, and computes what a world on demand owes them.
func (s *Server) judge() {
	v := &s.votes
	if s.Step.Adopted {
		return
	}
	v.hashes.Step(s.now)
	v.hashes.Contested(v.contested)
	v.hashes.Blamed(v.blamed)
	s.settle(false)
	switch {
	case s.always || s.Game.Result == nil:
	case s.attended():
		v.attended = s.Done()
	case s.Done() > v.attended+ecs.Tick(leftAfter*s.Game.TickRate):
		v.until = s.Done() // there is time to compute the result
	}
	for left := replaySteps; left > 0 && s.World().Tick() < min(v.until, s.Done()); left-- {
		s.advance()
	}
}

// leftAfter is how long, in seconds, no player has been connected when the server begins to compute the match. A player who
// returns at once makes it wait.
const leftAfter = 2

// attended reports whether a player is connected.
func (s *Server) attended() bool {
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open && p.Seat >= 0 {
			return true
		}
	}
	return false
}

// settle decides what can be decided: the open ballot, if it is over, and the matches of which the server knows the result
// and no player claimed it in time. now ends the time of the own results, whatever the clock shows.
func (s *Server) settle(now bool) {
	v := &s.votes
	for {
		at := s.now
		if now {
			at = never
		}
		own := v.ownAfter(v.decided)
		switch {
		case now && own == nil:
			return
		case v.open:
		case own == nil || !now && own.End+v.duration > s.Done():
			return
		default:
			s.openBallot(own.players, v.decided)
			at = never
		}
		if s.decide(v.ballot.Step(at)); v.open {
			return
		}
		s.castNext()
	}
}

// castNext casts the claims of a later match that arrived during the ballot that has closed.
func (s *Server) castNext() {
	v := &s.votes
	for p := range v.next {
		if next := &v.next[p]; next.End > v.decided {
			if !v.open {
				s.openClaimed(next.End)
			}
			s.cast(ecs.Player(p), next)
		}
		v.next[p].Result = vote.Result{}
	}
}

// never is a time by which every deadline has passed.
const never systems.Time = 1<<63 - 1

// Conclude decides every match that has ended, with the votes received so far. A world on demand is computed up to Done
// first, so a majority that claims the end of a match that did not end has no effect.
func (s *Server) Conclude() {
	if s.Game.Result == nil {
		return
	}
	for s.World().Tick() < s.Done() {
		s.advance()
	}
	s.settle(true)
}

// closeBallot closes an open ballot before the next one. It is for a server that computes the match, and so has the result
// of a replay.
func (s *Server) closeBallot() {
	if s.votes.open {
		s.decide(s.votes.ballot.Step(never))
	}
}

// decide takes the result of a ballot, or has the match computed if the ballot demands it.
func (s *Server) decide(state vote.State) {
	v := &s.votes
	own := v.ownAfter(v.began)
	if state == vote.Replaying {
		if own == nil {
			if !v.replays {
				v.replays, v.until = true, max(v.until, s.Done())
			}
			if s.World().Tick() >= v.until {
				v.open, v.replays = false, false // no match has ended: the claims were wrong
			}
			return
		}
		_ = v.ballot.Replayed(own.Result) // it demanded it
	}
	verdict, ok := v.ballot.Verdict()
	if !ok {
		return
	}
	v.open, v.replays, v.decided = false, false, verdict.Result.End
	if own != nil && own.Result != verdict.Result {
		verdict.Result, verdict.How, verdict.Dissented = own.Result, systems.ByAudit, 0
		for p := range verdict.Voted.All() {
			if had, _ := v.ballot.Vote(p); had != own.Result {
				verdict.Dissented = verdict.Dissented.With(p)
			}
		}
		v.decided = own.End
	}
	s.publish(&verdict, own)
	v.own = slices.DeleteFunc(v.own, func(r ownResult) bool { return r.End <= v.decided })
}

// publish passes a decision to the sinks.
func (s *Server) publish(verdict *vote.Verdict, own *ownResult) {
	v := &s.votes
	in := v.members.at(verdict.Result.End) // of those who could vote
	d := systems.Decision{Tick: verdict.Result.End, How: verdict.How, Replays: verdict.Replays, Votes: make([]image.Checksum, s.Game.MaxPlayers)}
	if own != nil && own.Result == verdict.Result {
		d.Result, in = own.bytes, own.players
	}
	d.Registered, d.Voted, d.Dissented, d.Doubled, d.Silent = in, verdict.Voted&in, verdict.Dissented&in, verdict.Doubled&in, in&^verdict.Voted
	for p := range verdict.Voted.All() {
		had, _ := v.ballot.Vote(p)
		if d.Voted.Has(p) {
			d.Votes[p] = had.Hash
		}
		if d.Result == nil && had == verdict.Result {
			d.Result = v.claimed[p]
		}
	}
	s.Decide(d)
}
