package clock

import (
	"slices"

	"tendon/systems"
)

// Prober is the client's side of the exchange. It sends 8 pings, 100 ms apart, when it starts, then one per second.
type Prober struct {
	Remote
	number uint8
	burst  int          // quick pings that are left
	next   systems.Time // of the next ping
	begun  bool
}

// Answerer is the server's side of the exchange with one client. It answers pings and estimates the client's clock from the
// third message.
type Answerer struct {
	Remote
	restarts bool // the client is to restart the exchange
}

const (
	stampUnit   = systems.Second / 100 // unit of stamps on the wire, as in Cloud Wu's note: the precision of an estimate
	remembered  = 8                    // exchanges that may be in flight, a power of two
	burstProbes = 8                    // pings when an exchange starts (netfox)
	burstEvery  = systems.Second / 10  // between two of them
	probeEvery  = systems.Second       // between two pings after that
)

// mark is the number of a message and its time.
type mark struct {
	number uint8
	set    bool // the message waits for its answer
	at     systems.Time
}

// reply notes a message that is to be answered, received at a time. If too many wait, the oldest is dropped.
func (r *Remote) reply(number uint8, at systems.Time) {
	if len(r.replies) == remembered {
		r.replies = slices.Delete(r.replies, 0, 1)
	}
	r.replies = append(r.replies, mark{number: number, at: at})
}

// nextReply removes the oldest message that is to be answered, and returns the answer at now.
func (r *Remote) nextReply(kind uint8, now systems.Time) message {
	m := r.replies[0]
	r.replies = slices.Delete(r.replies, 0, 1)
	return message{kind: kind, number: m.number, at: m.at, held: max(now-m.at, 0)}
}

// awaits notes that a message was sent, and waits for its answer.
func (r *Remote) awaits(number uint8, at systems.Time) {
	r.sent[number%remembered] = mark{number, true, at}
}

// answered adds the exchange that m ends. wrong reports that the estimate was wrong. An answer counts once, and only if its
// message was sent since the last restart of the exchange.
func (r *Remote) answered(m *message, now systems.Time) (counts, wrong bool) {
	sent := &r.sent[m.number%remembered]
	if !sent.set || sent.number != m.number {
		return false, false
	}
	sent.set = false
	return true, r.Check(m.at+m.held, now) || !r.add(sent.at, m.at, m.at+m.held, now)
}

// NewProber returns a client's side that sends its first ping at once.
func NewProber() *Prober { return &Prober{burst: burstProbes} }

// NewAnswerer returns a server's side for one client.
func NewAnswerer() *Answerer { return &Answerer{} }

// Append writes the next message that is due at now, or nothing. Call it until it writes nothing.
func (p *Prober) Append(dst []byte, now systems.Time) []byte {
	if len(p.replies) > 0 {
		m := p.nextReply(KindPongAck, now)
		return m.append(dst)
	}
	// A clock that was set back must not stop the exchange for longer than its period.
	if p.begun && now < p.next && p.next-now <= probeEvery {
		return dst
	}
	p.begun, p.next = true, now+probeEvery
	if p.burst > 0 {
		p.burst--
		p.next = now + burstEvery
	}
	p.number++
	p.awaits(p.number, now)
	m := message{kind: KindPing, number: p.number, at: now}
	return m.append(dst)
}

// Receive processes a message of the exchange. It returns ErrMessage for a malformed one.
func (p *Prober) Receive(b []byte, now systems.Time) error {
	var m message
	if err := m.read(b); err != nil {
		return err
	}
	switch m.kind {
	case KindRestart:
		p.restart()
		p.hurry(now)
	case KindPong:
		counts, wrong := p.answered(&m, now)
		if counts {
			p.reply(m.number, now)
		}
		if wrong {
			p.hurry(now)
		}
	default:
		return ErrMessage
	}
	return nil
}

// Check checks a stamp of the server's as Remote.Check does, and restarts the exchange if the estimate is wrong.
func (p *Prober) Check(stamp, now systems.Time) (wrong bool) {
	if wrong = p.Remote.Check(stamp, now); wrong {
		p.hurry(now)
	}
	return wrong
}

// hurry sends the next pings quickly, at most ten per second however often it is called.
func (p *Prober) hurry(now systems.Time) {
	p.burst, p.next = burstProbes, min(p.next, now+burstEvery)
}

// Append writes the next message that is due at now, or nothing. Call it until it writes nothing.
func (a *Answerer) Append(dst []byte, now systems.Time) []byte {
	if len(a.replies) > 0 {
		m := a.nextReply(KindPong, now)
		a.awaits(m.number, m.at+m.held)
		return m.append(dst)
	}
	if a.restarts {
		a.restarts = false
		return append(dst, KindRestart)
	}
	return dst
}

// Receive processes a message of the exchange. It returns ErrMessage for a malformed one.
func (a *Answerer) Receive(b []byte, now systems.Time) error {
	var m message
	if err := m.read(b); err != nil {
		return err
	}
	switch m.kind {
	case KindPing:
		a.Check(m.at, now)
		a.reply(m.number, now)
	case KindPongAck:
		_, wrong := a.answered(&m, now)
		a.restarts = a.restarts || wrong
	default:
		return ErrMessage
	}
	return nil
}

// Check checks a stamp of the client's as Remote.Check does, and lets the client restart the exchange if the estimate is
// wrong. That message may be lost: the next exchange, within a second, corrects the server's estimate anyway.
func (a *Answerer) Check(stamp, now systems.Time) (wrong bool) {
	wrong = a.Remote.Check(stamp, now)
	a.restarts = a.restarts || wrong
	return wrong
}
