package clock

import "tendon/systems"

// Prober is the client's side of the exchange. It sends 8 pings, 100 ms apart, when it starts, then one per second.
//
// Invariant: an answer counts once, and only if its ping was sent since the last restart of the exchange.
type Prober struct {
	Remote
	asked  [remembered]mark
	number uint8
	burst  int          // quick pings that are left
	next   systems.Time // of the next ping
	begun  bool
	acks   queue
}

// Answerer is the server's side of the exchange with one client. It answers pings and estimates the client's clock from the
// third message.
//
// Invariant: a third message counts once, and only if its answer was sent since the last restart of the exchange.
type Answerer struct {
	Remote
	answered [remembered]mark
	pongs    queue
	restarts bool // the client is to restart the exchange
}

const (
	stampUnit   = systems.Second / 100 // unit of stamps on the wire, as in Cloud Wu's note: the precision of an estimate
	remembered  = 8                    // exchanges that may be in flight, a power of two
	burstProbes = 8                    // pings when an exchange starts (netfox)
	burstEvery  = systems.Second / 10  // between two of them
	probeEvery  = systems.Second       // between two pings after that
)

type mark struct {
	number uint8
	set    bool
	at     systems.Time // when it was sent
}

type reply struct {
	number uint8
	at     systems.Time // when the message that it answers was received
}

// queue holds the replies that are to be sent. If it is full, the oldest is dropped.
type queue []reply

func (q *queue) push(r reply) {
	if len(*q) == remembered {
		q.pop()
	}
	*q = append(*q, r)
}

func (q *queue) pop() reply {
	r := (*q)[0]
	*q = append((*q)[:0], (*q)[1:]...)
	return r
}

// NewProber returns a client's side that sends its first ping at once.
func NewProber() *Prober { return &Prober{Remote: Remote{unit: stampUnit}, burst: burstProbes} }

// NewAnswerer returns a server's side for one client.
func NewAnswerer() *Answerer { return &Answerer{Remote: Remote{unit: stampUnit}} }

// Append writes the next message that is due at now, or nothing. Call it until it writes nothing.
func (p *Prober) Append(dst []byte, now systems.Time) []byte {
	if len(p.acks) > 0 {
		r := p.acks.pop()
		m := message{kind: KindPongAck, number: r.number, at: r.at, held: max(now-r.at, 0)}
		return m.append(dst, p.unit)
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
	p.asked[p.number%remembered] = mark{p.number, true, now}
	m := message{kind: KindPing, number: p.number, at: now}
	return m.append(dst, p.unit)
}

// Receive processes a message of the exchange. It returns ErrMessage for a malformed one.
func (p *Prober) Receive(b []byte, now systems.Time) error {
	var m message
	if err := m.read(b, p.unit); err != nil {
		return err
	}
	switch m.kind {
	case KindRestart:
		p.restart()
		p.asked = [remembered]mark{}
		p.hurry(now)
	case KindPong:
		asked := &p.asked[m.number%remembered]
		if !asked.set || asked.number != m.number {
			return nil // a duplicate, or the answer to an old ping
		}
		asked.set = false
		p.acks.push(reply{m.number, now})
		if !p.Check(m.at+m.held, now) && !p.add(asked.at, m.at, m.at+m.held, now) {
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
		p.asked = [remembered]mark{}
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
	if len(a.pongs) > 0 {
		r := a.pongs.pop()
		now = max(now, r.at)
		a.answered[r.number%remembered] = mark{r.number, true, now}
		m := message{kind: KindPong, number: r.number, at: r.at, held: now - r.at}
		return m.append(dst, a.unit)
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
	if err := m.read(b, a.unit); err != nil {
		return err
	}
	switch m.kind {
	case KindPing:
		a.Check(m.at, now)
		a.pongs.push(reply{m.number, now})
	case KindPongAck:
		answered := &a.answered[m.number%remembered]
		if !answered.set || answered.number != m.number {
			return nil
		}
		answered.set = false
		if !a.Check(m.at+m.held, now) && !a.add(answered.at, m.at, m.at+m.held, now) {
			a.restarts = true
		}
	default:
		return ErrMessage
	}
	return nil
}

// Check checks a stamp of the client's as Remote.Check does, and lets the client restart the exchange if the estimate is
// wrong. That message may be lost: the next exchange, within a second, corrects the server's estimate anyway.
func (a *Answerer) Check(stamp, now systems.Time) (wrong bool) {
	if wrong = a.Remote.Check(stamp, now); wrong {
		a.answered = [remembered]mark{}
		a.restarts = true
	}
	return wrong
}
