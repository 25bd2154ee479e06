package authority

import (
	"cmp"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Config describes the server half of one strategy. C is the strategy's half, the context of its systems. P is the part of
// a peer that the strategy adds.
type Config[C, P any] struct {
	// Name is the strategy's name, which begins errors and panics. Required.
	Name string
	// Malformed is the error of a message that no system accepts. Required.
	Malformed error
	// Server is the half's configuration. Required.
	Server systems.ServerConfig
	// Context is the strategy's half. Required.
	Context C
	// Systems are the strategy's systems. Those that strategies share are methods of Server.
	Systems []systems.System[C]
	// History is the number of ticks of states to keep, rounded up to a power of two. 0 means 2.
	History int
	// SaveEvery is the interval at which states are kept, in ticks; a sink that needs states has every state kept. 0 means 1.
	SaveEvery ecs.Tick
	// Behind is how many ticks before Done the state of a peer may be when the peer is opened. 0 means History − 1.
	Behind ecs.Tick
	// OrdersPerTick is the most orders in one tick; more wait for the next. 0 means that the strategy stamps orders itself.
	OrdersPerTick int
	// Buffers keeps a buffer of inputs for each seat: see Server.Seats and ChooseInputs.
	Buffers bool
	// Events keeps the events of the last 512 ticks, and older ones up to 64 KiB: see Server.Events.
	Events bool
	// Replicates keeps replication for every peer: see Server.Changes, Peer.Sender and Peer.Events. It implies Events.
	Replicates bool
	// Hides reports that the strategy sends each peer only the state in its Sight. Without it, Init refuses games with
	// private data.
	Hides bool
	// Votes reports that the strategy decides matches itself. Otherwise the server decides each in the tick in which it ends.
	Votes bool
	Hooks[P]
}

// DefaultHistory is the usual History: a little more than two seconds at 60 ticks per second. It covers round trips. Server.Keep
// keeps older states that peers need.
const DefaultHistory = 128

// Hooks are steps of a half that are no systems, since they run in the middle of others. All are optional.
type Hooks[P any] struct {
	// Vacate is called for a seat in each tick f before which its player was not in the match, or in which they leave.
	Vacate func(f ecs.Tick, p ecs.Player)
	// Opened is called for a peer that is opened, when the shared part of it is set. The strategy's part is zero for a new
	// peer, and unchanged for one that was open. again says that it was open with the same seat. Sending is set.
	Opened func(p *Peer[P], again bool)
	// Filter returns the filter of the events that a peer receives, nil for all. It is called by Open.
	Filter func(p *Peer[P]) func(*image.EmittedEvent) bool
	// Closed is called for a peer that was closed, with the peer as it was.
	Closed func(old *Peer[P])
	// Simulate replaces World.Step for the tick in Step.
	Simulate func()
	// Oldest replaces the computation of OldestServable from Behind.
	Oldest func() ecs.Tick
}

func (c Config[C, P]) withDefaults() Config[C, P] {
	c.History = cmp.Or(c.History, 2)
	c.SaveEvery = cmp.Or(c.SaveEvery, 1)
	c.Events = c.Events || c.Replicates
	return c
}
