package vote

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// Adjudicator decides the matches of a server: the votes on checksums, the ballots on results, and the replays that settle
// them. A world that is behind Done is computed from its tick to the one that must be known: no tick is computed twice.
type Adjudicator struct {
	Hashes  *Hashes
	match   Match
	game    *ecs.Game
	ballot  *Ballot
	own     []ownResult                   // the server's results of matches without a decision, newest last
	sums    rollback.Ring[image.Checksum] // the server's of State(n × every), by n
	every   ecs.Tick
	current bool     // the world is never behind
	until   ecs.Tick // the world must be computed up to here
	history memberHistory
	members image.PlayerSet // after tick Done
	now     systems.Time

	open     bool     // a ballot is open
	began    ecs.Tick // the ballot is on a result of a later tick
	claimed  [][]byte // by player: the result that they claim
	next     []claim  // by player: the result of a later match that they claim during the ballot
	replays  bool     // the ballot waits for the world to reach until
	decided  ecs.Tick // the end of the last match with a decision
	duration ecs.Tick // of a ballot
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

// AdjudicatorConfig configures an Adjudicator.
type AdjudicatorConfig struct {
	// Match is the match. Required.
	Match Match
	// Members are the players in the match after tick Done.
	Members image.PlayerSet
	// Current says that the world is never behind Done.
	Current bool
	// Every is the interval of the ticks whose checksums are voted on. 0: 60.
	Every ecs.Tick
	// Ballot configures the ballots.
	Ballot Config
}

// ownResult is a result as the server computed it.
type ownResult struct {
	Result
	bytes   []byte
	players image.PlayerSet // in the match when it ended
}

// claim is a result that a player claims, with its bytes. An end at tick 0 stands for none.
type claim struct {
	Result
	bytes []byte
}

const (
	// ownKept is how many own results wait for votes. Beyond that, which a replay of a long log reaches, they are decided.
	ownKept = 64
	// replaySteps is how many ticks of a world that is behind are computed per tick: far less than a tick's time.
	replaySteps = 100
	// leftAfter is how long, in seconds, no player has been connected when a world that is behind is computed up to Done. A
	// player who returns at once makes it wait.
	leftAfter = 2
)

// NewAdjudicator returns an adjudicator of the ticks after Done. The error names the field that is invalid.
func NewAdjudicator(c AdjudicatorConfig) (*Adjudicator, error) {
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	if c.Ballot.Deadline == 0 {
		c.Ballot.Deadline = DefaultDeadline
	}
	game, done := c.Match.World().Game(), c.Match.Done()
	a := &Adjudicator{match: c.Match, game: game, sums: rollback.NewRing[image.Checksum](hashesKept), every: c.Every, current: c.Current,
		members: c.Members, decided: done, attended: done, claimed: make([][]byte, game.MaxPlayers), next: make([]claim, game.MaxPlayers),
		duration: ecs.Tick(c.Ballot.Deadline * systems.Time(game.TickRate) / systems.Second)}
	a.history.add(done, c.Members)
	var err error
	if a.Hashes, err = NewHashes(HashesConfig{Every: c.Every}); err == nil {
		a.ballot, err = NewBallot(c.Ballot)
	}
	return a, err
}

// Ended opens the vote on the checksum of tick f, which follows Done. members are the players in the match after it. state
// is the world's, or nil; for a world that is behind, it does not count.
func (a *Adjudicator) Ended(f ecs.Tick, members image.PlayerSet, state *image.Snapshot, now systems.Time) {
	a.members, a.now = members, now
	a.history.add(f, members)
	a.Hashes.Open(f, members, now)
	if a.current {
		a.Computed(state)
	}
}

// Computed takes the checksum and the result of the tick that the world is in. state is the world's, or nil. Match.Advance
// calls it.
func (a *Adjudicator) Computed(state *image.Snapshot) {
	world := a.match.World()
	f := world.Tick()
	if f%a.every == 0 {
		if state == nil {
			state = a.match.Save()
		}
		a.sums.Put(f/a.every, state.Checksum())
		a.Hashes.Truth(f, state.Checksum())
	}
	if a.game.Result == nil {
		return
	}
	result := a.game.Result(world)
	if result == nil {
		return
	}
	if state == nil {
		state = a.match.Save()
	}
	own := ownResult{Result{End: f, Digest: xxhash.Sum64(result), Hash: state.Checksum()}, bytes.Clone(result), world.Players()}
	if f > a.decided {
		a.own = append(a.own, own)
	}
	switch {
	case a.current:
		a.closeBallot()
		a.openBallot(own.players, f-1)
	case len(a.own) == ownKept:
		a.settle(true)
	}
}

// Checksum returns the server's checksum of the state of tick f. ok is false if it is not stored.
func (a *Adjudicator) Checksum(f ecs.Tick) (sum image.Checksum, ok bool) {
	own, ok := a.sums.At(f / a.every)
	return *own, ok && f%a.every == 0
}

// Undecided returns the number of own results that wait for a decision, and whether a ballot is open.
func (a *Adjudicator) Undecided() (results int, open bool) { return len(a.own), a.open }

// Claim casts a player's vote: the match ended in tick end with a result and the checksum of the state. counted is false if
// the player has no vote on it.
func (a *Adjudicator) Claim(p ecs.Player, end ecs.Tick, sum image.Checksum, result []byte, now systems.Time) (counted bool) {
	a.now = now
	if !a.history.at(end).Has(p) { // the player resimulated it from an older state, but was not in the match
		return false
	}
	c := claim{Result{End: end, Digest: xxhash.Sum64(result), Hash: sum}, result}
	if had, voted := a.ballot.Vote(p); !a.current && a.open && voted && had.End < end {
		if next := &a.next[p]; next.End == 0 {
			next.Result, next.bytes = c.Result, append(next.bytes[:0], result...)
		}
		return true // when this ballot is closed
	}
	if !a.current && !a.open && end > a.decided {
		a.openClaimed(end)
	}
	return a.cast(p, &c)
}

// openBallot opens the ballot on a match that ended after tick began.
func (a *Adjudicator) openBallot(registered image.PlayerSet, began ecs.Tick) {
	for p := range a.claimed {
		a.claimed[p] = a.claimed[p][:0]
	}
	a.open, a.began = true, began
	a.ballot.Open(registered, a.Hashes.Clean(), a.now)
}

// openClaimed opens the ballot on a match that ended in tick f, as a player claims. The present members have a vote, too, so
// that a player cannot claim a tick in which they were alone.
func (a *Adjudicator) openClaimed(f ecs.Tick) {
	a.openBallot(a.history.at(f)|a.members, a.decided)
}

// cast casts a vote. It reports whether the ballot accepts it.
func (a *Adjudicator) cast(p ecs.Player, c *claim) (ok bool) {
	if a.ballot.Cast(p, c.Result, a.now) != nil {
		return false
	}
	if len(a.claimed[p]) == 0 {
		a.claimed[p] = append(a.claimed[p], c.bytes...)
	}
	return true
}
