package vote

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Step continues with the votes, and computes a world that is behind as far as they need it. Call it after each tick.
func (a *Adjudicator) Step(now systems.Time) {
	a.now = now
	a.Hashes.Contested(func(f ecs.Tick) { a.until = max(a.until, f) })
	a.Hashes.Blamed(a.match.Blame)
	a.settle(false)
	done := a.match.Done()
	switch {
	case a.current || a.game.Result == nil:
	case a.match.Attended():
		a.attended = done
	case done > a.attended+ecs.Tick(leftAfter*a.game.TickRate):
		a.until = done // there is time to compute the result
	}
	for left := replaySteps; left > 0 && a.match.World().Tick() < min(a.until, done); left-- {
		a.match.Advance()
	}
}

// Conclude decides every match that has ended, with the votes received so far. A world that is behind is computed up to
// Done first, so a majority that claims the end of a match that did not end has no effect.
func (a *Adjudicator) Conclude() {
	if a.game.Result == nil {
		return
	}
	for a.match.World().Tick() < a.match.Done() {
		a.match.Advance()
	}
	a.settle(true)
}

// settle decides everything that can be decided: the open ballot if it is over, and known results that no player
// claimed in time. now ends the time of the server's own results at once.
func (a *Adjudicator) settle(now bool) {
	wait := ecs.Tick(a.ballot.config.Deadline * systems.Time(a.game.TickRate) / systems.Second)
	for {
		at := a.now
		if now {
			at = forever
		}
		own := a.ownAfter(a.decided)
		switch {
		case now && own == nil:
			return
		case !now && a.open && a.Hashes.unproven(): // a contested tick may show that votes of the majority do not count
			return
		case a.open:
		case own == nil || !now && own.End+wait > a.match.Done():
			return
		default:
			a.openBallot(own.players, a.decided)
			at = forever
		}
		if a.decide(a.ballot.Step(at, a.Hashes.Struck(a.decided))); a.open {
			return
		}
		for p, next := range a.next { // claims of a later match that arrived during the ballot that has closed
			if next.End > a.decided {
				if !a.open {
					a.openClaimed(next.End)
				}
				a.ballot.Cast(ecs.Player(p), next, a.now)
			}
			a.next[p] = Result{}
		}
	}
}

// ownAfter returns the server's first result of a tick > f, nil for none.
func (a *Adjudicator) ownAfter(f ecs.Tick) *ownResult {
	for i := range a.own {
		if a.own[i].End > f {
			return &a.own[i]
		}
	}
	return nil
}

// decide passes the result of a ballot to the match, or has the match computed if the ballot demands it.
func (a *Adjudicator) decide(state State) {
	own := a.ownAfter(a.began)
	if state == Replaying {
		if own == nil {
			if !a.replays {
				a.replays, a.until = true, max(a.until, a.match.Done())
			}
			if a.match.World().Tick() >= a.until {
				a.open, a.replays = false, false     // no match has ended: the claims were wrong
				struck := a.Hashes.Struck(a.decided) // for the state that led to the claim
				for p := range (a.ballot.verdict.Voted & a.ballot.present &^ struck).All() {
					if end := a.ballot.votes[p].End; end > a.decided {
						a.Hashes.strike(p, end)
					}
				}
			}
			return
		}
		a.ballot.Replayed(own.Result)
	}
	v, ok := a.ballot.Verdict()
	if !ok {
		return
	}
	a.open, a.replays, a.decided = false, false, v.Result.End
	if own != nil && (own.Result != v.Result || v.How == systems.Disputed) {
		v.Result, v.How = own.Result, systems.ByAudit
		v.Dissented = v.Voted &^ a.ballot.claiming(own.Result)
		a.decided = own.End
	}
	in := a.membersAt(v.Result.End) // of those who could vote
	if own != nil {
		in = own.players
	}
	d := systems.Decision{Tick: v.Result.End, Result: []byte(v.Result.Value), How: v.How, Replays: v.Replays,
		Votes: make([]image.Checksum, a.game.MaxPlayers)}
	d.Registered, d.Voted, d.Dissented, d.Doubled, d.Silent = in, v.Voted&in, v.Dissented&in, v.Doubled&in, in&^v.Voted
	for p := range d.Voted.All() {
		d.Votes[p] = a.ballot.votes[p].Hash
	}
	a.match.Decide(d)
	a.own = slices.DeleteFunc(a.own, func(r ownResult) bool { return r.End <= a.decided })
}
