package systems

import (
	"time"

	"tendon/ecs"
	"tendon/net/wire"
)

// Time is a moment: the time since an epoch that is fixed for its holder, such as a room or a client. Only times of one
// holder can be compared.
type Time = time.Duration

// Second is one second as a difference of times.
const Second = time.Second

// TickTime returns when tick f is due: epoch + f/rate, without accumulating rounding errors.
func TickTime(epoch Time, f ecs.Tick, rate int) Time {
	whole, rest := f/ecs.Tick(rate), f%ecs.Tick(rate)
	return epoch + Time(whole)*Second + Time(rest)*Second/Time(rate)
}

// Channel is one of the two channels of a connection.
type Channel = wire.Channel

// The channels: see package wire.
const (
	Datagram = wire.Datagram
	Reliable = wire.Reliable
)

// Peer is a connection's place in its room, in [0, peers of the room). It is what identifies a sender; nothing in a
// message does. On a client, the server is peer 0.
type Peer uint16

// Outbox takes messages. The message is copied before Send returns.
type Outbox interface {
	Send(to Peer, ch Channel, message []byte)
}

// Role is what a peer may do in a room.
type Role uint8

// The roles.
const (
	RolePlayer    Role = iota // holds a seat and gives inputs
	RoleSpectator             // watches
	roles
)

// Valid reports whether r is a role this build knows.
func (r Role) Valid() bool { return r < roles }

// String returns the role's name as --role takes it.
func (r Role) String() string {
	switch r {
	case RolePlayer:
		return "player"
	case RoleSpectator:
		return "spectator"
	}
	return "unknown role"
}

// MaxDatagram bounds a message on the datagram channel, in bytes.
const MaxDatagram = 1100

// MaxReliable bounds a message on the reliable channel, in bytes.
const MaxReliable = 64 << 10

// Server is a strategy's half on the server. A room drives it: Receive for each message, then for each tick that is
// due Tick, then Send once. Peers are opened when they hold the state of some tick and closed when they are gone.
//
// Send is called when all ticks up to Done are as durable as they are to be. Nothing that goes out before, in Open,
// Receive or Stamp, may tell that a tick is final which no Send was called for.
type Server interface {
	// World is the match as the server computes it. It is in the state of Done, or of an earlier tick where a strategy
	// computes only when it must.
	World() *ecs.World
	// Done is the last tick that is final: what entered it will not change any more.
	Done() ecs.Tick
	// Open starts to serve a peer that holds State(have); seat is −1 for a spectator. have must be in
	// [OldestServable, Done]. A peer that is open already starts anew from have, after a resync.
	Open(p Peer, seat int, have ecs.Tick, now Time, out Outbox)
	// Close stops to serve a peer. Its seat stays in the match until an OrderLeave takes it out.
	Close(p Peer)
	// OldestServable is the oldest tick whose state a peer may hold when it is opened.
	OldestServable() ecs.Tick
	// Receive takes a message from an open peer. What must not wait for the next Send goes into out.
	Receive(p Peer, ch Channel, message []byte, now Time, out Outbox) error
	// Stamp enters an order into the match, far enough ahead to reach everyone in time, and returns its tick.
	Stamp(o ecs.Order, out Outbox) ecs.Tick
	// Hold reports whether the next tick, which is due, has to wait for somebody. The room's grid waits with it.
	Hold(now Time) bool
	// Tick makes the next tick final. due is when the tick is due on the room's grid, whenever the call really comes.
	Tick(due Time)
	// Adopt makes the next tick final as it is given, for ticks that were final before this server was started: it
	// reads t.Tick, which must be Done + 1, t.Inputs and t.Orders. A tick that no server of this strategy makes, and that
	// its messages could not carry, is an error and changes nothing: what a client hands in may be made up.
	Adopt(t FinalTick) error
	// Send sends every open peer what it needs. It is called once after the ticks of a frame.
	Send(now Time, out Outbox)
	// Desynced calls f for each open peer whose state was found to differ since the last call; the room sends such a
	// peer an image and opens it anew.
	Desynced(f func(Peer))
	// PeerStats returns what the half knows of an open peer.
	PeerStats(p Peer) PeerStats
	// Conclude decides every match that has a result and is not decided yet, with the votes that are there: nobody votes
	// any more. It is the last call, and may take as long as it takes to play what the half has only kept so far.
	Conclude()
}

// StallReason is why a client cannot compute a tick that is due.
type StallReason uint8

// The reasons.
const (
	NotStalled   StallReason = iota
	StallWindow              // as many ticks are predicted as may be
	StallSync                // the server's word that the next ticks are complete is not here yet
	StallMissing             // the ticks are announced, and something of them is not here yet
	stallReasons
)

// String says it to a player.
func (r StallReason) String() string {
	return [stallReasons]string{"", "too far ahead of the server", "waiting for the server", "waiting for what others did"}[r]
}

// PeerStats is what a server half knows of one peer.
type PeerStats struct {
	Acked       ecs.Tick     // newest tick the peer has confirmed to hold
	Substituted uint64       // ticks for which the peer's input was not there in time
	Late        uint64       // inputs that arrived after their tick
	Refused     uint64       // inputs outside the window or not valid
	Margin      float64      // mean ticks between an input's arrival and its use, negative = late
	Desyncs     uint64       // checksums that differed
	Differed    ecs.Tick     // the tick of the last one that differed, 0 where that is not known
	Claim       ecs.Checksum // what the peer claimed of it, 0 where that is not known
	Checked     uint64       // checksums that were compared
	Expelled    bool         // its state differed too often: it is to be removed, not put right once more
	Overdue     uint64       // updates of entities that had waited for more than a second, since it connected
	LongestWait ecs.Tick     // the longest that an entity waited for its update since then, where states are sent
}

// Client is a strategy's half on a client. The client drives it: Load once an image is there, Receive for each
// message, then Frame once per frame of the display, then Send.
type Client interface {
	// World is the world the client simulates, in the state of Present.
	World() *ecs.World
	// Load takes over the state that was loaded into World: it is confirmed. serverTick is where the server was when
	// it was told, rtt the measured round trip.
	Load(now Time, serverTick ecs.Tick, rtt Time)
	// Receive takes a message from the server.
	Receive(ch Channel, message []byte, now Time) error
	// SetInput is what the local player does from now on.
	SetInput(in ecs.InputBytes)
	// Order asks the server to stamp an order of the local player.
	Order(target ecs.Entity, payload []byte, out Outbox) error
	// Frame computes the ticks that are due.
	Frame(now Time)
	// Send sends what is due.
	Send(now Time, out Outbox)
	// View returns what to show now: the two last states, how far between them the display stands, in [0, 1), and the
	// newest confirmed state, which may be empty. They are valid until the next Frame.
	View(now Time) (previous, current, confirmed *ecs.Snapshot, alpha float64)
	// Live reports whether the client has caught up with the server and gives inputs.
	Live() bool
	// Effects drains the news of events.
	Effects(f func(Effect))
	// Stats returns what the half counted.
	Stats() ClientStats
	// CompareWith loads an image of the server's of some tick for comparison with the own state of that tick, before
	// a resync replaces it; ok is false if the own state is not at hand or does not differ.
	CompareWith(image []byte) (d ecs.Difference, ok bool)
}

// Keeper is a Client that keeps final states of its own, so that a desync can be looked into.
type Keeper interface {
	// Kept returns the own state of a tick that is final here; ok is false if it is not at hand. It is valid until the next
	// Frame.
	Kept(f ecs.Tick) (s *ecs.Snapshot, ok bool)
}

// ClientStats is what a client half counted since it was made, in terms that every strategy shares.
type ClientStats struct {
	Present     ecs.Tick
	Confirmed   ecs.Tick
	ServerTick  ecs.Tick // newest tick heard of
	Rollbacks   uint64
	Resimulated uint64
	Deepest     uint64 // most ticks one rollback went back
	Corrections uint64 // inputs that turned out otherwise than predicted
	Stalls      uint64 // ticks due that could not be computed
	Episodes    uint64 // times that it began to stall
	Stalled     StallReason
	Behind      ecs.Tick // ticks heard of that are still to be computed, while it catches up
	Snaps       uint64   // states taken over whole
	Substituted uint64   // own inputs the server had to make up
	Rejected    uint64   // own commands the server did not accept
	Hashes      uint64   // checksums sent
	Margin      float64
	Dilation    float64 // pace of the local clock, 1 = nominal
	RTT         Time
	InputDelay  int // ticks
	RingBytes   int
}
