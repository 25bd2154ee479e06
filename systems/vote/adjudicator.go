package vote

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// Adjudicator decides the matches of a server. It compares checksums, holds the ballots on results and replays matches. It
// computes a world that is behind Done only as far as needed, so no tick is computed twice.
type Adjudicator struct {
	Hashes  *Hashes
	match   Match
	game    *ecs.Game
	ballot  *Ballot
	own     []ownResult                   // of matches without a decision, newest last
	sums    rollback.Ring[image.Checksum] // the server's of State(n × Every), by n
	current bool                          // the world is never behind
	until   ecs.Tick                      // the world must be computed up to here
	history []memberEntry
	now     systems.Time

	open     bool     // a ballot is open
	began    ecs.Tick // the ballot is on a result of a later tick
	next     []Result // by player: the result of a later match that they claim during the ballot
	replays  bool     // the ballot waits for the world to reach until
	decided  ecs.Tick // the end of the last match with a decision
	attended ecs.Tick // last tick in which a player was connected
}

// Match is the match of a server, as an Adjudicator needs it.
type Match interface {
	// World returns the match as the server computes it, in the state of Done or of an earlier tick.
	World() *ecs.World
	// Done returns the last final tick.
	Done() ecs.Tick
	// Advance computes the next tick of a world that is behind Done.
	Advance()
	// Save returns the state of World. It is valid until the next call.
	Save() *image.Snapshot
	// Attended reports whether a player is connected.
	Attended() bool
	// Blame receives a player whose state of a tick differed, and how often it has.
	Blame(p ecs.Player, tick ecs.Tick, strikes int)
	// Decide receives the decision on a match.
	Decide(systems.Decision)
}

// ownResult is a result that the server has computed.
type ownResult struct {
	Result
	players image.PlayerSet // in the match when it ended
}

const (
	ownKept                    = 64  // own results that wait for votes; a replay of a long log reaches more, which are decided at once
	replaySteps                = 100 // ticks per tick by which a world that is behind advances
	leftAfter                  = 2   // seconds without a connected player until a world that is behind is computed up to Done
	forever       systems.Time = 1<<63 - 1
	memberEntries              = 256 // changes of the members that are kept, however fast players join and leave
)

// NewAdjudicator returns an adjudicator of the ticks after Done, the tick that the world is in. current says that the world
// is never behind. c configures the ballots.
func NewAdjudicator(match Match, current bool, c Config) *Adjudicator {
	game, done := match.World().Game(), match.Done()
	a := &Adjudicator{Hashes: NewHashes(), match: match, game: game, ballot: NewBallot(c), current: current, decided: done, attended: done,
		sums: rollback.NewRing[image.Checksum](hashesKept), next: make([]Result, game.MaxPlayers)}
	a.addMembers(done, match.World().Players())
	return a
}

// Ended accepts claims for the checksum of tick f, which follows Done. members are the players in the match after it. state
// is the world's, or nil; for a world that is behind, it does not count.
func (a *Adjudicator) Ended(f ecs.Tick, members image.PlayerSet, state *image.Snapshot, now systems.Time) {
	a.now = now
	a.addMembers(f, members)
	a.Hashes.Open(f, members)
	if a.current {
		a.Computed(state)
	}
}

// Computed takes the checksum and the result of the tick that the world is in. state is the world's, or nil. Match.Advance
// calls it.
func (a *Adjudicator) Computed(state *image.Snapshot) {
	world := a.match.World()
	f := world.Tick()
	if f%Every == 0 {
		if state == nil {
			state = a.match.Save()
		}
		a.sums.Put(f/Every, state.Checksum())
		a.Hashes.Truth(f, state.Checksum())
	}
	result := []byte(nil)
	if a.game.Result != nil {
		result = a.game.Result(world)
	}
	if result == nil {
		return
	}
	if state == nil {
		state = a.match.Save()
	}
	own := ownResult{Result{End: f, Value: string(result), Hash: state.Checksum()}, world.Players()}
	if f > a.decided {
		a.own = append(a.own, own)
	}
	switch {
	case a.current:
		if a.open { // the world has the result of a replay
			a.decide(a.ballot.Step(forever, a.Hashes.Struck(a.decided)))
		}
		a.openBallot(own.players, f-1)
	case len(a.own) == ownKept:
		a.settle(true)
	}
}

// Checksum returns the server's checksum of the state of tick f. ok is false if it is not stored.
func (a *Adjudicator) Checksum(f ecs.Tick) (sum image.Checksum, ok bool) {
	own, ok := a.sums.At(f / Every)
	return *own, ok && f%Every == 0
}

// Claim casts a player's vote: the match ended in tick end with a result and the checksum of the state. counted is false if
// the player has no vote on it.
func (a *Adjudicator) Claim(p ecs.Player, end ecs.Tick, sum image.Checksum, result []byte, now systems.Time) (counted bool) {
	a.now = now
	if !a.membersAt(end).Has(p) { // the player resimulated it from an older state, but was not in the match
		return false
	}
	r := Result{End: end, Value: string(result), Hash: sum}
	if had, voted := a.ballot.Vote(p); !a.current && a.open && voted && had.End < end {
		if a.next[p].End == 0 {
			a.next[p] = r
		}
		return true // when this ballot is closed
	}
	if !a.current && !a.open && end > a.decided {
		a.openClaimed(end)
	}
	return a.ballot.Cast(p, r, a.now)
}

// Forget clears the history of seat p when its player leaves it.
func (a *Adjudicator) Forget(p ecs.Player) {
	a.Hashes.Forget(p)
	a.ballot.forget(p)
}

// openBallot opens the ballot on a match that ended after tick began.
func (a *Adjudicator) openBallot(registered image.PlayerSet, began ecs.Tick) {
	a.open, a.began = true, began
	a.ballot.Open(registered, a.now)
}

// openClaimed opens the ballot on a match that ended in tick f, as a player claims. The present members have a vote, too, so
// that a player cannot claim a tick in which they were alone.
func (a *Adjudicator) openClaimed(f ecs.Tick) {
	a.openBallot(a.membersAt(f)|a.membersAt(a.match.Done()), a.decided)
}

// memberEntry is the set of players in the match after tick since. It holds until the next entry, and the oldest for the ticks
// before it, too. The entries determine the votes on a match that ended a few seconds ago.
type memberEntry struct {
	since   ecs.Tick
	members image.PlayerSet
}

// addMembers takes the members after tick f, which is later than the last one.
func (a *Adjudicator) addMembers(f ecs.Tick, members image.PlayerSet) {
	n := len(a.history)
	if n > 0 && a.history[n-1].members == members {
		return
	}
	if n == memberEntries {
		a.history = slices.Delete(a.history, 0, 1)
	}
	a.history = append(a.history, memberEntry{f, members})
}

func (a *Adjudicator) membersAt(f ecs.Tick) image.PlayerSet {
	i := len(a.history) - 1
	for i > 0 && a.history[i].since > f {
		i--
	}
	return a.history[i].members
}
