package verify

import (
	"tendon/ecs"
	"tendon/systems"
)

// Command is something that the local player asked for. Commands of a seat are numbered from 1 on, across connections
// and processes: a number stands for the same command for ever, and is carried out at most once.
type Command struct {
	Number uint64
	Kind   CommandKind
	Input  ecs.InputBytes // of an input
	Target ecs.Entity     // of an order
	Order  []byte         // of an order; valid until the client's next call
	Sent   systems.Time   // when it was given
}

// CommandKind says what a command is.
type CommandKind uint8

// The kinds of commands.
const (
	CommandInput CommandKind = iota // the player's input is another from now on
	CommandOrder                    // an order
	commandKinds
)

// String returns the kind in a word.
func (k CommandKind) String() string { return [commandKinds]string{"input", "order"}[k] }

// Reason says what came of a command.
type Reason uint8

// The reasons. Those from ReasonInvalid to ReasonAbsent are the server's.
const (
	Accepted       Reason = iota // it took effect
	ReasonInvalid                // Game.Validate or Game.ValidateOrder said no
	ReasonRate                   // there were too many of its kind
	ReasonAbsent                 // the player was not in the match
	ReasonTimedOut               // no answer came, or will come: whether it took effect is not known
	reasons
)

// lastRejection is the highest reason that a server gives.
const lastRejection = ReasonAbsent

// String says it to a player.
func (r Reason) String() string {
	return [reasons]string{"done", "not allowed", "too fast", "not in the match", "no answer"}[r]
}

// Answer is what came of a command.
type Answer struct {
	Command Command
	Reason  Reason
}
