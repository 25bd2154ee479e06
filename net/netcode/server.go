package netcode

import (
	"cmp"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"time"

	"tendon/net/limit"
)

// Timing and redundancy, fixed by the standard's advice.
const (
	sendInterval      = int64(100 * time.Millisecond) // keep-alives, requests and responses: 10 Hz
	disconnectPackets = 10
)

// frozen is the time between two calls of Update, from which on the time counts as one in which this process did not run.
const frozen = int64(time.Second)

const (
	// MaxSlots bounds ServerConfig.Slots.
	MaxSlots = 1 << 16
	// A server keeps minPending pending challenges, or 4 for each slot if that is more. One takes about 250 bytes.
	minPending = 1024
	// A server keeps minHistory presented tokens, or 8 for each slot if that is more. One takes about 100 bytes.
	minHistory = 4096
)

// Errors of Send.
var (
	ErrPayloadSize  = errors.New("netcode: payload must have 1 to 1200 bytes")
	ErrNotConnected = errors.New("netcode: not connected")
)

// Event is the result of a datagram or of the passing of time. Receive returns Disconnected for a client that leaves, Update
// for a timeout.
type Event struct {
	Kind     EventKind
	Slot     int
	Replaced bool   // Connected: the previous client of the slot was disconnected
	Payload  []byte // of Payload: aliases the datagram passed to Receive
}

// EventKind is the kind of an Event.
type EventKind uint8

const (
	NoEvent      EventKind = iota // nothing for the caller
	Connected                     // a client has a slot
	Disconnected                  // the client left, or nothing arrived from it for the timeout of its token
	Payload                       // a datagram of a client: Event.Payload
)

// ServerConfig configures a Server.
type ServerConfig struct {
	ProtocolID uint64           // equal to that of the tokens
	Keys       []Key            // one or two private keys: the present one, and the previous one while its tokens may be valid
	Addresses  []netip.AddrPort // of the server in tokens: at least one. A token without any of them is refused
	Slots      int              // maximum number of connected clients, in [1, MaxSlots]. A slot takes about 600 bytes

	// Admit decides about a client with a valid token. It is called for the request, where it has no effect on
	// connected clients, and again for the response. It must not call the Server. Nil: Arrival.Standard.
	Admit func(*Arrival) Action

	// Clock converts the time of a call to the time by which tokens expire. Nil: the same.
	Clock func(now time.Time) time.Time

	Random io.Reader // source of the challenge key. Nil: crypto/rand. Tests use a fixed source
}

func (c *ServerConfig) validate() error {
	if len(c.Keys) < 1 || len(c.Keys) > 2 {
		return fmt.Errorf("netcode: ServerConfig.Keys has %d keys, want 1 or 2", len(c.Keys))
	}
	if c.Slots < 1 || c.Slots > MaxSlots {
		return fmt.Errorf("netcode: ServerConfig.Slots is %d, want 1 to %d", c.Slots, MaxSlots)
	}
	return checkAddresses("ServerConfig.Addresses", c.Addresses, math.MaxInt)
}

// Server is the server's end of all connections of one socket. It does no input or output: packets are put into an Outbox.
// At most one slot has a given address, and at most one a given client id. A connection follows its client to a new address.
// Memory is fixed at creation. One goroutine may use it at a time.
type Server struct {
	protocolID uint64
	addresses  []netip.AddrPort
	admit      func(*Arrival) Action
	clock      func(time.Time) time.Time
	epoch      time.Time // nanoseconds are counted from here, on the monotonic clock if the caller's times have it
	tokens     []cipher.AEAD
	codec      codec
	challenger cipher.AEAD
	updated    int64  // time of the last Update
	challenges uint64 // challenge tokens made; the sequence of the next one
	global     uint64 // sequence of the next challenge or denial packet
	slots      []slot
	used       int // the slots from here on are free
	byAddr     map[netip.AddrPort]int32
	byClient   map[uint64]int32
	byBlock    map[uint64]int32 // by blocks of sequence numbers
	strangers  limit.Limiter[time.Duration]
	pending    pendingTable
	history    history
	counters   Counters

	scratch struct {
		nonce   [tokenNonceSize]byte
		bound   [versionSize + 16]byte
		plain   [privateTokenSize]byte
		private PrivateToken
		arrival Arrival
		reason  [1]byte // of a denial
	}
}

type slot struct {
	channel
	connected bool
	confirmed bool // a packet of the connection was received
	timeout   int64
	clientID  uint64
	path      path
	userData  [UserDataSize]byte
}

// channel is the state of one end of a connection.
type channel struct {
	peer        netip.AddrPort
	seal, open  cipher.AEAD
	sequence    uint64 // of the next packet that is sent
	window      window
	lastSend    int64
	lastReceive int64
}

// send puts a sealed packet into the Outbox.
func (c *channel) send(out *Outbox, codec *codec, k kind, body []byte, at int64) {
	out.buf = codec.seal(out.buf, c.seal, k, c.sequence, body)
	out.close(c.peer)
	c.sequence++
	c.lastSend = at
}

// NewServer returns a server without clients. No later call may pass an earlier time.
func NewServer(config ServerConfig, now time.Time) (*Server, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Admit == nil {
		config.Admit = (*Arrival).Standard
	}
	if config.Clock == nil {
		config.Clock = func(now time.Time) time.Time { return now }
	}
	s := &Server{
		protocolID: config.ProtocolID, admit: config.Admit, clock: config.Clock, epoch: now,
		slots:     make([]slot, config.Slots),
		byAddr:    make(map[netip.AddrPort]int32, config.Slots),
		byClient:  make(map[uint64]int32, config.Slots),
		byBlock:   make(map[uint64]int32, config.Slots),
		strangers: limit.New(strangerInterval, strangerBurst),
	}
	for _, a := range config.Addresses {
		s.addresses = append(s.addresses, plain(a))
	}
	for i := range config.Keys {
		s.tokens = append(s.tokens, newTokenAEAD(&config.Keys[i]))
	}
	s.codec.init(config.ProtocolID)
	s.pending.counters = &s.counters
	s.pending.init(max(minPending, 4*config.Slots))
	s.history.init(max(minHistory, 8*config.Slots))

	var seed [KeySize + 8]byte
	if _, err := io.ReadFull(cmp.Or(config.Random, rand.Reader), seed[:]); err != nil {
		return nil, fmt.Errorf("netcode: ServerConfig.Random: %w", err)
	}
	s.challenger = newAEAD((*Key)(seed[:KeySize]))
	// Challenges and denials are sealed with the same key as the packets of the connection. Their sequence is in the upper
	// half, so nonces are not repeated, and starts at random in each server.
	s.global = 1<<63 | binary.LittleEndian.Uint64(seed[KeySize:])>>2
	return s, nil
}

func (s *Server) since(now time.Time) int64 { return int64(now.Sub(s.epoch)) }

func (s *Server) unix(now time.Time) uint64 { return unixSeconds(s.clock(now)) }

// Receive processes one datagram and returns its meaning for the caller. The packet is decrypted in place: its bytes are
// always changed, and the payload of the event aliases them. Replies are added to out.
func (s *Server) Receive(out *Outbox, packet []byte, from netip.AddrPort, now time.Time) Event {
	from = unmapped(from)
	var event Event
	var result Counter
	switch {
	case len(packet) == 0:
		result = DropShort
	case packet[0] == byte(kindRequest):
		result = s.receiveRequest(out, packet, from, now)
	case kind(packet[0]&15) == kindResponse:
		event, result = s.receiveResponse(out, packet, from, now)
	default:
		event, result = s.receiveSealed(out, packet, from, now)
	}
	s.counters[result]++
	return event
}

func (s *Server) receiveSealed(out *Outbox, packet []byte, from netip.AddrPort, now time.Time) (Event, Counter) {
	h, drop := parseHeader(packet, 1<<kindKeepAlive|1<<kindPayload|1<<kindDisconnect)
	if drop != 0 {
		return Event{}, drop
	}
	at := s.since(now)
	i, ok := s.find(from, h.sequence, at)
	if !ok {
		return Event{}, DropStranger
	}
	c := &s.slots[i]
	body, drop := s.codec.open(packet, c.open, h, &c.window)
	if drop != 0 {
		return Event{}, drop
	}
	if h.kind == kindDisconnect {
		s.free(int(i))
		return Event{Kind: Disconnected, Slot: int(i)}, Disconnects
	}
	c.lastReceive = at
	c.confirmed = true
	s.follow(out, i, from, h.sequence, len(packet), at)
	if h.kind == kindKeepAlive {
		c.prove(body)
		return Event{}, KeepAlives
	}
	return Event{Kind: Payload, Slot: int(i), Payload: body}, Payloads
}

// Update ends connections that have timed out and sends keep-alives to the others. Call it at least ten times a second. A
// second without a call, such as in a suspended process, does not count for the timeouts. It appends an event for each
// connection that ended.
func (s *Server) Update(out *Outbox, now time.Time, events []Event) []Event {
	at := s.since(now)
	s.history.release(s.unix(now))
	gap := at - s.updated
	if s.updated = at; gap < frozen {
		gap = 0
	}
	for i := range s.used {
		c := &s.slots[i]
		if !c.connected {
			continue
		}
		c.lastReceive = min(c.lastReceive+gap, at)
		if c.timeout > 0 && at-c.lastReceive >= c.timeout {
			s.free(i)
			s.counters[TimedOut]++
			events = append(events, Event{Kind: Disconnected, Slot: i})
		} else if at-c.lastSend >= sendInterval {
			s.keepAlive(out, i, at)
		}
	}
	return events
}

// Send seals a payload of 1 to MaxPayload bytes for the client in a slot.
func (s *Server) Send(out *Outbox, slot int, payload []byte, now time.Time) error {
	if len(payload) < 1 || len(payload) > MaxPayload {
		return ErrPayloadSize
	}
	if !s.Connected(slot) {
		return ErrNotConnected
	}
	at := s.since(now)
	if !s.slots[slot].confirmed {
		s.keepAlive(out, slot, at) // a client that has not received a keep-alive drops the payload
	}
	s.send(out, slot, kindPayload, payload, at)
	return nil
}

// Disconnect ends the connection in a slot and sends disconnect packets to the client. The slot is free at once, and
// there is no event. It does nothing for a free slot.
func (s *Server) Disconnect(out *Outbox, slot int, now time.Time) {
	if !s.Connected(slot) {
		return
	}
	at := s.since(now)
	for range disconnectPackets {
		s.send(out, slot, kindDisconnect, nil, at)
	}
	s.free(slot)
}

func (s *Server) free(i int) {
	c := &s.slots[i]
	delete(s.byAddr, c.peer)
	delete(s.byClient, c.clientID)
	s.unindex(int32(i))
	*c = slot{}
	for s.used > 0 && !s.slots[s.used-1].connected {
		s.used--
	}
}

// Clients returns the number of connected clients.
func (s *Server) Clients() int { return len(s.byAddr) }

// Connected reports whether a slot has a client. It is false for numbers that are no slot.
func (s *Server) Connected(slot int) bool {
	return slot >= 0 && slot < len(s.slots) && s.slots[slot].connected
}

// ClientID returns the client id of a slot, zero if it is free.
func (s *Server) ClientID(slot int) uint64 { return s.slots[slot].clientID }

// Received returns how many packets of the client in a slot were accepted, its response included, and the largest of their
// sequence numbers. Clients number their packets without gaps from any number on, so missing packets between two moments
// were lost or are late.
func (s *Server) Received(slot int) (accepted, newest uint64) {
	w := &s.slots[slot].window
	return w.accepted, w.newest
}

// UserData returns the user data of the token of a slot. It aliases the slot and is valid until the connection ends.
func (s *Server) UserData(slot int) *[UserDataSize]byte { return &s.slots[slot].userData }

// Counters returns the live counters of the server.
func (s *Server) Counters() *Counters { return &s.counters }
