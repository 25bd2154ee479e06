package vote

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Result is a claim about a finished match. Votes agree only if all fields are equal.
type Result struct {
	End   ecs.Tick       // the tick in which the match had a result
	Value string         // the bytes of the result
	Hash  image.Checksum // of State(End)
}

// State is the state of a ballot. It only increases, until the next Open.
type State uint8

// The states.
const (
	Idle      State = iota // Open was not called
	Voting                 // votes count
	Replaying              // voting is over; the server must replay the match and call Replayed
	Closed                 // there is a verdict
)

// Verdict is the outcome of a ballot.
type Verdict struct {
	Result    Result
	How       systems.How // ByMajority, ByReplay or ByAudit
	Voted     image.PlayerSet
	Dissented image.PlayerSet // of Voted, those who claimed another result than Result
	Doubled   image.PlayerSet // of Voted, those who claimed two results; the first one counts
	Replays   int             // by the server: 0 or 1
}

// Ballot is one vote on the result of a match. A result that more than half of the registered players claim is
// accepted. Where voting ends without one, the server replays the match.
//
// Voting ends when all registered players have voted or when the deadline has passed, whichever is first. Until then
// every first vote counts. So the verdict depends on the votes received in time, and never on their order.
type Ballot struct {
	config     Config
	rand       *ecs.Rand
	state      State
	registered image.PlayerSet
	clean      image.PlayerSet
	until      systems.Time
	sampled    bool                     // an accepted result is audited
	votes      [image.MaxPlayers]Result // of the players in Verdict.Voted
	accepted   bool                     // more than half claim Verdict.Result
	verdict    Verdict                  // final if Closed
}

// Config configures a Ballot.
type Config struct {
	// Deadline is the longest time of voting, in nanoseconds from Open. 0: 10 seconds.
	Deadline systems.Time
	// AuditPerMille is how many of 1000 accepted results the server replays, in [0, 1000]; 10 to 50 suffice.
	AuditPerMille int
	// Seed is the source of the sample, drawn once per Open. It must be secret, since it determines the results that are not
	// audited. The match's own seed is not secret: every client has it.
	Seed uint64
}

// DefaultDeadline is the default of Config.Deadline.
const DefaultDeadline = 10 * systems.Second

// NewBallot returns an Idle ballot.
func NewBallot(c Config) *Ballot {
	if c.Deadline == 0 {
		c.Deadline = DefaultDeadline
	}
	return &Ballot{config: c, rand: image.NewRand(c.Seed)}
}

// Open begins a vote and drops the one before. registered are the players who were in the match when it ended; one who has
// left since then stays registered and does not vote. An accepted result from which a player in clean dissents is audited.
// Without registered players, voting ends at once.
func (b *Ballot) Open(registered, clean image.PlayerSet, now systems.Time) {
	*b = Ballot{config: b.config, rand: b.rand, state: Voting, registered: registered, clean: clean,
		until: now + b.config.Deadline, sampled: b.rand.Chance(b.config.AuditPerMille, 1000)}
	if registered == 0 {
		b.end()
	}
}

// Cast casts the vote of player p. counted is false if p is not registered, voting has ended, or p has claimed another
// result before, which flags p. A vote exactly at the deadline counts, unless Step was called with that time before.
func (b *Ballot) Cast(p ecs.Player, r Result, now systems.Time) (counted bool) {
	if first, voted := b.Vote(p); voted {
		if first != r {
			b.verdict.Doubled |= 1 << p
		}
		return first == r
	}
	if b.state == Voting && now > b.until {
		b.end()
	}
	if b.state != Voting || !b.registered.Has(p) {
		return false
	}
	b.verdict.Voted |= 1 << p
	b.votes[p] = r
	if 2*b.claiming(r).Len() > b.registered.Len() {
		b.accepted, b.verdict.Result = true, r
	}
	if b.verdict.Voted == b.registered {
		b.end()
	}
	return true
}

// Step ends voting if the deadline has come, and returns the state.
func (b *Ballot) Step(now systems.Time) State {
	if b.state == Voting && now >= b.until {
		b.end()
	}
	return b.state
}

// Vote returns the result that player p claimed; ok is false if p has not voted.
func (b *Ballot) Vote(p ecs.Player) (r Result, ok bool) {
	if !b.verdict.Voted.Has(p) {
		return Result{}, false
	}
	return b.votes[p], true
}

// Replayed sets the result of the server's replay. It is final and overrides a majority. ok is false, and nothing changes,
// if no replay was requested.
func (b *Ballot) Replayed(r Result) (ok bool) {
	if b.state != Replaying {
		return false
	}
	b.verdict.Result, b.verdict.Replays, b.state = r, 1, Closed
	return true
}

// Verdict returns the verdict; ok is false unless the ballot is Closed. Afterwards only Doubled can change, by players who
// cast a second vote.
func (b *Ballot) Verdict() (v Verdict, ok bool) {
	if b.state != Closed {
		return Verdict{}, false
	}
	v = b.verdict
	v.Dissented = v.Voted &^ b.claiming(v.Result)
	return v, true
}

func (b *Ballot) claiming(r Result) image.PlayerSet { return claiming(b.verdict.Voted, &b.votes, r) }

// claiming returns the players of voted whose vote is v.
func claiming[V comparable](voted image.PlayerSet, votes *[image.MaxPlayers]V, v V) (set image.PlayerSet) {
	for p := range voted.All() {
		if votes[p] == v {
			set |= 1 << p
		}
	}
	return set
}

func (b *Ballot) end() {
	switch {
	case !b.accepted:
		b.state, b.verdict.How = Replaying, systems.ByReplay
	case b.sampled || b.verdict.Voted&^b.claiming(b.verdict.Result)&b.clean != 0:
		b.state, b.verdict.How = Replaying, systems.ByAudit
	default:
		b.state, b.verdict.How = Closed, systems.ByMajority
	}
}
