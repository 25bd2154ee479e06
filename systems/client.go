package systems

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Client is the client half of a strategy. The client core drives it: Load when an image is in the world, Receive for each
// message, then Frame once per frame of the display, then Send. The half simulates in ClientConfig.World.
type Client interface {
	// Load takes over the state in the world, which is confirmed. serverTick is the tick of the server when it was sent,
	// rtt the measured round trip.
	Load(now Time, serverTick ecs.Tick, rtt Time)
	// Receive accepts a message from the server. The error of a message that the half cannot use leaves the half
	// unchanged.
	Receive(ch Channel, message []byte, now Time) error
	// SetInput sets the local player's input from now on.
	SetInput(in ecs.InputBytes)
	// Order asks the server to stamp an order of the local player. A refusal names its number, which is not 0.
	Order(number uint64, target ecs.Entity, payload []byte, out Outbox) error
	// Frame computes the ticks that are due.
	Frame(now Time)
	// Send sends the messages that are due.
	Send(now Time, out Outbox)
	// View returns the last two states, and the position of the display between them in [0, 1). confirmed is the newest
	// confirmed state, which may be empty. The states are valid until the next Frame.
	View(now Time) (previous, current, confirmed *image.Snapshot, alpha float64)
	// Live reports whether the client has caught up with the server and gives inputs.
	Live() bool
	// Effects drains the effects of events.
	Effects(f func(Effect))
	// Stats returns the counters of the half.
	Stats() ClientStats
}

// Keeper is a Client that keeps final states of its own, so that a desync can be examined.
type Keeper interface {
	// Kept returns the own state of a tick that is final here. ok is false if it is not kept. The state is valid until the
	// next Frame.
	Kept(f ecs.Tick) (s *image.Snapshot, ok bool)
}

// Replicated is a Client that receives states instead of computing them. View returns its newest state as confirmed. A replica
// lacks the inputs and the random source, so its checksum differs from the server's. All else is equal bit by bit.
type Replicated interface {
	// Replica returns the newest replica, nil before the first. whole reports that it contains all of the server's state
	// of that tick. Otherwise entities may be missing or outdated.
	Replica() (s *image.Snapshot, whole bool)
	// LastUpdate returns the last tick that updated an entity, 0 for none. The entity is as in the server's state of that tick.
	LastUpdate(e ecs.Entity) ecs.Tick
	// Places reports whether all this holds for places too: for the scalars that are marked so. Where it does not, places
	// are sent as motion records, and the replica has an older place of entities that moved within RestTime or jumped.
	Places() bool
}

// Presenter is a Client that updates the view itself, with each entity on a timeline of its own or at an offset from its
// position. The two states of Client.View cannot express that.
type Presenter interface {
	// Present brings the view up to date with now. It is called once per frame of the display, after Frame.
	Present(v *ecs.View, now Time)
}

// ClientConfig configures a client half.
type ClientConfig struct {
	// World is the client's copy of the match. Required.
	World *ecs.World
	// Seat is the local player, −1 for a spectator.
	Seat int
	// InputDelay is the number of ticks between an input and its effect, in [0, 30].
	InputDelay int
	// MaxPrediction is the most ticks to predict. 0 means the default of the strategy.
	MaxPrediction int
	// Params are the Params of the server's Strategy. nil means those of this program.
	Params []byte
	// Taken receives every tick, in turn and once, when its inputs and orders are final here. World and State are nil. The
	// slices are valid during the call. Optional.
	Taken func(FinalTick)
	// Refused receives the refusals of orders that the half itself finds, where it executes the orders that the server stamps: in
	// lockstep. Other halves leave them to the server. Optional.
	Refused func(Refusal)
	// Elapsed returns how long the running Frame has taken, so that catching up leaves time to draw. Optional: without it,
	// catching up computes a fixed number of ticks in each Frame.
	Elapsed func() Time
	// Observer receives the start and end of each phase and system. Optional.
	Observer image.Observer
}

// ClientStats are the state and the counters of a client half, which all strategies share.
type ClientStats struct {
	ClientCounters
	Present    ecs.Tick
	Confirmed  ecs.Tick
	ServerTick ecs.Tick // newest tick of the server that a message named
	Stalled    StallReason
	Behind     ecs.Tick // received ticks that are not computed yet, while it catches up
	Margin     float64
	Dilation   float64 // pace of the local clock, 1 = nominal
	RTT        Time
	InputDelay int  // ticks
	Playout    Time // from the arrival of a state, on average, to its display where states are shown late; 0: none is
	RingBytes  int
}

// ClientCounters are the figures of ClientStats that a half counts from its start on.
type ClientCounters struct {
	Rollbacks   uint64
	Resimulated uint64
	Deepest     uint64 // most ticks of one rollback
	Corrections uint64 // mispredicted inputs
	Stalls      uint64 // ticks due that could not be computed
	Episodes    uint64 // times that a stall began
	Snaps       uint64 // states taken over whole
	Substituted uint64 // own inputs that the server substituted
	Rejected    uint64 // own commands that the server rejected
	Hashes      uint64 // checksums sent
	// EventsPredicted counts the events that were reported before their tick was final, and EventsCancelled those of them that
	// a correction removed.
	EventsPredicted, EventsCancelled uint64
}

// StallReason is why a client cannot compute a tick that is due.
type StallReason uint8

// The reasons.
const (
	NotStalled   StallReason = iota
	StallWindow              // the prediction window is full
	StallSync                // the server has not announced that the next ticks are complete
	StallMissing             // the next ticks are announced, and part of them is missing
	stallReasons
)

// String returns the reason in words for a player.
func (r StallReason) String() string {
	return [stallReasons]string{"", "too far ahead of the server", "waiting for the server", "waiting for inputs of others"}[r]
}

// RestTime is how long an entity must have rested before every replica has its place.
const RestTime = 2 * Second

// Unreplicated appends for each of image.Schema.Columns whether a half's whole replica may differ in it from the server's state.
func Unreplicated(dst []bool, g *ecs.Game, half Replicated) []bool {
	for i := range len(g.Schema().Columns()) - len(g.Components) {
		dst = append(dst, i < UnreplicatedColumns)
	}
	for i := range g.Components {
		lacks := false
		for _, s := range g.Schema().Components[i].Scalars() {
			lacks = lacks || s.Place && !half.Places()
		}
		dst = append(dst, lacks)
	}
	return dst
}

// UnreplicatedColumns is the number of columns, the first of image.Schema.Columns, that a replica never has: the tick with the
// random source, and the inputs.
const UnreplicatedColumns = 2
