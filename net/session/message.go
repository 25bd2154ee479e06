package session

import (
	"tendon/ecs"
	"tendon/rollback/record"
	"tendon/systems"
)

// Version is the version of the protocol. It must be equal on both peers.
const Version = 2

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
)

// Bounds of the fields of messages, in bytes.
const (
	MaxName     = 32                  // a player's name
	MaxBuild    = 64                  // a build string
	MaxTarget   = 32                  // a target, such as "amd64/v1"
	MaxStrategy = 32                  // a strategy's name
	MaxParams   = 256                 // a strategy's parameters
	MaxText     = 200                 // the text of an end or a notice
	MaxChat     = 256                 // one chat message
	MaxToken    = 2048                // a reconnect token: one public netcode token
	MaxDelay    = 30                  // suggested input delay, in ticks
	MaxTail     = record.MaxTailBytes // the ticks of a tail
)

// Hello is the first message of a client.
type Hello struct {
	Version     uint64
	Fingerprint uint64   // of the game
	Build       string   // of the program; compared only if the game uses floats
	Target      string   // GOARCH and its level; compared only if the game uses floats
	Name        string   // of the player; may be empty
	Match       uint64   // the match of Have
	Have        ecs.Tick // the tick of the state that the client holds; 0: none
	Chain       uint64   // hash chain of the match up to Have: see record.Chain
	Final       ecs.Tick // newest tick of Match that is final on the client; 0: none
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

type imageHead struct {
	epoch uint8
	tick  ecs.Tick
	chain uint64 // hash chain of the match up to tick; 0: not known
	size  int    // of the image, in bytes
	sum   uint64 // xxHash64 of the image
}

type ready struct {
	epoch uint8
	tick  ecs.Tick
}

type endMessage struct {
	epoch uint8
	code  Code
	text  string
}

// ping measures the round trip. pong answers it with its stamp. tick is that of the server, 0 from a client.
type (
	ping struct {
		epoch uint8
		stamp uint32
	}
	pong struct {
		ping
		tick ecs.Tick
	}
)

// notice is a text for the players, with the seconds until the server stops, or 0.
type notice struct {
	seconds int
	text    string
}

type (
	chat    string
	token   []byte
	tailAsk ecs.Tick // the first tick that the server lacks
)

func (h *Hello) fields(c *coder) {
	c.uvarint(&h.Version)
	if c.decodes && h.Version != Version { // the layout of the rest may differ
		c.partial = true
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

func (e *Error) fields(c *coder) { // of a refusal
	c.u8((*uint8)(&e.Code))
	c.u64(&e.Theirs)
	c.text(&e.Text, MaxText)
	c.check(e.Code != 0)
}

func (h *imageHead) fields(c *coder) {
	c.u8(&h.epoch)
	c.tick(&h.tick)
	c.u64(&h.chain)
	c.integer(&h.size, 1, 1<<30)
	c.u64(&h.sum)
}

func (m *ready) fields(c *coder) {
	c.u8(&m.epoch)
	c.tick(&m.tick)
}

func (m *ChatLine) fields(c *coder) {
	c.seat(&m.Seat)
	c.text(&m.Name, MaxName)
	c.text(&m.Text, MaxChat)
	c.check(m.Text != "")
}

func (m *chat) fields(c *coder) {
	c.text((*string)(m), MaxChat)
	c.check(*m != "")
}

func (m *token) fields(c *coder) {
	c.blob((*[]byte)(m), MaxToken)
	c.check(len(*m) > 0)
}

func (m *tailAsk) fields(c *coder) {
	c.uvarint((*uint64)(m))
	c.check(*m > 0)
}

func (m *ping) fields(c *coder) {
	c.u8(&m.epoch)
	c.u32(&m.stamp)
}

func (m *pong) fields(c *coder) {
	m.ping.fields(c)
	c.tick(&m.tick)
}

func (m *notice) fields(c *coder) {
	c.integer(&m.seconds, 0, 1<<31)
	c.text(&m.text, MaxText)
}

func (m *endMessage) fields(c *coder) {
	c.u8(&m.epoch)
	c.u8((*uint8)(&m.code))
	c.text(&m.text, MaxText)
	c.check(m.code != 0)
}

// AppendRefusal appends the message that refuses a client, for a server without a session for it. fingerprint is that of
// the game; text may be empty.
func AppendRefusal(dst []byte, code Code, fingerprint uint64, text string) []byte {
	return new(coder).encode(dst, kindRefusal, &Error{Code: code, Theirs: fingerprint, Text: text})
}

func appendStrategy(dst []byte, epoch uint8, message []byte) []byte {
	dst = append(dst, uint8(kindStrategy), epoch)
	return append(dst, message...)
}
