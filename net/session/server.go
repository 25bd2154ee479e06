package session

import (
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/systems"
)

// Server is the server's end of one peer's session.
//
// It goes through greeting → welcomed → open, and back to welcomed while another image is on its way. Strategy
// messages pass while it is open, and while a resync's image is under way: the peer plays on until it has the image.
type Server struct {
	end
	config   ServerConfig
	phase    phase
	image    *Image // on its way to the peer; nil: none
	askedFor bool   // a Tail is owed
	next     uint8  // the epoch that begins with it
	piece    int    // of image, the next one to send; −1: the head
	have     ecs.Tick
	deadline systems.Time // for the Hello, then for each Ready; the answer to the Hello takes what its owner takes

	pace      limit // bytes of images
	datagrams limit
	messages  limit
	chats     limit
	nextToken systems.Time
	handed    bool // tokens were
	tick      ecs.Tick
}

type phase uint8

const (
	greeting phase = iota // waiting for the Hello
	asked                 // the Hello is with the owner
	welcomed              // waiting for a Ready
	holding               // the client holds a state; the owner decides
	open                  // strategy messages pass
)

// ServerConfig is what a server's end needs. Zero values stand for defaults where a field names one.
type ServerConfig struct {
	// Fingerprint is the game's. A client with another one is refused.
	Fingerprint uint64
	// Build and Target are compared with the client's. Both empty: they are not compared, for games without floats.
	Build, Target string
	// TickRate is in ticks per second; the client's messages are limited to a few per tick. Required.
	TickRate int
	// ImageRate is the budget for images, in bytes per second; 0: 131072.
	ImageRate int
	// Timeout ends a session of whose peer nothing was heard, in nanoseconds; 0: 5 s.
	Timeout systems.Time
	// LoadTimeout bounds the time to say Hello, and to load an image; 0: 60 s.
	LoadTimeout systems.Time
	// MintToken returns a sealed token with which the peer may come back, or nil. nil: there are none.
	MintToken func(now systems.Time) []byte
}

const (
	tokenInterval = 30 * systems.Second
	// firstTokens are handed out at once when the session is open: a token is spent by the attempt to come back, also by
	// one that comes to nothing before there is a next.
	firstTokens  = 4
	pingInterval = systems.Second
	// insistInterval is how often a client says again what is small and lets it into the match, from insistAfter on. What
	// the reliable channel loses with nothing after it, it misses only after several round trips; on a connection that is
	// worth playing on, the answer is there before.
	insistInterval = pingInterval / 4
	insistAfter    = pingInterval
	// imageReserve is left free in the transport's queue, so that an image never keeps an order waiting.
	imageReserve = 32 << 10
	helloTimeout = 10 * systems.Second
)

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("session: bad Config")

// NewServer returns the server's end of a session that begins now.
func NewServer(c ServerConfig, t Transport, now systems.Time) (*Server, error) {
	if c.TickRate < 1 || c.TickRate > 1000 {
		return nil, fmt.Errorf("%w: TickRate is %d, want 1 to 1000 ticks per second", ErrConfig, c.TickRate)
	}
	if c.ImageRate == 0 {
		c.ImageRate = 128 << 10
	}
	if c.ImageRate < 1<<10 || c.ImageRate > 1<<28 {
		return nil, fmt.Errorf("%w: ImageRate is %d, want 0 or 1024 to 268435456 bytes per second", ErrConfig, c.ImageRate)
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * systems.Second
	}
	if c.LoadTimeout == 0 {
		c.LoadTimeout = 60 * systems.Second
	}
	if c.Timeout < 0 || c.LoadTimeout < 0 {
		return nil, fmt.Errorf("%w: Timeout and LoadTimeout must not be negative", ErrConfig)
	}
	return &Server{
		end: newEnd(t, c.Timeout, now), config: c, piece: -1, deadline: now + helloTimeout,
		pace:      newLimit(c.ImageRate, max(c.ImageRate/8, 2*imagePackedMax)),
		datagrams: newLimit(4*c.TickRate, 4*c.TickRate+64),
		messages:  newLimit(2*c.TickRate, 8*c.TickRate+64),
		chats:     newLimit(1, 5),
	}, nil
}

// Receive takes a message of the peer's and returns what it means.
func (s *Server) Receive(ch systems.Channel, message []byte, now systems.Time) Event {
	if s.err != nil {
		return Event{}
	}
	s.hear(message)
	if !s.admit(ch, now) {
		return Event{}
	}
	if len(message) == 0 || !kind(message[0]).travels(ch) {
		s.fault(now)
		return Event{}
	}
	e, err := s.handle(kind(message[0]), ch, message[1:], now)
	if err != nil {
		s.fault(now)
		return Event{}
	}
	return e
}

// admit keeps the rates. Too many datagrams are dropped; a reliable message cannot be, so too many end the session.
func (s *Server) admit(ch systems.Channel, now systems.Time) bool {
	switch {
	case ch == systems.Datagram && !s.datagrams.take(now, 1):
		s.stats.Dropped++
		return false
	case ch == systems.Reliable && !s.messages.take(now, 1):
		s.stats.Dropped++
		s.finish(CodeFlood, "")
		return false
	}
	return true
}

func (s *Server) handle(k kind, ch systems.Channel, body []byte, now systems.Time) (Event, error) {
	switch k {
	case kindHello:
		return s.hello(body)
	case kindReady:
		return s.ready(ch, body)
	case kindLive:
		if len(body) != 0 {
			return Event{}, errValue
		}
		if s.phase != open {
			return Event{}, nil // another image was sent before the client could know
		}
		return Event{Kind: EventLive}, nil
	case kindChat:
		return s.chat(body, now)
	case kindPing, kindPong:
		_, err := s.probe(k, body, now, pong{tick: s.tick})
		return Event{}, err
	case kindBye:
		return Event{}, s.leave(ch, body)
	case kindTail:
		if !s.askedFor || len(body) > MaxTail {
			return Event{}, errValue
		}
		if s.askedFor = false; s.phase != asked {
			return Event{}, nil // the owner did not wait for it
		}
		return Event{Kind: EventTail, Message: body}, nil
	case kindStrategy:
		message, ok, err := s.strategy(body)
		if !ok || !s.Open() {
			return Event{}, err
		}
		return Event{Kind: EventStrategy, Channel: ch, Message: message}, nil
	}
	return Event{}, errValue
}

func (s *Server) hello(body []byte) (Event, error) {
	h, err := decodeHello(body)
	if err != nil || s.phase != greeting {
		return Event{}, errValue
	}
	s.phase = asked
	compare := s.config.Build != "" || s.config.Target != ""
	switch {
	case h.Version != Version:
		s.Refuse(CodeVersion, fmt.Sprintf("server has protocol %d", Version))
	case h.Fingerprint != s.config.Fingerprint:
		s.Refuse(CodeGame, "")
	case compare && (h.Build != s.config.Build || h.Target != s.config.Target):
		s.Refuse(CodeBuild, fmt.Sprintf("server has build %s for %s", s.config.Build, s.config.Target))
	default:
		return Event{Kind: EventHello, Hello: &h}, nil
	}
	return Event{}, nil
}

// ready takes the word that a state is loaded, which may come twice: once on each channel.
func (s *Server) ready(ch systems.Channel, body []byte) (Event, error) {
	m, err := decodeReady(body)
	if err != nil {
		return Event{}, err
	}
	waiting := s.image != nil || s.phase == welcomed
	again := s.phase > welcomed && (m.epoch == s.epoch && m.tick == s.have || int8(s.epoch-m.epoch) > 0)
	if waiting && m.epoch != s.next || !waiting && (ch == systems.Datagram || again) {
		s.stats.Stale++ // of an image that was replaced by a newer one, or said before: reliably, it may be late by several images
		return Event{}, nil
	}
	if !waiting || m.tick != s.have || s.image != nil && s.piece < s.image.pieces() {
		return Event{}, errValue
	}
	s.image, s.epoch, s.phase = nil, s.next, holding
	return Event{Kind: EventReady, Tick: m.tick}, nil
}

func (s *Server) chat(body []byte, now systems.Time) (Event, error) {
	text, err := decodeChat(body)
	if err != nil || s.phase < welcomed {
		return Event{}, errValue
	}
	if !s.chats.take(now, 1) {
		s.stats.Dropped++
		return Event{}, nil
	}
	return Event{Kind: EventChat, Text: text}, nil
}

// AskTail asks the client, between its Hello and the answer to it, for the ticks from one on that it says are final. It
// answers with an EventTail.
func (s *Server) AskTail(from ecs.Tick) {
	if s.phase != asked || s.err != nil {
		return
	}
	s.askedFor = true
	s.scratch = appendTailAsk(s.scratch[:0], from)
	s.reliable(s.scratch)
}

// Welcome takes the client. If w.Image is false, the client goes on from the tick have that it said it holds;
// otherwise SendImage follows, with w.Epoch.
func (s *Server) Welcome(w Welcome, have ecs.Tick, now systems.Time) {
	if s.phase != asked || s.err != nil {
		panic("session: Welcome without an EventHello before it: call it once, in answer to that event")
	}
	s.phase, s.epoch, s.next, s.have = welcomed, w.Epoch, w.Epoch, have
	s.deadline = now + s.config.LoadTimeout
	s.scratch = appendWelcome(s.scratch[:0], w)
	s.reliable(s.scratch)
}

// Refuse turns the client away.
func (s *Server) Refuse(code Code, text string) {
	if s.err != nil {
		return
	}
	s.scratch = AppendRefusal(s.scratch[:0], code, s.config.Fingerprint, text)
	s.reliable(s.scratch)
	s.err = &Error{Code: code, Text: text, Ours: s.config.Fingerprint}
}

// SendImage begins to send an image, in place of one that may be under way, after which the peer holds the state of
// its tick in the given epoch. The epoch must be another one than any that the peer may still use, or that of Welcome.
func (s *Server) SendImage(im *Image, epoch uint8, now systems.Time) {
	if s.phase < welcomed {
		panic("session: SendImage before Welcome: the client does not know yet what to do with an image")
	}
	if s.phase == holding {
		s.phase = welcomed
	}
	s.image, s.next, s.piece, s.have = im, epoch, -1, im.head.tick
	s.deadline = now + s.config.LoadTimeout
}

// Opened says that the strategy serves the peer from now on.
func (s *Server) Opened() {
	if s.phase != holding {
		panic("session: Opened without an EventReady before it: call it once, in answer to that event")
	}
	s.phase, s.nextToken = open, max(s.nextToken, s.now)
}

// Open reports whether strategy messages pass.
func (s *Server) Open() bool { return s.phase == open && s.err == nil }

// Loading reports whether the peer is waiting for a state, or has not said yet that it holds it.
func (s *Server) Loading() bool { return s.err == nil && (s.image != nil || s.phase == welcomed) }

// SendStrategy carries a message of the strategy's half to the peer: at most systems.MaxDatagram bytes as a datagram,
// at most MaxStrategyReliable otherwise. While the session is not open it does nothing.
func (s *Server) SendStrategy(ch systems.Channel, message []byte) {
	if s.Open() {
		s.sendStrategy(ch, message)
	}
}

// Say tells the peer what somebody said.
func (s *Server) Say(m Said) {
	if s.err == nil && s.phase >= welcomed {
		s.scratch = appendSaid(s.scratch[:0], m)
		s.reliable(s.scratch)
	}
}

// Notice tells the player something: seconds until the server stops, or 0, and a sentence.
func (s *Server) Notice(seconds int, text string) {
	if s.err == nil && s.phase >= welcomed {
		s.scratch = appendNotice(s.scratch[:0], notice{uint64(max(seconds, 0)), text})
		s.reliable(s.scratch)
	}
}

// Fault counts a strategy's message that the strategy could not use.
func (s *Server) Fault(now systems.Time) { s.fault(now) }

// End ends the session and says why.
func (s *Server) End(code Code, text string) { s.finish(code, text) }

// Frame lets time go by: what waits is sent as far as there is room, an image goes on under its budget, the round trip
// is probed, tokens are renewed, and a peer of whom nothing is heard is given up. tick is where the server is.
func (s *Server) Frame(now systems.Time, tick ecs.Tick) {
	s.tick = tick
	every := pingInterval
	if s.phase < welcomed {
		every = 0
	}
	s.pass(now, every)
	if s.err != nil {
		return
	}
	if (s.phase == greeting || s.Loading()) && now >= s.deadline {
		s.finish(CodeSlow, "loading took too long")
		return
	}
	if s.image != nil {
		s.feed(now)
	}
	if s.phase == open && s.config.MintToken != nil && now >= s.nextToken {
		s.nextToken = now + tokenInterval
		s.hand(now)
	}
}

// hand hands out reconnect tokens.
func (s *Server) hand(now systems.Time) {
	tokens := 1
	if !s.handed {
		tokens, s.handed = firstTokens, true
	}
	for range tokens {
		if token := s.config.MintToken(now); len(token) > 0 && len(token) <= MaxToken {
			s.scratch = appendToken(s.scratch[:0], token)
			s.reliable(s.scratch)
		}
	}
}

// feed sends what the budget and the transport take of the image.
func (s *Server) feed(now systems.Time) {
	for s.out.size() == 0 && s.piece < s.image.pieces() {
		if s.piece < 0 {
			h := s.image.head
			h.epoch = s.next
			s.scratch = appendImageHead(s.scratch[:0], h)
		} else {
			packed, ok := s.image.piece(s.piece)
			if !ok {
				return
			}
			s.scratch = append(append(s.scratch[:0], uint8(kindImagePiece)), packed...)
		}
		if s.transport.Room() < len(s.scratch)+imageReserve || !s.pace.take(now, len(s.scratch)) {
			return
		}
		s.reliable(s.scratch)
		s.piece++
	}
}
