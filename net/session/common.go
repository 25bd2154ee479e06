package session

import (
	"slices"

	"tendon/ecs"
	"tendon/net/limit"
	"tendon/net/wire"
	"tendon/systems"
)

// common is the part that both ends of a session share.
type common struct {
	transport Transport
	scratch   []byte
	coder     coder
	epoch     uint8 // of current strategy messages and datagrams
	now       systems.Time
	timeout   systems.Time
	nextPing  systems.Time
	asked     []asked      // the last pings, at most maxAsked
	sampled   bool         // stats.RTT is measured
	resumed   systems.Time // when a message arrived after a long silence
	faults    limit.Limiter[systems.Time]
	err       error // why the session has ended
	stats     Stats
}

// A peer may send faultsAllowed malformed messages at once, and one more per second.
const faultsAllowed = 32

func perSecond(n, burst int) limit.Limiter[systems.Time] {
	return limit.New(systems.Second/systems.Time(n), burst)
}

func newCommon(t Transport, timeout systems.Time, now systems.Time) common {
	return common{transport: t, timeout: timeout, now: now, faults: perSecond(1, faultsAllowed)}
}

// Err returns why the session has ended, or nil while it has not. Call Frame for a while after the end, so that the last
// messages are sent.
func (c *common) Err() error { return c.err }

// Stats returns the counters of the session.
func (c *common) Stats() Stats { return c.stats }

// RTT returns the smoothed round trip time; ok is false before the first measurement.
func (c *common) RTT() (rtt systems.Time, ok bool) { return c.stats.RTT, c.sampled }

// send sends a message. The session ends if the queue of reliable messages is full.
func (c *common) send(ch systems.Channel, m message) {
	c.scratch = c.coder.encode(c.scratch[:0], m)
	c.sendScratch(ch)
}

func (c *common) sendScratch(ch systems.Channel) {
	if c.transport.Send(ch, c.scratch) == nil {
		c.stats.MessagesSent++
		c.stats.BytesSent += uint64(len(c.scratch))
	} else if ch == systems.Reliable && c.err == nil {
		c.err = &Error{Code: CodeSlow}
	}
}

// sendStrategy sends a message of the strategy, of at most systems.MaxDatagram or MaxStrategyReliable bytes.
func (c *common) sendStrategy(ch systems.Channel, b []byte) {
	if c.err != nil {
		return
	}
	if ch == systems.Datagram && len(b) > systems.MaxDatagram || len(b) > MaxStrategyReliable {
		panic("session: a strategy sent a message that is too long for its channel: keep to systems.MaxDatagram and session.MaxStrategyReliable")
	}
	c.send(ch, message{kind: kindStrategy, epoch: c.epoch, data: b})
}

// TransportReady reports whether the periodic messages of the strategy may be sent now: see systems.Outbox.
func (c *common) TransportReady() bool { return c.transport.Ready() }

// TransportRoom returns how many bytes of reliable messages can be queued now: see systems.Outbox.
func (c *common) TransportRoom() int { return c.transport.Room() }

func (c *common) received(b []byte, now systems.Time) {
	if c.stats.Silence > longSilence {
		c.resumed = now
	}
	c.stats.Silence = 0
	c.stats.MessagesReceived++
	c.stats.BytesReceived += uint64(len(b))
}

// decode decodes a message that may be sent on its channel.
func (c *common) decode(ch systems.Channel, b []byte) (message, error) {
	if len(b) == 0 || !kind(b[0]).allowedOn(ch) {
		return message{}, errValue
	}
	return c.coder.decode(b)
}

// result returns e, unless the message cannot be used, which counts as a fault.
func (c *common) result(e Event, err error, now systems.Time) Event {
	if err != nil {
		c.Fault(now)
		return Event{}
	}
	return e
}

// Fault counts a message that is malformed or that the strategy refused. Too many of them end the session.
func (c *common) Fault(now systems.Time) {
	c.stats.Malformed++
	if !c.faults.Allow(now) {
		c.End(CodeProtocol, "")
	}
}

// End ends the session. It sends the reason on both channels, because the reliable one may be blocked.
func (c *common) End(code Code, text string) {
	if c.err != nil {
		return
	}
	m := message{kind: kindEnd, epoch: c.epoch, code: code, text: text}
	c.send(systems.Datagram, m)
	c.send(systems.Reliable, m)
	c.err = &Error{Code: code, Text: wire.Clip(text, MaxText)}
}

// frame probes the round trip and ends the session at the timeout. pingEvery 0 sends no probes.
func (c *common) frame(now, pingEvery systems.Time) {
	elapsed := max(now-c.now, 0)
	c.now = now
	if c.err != nil {
		return
	}
	// A long gap is a pause of this host. Messages that arrived meanwhile are received before the session is ended.
	if c.stats.Silence += min(elapsed, c.timeout/4); c.stats.Silence >= c.timeout {
		c.End(CodeTimeout, "")
		return
	}
	if pingEvery > 0 && now >= c.nextPing {
		c.nextPing = now + pingEvery
		if len(c.asked) == maxAsked {
			c.asked = slices.Delete(c.asked, 0, 1)
		}
		c.asked = append(c.asked, asked{stamp: stampOf(now)})
		c.send(systems.Datagram, message{kind: kindPing, epoch: c.epoch, stamp: stampOf(now)})
	}
}

// current reports whether a message has the current epoch.
func (c *common) current(m message) bool {
	if m.epoch != c.epoch {
		c.stats.Stale++
	}
	return m.epoch == c.epoch
}

// probe processes a ping or pong of the current epoch. A ping is answered with the tick of the server, 0 from a client. ok is false
// for a pong that answers no ping: a peer that answers in advance would report a shorter round trip than it has.
func (c *common) probe(m message, now systems.Time, tick ecs.Tick) (ok bool) {
	if m.kind == kindPing {
		m.kind, m.tick = kindPong, tick
		c.send(systems.Datagram, m)
		return true
	}
	i := slices.IndexFunc(c.asked, func(a asked) bool { return a.stamp == m.stamp })
	if i < 0 {
		return false
	}
	if c.asked[i].answered { // the network duplicated the ping or the pong
		c.stats.Stale++
		return true
	}
	c.asked[i].answered = true
	rtt := systems.Time(stampOf(now)-m.stamp) * 1000
	switch {
	case rtt > maxRoundTrip: // the clock of this host was changed
	case rtt > now-c.resumed: // the ping waited while the peer, or this host, stood still
	case !c.sampled:
		c.stats.RTT, c.sampled = rtt, true
	default:
		c.stats.RTT += (rtt - c.stats.RTT) / 8
	}
	return true
}

// asked is a ping that was sent.
type asked struct {
	stamp    uint32
	answered bool
}

// maxAsked is how many pings are kept. The answer to an older one counts as one that answers no ping.
const maxAsked = 32

// longSilence is the silence of a peer that probably stands still.
const longSilence = systems.Second / 2

// maxRoundTrip bounds a plausible round trip. Stamps wrap after 71 minutes.
const maxRoundTrip = 60 * systems.Second

// stampOf returns the time in microseconds, modulo 2^32.
func stampOf(now systems.Time) uint32 { return uint32(now / 1000) }

// ended processes the peer's message that ends the session.
func (c *common) ended(ch systems.Channel, m message) {
	if ch == systems.Reliable || c.current(m) {
		c.err = &Error{Code: m.code, Text: m.text, Received: true}
	}
}

// allowedOn reports whether messages of kind k may be sent on channel ch.
func (k kind) allowedOn(ch systems.Channel) bool {
	switch k {
	case kindPing, kindPong, kindProof, kindPings:
		return ch == systems.Datagram
	case kindEnd, kindStrategy, kindReady, kindLive:
		return true
	}
	return ch == systems.Reliable
}
