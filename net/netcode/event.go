package netcode

// EventKind says what an Event is.
type EventKind uint8

const (
	NoEvent EventKind = iota // nothing for the caller
	Connected
	Disconnected
	Payload
)

// Reason says why a connection ended without the server asking for it.
type Reason uint8

const (
	ReasonTimeout Reason = iota + 1 // silence for the token's timeout
	ReasonClient                    // the client sent a disconnect packet
)

// Event is what a datagram or the passing of time means for the owner of a Server.
type Event struct {
	Kind     EventKind
	Slot     int
	Reason   Reason // of Disconnected
	Replaced bool   // Connected: the slot's former client was put out for this one, by the verdict of Admit
	Payload  []byte // of Payload: aliases the datagram given to Receive, and is valid as long as that is
}
