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

// Peer is the place of a connection in its room, in [0, peers of the room). It identifies the sender of a message; no
// message contains it. On a client, the server is peer 0.
type Peer uint16

// Outbox sends messages.
type Outbox interface {
	// Send sends a message. It copies the message before it returns.
	Send(to Peer, ch Channel, message []byte)
	// Ready reports whether the periodic messages for a peer may be sent now. It is false in some ticks while the line to the
	// peer is congested. Their messages are not made: the next ones have what they would have had.
	Ready(to Peer) bool
	// Room returns how many bytes of reliable messages to a peer can be queued now. It is 0 while a quarter of a second of them
	// waits to be sent. A message that is sent nevertheless waits behind them.
	Room(to Peer) int
}

// Role is what a peer may do in a room.
type Role uint8

// The roles.
const (
	RolePlayer    Role = iota // holds a seat and gives inputs
	RoleSpectator             // watches
	roles
)

// Valid reports whether the role exists.
func (r Role) Valid() bool { return r < roles }

// String returns the role's name, as the flag --role spells it.
func (r Role) String() string {
	if !r.Valid() {
		return "unknown role"
	}
	return [roles]string{"player", "spectator"}[r]
}

// MaxDatagram bounds a message on the datagram channel, in bytes.
const MaxDatagram = 1100

// MaxReliable bounds a message on the reliable channel, in bytes.
const MaxReliable = 64 << 10
