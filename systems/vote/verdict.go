package vote

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Result is what a peer claims of a finished match. Equal results are one group; results that differ in anything, the
// tick of the end too, are different groups.
type Result struct {
	End    ecs.Tick       // the tick in which the match had a result
	Digest uint64         // of the result itself
	Hash   image.Checksum // of State(End)
}

// State is where a ballot stands. It only moves onward, until the next Open.
type State uint8

// The states.
const (
	Idle      State = iota // Open was not called
	Voting                 // no group is a majority yet
	Decided                // one is; the votes that still come in can dissent, but not decide
	Replaying              // voting is over; the server must play the match again and say Replayed
	Closed                 // the verdict is there
	states
)

// String returns the state's name.
func (s State) String() string {
	return [states]string{"idle", "voting", "decided", "replaying", "closed"}[s]
}

// Verdict is what a ballot came to.
type Verdict struct {
	Result Result
	How    systems.How // ByMajority, ByReplay or ByAudit
	// Registered is Voted and Silent together. Dissented are the voters that said something else than Result. Doubled
	// said two things, of which the first counts.
	Registered, Voted, Dissented, Doubled, Silent ecs.PlayerSet
	Replays                                       int // times the server had to play the match again: 0 or 1
}
