package client

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/journal"
	"tendon/rollback/recording"
	"tendon/systems"
)

// Resume is a match as a former process of this client left it: see Config.Log.
type Resume struct {
	World *ecs.World // in the state of the last tick; the client owns it
	Match uint64
	Chain journal.Chain // at World's tick
}

// Log keeps a match as it becomes final here, so that another process of the same client can go on with it. What it
// cannot store is its own business: the match goes on.
type Log interface {
	// Begin begins anew with a state that was taken over whole; at is where it stands. State is valid during the call.
	Begin(m Match, at journal.Position, state *image.Snapshot)
	// Tick adds the tick that follows. Its slices are valid during the call.
	Tick(t journal.Tick)
}

// Match says which match a Log is of.
type Match struct {
	Number   uint64 // names the match among all matches
	Strategy string
	Seat     int // −1: none
}

// tailTicks is how many final ticks are kept for a server that lost them.
const tailTicks = 1024

// taken is told by the half of every tick that is final. After a reconnect the half may tell of some again.
func (c *Core) taken(f systems.FinalTick) {
	newest, _, ok := c.tail.Newest()
	if !ok || f.Tick <= newest {
		return
	}
	if c.recent != nil {
		c.recent.Take(recording.Entry{Tick: f.Tick, Inputs: f.Inputs, Late: f.Late, Orders: f.Orders}, nil)
	}
	t := journal.Tick{Tick: f.Tick, Inputs: f.Inputs, Orders: f.Orders}
	if c.tail.Append(&t) && c.config.Log != nil {
		c.config.Log.Tick(t)
	}
}

// keep begins the tail, and the log, with the state that was loaded into the world.
func (c *Core) keep(chain journal.Chain) {
	at := journal.PositionOf(c.world, chain)
	c.tail.Start(at)
	if c.config.Log != nil {
		var state image.Snapshot
		c.world.Image().Save(&state)
		c.config.Log.Begin(Match{Number: c.welcome.Match, Strategy: c.welcome.Strategy, Seat: c.welcome.Seat}, at, &state)
		state.Release()
	}
}

// offer answers a server that lost ticks.
func (c *Core) offer(from ecs.Tick) {
	c.ticks, _, _ = c.tail.AppendFrom(c.ticks[:0], from, session.MaxTail)
	c.session.Tail(c.ticks)
}
