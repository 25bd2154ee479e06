package client

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// Resume is a match as the Log of an earlier process of this client stored it.
type Resume struct {
	World *ecs.World // in the state of the last tick; the client owns it
	Match uint64
	Chain record.Chain // hash chain of the match at the tick of World
}

// Log stores the final ticks of a match, so that another process of the same client can continue it. A Log handles its
// own errors: the match goes on.
type Log interface {
	// Begin starts the log anew with a state that was loaded; at is its position. state is valid during the call.
	Begin(m Match, at record.Position, state *image.Snapshot)
	// Tick adds the next tick. Its slices are valid during the call.
	Tick(t record.Tick)
}

// Match identifies the match of a Log.
type Match struct {
	Number   uint64 // identifies the match among all matches
	Strategy string
	Seat     int // −1: none
}

const tailTicks = 1024 // kept for a server that lost them

// finalTick receives every final tick from the strategy. After a reconnect it may receive some again.
func (c *Core) finalTick(f systems.FinalTick) {
	newest, _, ok := c.tail.Newest()
	if !ok || f.Tick <= newest {
		return
	}
	if c.desyncs.recent != nil {
		c.desyncs.recent.Add(f.FinalTick, nil)
	}
	if c.tail.Append(&f.FinalTick) && c.config.Log != nil {
		c.config.Log.Tick(f.FinalTick)
	}
}

// startFinal starts the final ticks, and the log, with the state that was loaded into the world. The ticks that lead to that
// state are kept.
func (c *Core) startFinal(chain record.Chain) {
	at := record.PositionOf(c.world, chain)
	c.tail.Start(at)
	if c.config.Log != nil {
		var state image.Snapshot
		c.world.Image().Save(&state)
		c.config.Log.Begin(Match{Number: c.welcome.Match, Strategy: c.welcome.Strategy, Seat: c.welcome.Seat}, at, &state)
		state.Release()
	}
}

// offer answers with the ticks that the server's proofs prove.
func (c *Core) offer(from ecs.Tick) {
	offer, _, _ := c.tail.AppendFrom(nil, from, session.MaxTail)
	c.session.Tail(offer)
}
