package session

import (
	"fmt"

	"tendon/ecs"
	"tendon/systems"
)

// Client is the client's end of a session. It says Hello when it is made, hears Welcome or a refusal, takes images and
// says Ready when its owner has loaded one.
type Client struct {
	end
	config  ClientConfig
	rate    int // ticks per second, 0 before the Welcome
	sink    imageSink
	next    uint8    // the epoch of the image under way or waiting to be loaded
	loaded  ecs.Tick // its tick
	waiting bool     // Ready is owed
	live    bool
	unheard bool         // the server has not answered Ready, which it may be told again
	nextSay systems.Time // when to say Ready or Live again

	serverTick   ecs.Tick // newest heard of
	serverTickAt systems.Time
}

// ClientConfig is what a client's end needs. Zero values stand for defaults where a field names one.
type ClientConfig struct {
	// Hello is what the client says of itself; Version is filled in.
	Hello Hello
	// MaxImage bounds the images that are taken, in bytes; 0: 67108864.
	MaxImage int
	// Timeout ends a session of whose server nothing was heard, in nanoseconds; 0: 10 s.
	Timeout systems.Time
}

// NewClient returns the client's end of a session that begins now, and says Hello.
func NewClient(c ClientConfig, t Transport, now systems.Time) (*Client, error) {
	if c.MaxImage == 0 {
		c.MaxImage = 64 << 20
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * systems.Second
	}
	if c.MaxImage < 0 || c.MaxImage > 1<<30 {
		return nil, fmt.Errorf("%w: MaxImage is %d, want 0 to 1073741824 bytes", ErrConfig, c.MaxImage)
	}
	if c.Timeout < 0 {
		return nil, fmt.Errorf("%w: Timeout must not be negative", ErrConfig)
	}
	c.Hello.Version = Version
	s := &Client{end: newEnd(t, c.Timeout, now), config: c}
	s.nextPing = now + pingInterval
	s.scratch = appendHello(s.scratch[:0], c.Hello)
	s.reliable(s.scratch)
	return s, nil
}

// Receive takes a message of the server's and returns what it means.
func (s *Client) Receive(ch systems.Channel, message []byte, now systems.Time) Event {
	if s.err != nil {
		return Event{}
	}
	s.hear(message)
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

func (s *Client) handle(k kind, ch systems.Channel, body []byte, now systems.Time) (Event, error) {
	if s.rate == 0 && k != kindWelcome && k != kindRefusal && k != kindBye && k != kindTailAsk {
		if ch == systems.Datagram {
			s.stats.Stale++ // it overtook the Welcome, or belongs to the connection before
			return Event{}, nil
		}
		return Event{}, errValue
	}
	switch k {
	case kindWelcome:
		return s.welcome(body, now)
	case kindRefusal:
		return s.refusal(body)
	case kindImageHead:
		return s.imageHead(body)
	case kindImagePiece:
		return s.imagePiece(body)
	case kindTailAsk:
		from, err := decodeTailAsk(body)
		if err != nil || s.rate != 0 || from > s.config.Hello.Final {
			return Event{}, errValue
		}
		return Event{Kind: EventTailAsk, Tick: from}, nil
	case kindToken:
		token, err := decodeToken(body)
		return Event{Kind: EventToken, Message: token}, err
	case kindSaid:
		m, err := decodeSaid(body)
		return Event{Kind: EventSaid, Said: &m}, err
	case kindNotice:
		m, err := decodeNotice(body)
		return Event{Kind: EventNotice, Text: m.text, Seconds: int(m.seconds)}, err
	case kindPing, kindPong:
		m, err := s.probe(k, body, now, pong{})
		if m.epoch == s.epoch && m.tick >= s.serverTick { // a server that waits tells the same tick again
			s.serverTick, s.serverTickAt = m.tick, now
		}
		return Event{}, err
	case kindBye:
		return Event{}, s.leave(ch, body)
	case kindStrategy:
		message, ok, err := s.strategy(body)
		if !ok {
			return Event{}, err
		}
		s.unheard = false
		return Event{Kind: EventStrategy, Channel: ch, Message: message}, nil
	}
	return Event{}, errValue
}

func (s *Client) welcome(body []byte, now systems.Time) (Event, error) {
	w, err := decodeWelcome(body)
	if err != nil || s.rate != 0 {
		return Event{}, errValue
	}
	if !w.Image && (w.Match != s.config.Hello.Match || s.config.Hello.Have == 0) {
		return Event{}, errValue
	}
	s.rate, s.epoch, s.next = w.Rate, w.Epoch, w.Epoch
	s.loaded, s.waiting = s.config.Hello.Have, !w.Image
	s.serverTick, s.serverTickAt, s.nextPing = w.Tick, now, now
	return Event{Kind: EventWelcome, Welcome: &w}, nil
}

func (s *Client) refusal(body []byte) (Event, error) {
	e, err := decodeRefusal(body)
	if err != nil || s.rate != 0 {
		return Event{}, errValue
	}
	e.Ours = s.config.Hello.Fingerprint
	s.err = &e
	return Event{}, nil
}

func (s *Client) imageHead(body []byte) (Event, error) {
	h, err := decodeImageHead(body)
	if err != nil {
		return Event{}, err
	}
	if err := s.sink.open(h, s.config.MaxImage); err != nil {
		s.finish(CodeProtocol, err.Error())
		return Event{}, nil
	}
	s.next, s.loaded, s.waiting, s.unheard = h.epoch, h.tick, false, false
	return Event{}, nil
}

// imagePiece takes a piece. A damaged image cannot be made up for, since what brought it is reliable.
func (s *Client) imagePiece(body []byte) (Event, error) {
	image, err := s.sink.add(body)
	switch {
	case err != nil:
		s.finish(CodeProtocol, err.Error())
		return Event{}, nil
	case image == nil:
		return Event{}, nil
	}
	s.waiting = true
	return Event{Kind: EventImage, Message: image, Tick: s.loaded, Chain: s.sink.head.chain}, nil
}

// Ready says that the state of the last image, or the one that Hello told of, is loaded: from now on the strategy's
// messages are those of the new epoch. It does nothing if no such state is owed.
func (s *Client) Ready() {
	if !s.waiting || s.err != nil {
		return
	}
	// What a live client said reliably must not be overtaken: the server would take it for stale.
	s.unheard, s.nextSay = !s.live, s.now+insistAfter
	s.waiting, s.live = false, false
	s.epoch = s.next
	s.scratch = appendReady(s.scratch[:0], ready{s.epoch, s.loaded})
	s.reliable(s.scratch)
}

// insist says Ready again, as a datagram, until the strategy is heard.
func (s *Client) insist(now systems.Time) {
	if s.unheard && s.err == nil && now >= s.nextSay {
		s.nextSay = now + insistInterval
		s.scratch = appendReady(s.scratch[:0], ready{s.epoch, s.loaded})
		s.datagram(s.scratch)
	}
}

// Tail answers an EventTailAsk with ticks in the form of journal.Tail, at most MaxTail bytes; none says that there are
// no more.
func (s *Client) Tail(ticks []byte) {
	if s.err == nil && s.rate == 0 {
		s.scratch = appendTail(s.scratch[:0], ticks)
		s.reliable(s.scratch)
	}
}

// Live says that the strategy has caught up and gives inputs. Call it once after each Ready, and on for as long as the
// match does not show that the server has heard it: then it is said again, as a datagram.
func (s *Client) Live() {
	if s.waiting || s.rate == 0 || s.err != nil || s.live && s.now < s.nextSay {
		return
	}
	s.scratch = append(s.scratch[:0], uint8(kindLive))
	if s.live {
		s.nextSay = s.now + insistInterval
		s.datagram(s.scratch)
		return
	}
	s.live, s.nextSay = true, s.now+insistAfter
	s.reliable(s.scratch)
}

// Chat says something to the others, at most MaxChat bytes of it. The server passes on one message per second and
// five at once.
func (s *Client) Chat(text string) {
	if s.err == nil && s.rate != 0 && clip(text, MaxChat) != "" {
		s.scratch = appendChat(s.scratch[:0], text)
		s.reliable(s.scratch)
	}
}

// SendStrategy carries a message of the strategy's half to the server: at most systems.MaxDatagram bytes as a
// datagram, at most MaxStrategyReliable otherwise. Before the Welcome it does nothing.
func (s *Client) SendStrategy(ch systems.Channel, message []byte) {
	if s.rate != 0 {
		s.sendStrategy(ch, message)
	}
}

// Fault counts a strategy's message that the strategy could not use.
func (s *Client) Fault(now systems.Time) { s.fault(now) }

// End ends the session and says why; CodeLeft is the usual reason.
func (s *Client) End(code Code, text string) { s.finish(code, text) }

// Progress returns the share of the image under way that has arrived, in [0, 1].
func (s *Client) Progress() float64 {
	if s.waiting {
		return 1
	}
	return s.sink.progress()
}

// ServerTick returns the tick that a message of the server's which arrives now would tell of.
func (s *Client) ServerTick(now systems.Time) ecs.Tick {
	since := min(max(now-s.serverTickAt, 0), 3600*systems.Second)
	return s.serverTick + ecs.Tick(since*systems.Time(s.rate)/systems.Second)
}

// Frame lets time go by: what waits is sent as far as there is room, the round trip is probed, four times a second
// until the client is live, and a server of which nothing is heard is given up. Before the Welcome, for which a server
// that was started again may let it wait, probes only tell each side that the other is there.
func (s *Client) Frame(now systems.Time) {
	every := pingInterval
	if s.rate != 0 && !s.live {
		every = pingInterval / 4
	}
	s.pass(now, every)
	s.insist(now)
}
