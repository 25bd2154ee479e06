package matchsim

import (
	"errors"
	"time"

	"tendon/net/link"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
)

var errReplaced = errors.New("matchsim: the connection was replaced")

// end is one end of a client's connection.
type end struct {
	client     *Client
	connection int

	ofServer bool
	peer     systems.Peer
	accepted bool // by the room
	Sent          // by the server

	link *link.Link // with Config.Links, else nil
}

func (c *Client) newEnd(ofServer bool) *end {
	e := &end{client: c, connection: c.connection, ofServer: ofServer}
	if c.match.config.Links {
		e.link = link.NewSimulated(c.match.Net.Now)
	}
	return e
}

// Sent counts messages, by size in bytes.
type Sent struct {
	Bytes         int
	Largest       int // the largest message
	Reliable      int // messages of the reliable channel
	MostPerSecond int // the most bytes sent within one second

	second time.Duration // that begin belongs to
	begin  int           // Bytes when the second began
}

// Add counts a message that is sent at a moment of true time.
func (s *Sent) Add(now time.Duration, ch systems.Channel, message []byte) {
	if second := now / time.Second; second != s.second {
		s.second, s.begin = second, s.Bytes
	}
	s.Bytes += len(message)
	s.Largest, s.MostPerSecond = max(s.Largest, len(message)), max(s.MostPerSecond, s.Bytes-s.begin)
	if ch == systems.Reliable {
		s.Reliable++
	}
}

// atServer passes a message to the room. The first reliable message or, with Config.Links, the first packet of a new
// connection enters the client.
func (m *Match) atServer(from simnet.NodeID, ch systems.Channel, payload []byte, now time.Duration) {
	c := m.Clients[from-1] // the first node is the server's
	if m.config.Links {
		if payload[0] == byte(c.connection) {
			m.enter(c, now)
			c.server.unpack(payload, func(ch systems.Channel, message []byte) { m.deliver(c.server, ch, message, now) })
		}
		return
	}
	if c.server.connection != c.connection && ch != simnet.Reliable {
		return // sealed with the keys of the connection before
	}
	m.enter(c, now)
	m.deliver(c.server, ch, payload, now)
}

// enter enters the client in the room, if its connection is new.
func (m *Match) enter(c *Client, now time.Duration) {
	if c.server.connection != c.connection {
		e := c.newEnd(true)
		c.server = e
		peer, err := m.Room.Enter(e, c.identity, now)
		e.peer, e.accepted = peer, err == nil
		if e.accepted {
			m.byPeer[peer] = e
		}
	}
}

func (m *Match) deliver(e *end, ch systems.Channel, payload []byte, now time.Duration) {
	if e.accepted && m.byPeer[e.peer] == e {
		begin := m.clock()
		m.Room.Receive(e.peer, ch, payload, now)
		m.Busy += m.clock() - begin
	}
}

// sealed is the number of bytes that net/netcode adds to a packet: the kind, a sequence number of two bytes, and a tag. The
// first one carries the number of the connection, in the place of its keys.
const sealed = 19

// flush sends the packets of the server's links.
func (m *Match) flush(now time.Duration) {
	for _, c := range m.Clients {
		if e := c.server; e.flush() != nil && m.byPeer[e.peer] == e {
			delete(m.byPeer, e.peer)
			m.Room.Vanish(e.peer, now)
		}
	}
}

// flush sends the packets of a link, if the end has one and its connection is the newest. The error is that of a dead link.
func (e *end) flush() error {
	if e.link == nil || e.connection != e.client.connection {
		return nil
	}
	m := e.client.match
	from, to := e.nodes()
	e.link.Flush(m.Net.Now(), func(packet []byte) {
		m.packet = append(m.packet[:0], make([]byte, sealed)...)
		m.packet[0] = byte(e.connection)
		m.packet = append(m.packet, packet...)
		_ = m.Net.Send(from, to, simnet.Datagram, m.packet) // a packet too many is lost
	})
	return e.link.Err()
}

// unpack delivers the messages of a packet of this connection.
func (e *end) unpack(packet []byte, deliver func(ch systems.Channel, message []byte)) {
	if e.link == nil || packet[0] != byte(e.connection) {
		return
	}
	if e.link.Receive(packet[sealed:]) != nil {
		return
	}
	for ch, message, ok := e.link.Next(); ok; ch, message, ok = e.link.Next() {
		deliver(ch, message)
	}
}

// nodes returns the node of this end and that of the other.
func (e *end) nodes() (from, to simnet.NodeID) {
	if e.ofServer {
		return e.client.match.Server, e.client.Node
	}
	return e.client.Node, e.client.match.Server
}

// Send sends a message to the other end.
func (e *end) Send(ch systems.Channel, message []byte) error {
	c, m := e.client, e.client.match
	switch {
	case e.connection != c.connection && e.ofServer:
		return nil // lost: the client has closed its socket
	case e.connection != c.connection:
		return errReplaced
	case e.ofServer:
		e.Add(m.Net.Now(), ch, message)
		c.observe(true, ch, message)
	default:
		c.observe(false, ch, message)
	}
	if e.link != nil {
		return e.link.Send(ch, message)
	}
	from, to := e.nodes()
	return m.Net.Send(from, to, ch, message)
}

// Room returns the free queue of the link, or without Config.Links that of an idle link: the simulated network itself holds more.
func (e *end) Room() int {
	if e.link != nil {
		return e.link.Room()
	}
	return link.QueueBytes
}

// Ready reports whether the link is free for the messages of a tick.
func (e *end) Ready() bool { return e.link == nil || e.link.Ready() }

func (e *end) PacketLimit() int { return wire.PacketLimit }
func (e *end) LimitPackets(int) {} // both ends have the same limit

var _ session.Transport = (*end)(nil)

func (c *Client) observe(down bool, ch systems.Channel, message []byte) {
	if c.Plan.Traffic != nil {
		c.Plan.Traffic(down, ch, message)
	}
}
