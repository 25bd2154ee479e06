package netcode

// EventKind is the kind of an Event.
type EventKind uint8

const (
	NoEvent EventKind = iota // nothing for the caller
	Connected
	Disconnected
	Payload
)

// Event is the result of a datagram or of the passing of time. Receive returns Disconnected if the client has ended the
// connection, Update returns it for a timeout.
type Event struct {
	Kind     EventKind
	Slot     int
	Replaced bool   // Connected: the previous client of the slot was disconnected
	Payload  []byte // of Payload: aliases the datagram passed to Receive
}
