package client

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// Client is a Core with a UDP socket and a clock: a whole client in three calls, SetInput, Frame and View.
//
// All work is done in Frame, except that one goroutine reads each socket. When the connection is quiet for a quarter of a second,
// the client requests another one with a reconnect token, on another socket. The second connection replaces the first one after
// half a second, or at once if another process of the server answers. The client tries at least twice a second, as long as a
// token is valid. One goroutine must call the methods. Receive and Lost of the embedded Core must not be called.
type Client struct {
	*Core
	config DialConfig
	epoch  time.Time // of systems.Time
	now    time.Time // of the running Frame

	conn     *connection // may be nil
	attempts attempts    // to make the next one
	received packets     // a spare buffer for the readers
	tokens   []*token    // not used for a connection yet, in the order in which they are presented
	move     *token      // for the server to which the room moves; nil: it stays
	unstored bool        // StoreTokens has not received them
	everLive bool
	closed   bool
}

// DialConfig describes a client with a UDP socket.
type DialConfig struct {
	// Config describes the client. Its Dial must be nil, and its ReceiveToken is replaced.
	Config
	// Token is the connect token that a backend, or the token verb, made for this client, of netcode.TokenSize bytes. It
	// contains the address of the server. Required.
	Token []byte
	Spare [][]byte // further tokens of the same player. They are presented in this order after Token has failed. Optional
	// StoreTokens receives all unused tokens, in the order in which the next process of this client is to present them.
	// Frame calls it when the server has sent new ones, and when one was used, before it sends any packet. Optional.
	StoreTokens func(tokens [][]byte)
	// Listen opens a socket to a server, whose address in the tokens is server. At most two are open at a time. Optional: the default is a
	// UDP socket of the system on any port, which reaches all servers.
	Listen func(server netip.AddrPort) (Socket, error)
}

// Errors of a connection. Those that end a client can be shown to its player.
var (
	// ErrToken ends a client whose token is malformed, or whose tokens have all expired or had a connection.
	ErrToken = errors.New("client: the connect token is malformed, was used or has expired: get a new one")
	// ErrFull ends a client if the server has no place for it or stops. The error may also wrap a *session.Error with the reason.
	ErrFull = errors.New("client: the server refused the connection")
	// ErrSilent ends a connection on which nothing arrived.
	ErrSilent = errors.New("client: the server does not respond")
	// ErrDropped ends a connection that the server closed without a reason.
	ErrDropped = errors.New("client: the server closed the connection")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("client: closed")
)

const tokensKept = 4 // as many as the server sends at once

// Dial returns a client that begins to connect in its first Frame.
func Dial(c DialConfig) (*Client, error) {
	if c.Config.Dial != nil {
		return nil, fmt.Errorf("%w: Dial is set: leave it to the Client, or use NewCore", ErrConfig)
	}
	if c.Listen == nil {
		c.Listen = func(netip.AddrPort) (Socket, error) { return net.ListenUDP("udp", nil) }
	}
	k := &Client{config: c}
	for _, b := range append([][]byte{c.Token}, c.Spare...) {
		t, err := newToken(b, 0)
		if err != nil {
			return nil, err
		}
		k.tokens = append(k.tokens, t)
	}
	c.Config.Dial, c.ReceiveToken = k.connect, k.keepToken
	c.elapsed = func() systems.Time { return systems.Time(time.Since(k.now)) }
	var err error
	k.Core, err = NewCore(c.Config)
	return k, err
}

// errConnecting is returned by connect while the attempts have made no connection.
var errConnecting = fmt.Errorf("%w yet", ErrSilent)

// Stats returns the counters of the client.
func (k *Client) Stats() Stats {
	s := k.Core.Stats()
	if k.conn != nil {
		s.Link = k.conn.link.Stats()
	}
	return s
}

// connect returns the connection that the attempts have made. It closes a connection whose session has ended.
func (k *Client) connect() (session.Transport, error) {
	if k.conn != nil && !k.conn.used {
		k.conn.used = true
		return k.conn.link, nil
	}
	k.closeConn()
	switch {
	case slices.ContainsFunc(k.tokens, func(t *token) bool { return t.left(k.at(k.now)) > 0 }):
		return nil, errConnecting
	case k.attempts.why != nil:
		return nil, fmt.Errorf("%w (%w)", ErrToken, k.attempts.why)
	}
	return nil, ErrToken
}

func (k *Client) closeConn() {
	if k.conn != nil {
		k.conn.close()
		k.conn = nil
	}
}

// Frame processes the packets that arrived, connects if necessary, computes the ticks that are due and sends messages. Call
// it once per frame of the display, at least ten times a second. The error is that of Err.
func (k *Client) Frame(now time.Time) error {
	if k.closed {
		return ErrClosed
	}
	k.now = now
	if k.epoch.IsZero() {
		k.epoch = now
	}
	if k.conn != nil {
		k.receive(k.conn)
		k.watch()
	}
	if k.attempts.conn != nil {
		k.receive(k.attempts.conn)
	}
	k.attempt()
	err := k.Core.Frame(k.at(now))
	if k.unstored {
		k.storeTokens()
	}
	if k.conn != nil {
		k.send()
	}
	return err
}

// at converts a moment to a time of the core. A moment after the start of the Frame, from the reading goroutine, becomes
// that start.
func (k *Client) at(t time.Time) systems.Time {
	return systems.Time(min(t.Sub(k.epoch), k.now.Sub(k.epoch)))
}

// receive processes the packets of a connection. The messages of an attempt wait in its link.
func (k *Client) receive(c *connection) {
	k.deliver(c, k.now) // the messages of an attempt that has become the connection
	got := c.reader.swap(k.received)
	start := 0
	for i := range got.list {
		a := &got.list[i]
		image.SectionOpen.Enter(k.config.Observer)
		payload := c.netcode.Receive(got.bytes[start:a.end], a.from, a.at)
		good := len(payload) > 0 && c.link.Receive(payload) == nil
		image.SectionOpen.Leave(k.config.Observer)
		start = a.end
		if good {
			k.deliver(c, a.at)
		}
	}
	k.received = got
	c.listen(k.now)
}

// deliver passes the messages in the link of a connection to the core, if that has a session on it.
func (k *Client) deliver(c *connection, at time.Time) {
	if !c.used {
		return
	}
	for ch, message, ok := c.link.Next(); ok; ch, message, ok = c.link.Next() {
		k.Core.Receive(ch, message, k.at(at))
	}
}

// watch ends the connection if it is lost.
func (k *Client) watch() {
	c := k.conn
	c.netcode.Update(&c.out, k.now)
	switch state := c.netcode.State(); {
	case c.link.Err() != nil:
		k.lose(c.link.Err())
	case state == netcode.StateConnected:
	case state == netcode.StateDisconnected:
		k.lose(ErrDropped)
	default:
		k.lose(fmt.Errorf("%w (%v)", ErrSilent, state))
	}
	k.everLive = k.everLive || k.Core.State() == Live
}

// lose closes the connection and reports that to the core, which reconnects.
func (k *Client) lose(why error) {
	k.closeConn()
	k.attempts.why = why
	k.Core.Lost(why, k.at(k.now))
}

// keepToken keeps a reconnect token, and drops the oldest.
func (k *Client) keepToken(b []byte) {
	t, err := newToken(b, k.at(k.now))
	if err != nil {
		return // it is from the server, and of no use
	}
	k.unstored = true
	k.keepMove(t)
	k.tokens = slices.Insert(k.tokens, 0, t)
	k.tokens = k.tokens[:min(len(k.tokens), tokensKept)]
}

// keepMove updates the move for a new token. The token begins a move if its servers do not include the present one, and ends a move
// otherwise. A token for the servers of the present move does not begin it again.
func (k *Client) keepMove(t *token) {
	moves := k.conn != nil && !slices.Contains(t.servers, k.conn.netcode.Server())
	if k.move != nil && moves && slices.Equal(t.servers, k.move.servers) {
		return
	}
	if k.move != nil && k.attempts.token == k.move {
		k.attempts.stop()
	}
	if k.move = nil; moves {
		k.move = t
	}
}

func (k *Client) storeTokens() {
	k.unstored = false
	if k.config.StoreTokens != nil {
		tokens := make([][]byte, len(k.tokens))
		for i, t := range k.tokens {
			tokens[i] = t.bytes
		}
		k.config.StoreTokens(tokens)
	}
}

func (k *Client) send() {
	image.SectionSend.Enter(k.config.Observer)
	defer image.SectionSend.Leave(k.config.Observer)
	k.conn.send(k.epoch)
}

// Close leaves the match, sends that to the server, and releases the socket and its goroutine.
func (k *Client) Close() {
	if k.closed {
		return
	}
	k.closed = true
	k.Core.Leave()
	k.attempts.stop()
	if k.conn != nil {
		k.send()
		k.conn.netcode.Disconnect(&k.conn.out, k.now)
		k.closeConn()
	}
}

// View updates the view to a moment and returns it. Before there is a state the view is empty.
func (k *Client) View(now time.Time) *ecs.View { return k.Core.View(now.Sub(k.epoch)) }

// Left returns how long the client continues without a message from the server: see Core.Left. It stops trying when its last
// token has expired.
func (k *Client) Left(now time.Time) time.Duration {
	left := k.Core.Left(now.Sub(k.epoch))
	if k.Core.State() == Live || len(k.tokens) == 0 {
		return left
	}
	last := systems.Time(0)
	for _, t := range k.tokens {
		last = max(last, t.left(now.Sub(k.epoch)))
	}
	return max(min(left, last), 0)
}
