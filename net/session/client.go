package session

import (
	"cmp"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
)

// Client is the client's end of a session. Its owner loads the images that it receives and calls Ready.
type Client struct {
	common
	hello      Hello
	rate       int // ticks per second, 0 before the Welcome
	sink       imageSink
	nextEpoch  uint8    // of the image that is incomplete or not loaded yet
	loaded     ecs.Tick // its tick
	readyOwed  bool     // Ready has to be called
	live       bool
	unanswered bool         // Ready was sent and the strategy of the server has not answered
	nextRepeat systems.Time // when to send Ready or Live again

	serverTick   ecs.Tick // newest that was received
	serverTickAt systems.Time
}

// ClientTimeout is the default timeout of a client.
const ClientTimeout = 10 * systems.Second

// NewClient returns the client's end of a session that begins now, and sends hello with Version and PacketLimit filled in. timeout ends
// a session whose server sends nothing; 0: ClientTimeout.
func NewClient(hello Hello, timeout systems.Time, t Transport, now systems.Time) *Client {
	hello.Version, hello.PacketLimit = Version, t.PacketLimit()
	s := &Client{common: newCommon(t, cmp.Or(timeout, ClientTimeout), now), hello: hello}
	s.nextPing = now + pingInterval
	s.send(systems.Reliable, message{kind: kindHello, hello: &s.hello})
	return s
}

// Receive processes a message from the server and returns its meaning.
func (s *Client) Receive(ch systems.Channel, message []byte, now systems.Time) Event {
	if s.err != nil {
		return Event{}
	}
	s.received(message, now)
	e, err := s.handle(ch, message, now)
	return s.result(e, err, now)
}

func (s *Client) handle(ch systems.Channel, b []byte, now systems.Time) (Event, error) {
	m, err := s.decode(ch, b)
	if err != nil {
		return Event{}, err
	}
	if s.rate == 0 && !m.kind.precedesWelcome() {
		if ch == systems.Datagram {
			s.stats.Stale++ // it overtook the Welcome, or is of the connection before
			return Event{}, nil
		}
		return Event{}, errValue
	}
	switch m.kind {
	case kindWelcome:
		return s.welcome(m.welcome, now)
	case kindRefusal:
		if s.rate != 0 {
			return Event{}, errValue
		}
		s.err = &Error{Code: m.code, Text: m.text, Ours: s.hello.Fingerprint, Theirs: m.theirs}
	case kindImageHead:
		s.imageHead(m)
	case kindImagePiece:
		return s.imagePiece(m.data), nil
	case kindTailAsk:
		if s.rate != 0 || m.tick > s.hello.Final {
			return Event{}, errValue
		}
		return Event{Kind: EventTailAsk, Tick: m.tick}, nil
	case kindProof:
		if s.current(m) {
			return Event{Kind: EventProof, Tick: m.tick, Message: m.data}, nil
		}
	case kindToken:
		return Event{Kind: EventToken, Message: m.data}, nil
	case kindEndpoints:
		return Event{Kind: EventEndpoints, Message: m.data}, nil
	case kindChatLine:
		return Event{Kind: EventChatLine, Line: m.line}, nil
	case kindNotice:
		return Event{Kind: EventNotice, Text: m.text, Seconds: m.seconds}, nil
	case kindPaused:
		return Event{Kind: EventPaused, Paused: m.paused}, nil
	case kindSeat:
		return Event{Kind: EventSeat, Seat: m.seat}, nil
	case kindPings:
		return Event{Kind: EventPings, Pings: m.pings}, nil
	case kindVerdict:
		return Event{Kind: EventVerdict, Verdict: m.verdict}, nil
	case kindRefused:
		return Event{Kind: EventRefused, Refused: m.refused}, nil
	case kindPing, kindPong:
		if s.current(m) {
			s.probe(m, now, 0)
			if m.tick >= s.serverTick && m.kind == kindPong { // a server that waits sends the same tick again
				s.serverTick, s.serverTickAt = m.tick, now
			}
		}
	case kindEnd:
		s.ended(ch, m)
	case kindStrategy:
		if s.current(m) {
			s.unanswered = false
			return Event{Kind: EventStrategy, Channel: ch, Message: m.data}, nil
		}
	default:
		return Event{}, errValue
	}
	return Event{}, nil
}

func (s *Client) welcome(w *Welcome, now systems.Time) (Event, error) {
	if s.rate != 0 || !w.Image && (w.Match != s.hello.Match || s.hello.Have == 0) {
		return Event{}, errValue
	}
	s.rate, s.epoch, s.nextEpoch = w.Rate, w.Epoch, w.Epoch
	s.loaded, s.readyOwed = s.hello.Have, !w.Image
	s.serverTick, s.serverTickAt, s.nextPing = w.Tick, now, now
	return Event{Kind: EventWelcome, Welcome: w}, nil
}

func (s *Client) imageHead(m message) {
	if err := s.sink.open(m.image); err != nil {
		s.End(CodeProtocol, err.Error())
		return
	}
	s.nextEpoch, s.loaded, s.readyOwed, s.unanswered = m.epoch, m.image.tick, false, false
}

// imagePiece adds a piece. A damaged image ends the session, because the reliable channel would deliver it again as it is.
func (s *Client) imagePiece(packed []byte) Event {
	image, err := s.sink.add(packed)
	if err != nil {
		s.End(CodeProtocol, err.Error())
	}
	if image == nil {
		return Event{}
	}
	s.readyOwed = true
	return Event{Kind: EventImage, Message: image, Tick: s.loaded, Chain: s.sink.head.chain, Name: s.sink.head.strategy, Params: s.sink.head.params}
}

// Ready reports to the server that the state of the last image, or that of Hello.Have, is loaded. It begins the new epoch.
func (s *Client) Ready() {
	if !s.readyOwed || s.err != nil {
		return
	}
	// A live client does not repeat Ready: a datagram could overtake its reliable messages, which would then be stale.
	s.unanswered, s.nextRepeat = !s.live, s.now+readyAfter
	s.readyOwed, s.live = false, false
	s.epoch = s.nextEpoch
	s.send(systems.Reliable, message{kind: kindReady, epoch: s.epoch, tick: s.loaded})
}

// Tail answers an EventTailAsk with ticks as record.Tail encodes them, at most MaxTail bytes; none if there are no more.
func (s *Client) Tail(ticks []byte) {
	if s.err == nil && s.rate == 0 {
		s.send(systems.Reliable, message{kind: kindTail, data: ticks})
	}
}

// Live reports to the server that the strategy has caught up and sends inputs. Call it after each Ready, and again until
// the player is in the match: repetitions are sent as datagrams, at a bounded rate.
func (s *Client) Live() {
	if s.readyOwed || s.rate == 0 || s.err != nil || s.live && s.now < s.nextRepeat {
		return
	}
	ch, again := systems.Reliable, repeatAfter
	if s.live {
		ch, again = systems.Datagram, repeatInterval
	}
	s.live, s.nextRepeat = true, s.now+again
	s.send(ch, message{kind: kindLive})
}

// Chat sends a chat message, of which MaxChat bytes are used. The server forwards one message per second and five at once.
func (s *Client) Chat(text string) {
	if s.err == nil && s.rate != 0 && wire.Clip(text, MaxChat) != "" {
		s.send(systems.Reliable, message{kind: kindChat, text: text})
	}
}

// Pause requests a pause of the match, or its end.
func (s *Client) Pause(on bool) {
	if s.err == nil && s.rate != 0 {
		s.send(systems.Reliable, message{kind: kindPause, on: on})
	}
}

// SendStrategy sends a message of the strategy, at most systems.MaxDatagram bytes as a datagram and MaxStrategyReliable
// otherwise. Before the Welcome it does nothing.
func (s *Client) SendStrategy(ch systems.Channel, message []byte) {
	if s.rate != 0 {
		s.sendStrategy(ch, message)
	}
}

// Progress returns the share of the image that has arrived, in [0, 1].
func (s *Client) Progress() float64 {
	if s.readyOwed {
		return 1
	}
	return s.sink.progress()
}

// ServerTick estimates the tick in a message of the server that would arrive now.
func (s *Client) ServerTick(now systems.Time) ecs.Tick {
	since := min(max(now-s.serverTickAt, 0), 3600*systems.Second)
	return s.serverTick + ecs.Tick(since*systems.Time(s.rate)/systems.Second)
}

// Frame probes the round trip once a second, and four times a second before the client is live, except while an image arrives. It
// ends the session at the timeout. Call it once per frame. It sends Ready again, as a datagram, until a message of the strategy
// arrives. When nothing arrives, it probes ten times in the next second. So a server whose strategy sends little is not taken for
// one that stands still.
func (s *Client) Frame(now systems.Time) {
	every := pingInterval
	if s.rate != 0 && !s.live && s.sink.decoder == nil {
		every = pingInterval / 4
	}
	if quiet := s.stats.Silence; s.live && quiet > longSilence/2 && quiet < 2*longSilence {
		every = pingInterval / 10
		s.nextPing = min(s.nextPing, now+every)
	}
	s.frame(now, every)
	if s.unanswered && s.err == nil && now >= s.nextRepeat {
		s.nextRepeat = now + repeatInterval
		s.send(systems.Datagram, message{kind: kindReady, epoch: s.epoch, tick: s.loaded})
	}
}
