package session

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback/record"
	"tendon/systems"
)

// Version is the version of the protocol. It must be equal on both peers.
const Version = 9

// kind is the first byte of every message. Its values are part of the wire format (section 4 of STANDARD.md): add new kinds
// at the end.
type kind uint8

const (
	kindHello kind = iota + 1
	kindWelcome
	kindRefusal
	kindImageHead
	kindImagePiece
	kindReady
	kindLive
	kindToken
	kindChat
	kindChatLine
	kindPing
	kindPong
	kindNotice
	kindEnd
	kindStrategy
	kindTailAsk
	kindTail
	kindProof
	kindPause
	kindPaused
	kindVerdict
	kindSeat
	kindRefused
	kindPings
	kindEndpoints
)

// Bounds of the fields of messages, in bytes.
const (
	MaxName          = image.MaxCardName   // a player's name
	MaxBuild         = 64                  // a build string
	MaxTarget        = 32                  // a target, such as "amd64/v1"
	MaxStrategy      = 32                  // a strategy's name
	MaxParams        = 256                 // a strategy's parameters
	MaxText          = 200                 // the text of an end or a notice
	MaxChat          = 256                 // one chat message
	MaxToken         = 2048                // a reconnect token: one public netcode token
	MaxDelay         = 30                  // suggested input delay, in ticks
	MaxEndpointBytes = 16 << 10            // a list of servers' addresses for browsers: see net/web
	MaxTail          = record.MaxTailBytes // the ticks of a tail
)

// Hello is the first message of a client.
type Hello struct {
	Version     uint64
	Fingerprint uint64   // of the game
	Build       string   // of the program: see ThisBuild
	Target      string   // GOARCH and its level; compared only if the game uses floats
	Name        string   // of the player; may be empty
	Match       uint64   // the match of Have
	Have        ecs.Tick // the tick of the state that the client holds; 0: none
	Chain       uint64   // hash chain of the match up to Have: see record.Chain
	Final       ecs.Tick // newest tick of Match that is final on the client; 0: none
	PacketLimit int      // of the client's transport, in bytes, from wire.MinPacketLimit to wire.PacketLimit
}

// Welcome accepts a Hello.
type Welcome struct {
	Strategy string
	Params   []byte // of the strategy; valid during the call
	Match    uint64 // identifies the match among all matches
	Rate     int    // ticks per second
	Seat     int    // −1: none
	Role     systems.Role
	Epoch    uint8
	Tick     ecs.Tick // present tick of the server
	Delay    int      // initial input delay, in ticks
	Image    bool     // an image follows; otherwise the client goes on from Hello.Have
}

// ChatLine is a chat message as the server sends it to the clients.
type ChatLine struct {
	Seat int // of the sender, −1 for a spectator or the server
	Name string
	Text string
}

// Seat describes the player in a seat, or an empty seat.
type Seat struct {
	Seat      int
	Name      string // at most MaxName bytes; "": none
	Connected bool   // false: the seat is empty, or kept for a player whose connection is lost
	Bot       bool   // the token of the player says that a program plays
}

// Pings are the round trip times of the players, by seat, in milliseconds; 0: not known.
type Pings [image.MaxPlayers]uint16

// Paused reports that the match is paused or continues.
type Paused struct {
	On      bool     // false: the match continues
	Seat    int      // the seat that requested it, −1 for the server
	Tick    ecs.Tick // the last tick before the pause
	Seconds int      // until the match continues by itself, at most; 0 when it continues
}

// Refused reports to a player that an order of theirs was refused.
type Refused struct {
	Number uint64 // the client's number of the order
	Type   int    // position in Game.Orders, or beyond it for an order of no type
	Reason string // at most image.MaxReasonBytes
}

// imageHead describes an image.
type imageHead struct {
	tick     ecs.Tick
	chain    uint64 // hash chain of the match up to tick; 0: not known
	strategy string // with which the match continues from the image
	params   []byte // of the strategy
	size     int    // of the image, in bytes
	sum      uint64 // xxHash64 of the image
}

// message is a message of any kind. Its method fields names the fields that a kind has.
type message struct {
	kind    kind
	epoch   uint8
	tick    ecs.Tick // of a state or proof; pong: the server's tick, 0 from a client; tailAsk: the first that the server lacks
	stamp   uint32   // of a ping, returned by its pong
	seconds int      // until the server stops; 0: not known
	on      bool     // of a pause request
	code    Code
	theirs  uint64 // fingerprint of the game on the server
	text    string
	data    []byte // of a proof: record.ProofBytes
	image   imageHead
	hello   *Hello
	welcome *Welcome
	line    *ChatLine
	paused  *Paused
	verdict *systems.Decision
	refused *Refused
	seat    *Seat
	pings   *Pings
}

// fields codes the fields of the kind of m, in the order of the wire.
func (m *message) fields(c *coder) {
	switch m.kind {
	case kindRefusal:
		c.u8((*uint8)(&m.code))
		c.u64(&m.theirs)
		c.text(&m.text, MaxText)
		c.check(m.code != 0)
	case kindImagePiece, kindTail:
		c.rest(&m.data)
	case kindReady:
		c.u8(&m.epoch)
		c.tick(&m.tick)
	case kindLive:
	case kindToken:
		c.blob(&m.data, MaxToken)
		c.check(len(m.data) > 0)
	case kindEndpoints:
		c.rest(&m.data)
		c.check(len(m.data) > 0 && len(m.data) <= MaxEndpointBytes)
	case kindChat:
		c.text(&m.text, MaxChat)
		c.check(m.text != "")
	case kindPing, kindPong:
		c.u8(&m.epoch)
		c.u32(&m.stamp)
		if m.kind == kindPong {
			c.tick(&m.tick)
		}
	case kindNotice:
		c.integer(&m.seconds, 0, 1<<31)
		c.text(&m.text, MaxText)
	case kindEnd:
		c.u8(&m.epoch)
		c.u8((*uint8)(&m.code))
		c.text(&m.text, MaxText)
		c.check(m.code != 0)
	case kindStrategy:
		c.u8(&m.epoch)
		c.rest(&m.data)
		c.check(len(m.data) > 0)
	case kindTailAsk:
		c.tick(&m.tick)
		c.check(m.tick > 0)
	case kindProof:
		c.u8(&m.epoch)
		c.tick(&m.tick)
		c.rest(&m.data)
		c.check(m.tick > 0 && len(m.data) == record.ProofBytes)
	case kindPause:
		c.flag(&m.on)
	default:
		m.structs(c)
	}
}

// structs codes the fields of a kind that has them in a struct.
func (m *message) structs(c *coder) {
	switch m.kind {
	case kindHello:
		field(&m.hello).fields(c)
	case kindWelcome:
		field(&m.welcome).fields(c)
	case kindImageHead:
		c.u8(&m.epoch)
		c.tick(&m.image.tick)
		c.u64(&m.image.chain)
		c.text(&m.image.strategy, MaxStrategy)
		c.blob(&m.image.params, MaxParams)
		c.integer(&m.image.size, 1, 1<<30)
		c.u64(&m.image.sum)
	case kindChatLine:
		field(&m.line).fields(c)
	case kindSeat:
		field(&m.seat).fields(c)
	case kindPings:
		field(&m.pings).fields(c)
	case kindPaused:
		field(&m.paused).fields(c)
	case kindRefused:
		field(&m.refused).fields(c)
	case kindVerdict:
		codeVerdict(c, field(&m.verdict))
	default:
		c.check(false)
	}
}

// field returns the struct of a field, a new one if there is none.
func field[T any](at **T) *T {
	if *at == nil {
		*at = new(T)
	}
	return *at
}

func (s *Seat) fields(c *coder) {
	c.seat(&s.Seat)
	c.flag(&s.Connected)
	c.flag(&s.Bot)
	c.text(&s.Name, MaxName)
	c.check(s.Seat >= 0)
}

func (p *Pings) fields(c *coder) {
	var known image.PlayerSet
	for seat, ping := range p {
		if ping != 0 {
			known = known.With(ecs.Player(seat))
		}
	}
	c.uvarint((*uint64)(&known))
	c.check(known != 0)
	for seat := range known.All() {
		c.u16(&p[seat])
		c.check(p[seat] != 0)
	}
}

func (p *Paused) fields(c *coder) {
	c.flag(&p.On)
	c.seat(&p.Seat)
	c.tick(&p.Tick)
	c.integer(&p.Seconds, 0, 1<<31)
	c.check(p.On || p.Seconds == 0)
}

func (o *Refused) fields(c *coder) {
	c.uvarint(&o.Number)
	kind := uint8(o.Type)
	c.u8(&kind)
	o.Type = int(kind)
	c.text(&o.Reason, image.MaxReasonBytes)
	c.check(o.Number > 0)
}

// codeVerdict codes the part of a decision that clients receive.
func codeVerdict(c *coder, d *systems.Decision) {
	c.tick(&d.Tick)
	c.u8((*uint8)(&d.How))
	c.blob(&d.Result, image.MaxResultBytes)
	c.u64((*uint64)(&d.Registered))
	c.u64((*uint64)(&d.Voted))
	c.u64((*uint64)(&d.Dissented))
	c.check(d.How.Valid())
}

func (l *ChatLine) fields(c *coder) {
	c.seat(&l.Seat)
	c.text(&l.Name, MaxName)
	c.text(&l.Text, MaxChat)
	c.check(l.Text != "")
}

func (h *Hello) fields(c *coder) {
	c.uvarint(&h.Version)
	if c.decodes && h.Version != Version { // the layout of the rest may differ
		c.r.Rest()
		return
	}
	c.u64(&h.Fingerprint)
	c.text(&h.Build, MaxBuild)
	c.text(&h.Target, MaxTarget)
	c.text(&h.Name, MaxName)
	c.u64(&h.Match)
	c.tick(&h.Have)
	c.u64(&h.Chain)
	c.tick(&h.Final)
	c.integer(&h.PacketLimit, wire.MinPacketLimit, wire.PacketLimit)
}

func (m *Welcome) fields(c *coder) {
	c.text(&m.Strategy, MaxStrategy)
	c.blob(&m.Params, MaxParams)
	c.u64(&m.Match)
	c.integer(&m.Rate, 1, 1000)
	c.seat(&m.Seat)
	c.u8((*uint8)(&m.Role))
	c.u8(&m.Epoch)
	c.tick(&m.Tick)
	c.integer(&m.Delay, 0, MaxDelay)
	c.flag(&m.Image)
	c.check(m.Role.Valid() && (m.Role == systems.RolePlayer) == (m.Seat >= 0))
}

// precedesWelcome reports whether a client accepts messages of kind k before the Welcome.
func (k kind) precedesWelcome() bool {
	switch k {
	case kindWelcome, kindRefusal, kindEnd, kindTailAsk, kindToken, kindEndpoints, kindNotice:
		return true
	}
	return false
}

// AppendToken appends the message with a reconnect token. A server without a session uses it.
func AppendToken(dst, token []byte) []byte {
	return new(coder).encode(dst, message{kind: kindToken, data: token})
}

// AppendEndpoints appends the message with a list of servers' addresses for browsers, of 1 to MaxEndpointBytes bytes. A server sends it before a
// token for these servers, to a client whose transport cannot reach the addresses in the token.
func AppendEndpoints(dst, list []byte) []byte {
	return new(coder).encode(dst, message{kind: kindEndpoints, data: list})
}

// AppendRefusal appends the message that refuses a client, for a server without a session. fingerprint is the game's.
func AppendRefusal(dst []byte, code Code, fingerprint uint64, text string) []byte {
	return new(coder).encode(dst, message{kind: kindRefusal, code: code, theirs: fingerprint, text: text})
}
