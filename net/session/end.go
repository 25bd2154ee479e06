package session

import "tendon/systems"

// end is what both ends of a session have in common: sending, silence, round trips, faults of the peer, and the end.
type end struct {
	transport Transport
	out       queue
	scratch   []byte
	epoch     uint8 // strategy messages and datagrams of this epoch are current
	now       systems.Time
	framed    bool // whether now means anything
	silence   systems.Time
	timeout   systems.Time
	nextPing  systems.Time
	trip      roundTrip
	faults    limit
	err       *Error
	stats     Stats
}

const (
	// queueBytes bounds the reliable messages that wait for the transport.
	queueBytes = 4 * MaxMessage
	// faultsAllowed messages that cannot be used, plus one per second, are borne with.
	faultsAllowed = 32
)

func newEnd(t Transport, timeout systems.Time, now systems.Time) end {
	return end{transport: t, out: queue{limit: queueBytes}, timeout: timeout, now: now, framed: true, faults: newLimit(1, faultsAllowed)}
}

// Err returns why the session has ended, or nil while it has not. A session that has ended still wants Frame for a
// while, to deliver its last words.
func (e *end) Err() error {
	if e.err == nil {
		return nil
	}
	return e.err
}

// Stats returns what was counted.
func (e *end) Stats() Stats {
	s := e.stats
	s.Queued, s.RTT, s.Silence = e.out.size(), e.trip.smooth, e.silence
	return s
}

// RTT returns the smoothed round trip time; ok is false before the first measurement.
func (e *end) RTT() (rtt systems.Time, ok bool) { return e.trip.smooth, e.trip.sampled }

// reliable sends a message that must arrive. It waits here while the transport has no room; a peer for whom too much
// waits is let go.
func (e *end) reliable(message []byte) {
	if e.out.size() == 0 && e.transport.Room() >= len(message) && e.transport.Send(systems.Reliable, message) == nil {
		e.sent(1, len(message))
		return
	}
	if !e.out.push(message) && e.err == nil {
		e.err = &Error{Code: CodeSlow}
	}
}

func (e *end) datagram(message []byte) {
	if e.transport.Send(systems.Datagram, message) == nil {
		e.sent(1, len(message))
	}
}

func (e *end) sent(messages, bytes int) {
	e.stats.MessagesSent += uint64(messages)
	e.stats.BytesSent += uint64(bytes)
}

// sendStrategy carries a message of the strategy's: at most systems.MaxDatagram or MaxStrategyReliable bytes.
func (e *end) sendStrategy(ch systems.Channel, message []byte) {
	e.scratch = appendStrategy(e.scratch[:0], e.epoch, message)
	switch {
	case e.err != nil:
	case ch == systems.Datagram && len(message) <= systems.MaxDatagram:
		e.datagram(e.scratch)
	case ch == systems.Reliable && len(message) <= MaxStrategyReliable:
		e.reliable(e.scratch)
	default:
		panic("session: a strategy sent a message that is too long for its channel: keep to systems.MaxDatagram and session.MaxStrategyReliable")
	}
}

// hear takes note of a message and of when it came.
func (e *end) hear(message []byte) {
	e.silence = 0
	e.stats.MessagesReceived++
	e.stats.BytesReceived += uint64(len(message))
}

// fault counts a message that cannot be used, and ends the session if there are too many.
func (e *end) fault(now systems.Time) {
	e.stats.Malformed++
	if !e.faults.take(now, 1) {
		e.finish(CodeProtocol, "")
	}
}

// finish ends the session and tells the peer, on both channels: the reliable one may be what is broken.
func (e *end) finish(code Code, text string) {
	if e.err != nil {
		return
	}
	e.scratch = appendBye(e.scratch[:0], bye{epoch: e.epoch, code: code, text: text})
	e.datagram(e.scratch)
	e.reliable(e.scratch)
	e.err = &Error{Code: code, Text: clip(text, MaxText)}
}

// pass lets time go by: it drains the queue, probes the round trip and watches the silence.
func (e *end) pass(now, pingEvery systems.Time) {
	elapsed := max(now-e.now, 0)
	e.now = now
	e.sent(e.drain())
	if e.err != nil {
		return
	}
	// A long gap between two Frames is this host's own: it counts as a quarter of the timeout at most, so that what
	// arrived meanwhile is heard before the peer is given up.
	if e.silence += min(elapsed, e.timeout/4); e.silence >= e.timeout {
		e.finish(CodeTimeout, "")
		return
	}
	if pingEvery > 0 && now >= e.nextPing {
		e.nextPing = now + pingEvery
		e.scratch = appendPing(e.scratch[:0], e.epoch, stampOf(now))
		e.datagram(e.scratch)
	}
}

func (e *end) drain() (messages, bytes int) {
	before := len(e.out.sizes)
	bytes = e.out.drain(e.transport)
	return before - len(e.out.sizes), bytes
}

// probe handles pings and pongs. answer is what a pong tells beside epoch and stamp; m is what one told, if it was
// of this epoch.
func (e *end) probe(k kind, body []byte, now systems.Time, answer pong) (m pong, err error) {
	if k == kindPing {
		epoch, stamp, err := decodePing(body)
		switch {
		case err != nil:
			return m, err
		case epoch != e.epoch:
			e.stats.Stale++
		default:
			answer.epoch, answer.stamp = e.epoch, stamp
			e.scratch = appendPong(e.scratch[:0], answer)
			e.datagram(e.scratch)
		}
		return m, nil
	}
	if m, err = decodePong(body); err != nil {
		return m, err
	}
	if m.epoch != e.epoch {
		e.stats.Stale++
		return pong{}, nil
	}
	e.trip.sample(now, m.stamp)
	return m, nil
}

// strategy takes a strategy's message apart; ok is false for a stale one.
func (e *end) strategy(body []byte) (message []byte, ok bool, err error) {
	if len(body) < 2 {
		return nil, false, errValue
	}
	if body[0] != e.epoch {
		e.stats.Stale++
		return nil, false, nil
	}
	return body[1:], true, nil
}

// leave takes the peer's bye.
func (e *end) leave(ch systems.Channel, body []byte) error {
	m, err := decodeBye(body)
	switch {
	case err != nil:
		return err
	case ch == systems.Datagram && m.epoch != e.epoch:
		e.stats.Stale++
	default:
		e.err = &Error{Code: m.code, Text: m.text}
	}
	return nil
}

// travels reports whether messages of kind k may come on channel ch.
func (k kind) travels(ch systems.Channel) bool {
	switch k {
	case kindPing, kindPong:
		return ch == systems.Datagram
	case kindBye, kindStrategy, kindReady, kindLive:
		return true
	}
	return ch == systems.Reliable
}
