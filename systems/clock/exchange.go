package clock

import (
	"fmt"

	"tendon/systems"
)

// Prober is the client's side of the exchange: it asks, computes, and sends what lets the server compute too. It asks 8
// times, 100 ms apart, when it begins, then once a second.
//
// Invariant: an answer counts once, and only for a question that was asked since the exchange was last begun anew: an
// older one was measured over the ways as they were.
type Prober struct {
	Remote
	asked  [remembered]mark
	number uint8
	burst  int          // quick questions that are left
	next   systems.Time // when to ask again
	begun  bool
	acks   queue
}

// Answerer is the server's side for one client. It answers and, from the third message, learns of the client's clock
// what the client learns of the server's.
//
// Invariant: a third message counts once, and only for an answer that was given since the exchange was last begun anew.
type Answerer struct {
	Remote
	answered [remembered]mark
	pongs    queue
	order    bool // the client is to begin anew
}

// Config says how an exchange is made. Both sides must have the same.
type Config struct {
	// Unit is the unit of stamps on the wire, in [1 ms, 10 ms]. Zero: 10 ms, as in Cloud Wu's note. It bounds how exact
	// an estimate can be.
	Unit systems.Time
}

const (
	remembered  = 8                   // exchanges that may be on their way, a power of two
	burstProbes = 8                   // questions when an exchange begins (netfox)
	burstEvery  = systems.Second / 10 // between two of them
	probeEvery  = systems.Second      // between two questions after that
)

// mark is a message that an answer is awaited to.
type mark struct {
	number uint8
	set    bool
	at     systems.Time // when it was sent, exactly
}

// reply is a message that is owed.
type reply struct {
	number uint8
	at     systems.Time // when the message came that it answers
}

// queue holds the replies that are owed; when it is full, the oldest is given up.
type queue struct {
	replies [remembered]reply
	count   int
}

func (q *queue) push(r reply) {
	if q.count == len(q.replies) {
		copy(q.replies[:], q.replies[1:])
		q.count--
	}
	q.replies[q.count] = r
	q.count++
}

func (q *queue) pop() reply {
	r := q.replies[0]
	copy(q.replies[:], q.replies[1:q.count])
	q.count--
	return r
}

func (c Config) remote() (Remote, error) {
	if c.Unit == 0 {
		c.Unit = 10 * systems.Second / 1000
	}
	if c.Unit < systems.Second/1000 || c.Unit > systems.Second/100 {
		return Remote{}, fmt.Errorf("clock: Config.Unit is %d ns, not in [1 ms, 10 ms]", c.Unit)
	}
	return Remote{unit: c.Unit}, nil
}

// NewProber returns a client's side that begins to ask at once.
func NewProber(c Config) (*Prober, error) {
	r, err := c.remote()
	if err != nil {
		return nil, err
	}
	return &Prober{Remote: r, burst: burstProbes}, nil
}

// NewAnswerer returns a server's side for one client.
func NewAnswerer(c Config) (*Answerer, error) {
	r, err := c.remote()
	if err != nil {
		return nil, err
	}
	return &Answerer{Remote: r}, nil
}

// Append writes the next message that is due at now, or nothing. Call it until it writes nothing.
func (p *Prober) Append(dst []byte, now systems.Time) []byte {
	if p.acks.count > 0 {
		r := p.acks.pop()
		m := message{kind: KindPongAck, number: r.number, at: r.at, held: max(now-r.at, 0)}
		return m.append(dst, p.unit)
	}
	// A clock that was set back must not silence the exchange for longer than its period.
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

// Receive takes a message of the exchange.
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
			return nil // doubled, or of a question long ago
		}
		asked.set = false
		p.acks.push(reply{m.number, now})
		if !p.Heard(m.at+m.held, now) && !p.add(asked.at, m.at, m.at+m.held, now) {
			p.hurry(now)
		}
	default:
		return ErrMessage
	}
	return nil
}

// Heard takes a stamp of the server's that came with any message, as Remote.Heard does, and begins to ask anew if it
// shows that the estimate is wrong.
func (p *Prober) Heard(stamp, now systems.Time) (wrong bool) {
	if wrong = p.Remote.Heard(stamp, now); wrong {
		p.asked = [remembered]mark{}
		p.hurry(now)
	}
	return wrong
}

// hurry asks quickly from now on. A server that orders it without end gets no more than ten questions a second.
func (p *Prober) hurry(now systems.Time) {
	p.burst, p.next = burstProbes, min(p.next, now+burstEvery)
}

// Append writes the next message that is due at now, or nothing. Call it until it writes nothing.
func (a *Answerer) Append(dst []byte, now systems.Time) []byte {
	if a.pongs.count > 0 {
		r := a.pongs.pop()
		now = max(now, r.at)
		a.answered[r.number%remembered] = mark{r.number, true, now}
		m := message{kind: KindPong, number: r.number, at: r.at, held: now - r.at}
		return m.append(dst, a.unit)
	}
	if a.order {
		a.order = false
		return append(dst, KindRestart)
	}
	return dst
}

// Receive takes a message of the exchange.
func (a *Answerer) Receive(b []byte, now systems.Time) error {
	var m message
	if err := m.read(b, a.unit); err != nil {
		return err
	}
	switch m.kind {
	case KindPing:
		a.Heard(m.at, now)
		a.pongs.push(reply{m.number, now})
	case KindPongAck:
		answered := &a.answered[m.number%remembered]
		if !answered.set || answered.number != m.number {
			return nil
		}
		answered.set = false
		if !a.Heard(m.at+m.held, now) && !a.add(answered.at, m.at, m.at+m.held, now) {
			a.order = true
		}
	default:
		return ErrMessage
	}
	return nil
}

// Heard takes a stamp of the client's that came with any message, as Remote.Heard does, and orders the client to begin
// anew if it shows that the estimate is wrong. The order may be lost: the next exchange, within a second, mends the
// server's side in any case.
func (a *Answerer) Heard(stamp, now systems.Time) (wrong bool) {
	if wrong = a.Remote.Heard(stamp, now); wrong {
		a.answered = [remembered]mark{}
		a.order = true
	}
	return wrong
}
