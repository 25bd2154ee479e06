package netcode

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"time"
)

// State is the state of a Client, with the names and numbers of the standard. A negative state is the error that ended a
// connection or an attempt.
type State int8

const (
	StateTokenExpired     State = -6 // the token's lifetime passed before a connection was made
	StateInvalidToken     State = -5
	StateTimedOut         State = -4 // nothing arrived for the timeout of the token
	StateResponseTimedOut State = -3 // the last server did not answer the response
	StateRequestTimedOut  State = -2 // the last server did not answer the request
	StateDenied           State = -1 // the last server was full
	StateDisconnected     State = 0
	StateRequesting       State = 1
	StateResponding       State = 2
	StateConnected        State = 3
)

var stateNames = [...]string{
	"connect token expired", "invalid connect token", "connection timed out", "connection response timed out",
	"connection request timed out", "connection denied", "disconnected", "sending connection request",
	"sending connection response", "connected",
}

// String returns the name of the state in the standard.
func (s State) String() string {
	if s < StateTokenExpired || s > StateConnected {
		return "netcode.State(" + strconv.Itoa(int(s)) + ")"
	}
	return stateNames[s-StateTokenExpired]
}

// Client is the client's end of one connection. It does no input or output: packets are put into an Outbox. The zero value
// is disconnected and ready for Connect. One goroutine may use it at a time.
type Client struct {
	channel
	state    State
	token    ConnectToken
	server   int // index into the token's servers
	epoch    time.Time
	sendNow  bool // the state has changed: send without waiting for the interval
	codec    codec
	response [8 + challengeSize]byte // of the challenge: its sequence and its sealed token
	counters Counters
}

// Connect begins a connection with a token of TokenSize bytes. It drops an earlier connection without a packet to the
// server, so call Disconnect first. A malformed token gives StateInvalidToken and an error that wraps ErrToken. After a
// failed attempt a token may be tried again; the packet sequence then continues, because the keys are the same.
func (c *Client) Connect(token []byte, now time.Time) error {
	var t ConnectToken
	if err := t.take(token); err != nil {
		c.state = StateInvalidToken
		return err
	}
	if t.ClientToServer != c.token.ClientToServer {
		c.sequence = 0
	}
	c.token = t
	c.epoch = now
	c.seal, c.open = newAEAD(&t.ClientToServer), newAEAD(&t.ServerToClient)
	c.codec.init(t.ProtocolID)
	c.try(0, 0)
	return nil
}

// try starts an attempt with one of the servers of the token.
func (c *Client) try(server int, at int64) {
	c.server, c.peer = server, c.token.servers[server]
	c.state = StateRequesting
	c.lastReceive, c.sendNow = at, true
	c.window = window{}
}

// fail tries the next server, or ends in a negative state.
func (c *Client) fail(state State, at int64) {
	if c.server+1 < c.token.count {
		c.try(c.server+1, at)
		return
	}
	c.state = state
}

func (c *Client) since(now time.Time) int64 { return int64(now.Sub(c.epoch)) }

// Receive processes one datagram and returns its payload, or nil. The packet is decrypted in place: its bytes are always
// changed, and the payload aliases them.
func (c *Client) Receive(packet []byte, from netip.AddrPort, now time.Time) (payload []byte) {
	payload, result := c.receive(packet, unmapped(from), c.since(now))
	c.counters[result]++
	return payload
}

func (c *Client) receive(packet []byte, from netip.AddrPort, at int64) ([]byte, Counter) {
	const allowed = 1<<kindDenied | 1<<kindChallenge | 1<<kindKeepAlive | 1<<kindPayload | 1<<kindDisconnect
	if c.state <= StateDisconnected {
		return nil, DropUnwanted
	}
	if plain(from) != c.peer {
		return nil, DropStranger
	}
	h, drop := parseHeader(packet, allowed)
	if drop != 0 {
		return nil, drop
	}
	body, drop := c.codec.open(packet, c.open, h, &c.window)
	if drop != 0 {
		return nil, drop
	}
	return c.accept(h.kind, body, at)
}

func (c *Client) accept(k kind, body []byte, at int64) ([]byte, Counter) {
	switch {
	case k == kindPayload && c.state == StateConnected:
		c.lastReceive = at
		return body, Payloads
	case k == kindKeepAlive && c.state == StateConnected:
		c.lastReceive = at
		return nil, KeepAlives
	case k == kindKeepAlive && c.state == StateResponding:
		c.state = StateConnected
		c.lastReceive, c.sendNow = at, true // confirms the connection to the server
		return nil, Connects
	case k == kindChallenge && c.state == StateRequesting:
		c.state = StateResponding
		copy(c.response[:], body)
		c.lastReceive, c.sendNow = at, true
		return nil, Challenges
	case k == kindDenied && c.state < StateConnected:
		c.fail(StateDenied, at)
		return nil, Denials
	case k == kindDisconnect && c.state == StateConnected:
		c.state = StateDisconnected
		return nil, Disconnects
	}
	return nil, DropUnwanted
}

// Update advances the connection: it ends an attempt or a connection that timed out and sends the packet that is due,
// at most ten a second. Call it at least ten times a second; right after Receive it answers a challenge at once.
func (c *Client) Update(out *Outbox, now time.Time) {
	if c.state <= StateDisconnected {
		return
	}
	at := c.since(now)
	c.expire(at)
	if c.state <= StateDisconnected || !c.sendNow && at-c.lastSend < sendInterval {
		return
	}
	switch c.state {
	case StateRequesting:
		out.buf = c.appendRequest(out.buf)
		out.close(c.peer)
		c.lastSend = at
	case StateResponding:
		c.send(out, &c.codec, kindResponse, c.response[:], at)
	case StateConnected:
		c.send(out, &c.codec, kindKeepAlive, c.codec.keepAlive(0, 0), at)
	}
	c.sendNow = false
}

func (c *Client) expire(at int64) {
	if c.state < StateConnected {
		// Compared in seconds, because a token that never expires would overflow nanoseconds.
		if uint64(max(at, 0))/uint64(time.Second) >= c.token.Expires-c.token.Created {
			c.state = StateTokenExpired
			return
		}
	}
	if c.token.TimeoutSeconds <= 0 || at-c.lastReceive < int64(c.token.TimeoutSeconds)*int64(time.Second) {
		return
	}
	switch c.state {
	case StateRequesting:
		c.fail(StateRequestTimedOut, at)
	case StateResponding:
		c.fail(StateResponseTimedOut, at)
	case StateConnected:
		c.state = StateTimedOut
	}
}

// Send seals a payload of 1 to MaxPayload bytes for the server.
func (c *Client) Send(out *Outbox, payload []byte, now time.Time) error {
	if len(payload) < 1 || len(payload) > MaxPayload {
		return ErrPayloadSize
	}
	if c.state != StateConnected {
		return ErrNotConnected
	}
	c.send(out, &c.codec, kindPayload, payload, c.since(now))
	c.sendNow = false
	return nil
}

// Disconnect ends the attempt or the connection and sends disconnect packets to the server.
func (c *Client) Disconnect(out *Outbox, now time.Time) {
	if c.state <= StateDisconnected {
		return
	}
	at := c.since(now)
	for range disconnectPackets {
		c.send(out, &c.codec, kindDisconnect, nil, at)
	}
	c.state = StateDisconnected
}

func (c *Client) appendRequest(dst []byte) []byte {
	dst = append(append(dst, byte(kindRequest)), version...)
	dst = binary.LittleEndian.AppendUint64(dst, c.token.ProtocolID)
	dst = binary.LittleEndian.AppendUint64(dst, c.token.Expires)
	dst = append(dst, c.token.nonce[:]...)
	return append(dst, c.token.sealed[:]...)
}

// State returns the state.
func (c *Client) State() State { return c.state }

// Server returns the address of the present server, the zero AddrPort before the first Connect.
func (c *Client) Server() netip.AddrPort { return c.peer }

// Counters returns the live counters of the client.
func (c *Client) Counters() *Counters { return &c.counters }
