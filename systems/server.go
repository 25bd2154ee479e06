package systems

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// Server is the server half of a strategy. A room drives it: Receive for each message, then Tick for each tick that is
// due, then Send once. A peer is opened when it holds the state of some tick, and closed when its connection has ended.
//
// Send is called when all ticks up to Done are as durable as they are going to be. Open, Receive and Stamp must not send
// anything that depends on a tick for which Send has not been called.
type Server interface {
	// World returns the match as the server computes it, for reading. It is in the state of Done, or of an earlier tick where
	// a strategy computes only on demand.
	World() *ecs.World
	// Done returns the last final tick. Its inputs and orders do not change any more.
	Done() ecs.Tick
	// Open starts to serve a peer that holds State(have), which must be a tick that Serves accepts. The seat is −1 for a
	// spectator. For a peer that is open, serving starts again from have, after a resync.
	Open(p Peer, seat int, have ecs.Tick, now Time, out Outbox)
	// Close stops serving a peer. Its seat stays in the match until an OrderLeave is stamped.
	Close(p Peer)
	// Receive accepts a message from an open peer. An answer that cannot wait for the next Send goes to out. The error of
	// a message that the half cannot use leaves the half unchanged.
	Receive(p Peer, ch Channel, message []byte, now Time, out Outbox) error
	// Stamp enters an order into the match and returns its tick. The tick is far enough ahead that the order reaches
	// every peer in time.
	Stamp(o image.Order, out Outbox) ecs.Tick
	// Tick makes the next tick final. due is when the tick is due on the room's grid, not when Tick is called.
	Tick(due Time)
	// Send sends every open peer the messages that it needs. It is called once after the ticks of a frame.
	Send(now Time, out Outbox)
}

// Historian is a Server that serves peers with an older state than Done, and continues a match from recorded ticks.
type Historian interface {
	// Serves reports whether a peer that holds State(f) may be opened.
	Serves(f ecs.Tick) bool
	// Keep keeps what peers need that hold the states of these ticks, and nothing for earlier calls. The states are on their
	// way to peers that are not open yet, which may take minutes. The memory for it is bounded, so Serves may refuse one of the
	// ticks later. A room calls Keep before each tick.
	Keep(states []ecs.Tick)
	// Adopt makes the next tick final as it is given, for a tick that was final before this server was started. It reads
	// t.Tick, which must be Done + 1, t.Inputs and t.Orders. The tick may be forged: one that no server of this strategy
	// makes, or that its messages cannot carry, is an error and changes nothing.
	Adopt(t FinalTick) error
}

// Monitor is a Server that compares the states of its peers with its own and counts what they send.
type Monitor interface {
	// Desynced calls f for each open peer that was found to need an image since the last call. The room sends such a
	// peer an image and opens it again.
	Desynced(f func(Peer))
	// PeerStats returns the counters of an open peer.
	PeerStats(p Peer) PeerStats
}

// Waiter is a Server that may hold the match up for a slow player.
type Waiter interface {
	// Hold reports whether the next tick, which is due, has to wait. The room's grid waits with it.
	Hold(now Time) bool
}

// Voter is a Server on which the players vote on the result of a match.
type Voter interface {
	// Conclude decides every match that has a result and is not decided yet, with the votes received so far. It is the
	// last call. It may take as long as resimulating the ticks that were only kept.
	Conclude()
}

// Redactor is a Server that serves games with private data: see ecs.Game.See.
type Redactor interface {
	// Known returns State(Done) as the holder of a seat may know it, −1 for a spectator. It returns nil if nothing is private. The
	// state is valid until the next Tick.
	Known(seat int) *image.Snapshot
}

// Queuer is a Server that keeps orders from Stamp until their tick.
type Queuer interface {
	// Unexecuted appends the orders of ticks after Done to dst, in the order of their execution, and returns the extended
	// slice. Their payloads are valid until the next call of the half.
	Unexecuted(dst []image.Order) []image.Order
}

// FullServer is a Server with every capability. Those that the half lacks have no effect. Rooms, and wrappers of halves,
// use it instead of looking for capabilities themselves.
type FullServer struct {
	Server
	Historian
	Monitor
	Waiter
	Voter
	Queuer
	Redactor
}

// Full returns a half with every capability. A half without history can only serve State(Done), and adopts no tick.
func Full(s Server) FullServer {
	return FullServer{s, capability[Historian](s), capability[Monitor](s), capability[Waiter](s), capability[Voter](s), capability[Queuer](s), capability[Redactor](s)}
}

// capability returns a capability of a half, or one without effect.
func capability[T any](s Server) T {
	if c, ok := s.(T); ok {
		return c
	}
	return any(incapable{s}).(T)
}

// incapable implements the capabilities that a half lacks.
type incapable struct{ half Server }

func (i incapable) Serves(f ecs.Tick) bool { return f == i.half.Done() }
func (incapable) Keep([]ecs.Tick)          {}
func (incapable) Adopt(t FinalTick) error {
	return fmt.Errorf("systems: tick %d cannot be adopted: the strategy keeps no history", t.Tick)
}
func (incapable) Desynced(func(Peer))          {}
func (incapable) PeerStats(Peer) (s PeerStats) { return s }
func (incapable) Hold(Time) bool               { return false }
func (incapable) Conclude()                    {}

func (incapable) Known(int) *image.Snapshot { return nil }

func (incapable) Unexecuted(dst []image.Order) []image.Order { return dst }

// KeptBytes is the default limit of the states that a server half keeps for Keep, in bytes: 64 MiB. A page that several states
// share counts once for each. One state is always kept.
const KeptBytes = 64 << 20

// ServerConfig configures a server half.
type ServerConfig struct {
	// World is the match, in the state in which it starts or continues. Required.
	World *ecs.World
	// Peers is the most peers that are open at once. Required, ≥ 1.
	Peers int
	// Backlog bounds the ticks or states that are kept for Keep, in bytes; 0: the default of the strategy, see KeptBytes.
	Backlog int
	// Observer receives the start and end of each phase and system. Optional.
	Observer image.Observer
	// Past yields the recorded ticks up to World's, oldest first and without a gap. A peer that holds the state of one of
	// them can be served. Only Tick, Inputs and Orders of each are set. Optional.
	Past iter.Seq[FinalTick]
	// Taken receives every final tick, with its inputs and orders, before it is sent to any peer. Recordings and journals
	// are written from it. The slices are valid during the call. Optional.
	Taken func(FinalTick)
	// States requests the state of every tick for Taken. Otherwise FinalTick.State is nil in most ticks, which saves the
	// time of saving it.
	States bool
	// Refused receives the refusals of orders, during Send: when the ticks on which they depend are durable. There are no more of
	// a player than Game.OrderBudget allows orders. Optional.
	Refused func(Refusal)
	// Decided receives the decision on every match that has a result. The slices are valid during the call. Optional.
	Decided func(Decision)
}

// Refusal is an order of a player that the server refused, either before it stamped the order or when it executed it.
type Refusal struct {
	Player ecs.Player
	Number uint64 // as Client.Order was given it
	Type   int    // position in Game.Orders, or beyond it for an order of no type
	Reason string // at most image.MaxReasonBytes
}

// FinalTick is a tick that will not change.
type FinalTick struct {
	rollback.FinalTick                 // without its checksum: see Recorded
	World              *ecs.World      // in the state of the tick, or of an earlier one: see Server.World. nil on a client
	State              *image.Snapshot // nil where it was not saved: see ServerConfig.States
}

// Recorded returns the tick with the checksum of State, if there is one, as records store it.
func (f *FinalTick) Recorded() rollback.FinalTick {
	t := f.FinalTick
	if f.State != nil {
		t.Checksum = f.State.Checksum()
	}
	return t
}

// PeerStats holds the counters of one peer.
type PeerStats struct {
	Acked       ecs.Tick       // newest tick that the peer has acknowledged
	Substituted uint64         // ticks for which the peer's input was missing
	Late        uint64         // inputs that arrived after their tick
	Refused     uint64         // inputs outside the window or not valid
	Margin      float64        // mean ticks between an input's arrival and its use, negative = late
	Desyncs     uint64         // checksums that differed
	Differed    ecs.Tick       // tick of the last checksum that differed, 0 where it is unknown
	Claim       image.Checksum // the peer's checksum of that tick, 0 where it is unknown
	Own         image.Checksum // the server's checksum of that tick, 0 where it is unknown
	Checked     uint64         // checksums that were compared
	Expelled    bool           // its state differed too often: remove the peer instead of sending another image
	Overdue     uint64         // updates of entities that had waited for more than a second, since it connected
	LongestWait ecs.Tick       // longest wait of an entity for its update since then, where states are sent
}
