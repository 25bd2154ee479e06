package session

import (
	"tendon/net/limit"
	"tendon/systems"
)

// common is the part that both ends of a session share: sending, the timeout, round trips, faults of the peer, and the end
// of the session.
type common struct {
	transport Transport
	scratch   []byte
	epoch     uint8 // of current strategy messages and datagrams
	now       systems.Time
	silence   systems.Time // since the last message from the peer
	timeout   systems.Time
	nextPing  systems.Time
	trip      roundTrip
	faults    limit.Limiter[systems.Time]
	err       *Error
	stats     Stats
}

// A peer may send faultsAllowed malformed messages at once, and one more per second.
const faultsAllowed = 32

// perSecond returns a limiter for n events per second and a burst.
func perSecond(n, burst int) limit.Limiter[systems.Time] {
	return limit.New(systems.Second/systems.Time(n), burst)
}

func newCommon(t Transport, timeout systems.Time, now systems.Time) common {
	return common{transport: t, timeout: timeout, now: now, faults: perSecond(1, faultsAllowed)}
}

// Err returns why the session has ended, or nil while it has not. Call Frame for a while after the end, so that the last
// messages are sent.
func (c *common) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Stats returns the counters of the session.
func (c *common) Stats() Stats {
	s := c.stats
	s.RTT, s.Silence = c.trip.smooth, c.silence
	return s
}

// RTT returns the smoothed round trip time; ok is false before the first measurement.
func (c *common) RTT() (rtt systems.Time, ok bool) { return c.trip.smooth, c.trip.sampled }

// reliable sends a message on the reliable channel. The session ends if the queue of the transport is full.
func (c *common) reliable(message []byte) {
	if !c.send(systems.Reliable, message) && c.err == nil {
		c.err = &Error{Code: CodeSlow}
	}
}

func (c *common) datagram(message []byte) { c.send(systems.Datagram, message) }

func (c *common) send(ch systems.Channel, message []byte) (ok bool) {
	if ok = c.transport.Send(ch, message) == nil; ok {
		c.stats.MessagesSent++
		c.stats.BytesSent += uint64(len(message))
	}
	return ok
}

// sendStrategy sends a message of the strategy, of at most systems.MaxDatagram or MaxStrategyReliable bytes.
func (c *common) sendStrategy(ch systems.Channel, message []byte) {
	c.scratch = appendStrategy(c.scratch[:0], c.epoch, message)
	switch {
	case c.err != nil:
	case ch == systems.Datagram && len(message) <= systems.MaxDatagram:
		c.datagram(c.scratch)
	case ch == systems.Reliable && len(message) <= MaxStrategyReliable:
		c.reliable(c.scratch)
	default:
		panic("session: a strategy sent a message that is too long for its channel: keep to systems.MaxDatagram and session.MaxStrategyReliable")
	}
}

// received counts a message from the peer.
func (c *common) received(message []byte) {
	c.silence = 0
	c.stats.MessagesReceived++
	c.stats.BytesReceived += uint64(len(message))
}

// fault counts a malformed message, and ends the session if there are too many.
func (c *common) fault(now systems.Time) {
	c.stats.Malformed++
	if !c.faults.Allow(now) {
		c.finish(CodeProtocol, "")
	}
}

// finish ends the session. It sends the reason on both channels, because the reliable one may be blocked.
func (c *common) finish(code Code, text string) {
	if c.err != nil {
		return
	}
	c.scratch = appendEnd(c.scratch[:0], endMessage{epoch: c.epoch, code: code, text: text})
	c.datagram(c.scratch)
	c.reliable(c.scratch)
	c.err = &Error{Code: code, Text: clip(text, MaxText)}
}

// frame probes the round trip and ends the session at the timeout. pingEvery 0 sends no probes.
func (c *common) frame(now, pingEvery systems.Time) {
	elapsed := max(now-c.now, 0)
	c.now = now
	if c.err != nil {
		return
	}
	// A long gap between two Frames is a pause of this host. It counts as a quarter of the timeout at most, so that
	// messages that arrived meanwhile are received before the session is ended.
	if c.silence += min(elapsed, c.timeout/4); c.silence >= c.timeout {
		c.finish(CodeTimeout, "")
		return
	}
	if pingEvery > 0 && now >= c.nextPing {
		c.nextPing = now + pingEvery
		c.scratch = appendPing(c.scratch[:0], c.epoch, stampOf(now))
		c.datagram(c.scratch)
	}
}

// probe processes a ping or pong. A ping is answered by answer, completed with epoch and stamp. m is a received pong of
// the current epoch.
func (c *common) probe(k kind, body []byte, now systems.Time, answer pong) (m pong, err error) {
	if k == kindPing {
		epoch, stamp, err := decodePing(body)
		switch {
		case err != nil:
			return m, err
		case epoch != c.epoch:
			c.stats.Stale++
		default:
			answer.epoch, answer.stamp = c.epoch, stamp
			c.scratch = appendPong(c.scratch[:0], answer)
			c.datagram(c.scratch)
		}
		return m, nil
	}
	if m, err = decodePong(body); err != nil {
		return m, err
	}
	if m.epoch != c.epoch {
		c.stats.Stale++
		return pong{}, nil
	}
	c.trip.sample(now, m.stamp)
	return m, nil
}

// strategy returns the message of the strategy in a body; ok is false for another epoch.
func (c *common) strategy(body []byte) (message []byte, ok bool, err error) {
	if len(body) < 2 {
		return nil, false, errValue
	}
	if body[0] != c.epoch {
		c.stats.Stale++
		return nil, false, nil
	}
	return body[1:], true, nil
}

// ended processes the peer's message that ends the session.
func (c *common) ended(ch systems.Channel, body []byte) error {
	m, err := decodeEnd(body)
	switch {
	case err != nil:
		return err
	case ch == systems.Datagram && m.epoch != c.epoch:
		c.stats.Stale++
	default:
		c.err = &Error{Code: m.code, Text: m.text}
	}
	return nil
}

// allowedOn reports whether messages of kind k may be sent on channel ch.
func (k kind) allowedOn(ch systems.Channel) bool {
	switch k {
	case kindPing, kindPong:
		return ch == systems.Datagram
	case kindEnd, kindStrategy, kindReady, kindLive:
		return true
	}
	return ch == systems.Reliable
}
