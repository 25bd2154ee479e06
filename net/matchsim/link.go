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

// end is one end of a client's connection.
type end struct {
	client     *Client
	connection int

	ofServer bool
	peer     systems.Peer
	accepted bool // by the room
	Sent          // by the server
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
	c := m.Clients[from-1] // the first node is the server's
	if c.server.connection != c.connection {
		if ch != simnet.Reliable {
			return // sealed with the keys of the connection before
		}
		e := &end{client: c, connection: c.connection, ofServer: true}
		c.server = e
		peer, err := m.Room.Enter(e, c.identity, now)
		e.peer, e.accepted = peer, err == nil
		if e.accepted {
			m.byPeer[peer] = e
		}
	}
	if e := c.server; e.accepted && m.byPeer[e.peer] == e {
		begin := m.clock()
		m.Room.Receive(e.peer, ch, payload, now)
		m.Busy += m.clock() - begin
	}
}

// Send sends a message to the other end.
func (e *end) Send(ch systems.Channel, message []byte) error {
	c, m := e.client, e.client.match
	switch {
	case e.connection == c.connection && e.ofServer:
		e.Add(m.Net.Now(), ch, message)
		c.observe(SentDown, ch, message)
		return m.Net.Send(m.Server, c.Node, ch, message)
	case e.connection == c.connection:
		c.observe(SentUp, ch, message)
		return m.Net.Send(c.Node, m.Server, ch, message)
	case e.ofServer:
		return nil // lost: the client has closed its socket
	}
	return errReplaced
}

// Room returns the free queue of an idle link. The simulated network itself holds more.
func (e *end) Room() int { return link.QueueBytes }

var _ session.Transport = (*end)(nil)

// Transfer is the place at which a message was observed.
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
