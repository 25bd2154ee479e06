package systems

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Decision is the result of a match, with how it was decided and who voted. A match has a result in the tick in which
// Game.Result returns one.
type Decision struct {
	Tick   ecs.Tick
	Result []byte // as Game.Result returned it on the side that was decided for
	How    How
	// Registered are the players who were in the match when it ended. Voted sent a result. Of Voted, Dissented sent
	// another result than was decided, and Doubled sent two. Silent are the registered players without a vote.
	Registered, Voted, Dissented, Doubled, Silent image.PlayerSet
	// Votes is the checksum of the final state that each player claims, by player; 0 for none. It is empty under
	// strategies without votes.
	Votes []image.Checksum
	// Replays is how often the server replayed the match to decide.
	Replays int
}

// How is what decided a match.
type How uint8

// The ways to a decision.
const (
	ByServer   How = iota // the server computed the match as it was played
	ByMajority            // more than half of the registered players agree
	ByReplay              // they did not agree, and the server replayed the match
	ByAudit               // they agreed, the server replayed the match nevertheless, and the replay counts
	Disputed              // more than half agree, others sent another result, and the server did not replay the match
	hows
)

// Valid reports whether h is one of the constants.
func (h How) Valid() bool { return h < hows }

// String returns the word that records use.
func (h How) String() string {
	return [hows]string{"server", "majority", "replay", "audit", "disputed"}[h]
}

// DecideByServer calls c.Decided with the result of a match that ended in the tick of world, if one did. It is for
// strategies whose server computes every tick, so that no votes are needed.
func (c *ServerConfig) DecideByServer(world *ecs.World) {
	result := world.Game().Result
	if c.Decided == nil || result == nil {
		return
	}
	if r := result(world); r != nil {
		c.Decided(Decision{Tick: world.Tick(), Result: r, How: ByServer, Registered: world.Players()})
	}
}
