package netcode

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// State is the state of a Client, with the names and numbers of the standard. A negative state is the error that ended a
// connection or an attempt.
type State int8

const (
	StateTokenExpired     State = -6 // the token's lifetime passed before a connection was made
	StateInvalidToken     State = -5 // the token cannot be used
	StateTimedOut         State = -4 // nothing arrived for the timeout of the token
	StateResponseTimedOut State = -3 // the last server did not answer the response
	StateRequestTimedOut  State = -2 // the last server did not answer the request
	StateDenied           State = -1 // the last server denied the connection: see Reason
	StateDisconnected     State = 0  // the connection was ended, or none was begun
	StateRequesting       State = 1  // requests are sent, no challenge has arrived
	StateResponding       State = 2  // responses to the challenge are sent
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
	// First is the server that Connect tries first, if the token has it. The others follow in the order of the token. Optional.
	First netip.AddrPort

	channel
	state    State
	token    ConnectToken
	server   int // index into the token's servers
	left     int // servers of the token that are not tried yet
	epoch    time.Time
	sendNow  bool    // the state has changed: send without waiting for the interval
	proof    [8]byte // the body of the last keep-alive
	echo     bool    // return it
	codec    codec
	response [8 + challengeSize]byte // of the challenge: its sequence and its sealed token
	process  uint64                  // sequence of the packet of the challenge: see Restarted
	numbers  map[Key]uint64          // sequence of the next packet, by ClientToServer, of the tokens before the present one
	reason   uint8                   // of the last denial
	counters Counters
}

// Connect begins a connection with a token of TokenSize bytes. It drops an earlier connection without a packet to the
// server, so call Disconnect first. A malformed token gives StateInvalidToken and an error that wraps ErrToken. A token may
// be tried again until it had a connection. The packet sequence of each key starts at random, because another process may
// have used the token, and continues when the same Client uses the key again.
func (c *Client) Connect(token []byte, now time.Time) error {
	var t ConnectToken
	if err := t.take(token); err != nil {
		c.state = StateInvalidToken
		return err
	}
	c.number(t.ClientToServer)
	c.token = t
	c.epoch = now
	c.seal, c.open = newAEAD(&t.ClientToServer), newAEAD(&t.ServerToClient)
	c.codec.init(t.ProtocolID)
	c.left = t.count
	c.try(max(slices.Index(t.Servers(), plain(c.First)), 0), 0)
	return nil
}

// number sets the sequence for a key.
func (c *Client) number(key Key) {
	if c.numbers == nil {
		c.numbers = map[Key]uint64{}
	} else {
		c.numbers[c.token.ClientToServer] = c.sequence
	}
	start, known := c.numbers[key]
	if !known {
		var random [8]byte
		rand.Read(random[:]) // never fails
		start = binary.LittleEndian.Uint64(random[:]) >> 24
	}
	c.sequence = start
}

// try starts an attempt with one of the servers of the token.
func (c *Client) try(server int, at int64) {
	c.server, c.peer = server, c.token.servers[server]
	c.state = StateRequesting
	c.lastReceive, c.sendNow = at, true
	c.window = window{}
	c.left--
}

// fail tries the next server, or ends in a negative state.
func (c *Client) fail(state State, at int64) {
	if c.left > 0 {
		c.try((c.server+1)%c.token.count, at)
		return
	}
	c.state = state
}

// Reason returns the reason of the last denial, or 0 if the server gave none. The application defines the values.
func (c *Client) Reason() uint8 { return c.reason }

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
	payload, result := c.accept(h.kind, body, at)
	if result == Challenges {
		c.process = h.sequence
	}
	return payload, result
}

func (c *Client) accept(k kind, body []byte, at int64) ([]byte, Counter) {
	switch {
	case k == kindPayload && c.state == StateConnected:
		c.lastReceive = at
		return body, Payloads
	case k == kindKeepAlive && c.state == StateConnected:
		c.lastReceive = at
		if [8]byte(body) != c.proof { // the server has received packets from another address
			c.proof, c.echo = [8]byte(body), true
		}
		return nil, KeepAlives
	case k == kindKeepAlive && c.state == StateResponding:
		c.state, c.proof, c.echo = StateConnected, [8]byte(body), false
		c.lastReceive, c.sendNow = at, true // confirms the connection to the server
		return nil, Connects
	case k == kindChallenge && c.state == StateRequesting:
		c.state = StateResponding
		copy(c.response[:], body)
		c.lastReceive, c.sendNow = at, true
		return nil, Challenges
	case k == kindChallenge && c.state == StateResponding && !bytes.Equal(c.response[:], body):
		copy(c.response[:], body) // the server has processed a later request, which is the one to respond to
		c.sendNow = true
		return nil, Challenges
	case k == kindDenied && c.state < StateConnected:
		c.reason = 0
		if len(body) > 0 {
			c.reason = body[0]
		}
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
	if c.state <= StateDisconnected || !c.sendNow && !c.echo && at-c.lastSend < sendInterval {
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
		body := c.codec.keepAlive(0, 0)
		if c.echo {
			copy(body, c.proof[:])
		}
		c.send(out, &c.codec, kindKeepAlive, body, at)
		c.echo = false
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

// Repeat sends the connection request again while the client responds to a challenge. Call it if the response is not answered: the
// challenge is invalid if the server has later processed a request from this address with another token.
func (c *Client) Repeat(out *Outbox) {
	if c.state == StateResponding {
		out.buf = c.appendRequest(out.buf)
		out.close(c.peer)
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

// Restarted reports whether another process now answers at the address of an earlier connection. The process of that connection has
// then ended. Restarted returns false before the client has received a challenge. Each process numbers its challenges from its own
// random number.
func (c *Client) Restarted(earlier *Client) bool {
	return c.state >= StateResponding && c.peer == earlier.peer && c.process-earlier.process > math.MaxUint32
}

// State returns the state.
func (c *Client) State() State { return c.state }

// Server returns the address of the present server, the zero AddrPort before the first Connect.
func (c *Client) Server() netip.AddrPort { return c.peer }

// Counters returns the live counters of the client.
func (c *Client) Counters() *Counters { return &c.counters }
