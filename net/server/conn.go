package server

import (
	"net/netip"
	"sync/atomic"
	"time"

	"tendon/net/limit"
	"tendon/net/link"
	"tendon/systems"
)

// conn is one connection from its handshake to its end. It has ended when its slot in the table of connections holds
// another one or none. The fields of each block belong to one goroutine, or never change.
type conn struct {
	// Constant.
	slot   int
	client uint64
	pass   Pass
	addr   netip.AddrPort
	epoch  uint32 // number of this connection of the client: see revoked
	since  time.Time
	entry  *roomEntry

	// Under the lock of the table.
	packets limit.Limiter[systems.Time]

	// Of the worker.
	link      *link.Link // nil before the room is joined, and after the end
	peer      systems.Peer
	active    bool // a message was sent or received since flushed
	sentToken bool // a reconnect token was sent
	flushed   systems.Time

	hasToken atomic.Bool // a reconnect token was acknowledged; set by the worker, read by the table
}

// Send and Room make a conn the transport of its session.
func (c *conn) Send(ch systems.Channel, message []byte) error {
	c.active = true
	if ch == systems.Reliable {
		return c.link.SendReliable(message)
	}
	return c.link.SendDatagram(message)
}

func (c *conn) Room() int { return max(link.QueueBytes-framing-c.link.Pending(), 0) }

const (
	// idleFlush is how often the link of an idle connection is flushed, so that it notices its timeout.
	idleFlush = systems.Second / 2
	// framing is more than the length of a message takes in the stream of a link.
	framing = 4
)

// roomEntry is the entry of a room in the table: its worker and the number of its connections. It exists before the room
// is made, and may exist for a moment after the room is closed.
type roomEntry struct {
	name   string
	worker *worker

	// Under the lock of the table.
	conns int
	empty time.Time // since when conns is 0

	room *hostedRoom // of the worker; nil until the first connection has joined
}
