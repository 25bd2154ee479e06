package verify

import (
	"tendon/ecs"
	"tendon/systems"
)

// Command is a request of the local player. The commands of a seat are numbered from 1 on, across connections and
// processes. A number always stands for the same command, which is executed at most once.
type Command struct {
	Number uint64
	Kind   CommandKind
	Input  ecs.InputBytes // of an input
	Target ecs.Entity     // of an order
	Order  []byte         // of an order
	Sent   systems.Time   // when it was given
}

// CommandKind is the kind of a command.
type CommandKind uint8

// The kinds of commands.
const (
	CommandInput CommandKind = iota // a new input of the player, which holds until the next
	CommandOrder                    // an order
)

// Reason is the result of a command.
type Reason uint8

// The reasons. Those from ReasonInvalid to ReasonAbsent are the server's.
const (
	Accepted       Reason = iota // it took effect
	ReasonInvalid                // Game.Validate or Game.ValidateOrder refused it
	ReasonRate                   // there were too many of its kind
	ReasonAbsent                 // the player was not in the match
	ReasonTimedOut               // no answer came, or will come: its result is unknown
)

// lastRejection is the highest reason that a server gives.
const lastRejection = ReasonAbsent

// Answer is a command with its result.
type Answer struct {
	Command Command
	Reason  Reason
}
