package server

import (
	"net/netip"
	"sync/atomic"
	"time"

	"tendon/net/link"
	"tendon/systems"
)

// conn is one connection from its handshake to its end. It is over as soon as the port's slot holds another one or
// none. The fields of each block belong to one goroutine, or never change.
type conn struct {
	// Constant.
	slot   int
	client uint64
	pass   Pass
	addr   netip.AddrPort
	epoch  uint32 // of this client's connections: see floors
	since  time.Time
	place  *place

	// Under the port's lock.
	pace pace

	// The worker's.
	link    *link.Link // nil before it has joined, and after it is gone
	peer    systems.Peer
	room    int  // bytes that link may hold
	stirred bool // something was sent or received since flushed
	handed  bool // it was given a reconnect token
	flushed systems.Time

	minted atomic.Bool // it has a reconnect token: one was acknowledged; set by the worker, read by the port
}

// Send and Room make a conn the session's transport.
func (c *conn) Send(ch systems.Channel, message []byte) error {
	c.stirred = true
	if ch == systems.Reliable {
		return c.link.SendReliable(message)
	}
	return c.link.SendDatagram(message)
}

func (c *conn) Room() int { return max(c.room-c.link.Pending(), 0) }

const (
	// linkQueue bounds what waits for one peer's acknowledgement, in bytes. With the session's own queue of 256 KB, a
	// peer that reads nothing costs less than 512 KB until it is given up.
	linkQueue = 160 << 10
	// quietFlush is how often the link of a connection on which nothing happens is flushed. It has nothing to send; it
	// only watches its time.
	quietFlush = systems.Second / 2
	// framing is more than a message's length takes in the link's stream.
	framing = 4
	// linkTimeout gives up a peer that acknowledges nothing, in good time after the session would have.
	linkTimeout = 10 * time.Second
)

// newLink returns a link for a connection. Link epochs are not used: session messages carry their own, and each
// connection has keys of its own.
func newLink(bytesPerSecond int) (*link.Link, error) {
	return link.New(link.Config{BytesPerSecond: bytesPerSecond, QueueBytes: linkQueue, Timeout: linkTimeout})
}

// pace bounds a peer's packets: so many a second and so many at once. It is the generic cell rate algorithm (ITU-T
// I.371): free is when the bucket would be empty again.
type pace struct{ free systems.Time }

// take reports whether one more packet is within the bounds, and counts it if so.
func (p *pace) take(now, interval systems.Time, burst int) bool {
	free := max(p.free, now)
	if free+interval-now > interval*systems.Time(burst) {
		return false
	}
	p.free = free + interval
	return true
}

// place is a room's entry in the directory: where it is and how many are in it. The entry exists before its room does
// and may outlive it by a moment.
type place struct {
	name   string
	worker *worker

	// Under the port's lock.
	conns int
	empty time.Time // since when conns is 0

	host *host // the worker's; nil until the first connection has joined
}
