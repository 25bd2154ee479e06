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
	How       systems.How // ByMajority, Disputed, ByReplay or ByAudit
	Voted     image.PlayerSet
	Dissented image.PlayerSet // of Voted, those who claimed another result than Result
	Doubled   image.PlayerSet // of Voted, those who claimed two results; the first one counts
	Replays   int             // by the server: 0 or 1
}

// Ballot is one vote on the result of a match. A result that more than half of the registered players claim is accepted.
// Votes of players who were blamed for a tick of the match do not count for it. Where voting ends without such a result, the
// server replays the match.
//
// Voting ends when all registered players have voted or when the deadline has passed, whichever is first. Until then
// every first vote counts. So the verdict depends on the votes received in time, and never on their order.
type Ballot struct {
	config     Config
	rand       *ecs.Rand
	state      State
	registered image.PlayerSet
	present    image.PlayerSet // of registered, those who hold their seats since Open
	struck     image.PlayerSet // of registered, those blamed for a tick of the match
	forcing    image.PlayerSet // those whose dissent is the only cause of the replay
	until      systems.Time
	over       bool                     // voting has ended
	sampled    bool                     // an accepted result is audited
	votes      [image.MaxPlayers]Result // of the players in Verdict.Voted
	verdict    Verdict                  // final if Closed
	forced     [image.MaxPlayers]uint8  // replays that wrong dissents caused, since forget
}

// Config configures a Ballot.
type Config struct {
	// Deadline is the longest time of voting, in nanoseconds from Open. 0: 10 seconds.
	Deadline systems.Time
	// AuditPerMille is the number of accepted results per 1000 that the server replays, in [0, 1000]; 10 to 50 suffice.
	AuditPerMille int
	// DissentReplays is the maximum number of replays that one player can cause by dissenting from a majority, in [0, 100],
	// while the player holds the seat. A dissent that the replay confirms does not count. A player who was blamed for a tick
	// of the match causes none.
	DissentReplays int
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
// left since then stays registered and does not vote. Without registered players, voting ends at once.
func (b *Ballot) Open(registered image.PlayerSet, now systems.Time) {
	*b = Ballot{config: b.config, rand: b.rand, state: Voting, registered: registered, present: registered, over: registered == 0,
		until: now + b.config.Deadline, sampled: b.rand.Chance(b.config.AuditPerMille, 1000), forced: b.forced}
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
	b.over = b.over || now > b.until
	if b.state != Voting || b.over || !b.registered.Has(p) {
		return false
	}
	b.verdict.Voted |= 1 << p
	b.votes[p] = r
	b.over = b.verdict.Voted == b.registered
	return true
}

// Step ends voting if all have voted or the deadline has come, and returns the state. struck are the players who were blamed
// for a tick of the match: their votes count for no majority.
func (b *Ballot) Step(now systems.Time, struck image.PlayerSet) State {
	b.struck |= struck & b.present
	if b.over = b.over || now >= b.until; b.over && b.state == Voting {
		b.end()
	}
	return b.state
}

// forget clears the history of seat p when its player leaves it. The vote stays counted.
func (b *Ballot) forget(p ecs.Player) {
	b.present, b.forced[p] = b.present&^(1<<p), 0
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
	for p := range (b.forcing & b.present &^ b.claiming(r)).All() {
		b.forced[p]++
	}
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

// end decides how the result is found.
func (b *Ballot) end() {
	accepted, counted := false, b.verdict.Voted&^b.struck
	for p := range counted.All() {
		if r := b.votes[p]; 2*(b.claiming(r)&counted).Len() > b.registered.Len() {
			b.verdict.Result, accepted = r, true
			break
		}
	}
	dissented := b.verdict.Voted &^ b.claiming(b.verdict.Result)
	if accepted && !b.sampled {
		for p := range (dissented & counted & b.present).All() {
			if int(b.forced[p]) < b.config.DissentReplays {
				b.forcing |= 1 << p
			}
		}
	}
	switch {
	case !accepted:
		b.state, b.verdict.How = Replaying, systems.ByReplay
	case b.sampled || b.forcing != 0:
		b.state, b.verdict.How = Replaying, systems.ByAudit
	case dissented != 0:
		b.state, b.verdict.How = Closed, systems.Disputed
	default:
		b.state, b.verdict.How = Closed, systems.ByMajority
	}
}
