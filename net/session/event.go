package session

import (
	"tendon/ecs"
	"tendon/systems"
)

// Event is the meaning of a message for the owner of a session. Its contents are valid until the next call of Receive. The
// image of an EventImage belongs to the receiver of the event.
type Event struct {
	Kind    EventKind
	Channel systems.Channel   // of EventStrategy
	Message []byte            // a message of the strategy, an image, a token, endpoints, the ticks of a tail, or a proof
	Tick    ecs.Tick          // of EventReady, EventImage and EventProof; EventTailAsk: the first tick that the server lacks
	Chain   uint64            // EventImage: hash chain of the match up to Tick, 0: not known
	Name    string            // EventImage: the strategy with which the match continues from it
	Params  []byte            // EventImage: of that strategy
	Text    string            // of EventChat and EventNotice
	Seconds int               // EventNotice: time until the server stops, 0: not known
	Hello   *Hello            // of EventHello
	Welcome *Welcome          // of EventWelcome
	Line    *ChatLine         // of EventChatLine
	On      bool              // EventPause: true requests a pause, false its end
	Paused  *Paused           // of EventPaused
	Verdict *systems.Decision // of EventVerdict: without Doubled, Silent, Votes and Replays
	Refused *Refused          // of EventRefused
	Seat    *Seat             // of EventSeat
	Pings   *Pings            // of EventPings
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events. EventNone needs no action. After every event Err reports whether the session has ended.
const (
	EventNone      EventKind = iota
	EventHello               // server: a client asks to join; answer with Welcome or Refuse
	EventReady               // server: the client holds State(Tick); call Opened or SendImage
	EventLive                // server: the client has caught up
	EventChat                // server: the client sent a chat message
	EventWelcome             // client: the server accepted this client
	EventImage               // client: Message is the image of State(Tick); answer with Ready
	EventToken               // client: Message is a new reconnect token
	EventEndpoints           // client: Message is a list of servers' addresses for browsers
	EventChatLine            // client: a chat message of some player
	EventNotice              // client: Text is to be shown to the player
	EventStrategy            // both: Message is for the strategy
	EventTailAsk             // client: the server lacks the ticks from Tick on; answer with Tail
	EventTail                // server: Message holds ticks that are final on the client
	EventProof               // client: Message is the proof of Tick, which a tail needs: see record.Tail
	EventPause               // server: the client requests a pause, or its end
	EventPaused              // client: the match is paused or continues
	EventVerdict             // client: a match in the room was decided
	EventRefused             // client: the server refused an order of the player
	EventSeat                // client: the player in a seat has changed
	EventPings               // client: the server measured the round trips again
)

// Stats counts what a session did since it was made.
type Stats struct {
	MessagesSent, BytesSent         uint64 // accepted by the transport
	MessagesReceived, BytesReceived uint64
	Malformed                       uint64 // messages that could not be decoded or used
	Stale                           uint64 // messages of another epoch
	Dropped                         uint64 // messages above a rate limit
	RTT                             systems.Time
	Silence                         systems.Time // since the last message of the peer; a gap counts as a quarter of the timeout at most
}

// Transport sends messages to one peer and queues reliable ones. link.Link implements it, and so do simulated networks.
type Transport interface {
	// Send copies and sends a message of at most MaxMessage bytes (Reliable) or MaxDatagram bytes (Datagram). After an
	// error for a reliable message the session ends.
	Send(ch systems.Channel, message []byte) error
	// Room returns how many bytes of reliable messages can be queued now. It is 0 while many wait to be sent.
	Room() int
	// Ready reports whether the periodic messages of the strategy may be sent now: see systems.Outbox.
	Ready() bool
	// PacketLimit returns the size of the largest packet that is sent, in bytes, from wire.MinPacketLimit to wire.PacketLimit.
	PacketLimit() int
	// LimitPackets lowers PacketLimit to the size in the peer's Hello.
	LimitPackets(bytes int)
}

// Sizes of messages, in bytes.
const (
	MaxMessage          = 64 << 10                           // a message on the reliable channel
	MaxDatagram         = systems.MaxDatagram + strategyHead // a message on the datagram channel
	MaxStrategyReliable = MaxMessage - strategyHead          // a reliable message of a strategy
	strategyHead        = 2                                  // kind and epoch
)
