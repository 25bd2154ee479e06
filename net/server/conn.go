package server

import (
	"sync/atomic"
	"time"

	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/net/link"
	"tendon/net/room"
	"tendon/systems"
)

// conn is one connection from its handshake to its end. It has ended when its slot in the table holds another one or none.
// The fields of each block belong to one goroutine, or never change.
type conn struct {
	// Constant.
	slot   int
	client uint64
	pass   Pass
	epoch  uint32 // number of this connection of the client: see revoked
	since  time.Time
	room   *hostedRoom

	// Under the lock of the table.
	packets limit.Limiter[systems.Time]

	// Of the worker.
	link      *link.Link   // nil before the room is joined, and after the end
	emit      func([]byte) // adds a packet of the link to the output of the worker
	peer      systems.Peer
	sentToken bool // a reconnect token was sent

	hasToken atomic.Bool // a reconnect token was acknowledged; set by the worker, read by the table
}

// hostedRoom is a room with its place in the table. It exists before the room is made, and for a moment after its end.
type hostedRoom struct {
	name   string
	worker *worker

	// Under the lock of the table.
	count int       // connections
	empty time.Time // since when count is 0

	// Of the worker.
	room     *room.Room // nil until the first connection has joined, and after the end
	conns    []*conn    // by peer
	phase    int
	gone     func(systems.Peer, error) // ends a connection
	observer image.Observer            // of the room; may be nil
}
