package vote

import (
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Ballot is one vote on the result of a match. A result that more than half of the registered players claim is
// accepted at once; where voting ends without one, the server replays the match.
//
// Voting ends when all registered players have voted or when the deadline has passed, whichever is first. Until then
// the state is Voting or Decided, and every first vote is recorded; afterwards none is. So the verdict depends on the votes
// received in time, and never on their order.
type Ballot struct {
	config     Config
	rand       *ecs.Rand
	state      State
	registered image.PlayerSet
	clean      image.PlayerSet
	until      systems.Time
	sampled    bool // the draw says that an accepted result is audited

	votes    [image.MaxPlayers]Result // of the players in voted
	voted    image.PlayerSet
	doubled  image.PlayerSet
	accepted bool   // more than half agree
	majority Result // what they agree on, if accepted

	result  Result // final, if Closed
	how     systems.How
	replays int
}

// Config configures a Ballot.
type Config struct {
	// Deadline is the longest time of voting, in nanoseconds from Open. 0: 10 seconds.
	Deadline systems.Time
	// AuditPerMille is how many of 1000 accepted results are audited: played again by the server, which is the only way
	// to see a majority that colludes. Accepted results should be sampled at 10 to 50. 0: none.
	AuditPerMille int
	// AuditClean audits an accepted result whenever a player with a clean history dissents. It lets every player have one
	// match played again at will. false: a dissenter's history does not matter.
	AuditClean bool
	// Seed is the source of the sample, drawn once per Open. It must be secret, since it determines the results that are not
	// audited. The match's own seed is not secret: every client has it.
	Seed uint64
}

// DefaultDeadline is the default of Config.Deadline.
const DefaultDeadline = 10 * systems.Second

// The errors of Cast and Replayed.
var (
	// ErrNotRegistered is returned for a vote of a player who was not in the match.
	ErrNotRegistered = errors.New("vote: not a registered player")
	// ErrClosed is returned for a vote after the end of voting, or before Open.
	ErrClosed = errors.New("vote: no voting is going on")
	// ErrDoubled is returned for a second vote that differs from the first. The first one counts, and the player is
	// flagged.
	ErrDoubled = errors.New("vote: voted otherwise before")
	// ErrNotReplaying is the error of a replay that was not requested.
	ErrNotReplaying = errors.New("vote: no replay was asked for")
)

// NewBallot returns an Idle ballot. The error names the field of c that is invalid.
func NewBallot(c Config) (*Ballot, error) {
	if c.Deadline < 0 {
		return nil, fmt.Errorf("vote: Config.Deadline is %d ns: it is a duration, 0 for 10 s", c.Deadline)
	}
	if c.AuditPerMille < 0 || c.AuditPerMille > 1000 {
		return nil, fmt.Errorf("vote: Config.AuditPerMille is %d, want [0, 1000]", c.AuditPerMille)
	}
	if c.Deadline == 0 {
		c.Deadline = DefaultDeadline
	}
	return &Ballot{config: c, rand: image.NewRand(c.Seed)}, nil
}

// Open begins a vote and drops the one before. registered are the players who were in the match when it ended; a player who
// has left since then stays registered and does not vote. clean are the players whose history is clean; only AuditClean
// uses it.
//
// Without registered players, voting ends at once and the server replays the match.
func (b *Ballot) Open(registered, clean image.PlayerSet, now systems.Time) {
	*b = Ballot{config: b.config, rand: b.rand, state: Voting, registered: registered, clean: clean,
		until: now + b.config.Deadline, sampled: b.rand.Chance(b.config.AuditPerMille, 1000)}
	if registered == 0 {
		b.end()
	}
}

// Cast counts the vote of player p. An equal second vote is no error and changes nothing. A vote exactly at the deadline
// counts, unless Step was called with that time before.
func (b *Ballot) Cast(p ecs.Player, r Result, now systems.Time) error {
	switch {
	case b.state == Idle:
		return ErrClosed
	case !b.registered.Has(p):
		return ErrNotRegistered
	case b.voted.Has(p) && b.votes[p] == r:
		return nil
	case b.voted.Has(p):
		b.doubled |= 1 << p
		return ErrDoubled
	}
	if b.voting() && now > b.until {
		b.end()
	}
	if !b.voting() {
		return ErrClosed
	}
	b.voted |= 1 << p
	b.votes[p] = r
	if 2*b.claiming(r).Len() > b.registered.Len() {
		b.accepted, b.majority, b.state = true, r, Decided
	}
	if b.voted == b.registered {
		b.end()
	}
	return nil
}

// Step ends voting if the deadline has come, and returns the state.
func (b *Ballot) Step(now systems.Time) State {
	if b.voting() && now >= b.until {
		b.end()
	}
	return b.state
}

// Majority returns the result that more than half of the registered players claim; ok is false if there is none yet. It
// may be used at once by a caller that does not wait for audits.
func (b *Ballot) Majority() (r Result, ok bool) { return b.majority, b.accepted }

// Vote returns the result that player p claimed; ok is false if p has not voted.
func (b *Ballot) Vote(p ecs.Player) (r Result, ok bool) {
	if !b.voted.Has(p) {
		return Result{}, false
	}
	return b.votes[p], true
}

// Replayed sets the result of the server's replay, in state Replaying. It is final and overrides a majority.
func (b *Ballot) Replayed(r Result) error {
	if b.state != Replaying {
		return ErrNotReplaying
	}
	b.result, b.replays, b.state = r, 1, Closed
	return nil
}

// Verdict returns the verdict; ok is false unless the ballot is Closed. Afterwards only Doubled can change, by players who
// cast a second vote.
func (b *Ballot) Verdict() (v Verdict, ok bool) {
	if b.state != Closed {
		return Verdict{}, false
	}
	return Verdict{Result: b.result, How: b.how, Registered: b.registered, Voted: b.voted,
		Dissented: b.voted &^ b.claiming(b.result), Doubled: b.doubled, Silent: b.registered &^ b.voted,
		Replays: b.replays}, true
}

func (b *Ballot) voting() bool { return b.state == Voting || b.state == Decided }

// claiming returns the players who voted for r.
func (b *Ballot) claiming(r Result) (set image.PlayerSet) {
	for p := range b.voted.All() {
		if b.votes[p] == r {
			set |= 1 << p
		}
	}
	return set
}

// end ends voting.
func (b *Ballot) end() {
	switch {
	case !b.accepted:
		b.state, b.how = Replaying, systems.ByReplay
	case b.sampled || b.config.AuditClean && b.voted&^b.claiming(b.majority)&b.clean != 0:
		b.state, b.how = Replaying, systems.ByAudit
	default:
		b.state, b.how, b.result = Closed, systems.ByMajority, b.majority
	}
}
