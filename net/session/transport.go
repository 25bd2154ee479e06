package session

import "tendon/systems"

// Transport sends messages to one peer and queues reliable ones. link.Link implements it, and so do simulated networks.
type Transport interface {
	// Send copies and sends a message of at most MaxMessage bytes (Reliable) or MaxDatagram bytes (Datagram). On an error
	// the message was not sent: a datagram is lost, and for a reliable message the session ends.
	Send(ch systems.Channel, message []byte) error
	// Room returns how many bytes of reliable messages can be queued now.
	Room() int
}

// Sizes of messages, in bytes.
const (
	// MaxMessage bounds a message on the reliable channel.
	MaxMessage = 64 << 10
	// MaxDatagram bounds a message on the datagram channel.
	MaxDatagram = systems.MaxDatagram + strategyHead
	// MaxStrategyReliable bounds a reliable message of a strategy.
	MaxStrategyReliable = MaxMessage - strategyHead

	strategyHead = 2 // kind and epoch
)
