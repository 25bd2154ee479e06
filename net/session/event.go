package session

import (
	"tendon/ecs"
	"tendon/systems"
)

// Event is what a message means for the owner of a session. Message and what hangs on the pointers are valid until the
// next call of Receive.
type Event struct {
	Kind    EventKind
	Channel systems.Channel // of EventStrategy
	Message []byte          // EventStrategy: the strategy's; EventImage: the image; EventToken: the token; EventTail: ticks
	Tick    ecs.Tick        // of EventReady and EventImage; EventTailAsk: the first tick asked for
	Chain   uint64          // EventImage: of the match's ticks up to Tick, 0: not known
	Text    string          // of EventChat and EventNotice
	Seconds int             // of EventNotice: until the server stops, 0: not said
	Hello   *Hello          // of EventHello
	Welcome *Welcome        // of EventWelcome
	Said    *Said           // of EventSaid
}

// EventKind says what an Event is.
type EventKind uint8

// The kinds of events. EventNone needs nothing done; after any of them Err says whether the session has ended.
const (
	EventNone     EventKind = iota
	EventHello              // server: a client that may play asks to; answer with Welcome or Refuse
	EventReady              // server: the client holds State(Tick); answer with Opened or SendImage
	EventLive               // server: the client has caught up
	EventChat               // server: the client says Text
	EventWelcome            // client: the server takes this client
	EventImage              // client: Message is the image of State(Tick); answer with Ready
	EventToken              // client: Message is a fresh reconnect token
	EventSaid               // client: somebody said something
	EventNotice             // client: Text is for the player to know
	EventStrategy           // both: Message is the strategy's
	EventTailAsk            // client: the server lost the ticks from Tick on; answer with Tail
	EventTail               // server: Message holds ticks that the client says were final
)

// Stats counts what a session did since it was made.
type Stats struct {
	MessagesSent, BytesSent         uint64 // taken by the transport
	MessagesReceived, BytesReceived uint64
	Malformed                       uint64 // messages that could not be used
	Stale                           uint64 // messages of another epoch
	Dropped                         uint64 // messages above a rate, and chat above its own
	Queued                          int    // bytes of reliable messages that wait for the transport
	RTT                             systems.Time
	Silence                         systems.Time // since the peer was heard last; a gap between two Frames counts as a quarter of the timeout at most
}
