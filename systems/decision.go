package systems

import "tendon/ecs"

// Decision is the result of a match, with how it was found and who said what. A match has a result in the tick in which
// Game.Result returns one.
type Decision struct {
	Tick   ecs.Tick
	Result []byte // what Game.Result returned on the side that was believed; nil if only its digest is known
	How    How
	// Registered are the players who were in the match when it ended. Voted said what they computed; of them,
	// Dissented said something else than was decided and Doubled said two things. Silent are the others.
	Registered, Voted, Dissented, Doubled, Silent ecs.PlayerSet
	// Votes is the checksum of the final state that each player claims; index = player, 0: none. It is empty where
	// nobody votes.
	Votes []ecs.Checksum
	// Replays counts how often the server had to play the match again to decide.
	Replays int
}

// How says what decided a match.
type How uint8

// The ways to a decision.
const (
	ByServer   How = iota // the server computed the match as it was played
	ByMajority            // more than half of the registered players agree
	ByReplay              // they did not, and the server played the match again
	ByAudit               // they did, the server played the match again all the same, and that is what counts
	hows
)

// String returns the word that records use.
func (h How) String() string { return [hows]string{"server", "majority", "replay", "audit"}[h] }

// DecideByServer tells c.Decided of the result of a match that ended in the tick of world, if one did: for strategies
// whose server computes every tick, so that nobody votes.
func (c *ServerConfig) DecideByServer(world *ecs.World) {
	result := world.Game().Result
	if c.Decided == nil || result == nil {
		return
	}
	if r := result(world); r != nil {
		c.Decided(Decision{Tick: world.Tick(), Result: r, How: ByServer, Registered: world.Players()})
	}
}
