package link

import (
	"encoding/binary"
	"errors"
	"time"

	"tendon/net/link/rate"
	"tendon/net/wire"
)

// A Link is one end of both channels. Its memory is bounded: unsent and unacknowledged bytes by QueueBytes, out-of-order
// segments by the window, received datagrams by a constant. An idle link takes about 30 KB.
type Link struct {
	reliable reliable
	budget   budget
	rate     rate.Controller
	timeout  time.Duration // see timeout

	limit  int    // of a packet, in bytes: see LimitPackets
	packet []byte // of this tick: the envelope and the datagrams; then of further packets
	full   frames // packets of this tick that are complete
	inbox  frames // received datagrams, until Next

	now     time.Duration // of the last Flush
	silence time.Duration // how long a segment has waited without any acknowledgement
	flushed bool          // Flush was called
	active  bool          // a message was sent or received since the last Flush
	idle    time.Duration // when the link was active last
	err     error         // why the link is dead
	stats   Stats
}

const (
	MaxMessage = 64 << 10 // the largest reliable message, in bytes
	// MaxDatagram is the size of the largest datagram, in bytes. With a report it fills a packet of wire.MinPacketLimit bytes.
	MaxDatagram = wire.MinPacketLimit - wire.EnvelopeSize - partOverhead - reportPart
	QueueBytes  = 416 << 10 // bound of the reliable messages that are not acknowledged, in bytes

	// bytesPerSecond is the highest rate of a link. Of a rate 100 ms may be sent at once.
	bytesPerSecond = 256 << 10
	// timeout is how long a peer may acknowledge nothing while a segment waits. A gap between two Flushes counts as a
	// quarter of it at most, so the links of a suspended host survive.
	timeout = 10 * time.Second
	// An idle link does its work every idleFlush only. It is idle if nothing was sent or received for idleAfter, which is
	// longer than the core delays an acknowledgement.
	idleFlush = time.Second / 2
	idleAfter = 50 * time.Millisecond

	maxFramed  = MaxMessage + 3 // with its length before it
	inboxBytes = 32 << 10       // bound of inbox: 26 full packets
	// fullBytes bounds the packets before the last one of a tick: three of them. They also keep to the bytes of 100 ms at the rate.
	fullBytes  = 3 * wire.PacketLimit
	reportPart = 2 + rate.ReportSize
)

// The errors of this package. [Link.Receive] also returns those of net/wire.
var (
	// ErrTooLong and ErrEmpty report a message of a size that [Link.Send] does not take.
	ErrTooLong = errors.New("link: message too long for its channel")
	ErrEmpty   = errors.New("link: message is empty")
	// ErrQueueFull reports a full reliable queue, or no room for a datagram in the packets of this tick.
	ErrQueueFull = errors.New("link: queue full")
	// ErrReport reports a report of another size than rate.ReportSize.
	ErrReport = errors.New("link: malformed report")
	// ErrSegment reports a reliable part that does not consist of valid KCP segments.
	ErrSegment = errors.New("link: malformed reliable segment")
	// ErrTimeout and ErrStream are the reasons of a dead link. For ErrStream the peer sent a malformed length.
	ErrTimeout = errors.New("link: peer stopped acknowledging")
	ErrStream  = errors.New("link: peer broke the reliable stream")
)

// New returns a link. Its KCP core reads the clock of the process.
func New() *Link {
	l := open()
	l.reliable.core = newCore(l.reliable.output)
	return l
}

// NewSimulated returns a link for a simulated network. It sends the same packets as a link of New, and reads the given clock only.
// The times passed to Flush must be of that clock. All messages must be read with Next after each Receive.
func NewSimulated(clock func() time.Duration) *Link {
	l := open()
	l.reliable.core = newSimulated(clock, l.reliable.output)
	return l
}

// open returns a link without a core.
func open() *Link {
	l := &Link{limit: wire.PacketLimit, rate: rate.New(bytesPerSecond), timeout: timeout}
	l.budget = newBudget(l.rate.Rate())
	l.reliable.budget, l.reliable.stats = &l.budget, &l.stats
	l.packet = wire.AppendEnvelope(make([]byte, 0, wire.PacketLimit), 0)
	return l
}

// PacketLimit returns the size of the largest packet that the link sends, in bytes: [wire.PacketLimit] at first.
func (l *Link) PacketLimit() int { return l.limit }

// LimitPackets lowers PacketLimit to bytes, but not below [wire.MinPacketLimit]. A larger value has no effect. Call it before the first
// Send.
func (l *Link) LimitPackets(bytes int) {
	l.limit = min(l.limit, max(bytes, wire.MinPacketLimit))
}

// Send queues a copy of a message: of 1 to [MaxMessage] bytes on the reliable channel, of 1 to [MaxDatagram] bytes as a
// datagram of the next Flush. The datagrams of a tick are sent in at most four packets, as far as the rate of the line allows.
// After an error the message is not queued.
func (l *Link) Send(channel wire.Channel, message []byte) error {
	reliable := channel == wire.Reliable
	switch {
	case l.err != nil:
		return l.err
	case len(message) == 0:
		return ErrEmpty
	case len(message) > MaxMessage || !reliable && len(message) > MaxDatagram:
		return ErrTooLong
	case reliable && l.reliable.unacked+framedSize(len(message)) > QueueBytes, !reliable && !l.makeRoom(len(message)):
		return ErrQueueFull
	}
	l.active = true
	if reliable {
		l.reliable.queue.push(message)
		l.reliable.unacked += framedSize(len(message))
	} else {
		l.packet = wire.AppendPart(l.packet, wire.Datagram, message)
	}
	return nil
}

// makeRoom begins another packet if the present one has no room for a datagram of this size. It returns false if the tick may
// not have another packet.
func (l *Link) makeRoom(datagram int) bool {
	if wire.PartSize(datagram) <= l.limit-reportPart-len(l.packet) {
		return true
	}
	if l.full.Len()+len(l.packet) > min(l.rate.Rate()/10, fullBytes) {
		return false
	}
	l.full.push(l.packet)
	l.packet = l.packet[:wire.EnvelopeSize]
	return true
}

// Receive processes an opened packet. A malformed packet is refused as a whole: it has no effect but to be counted.
func (l *Link) Receive(packet []byte) error {
	if l.err != nil {
		return l.err
	}
	l.stats.PacketsReceived++
	l.stats.BytesReceived += uint64(len(packet))
	number, parts, content, err := check(packet)
	if err != nil {
		l.stats.Malformed++
		return err
	}
	l.active = true
	l.rate.Received(number, content)
	for channel, payload, ok := parts.Next(); ok; channel, payload, ok = parts.Next() {
		switch {
		case channel == wire.Reliable:
			l.reliable.input(payload)
		case channel == wire.Report:
			l.rate.ReceiveReport(payload)
		case l.inbox.Len()+framedSize(len(payload)) > inboxBytes:
			l.stats.Dropped++
		default:
			l.inbox.push(payload)
		}
	}
	return nil
}

// check checks every part of a packet before any of them is used. content reports that it is not a report alone.
func check(packet []byte) (number uint16, parts wire.Parts, content bool, err error) {
	number, parts, err = wire.OpenEnvelope(packet)
	if err != nil {
		return 0, wire.Parts{}, false, err
	}
	walk := parts
	for channel, payload, ok := walk.Next(); ok; channel, payload, ok = walk.Next() {
		switch {
		case channel == wire.Report && len(payload) != rate.ReportSize:
			return 0, wire.Parts{}, false, ErrReport
		case channel == wire.Reliable && segmentsWithin(payload, len(payload)) < len(payload):
			return 0, wire.Parts{}, false, ErrSegment
		}
		content = content || channel != wire.Report
	}
	return number, parts, content, walk.Err()
}

// Next returns the next received message, reliable ones first; ok is false if there is none. The message is valid until
// the next call of Next or Receive. While reliable messages are not read, the window of the peer closes.
func (l *Link) Next() (channel wire.Channel, message []byte, ok bool) {
	if l.err != nil {
		return 0, nil, false
	}
	message, ok, err := l.reliable.next()
	switch {
	case err != nil:
		l.err = err
		return 0, nil, false
	case ok:
		l.active = true // the window of the peer may open
		return wire.Reliable, message, true
	}
	message, ok, _ = l.inbox.message() // framed by push: it cannot be malformed
	return wire.Datagram, message, ok
}

// Flush ends a tick. It calls emit for each packet of the tick, of at most [Link.PacketLimit] bytes and valid until emit returns. now is
// the time since a fixed moment, the same one in every call, and must not decrease.
func (l *Link) Flush(now time.Duration, emit func(packet []byte)) {
	if l.err != nil {
		return
	}
	switch {
	case !l.flushed:
		l.flushed, l.now, l.idle = true, now, now
	case l.active:
		l.active, l.idle = false, now
	case l.reliable.unacked == 0 && now-l.idle > idleAfter && now-l.now < idleFlush:
		return
	}
	elapsed := max(now-l.now, 0)
	l.now = now
	l.silence += min(elapsed, l.timeout/4)
	if l.reliable.progressed || l.reliable.unacked == 0 {
		l.silence, l.reliable.progressed = 0, false
	}
	if l.silence >= l.timeout {
		l.err = ErrTimeout
		l.packet, l.full = l.packet[:wire.EnvelopeSize], frames{}
		return
	}
	l.rate.Update(now)
	l.budget.set(l.rate.Rate())
	l.budget.refill(elapsed)
	for packet, ok, _ := l.full.message(); ok; packet, ok, _ = l.full.message() {
		l.charge(len(packet))
		l.emit(packet, emit)
	}
	l.reliable.roundTrip = l.rate.RoundTrip()
	l.reliable.flush(now)
	if l.rate.ReportDue(len(l.packet)+len(l.reliable.out) == wire.EnvelopeSize) {
		l.packet = l.rate.AppendReport(append(l.packet, byte(wire.Report), rate.ReportSize))
	}
	if len(l.packet) > wire.EnvelopeSize {
		l.charge(len(l.packet))
	}
	l.pack(emit)
}

// charge counts a packet of datagrams against the budget and the rate. The packet does not wait for them.
func (l *Link) charge(bytes int) {
	l.budget.owe(bytes + rate.Header)
	l.rate.Charge(bytes)
}

// pack puts the segments of the tick into packets: first into that of the datagrams, then into further ones.
func (l *Link) pack(emit func(packet []byte)) {
	packet, segments := l.packet, l.reliable.out
	for len(segments) > 0 {
		n := segmentsWithin(segments, l.limit-len(packet)-partOverhead)
		if n > 0 {
			packet = wire.AppendPart(packet, wire.Reliable, segments[:n])
			segments = segments[n:]
		}
		if len(segments) > 0 {
			l.emit(packet, emit)
			packet = packet[:wire.EnvelopeSize]
		}
	}
	if len(packet) > wire.EnvelopeSize {
		l.emit(packet, emit)
	}
	l.packet = l.packet[:wire.EnvelopeSize]
	l.reliable.clearOut()
}

func (l *Link) emit(packet []byte, emit func(packet []byte)) {
	l.stats.PacketsSent++
	l.stats.BytesSent += uint64(len(packet))
	binary.LittleEndian.PutUint16(packet, l.rate.Sent(len(packet)))
	emit(packet)
}

// Pending returns how many bytes of reliable messages are not acknowledged, each with its length of one to three bytes.
func (l *Link) Pending() (unacknowledged int) { return l.reliable.unacked }

// Ready reports whether the messages of the next tick may be sent. While the line is congested, some ticks are skipped, so
// that all the link sends fits. A message that is sent nevertheless is not refused.
func (l *Link) Ready() bool { return l.rate.Ready() }

// Room returns how many bytes of a reliable message can be queued. It is 0 while the messages of a quarter of a second wait to
// be sent, so that bulk data delays the messages behind it only a little.
func (l *Link) Room() int {
	if l.reliable.queue.Len() > l.rate.Rate()/4 {
		return 0
	}
	return max(QueueBytes-(maxFramed-MaxMessage)-l.reliable.unacked, 0)
}

// Err returns why the link is dead, [ErrTimeout] or [ErrStream], or nil. The owner of a dead link closes the connection.
func (l *Link) Err() error { return l.err }

// Stats counts since the link was made.
type Stats struct {
	PacketsSent, BytesSent         uint64  // passed to emit
	PacketsReceived, BytesReceived uint64  // passed to Receive, malformed ones included
	PacketsExpected                uint64  // sent by the peer, from the first that arrived to the newest
	Loss                           float64 // share of the last 32 packets or so that the peer did not receive
	Retransmits                    uint64  // segments sent again
	Withheld                       uint64  // segments above the budget; the core sends them later
	Malformed                      uint64  // packets refused
	Dropped                        uint64  // datagrams dropped because the inbox was full
	// RTT is the smoothed round trip time of reliable segments, 0 before the first measurement. It contains whole ticks of
	// both ends; net/session measures it more exactly.
	RTT time.Duration
}

// Stats returns the counters.
func (l *Link) Stats() Stats {
	s := l.stats
	s.PacketsExpected, s.Loss = l.rate.PeerSent(), l.rate.Loss()
	return s
}
