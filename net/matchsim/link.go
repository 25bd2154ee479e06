package matchsim

import (
	"errors"
	"time"

	"tendon/net/link"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
)

var errReplaced = errors.New("matchsim: the connection was replaced")

// serverEnd is the server's end of a client's connection.
type serverEnd struct {
	client     *Client
	connection int
	peer       systems.Peer
	accepted   bool // by the room
	Sent
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

// atServer passes a message to the room. The first reliable message of a new connection enters the client.
func (m *Match) atServer(from simnet.NodeID, ch systems.Channel, payload []byte, now time.Duration) {
	c := m.byNode[from]
	if c.server.connection != c.connection {
		if ch != simnet.Reliable {
			return // sealed with the keys of the connection before
		}
		end := &serverEnd{client: c, connection: c.connection}
		c.server = end
		peer, err := m.Room.Enter(end, c.identity, now)
		end.peer, end.accepted = peer, err == nil
		if end.accepted {
			m.byPeer[peer] = end
		}
	}
	if end := c.server; end.accepted && m.byPeer[end.peer] == end {
		begin := m.clock()
		m.Room.Receive(end.peer, ch, payload, now)
		m.Busy += m.clock() - begin
	}
}

// Send sends a message to the client.
func (e *serverEnd) Send(ch systems.Channel, message []byte) error {
	c := e.client
	if e.connection != c.connection {
		return nil // lost: the client has closed its socket
	}
	m := c.match
	e.Add(m.Net.Now(), ch, message)
	c.observe(SentDown, ch, message)
	return m.Net.Send(m.server, c.node, ch, message)
}

// Room returns the free queue of an idle link. The simulated network itself holds more.
func (e *serverEnd) Room() int { return link.QueueBytes }

// clientEnd is the client's end of a connection.
type clientEnd struct {
	client     *Client
	connection int
}

// Send sends a message to the server.
func (e *clientEnd) Send(ch systems.Channel, message []byte) error {
	c := e.client
	if e.connection != c.connection {
		return errReplaced
	}
	c.observe(SentUp, ch, message)
	return c.match.Net.Send(c.node, c.match.server, ch, message)
}

// Room returns the free queue of an idle link.
func (e *clientEnd) Room() int { return link.QueueBytes }

var (
	_ session.Transport = (*serverEnd)(nil)
	_ session.Transport = (*clientEnd)(nil)
)

// Transfer says where a message was observed.
type Transfer uint8

// The places at which Plan.Traffic observes messages.
const (
	SentUp       Transfer = iota // the client sent it
	SentDown                     // the server sent it to the client
	ReceivedDown                 // it arrived at the client
)

func (c *Client) observe(t Transfer, ch systems.Channel, message []byte) {
	if c.Plan.Traffic != nil {
		c.Plan.Traffic(t, ch, len(message))
	}
}
