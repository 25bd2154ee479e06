package session

import (
	"cmp"
	"fmt"

	"tendon/ecs"
	"tendon/net/limit"
	"tendon/systems"
)

// Server is the server's end of a session. Its phases are awaitHello → awaitAnswer → awaitReady → holding → open. A new
// image leads back to awaitReady or holding. While the image of a resync is being sent the phase stays open.
type Server struct {
	common
	config    ServerConfig
	phase     phase
	image     *Image // being sent to the peer, or nil
	tailAsked bool   // the peer owes a Tail
	nextEpoch uint8  // begins with the Ready for image
	piece     int    // the next piece of image to send; −1: the head
	have      ecs.Tick
	deadline  systems.Time // of the Hello, then of the next piece or Ready

	imageBytes limit.Limiter[systems.Time]
	datagrams  limit.Limiter[systems.Time]
	messages   limit.Limiter[systems.Time]
	chats      limit.Limiter[systems.Time]
	pauses     limit.Limiter[systems.Time]
	nextToken  systems.Time
	tokens     int  // that were sent
	newcomer   bool // the Hello names no match
	tick       ecs.Tick
}

type phase uint8

const (
	awaitHello  phase = iota
	awaitAnswer       // the owner has received EventHello
	awaitReady
	holding // the client holds a state; the owner decides
	open    // messages of the strategy pass
)

// ServerConfig configures a Server.
type ServerConfig struct {
	Fingerprint   uint64       // that of the game: a client with another one is refused
	Game          string       // name and version of the game, for the text of that refusal
	Build, Target string       // of this program: see ThisBuild
	SameBuild     bool         // a client with another build or target is refused: for games with floats
	TickRate      int          // that of the game, in ticks per second; the messages of the client are limited to a few per tick
	ImageRate     int          // budget for images, in bytes per second; 0: 131072
	Timeout       systems.Time // ends a session whose peer sends nothing; 0: 5 s

	// MintToken returns a sealed reconnect token for the peer, or nil. Optional.
	MintToken func(now systems.Time) []byte
}

const (
	tokenInterval = 30 * systems.Second
	firstTokens   = 4 // sent until the session opens: each attempt to reconnect uses one
	pingInterval  = systems.Second
	// A client repeats Ready and Live every repeatInterval, in case the last message was lost. The first repetition of Ready is
	// after readyAfter, because the client waits for the answer. That of Live is after repeatAfter.
	repeatInterval = pingInterval / 4
	readyAfter     = pingInterval / 8
	repeatAfter    = pingInterval
	// imageReserve is left free in the queue of the transport, so that an image delays orders only a little.
	imageReserve = 288 << 10
	helloTimeout = 10 * systems.Second
	loadTimeout  = 60 * systems.Second // from when a piece of an image is sent until the next one is, or the image is loaded
)

// Check returns an error if ImageRate or Timeout is out of range.
func (c ServerConfig) Check() error {
	switch {
	case c.ImageRate != 0 && (c.ImageRate < 1<<10 || c.ImageRate > 1<<28):
		return fmt.Errorf("session: ServerConfig.ImageRate is %d, want 0 or 1024 to 268435456 bytes per second", c.ImageRate)
	case c.Timeout < 0:
		return fmt.Errorf("session: ServerConfig.Timeout is %v, want 0 or more", c.Timeout)
	}
	return nil
}

// NewServer returns the server's end of a session that begins now. It fails if Check does, or if TickRate is out of range.
func NewServer(c ServerConfig, t Transport, now systems.Time) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.TickRate < 1 || c.TickRate > 1000 {
		return nil, fmt.Errorf("session: ServerConfig.TickRate is %d, want 1 to 1000 ticks per second", c.TickRate)
	}
	c.ImageRate = cmp.Or(c.ImageRate, 128<<10)
	return &Server{
		common: newCommon(t, cmp.Or(c.Timeout, 5*systems.Second), now), config: c, piece: -1, deadline: now + helloTimeout,
		imageBytes: perSecond(c.ImageRate, max(c.ImageRate/8, 2*imagePackedMax)),
		datagrams:  perSecond(4*c.TickRate, 4*c.TickRate+64),
		messages:   perSecond(2*c.TickRate, 8*c.TickRate+64),
		chats:      perSecond(1, 5),
		pauses:     perSecond(1, 5),
	}, nil
}

// Receive processes a message from the peer and returns its meaning.
func (s *Server) Receive(ch systems.Channel, message []byte, now systems.Time) Event {
	if s.err != nil {
		return Event{}
	}
	s.received(message, now)
	if !s.admit(ch, now) {
		return Event{}
	}
	e, err := s.handle(ch, message, now)
	return s.result(e, err, now)
}

// admit applies the rate limits. Excess datagrams are dropped. Reliable messages cannot be dropped, so excess ends the session.
func (s *Server) admit(ch systems.Channel, now systems.Time) bool {
	switch {
	case ch == systems.Datagram && !s.datagrams.Allow(now):
		s.stats.Dropped++
		return false
	case ch == systems.Reliable && !s.messages.Allow(now):
		s.stats.Dropped++
		s.End(CodeFlood, "")
		return false
	}
	return true
}

func (s *Server) handle(ch systems.Channel, b []byte, now systems.Time) (Event, error) {
	m, err := s.decode(ch, b)
	if err != nil {
		return Event{}, err
	}
	switch m.kind {
	case kindHello:
		return s.hello(m.hello)
	case kindReady:
		return s.ready(ch, m)
	case kindLive:
		if s.phase == open { // otherwise a newer image was sent
			return Event{Kind: EventLive}, nil
		}
	case kindChat:
		if s.phase < awaitReady {
			return Event{}, errValue
		}
		if s.chats.Allow(now) {
			return Event{Kind: EventChat, Text: m.text}, nil
		}
		s.stats.Dropped++
	case kindPause:
		if s.phase < awaitReady {
			return Event{}, errValue
		}
		if s.pauses.Allow(now) {
			return Event{Kind: EventPause, On: m.on}, nil
		}
		s.stats.Dropped++
	case kindPing, kindPong:
		if s.current(m) {
			if !s.probe(m, now, s.tick) {
				return Event{}, errValue
			}
		}
	case kindEnd:
		s.ended(ch, m)
	case kindTail:
		if !s.tailAsked || len(m.data) > MaxTail {
			return Event{}, errValue
		}
		s.tailAsked = false
		if s.phase == awaitAnswer { // otherwise the owner answered meanwhile
			return Event{Kind: EventTail, Message: m.data}, nil
		}
	case kindStrategy:
		if s.current(m) && s.Open() {
			return Event{Kind: EventStrategy, Channel: ch, Message: m.data}, nil
		}
	default:
		return Event{}, errValue
	}
	return Event{}, nil
}

func (s *Server) hello(h *Hello) (Event, error) {
	if s.phase != awaitHello {
		return Event{}, errValue
	}
	s.phase, s.newcomer = awaitAnswer, h.Match == 0
	switch {
	case h.Version != Version:
		s.Refuse(CodeVersion, fmt.Sprintf("server has protocol %d", Version))
	case h.Fingerprint != s.config.Fingerprint:
		s.Refuse(CodeGame, "server has "+s.config.Game)
	case s.config.SameBuild && (h.Build != s.config.Build || h.Target != s.config.Target):
		s.Refuse(CodeBuild, fmt.Sprintf("server has build %s for %s", s.config.Build, s.config.Target))
	default:
		s.transport.LimitPackets(h.PacketLimit)
		return Event{Kind: EventHello, Hello: h}, nil
	}
	return Event{}, nil
}

// ready processes a Ready, which may arrive twice: once on each channel.
func (s *Server) ready(ch systems.Channel, m message) (Event, error) {
	waiting := s.image != nil || s.phase == awaitReady
	again := s.phase > awaitReady && (m.epoch == s.epoch && m.tick == s.have || int8(s.epoch-m.epoch) > 0)
	if waiting && m.epoch != s.nextEpoch || !waiting && (ch == systems.Datagram || again) {
		s.stats.Stale++ // of an image that a newer one replaced, or a repetition; on the reliable channel it may be several images late
		return Event{}, nil
	}
	if !waiting || m.tick != s.have || s.image != nil && s.piece < s.image.count() {
		return Event{}, errValue
	}
	s.image, s.epoch, s.phase = nil, s.nextEpoch, holding
	return Event{Kind: EventReady, Tick: m.tick}, nil
}

// AskTail asks the client for its final ticks from a tick on, between EventHello and the answer to it. See EventTail.
func (s *Server) AskTail(from ecs.Tick) {
	if s.phase != awaitAnswer || s.err != nil {
		return
	}
	s.tailAsked = true
	s.send(systems.Reliable, message{kind: kindTailAsk, tick: from})
}

// Welcome accepts the client. If w.Image is true, call SendImage next, with w.Epoch. Otherwise the client continues from have, the
// tick of its Hello, and Opened may be called at once. A client that has not been in a match, and so has no reconnect token,
// receives one before the image.
func (s *Server) Welcome(w Welcome, have ecs.Tick, now systems.Time) {
	if s.phase != awaitAnswer || s.err != nil {
		panic("session: Welcome without an EventHello before it: call it once, in answer to that event")
	}
	s.phase, s.epoch, s.nextEpoch, s.have = awaitReady, w.Epoch, w.Epoch, have
	s.deadline = now + loadTimeout
	if !w.Image {
		s.phase = holding
	}
	s.send(systems.Reliable, message{kind: kindWelcome, welcome: &w})
	if s.newcomer && s.config.MintToken != nil {
		s.sendTokens(1, now)
	}
}

// Refuse refuses the client.
func (s *Server) Refuse(code Code, text string) {
	if s.err != nil {
		return
	}
	s.send(systems.Reliable, message{kind: kindRefusal, code: code, theirs: s.config.Fingerprint, text: text})
	s.err = &Error{Code: code, Text: text, Ours: s.config.Fingerprint}
}

// SendImage begins to send an image. It replaces an image that is not sent completely. The Ready of the peer begins the
// given epoch, which must be that of Welcome, or one that the peer does not use.
func (s *Server) SendImage(im *Image, epoch uint8, now systems.Time) {
	if s.phase < awaitReady {
		panic("session: SendImage before Welcome: call Welcome first")
	}
	if s.phase == holding {
		s.phase = awaitReady
	}
	s.image, s.nextEpoch, s.piece, s.have = im, epoch, -1, im.head.tick
	s.deadline = now + loadTimeout
}

// Welcomed reports whether Welcome was called and the session has not ended.
func (s *Server) Welcomed() bool { return s.phase >= awaitReady && s.err == nil }

// Uses reports whether an epoch is that of the present messages or of the last image.
func (s *Server) Uses(epoch uint8) bool { return epoch == s.epoch || epoch == s.nextEpoch }

// Opened reports that the strategy serves the peer from now on. Call it after EventReady, or after a Welcome without an image.
func (s *Server) Opened() {
	if s.phase != holding {
		panic("session: Opened before the peer is ready: call it once after each EventReady and each Welcome without an image")
	}
	s.phase = open
}

// Open reports whether messages of the strategy pass.
func (s *Server) Open() bool { return s.phase == open && s.err == nil }

// State returns the tick of the last state that the peer was sent or has.
func (s *Server) State() ecs.Tick { return s.have }

// Loading reports whether the peer has not confirmed yet that it holds that state.
func (s *Server) Loading() bool { return s.err == nil && (s.image != nil || s.phase == awaitReady) }

// SendStrategy sends a message of the strategy, at most systems.MaxDatagram bytes as a datagram and MaxStrategyReliable
// otherwise. While the session is not open it does nothing.
func (s *Server) SendStrategy(ch systems.Channel, message []byte) {
	if s.Open() {
		s.sendStrategy(ch, message)
	}
}

// SendProof sends the proof of a tick, of record.ProofBytes. While the session is not open it does nothing. A proof that is lost
// is not sent again: the next one proves the same ticks.
func (s *Server) SendProof(tick ecs.Tick, proof []byte) {
	if s.Open() {
		s.send(systems.Datagram, message{kind: kindProof, epoch: s.epoch, tick: tick, data: proof})
	}
}

// SendChat sends a chat message to the peer.
func (s *Server) SendChat(m ChatLine) {
	if s.err == nil && s.phase >= awaitReady {
		s.send(systems.Reliable, message{kind: kindChatLine, line: &m})
	}
}

// Notice sends a text to the player, with the seconds until the server stops, or 0. Before the Hello it does nothing.
func (s *Server) Notice(seconds int, text string) {
	if s.err == nil && s.phase >= awaitAnswer {
		s.send(systems.Reliable, message{kind: kindNotice, seconds: max(seconds, 0), text: text})
	}
}

// SendPaused reports to the client that the match is paused or continues. A client assumes no pause until it receives one.
func (s *Server) SendPaused(p Paused) {
	if s.err == nil && s.phase >= awaitReady {
		s.send(systems.Reliable, message{kind: kindPaused, paused: &p})
	}
}

// SendSeat sends the player in a seat. A client assumes empty seats until it receives others.
func (s *Server) SendSeat(seat Seat) {
	if s.err == nil && s.phase >= awaitReady {
		s.send(systems.Reliable, message{kind: kindSeat, seat: &seat})
	}
}

// SendPings sends the round trip times of the players, at least one.
func (s *Server) SendPings(p *Pings) {
	if s.err == nil && s.phase >= awaitReady {
		s.send(systems.Datagram, message{kind: kindPings, pings: p})
	}
}

// SendRefused reports to the player that an order of theirs was refused.
func (s *Server) SendRefused(o Refused) {
	if s.err == nil && s.phase >= awaitReady {
		s.send(systems.Reliable, message{kind: kindRefused, refused: &o})
	}
}

// SendVerdict sends the verdict on a match in the room.
func (s *Server) SendVerdict(d *systems.Decision) {
	if s.err == nil && s.phase >= awaitReady {
		s.send(systems.Reliable, message{kind: kindVerdict, verdict: d})
	}
}

// Frame sends what is due, and ends the session at the timeout. Call it once per tick with the server's present tick.
func (s *Server) Frame(now systems.Time, tick ecs.Tick) {
	s.tick = tick
	every := pingInterval
	if s.phase < awaitReady {
		every = 0
	}
	if s.frame(now, every); s.err != nil {
		return
	}
	if (s.phase == awaitHello || s.Loading()) && now >= s.deadline {
		s.End(CodeSlow, "loading took too long")
		return
	}
	if s.image != nil {
		s.sendPieces(now)
	}
	s.frameTokens(now)
}

// sendPieces sends pieces of the image, as far as the budget and the transport allow.
func (s *Server) sendPieces(now systems.Time) {
	for s.image.known() && s.piece < s.image.count() {
		m := message{kind: kindImageHead, epoch: s.nextEpoch, image: s.image.head}
		if s.piece >= 0 {
			if s.piece == len(s.image.pieces) {
				return // it is not compressed yet
			}
			m = message{kind: kindImagePiece, data: s.image.pieces[s.piece]}
		}
		s.scratch = s.coder.encode(s.scratch[:0], m)
		if s.transport.Room() < len(s.scratch)+imageReserve || !s.imageBytes.AllowN(now, len(s.scratch)) {
			return
		}
		s.sendScratch(systems.Reliable)
		s.piece++
		s.deadline = now + loadTimeout
	}
}
