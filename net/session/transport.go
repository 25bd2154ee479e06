package session

import "tendon/systems"

// Transport sends messages to one peer. A link, or a simulated network, implements it.
type Transport interface {
	// Send copies and sends a message of at most MaxMessage bytes (Reliable) or MaxDatagram bytes (Datagram). On an error
	// the message was not sent. The session then drops a datagram, and sends a reliable message again at the next Frame.
	Send(ch systems.Channel, message []byte) error
	// Room returns how many bytes of reliable messages may be sent now.
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

// queue holds reliable messages for which the transport has no room, at most limit bytes.
type queue struct {
	bytes []byte // the messages
	sizes []int  // their sizes
	limit int
}

// push appends a message; ok is false if it exceeds the limit.
func (q *queue) push(message []byte) (ok bool) {
	if q.size()+len(message) > q.limit {
		return false
	}
	q.bytes = append(q.bytes, message...)
	q.sizes = append(q.sizes, len(message))
	return true
}

func (q *queue) size() int { return len(q.bytes) }

// drain sends messages while t has room for them.
func (q *queue) drain(t Transport) (messages, bytes int) {
	for messages < len(q.sizes) {
		n := q.sizes[messages]
		if t.Room() < n || t.Send(systems.Reliable, q.bytes[bytes:bytes+n]) != nil {
			break
		}
		bytes += n
		messages++
	}
	if messages > 0 {
		q.bytes = q.bytes[:copy(q.bytes, q.bytes[bytes:])]
		q.sizes = q.sizes[:copy(q.sizes, q.sizes[messages:])]
	}
	return messages, bytes
}
