package vote

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Result is a claim about a finished match. Votes agree only if all fields are equal.
type Result struct {
	End    ecs.Tick       // the tick in which the match had a result
	Digest uint64         // of the result itself
	Hash   image.Checksum // of State(End)
}

// State is the state of a ballot. It only increases, until the next Open.
type State uint8

// The states.
const (
	Idle      State = iota // Open was not called
	Voting                 // there is no majority yet
	Decided                // there is a majority; further votes cannot change it
	Replaying              // voting is over; the server must replay the match and call Replayed
	Closed                 // there is a verdict
	states
)

// String returns the state's name.
func (s State) String() string {
	return [states]string{"idle", "voting", "decided", "replaying", "closed"}[s]
}

// Verdict is the outcome of a ballot.
type Verdict struct {
	Result Result
	How    systems.How // ByMajority, ByReplay or ByAudit
	// Registered is the union of Voted and Silent. Dissented voted for another result than Result. Doubled cast two
	// different votes, of which the first counts.
	Registered, Voted, Dissented, Doubled, Silent image.PlayerSet
	Replays                                       int // replays by the server: 0 or 1
}
