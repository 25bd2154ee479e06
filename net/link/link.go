package link

import (
	"errors"
	"time"

	"tendon/net/wire"
)

// A Link is one peer's end of both channels. What it holds is bounded: unsent
// and unacknowledged bytes by [Config.QueueBytes], out-of-order segments by
// the window, received datagrams by a constant. An idle link takes about
// 25 KB, starts no goroutine and allocates nothing.
type Link struct {
	config   Config
	reliable reliable
	budget   budget

	packet []byte // this tick's packet: the envelope and the datagram parts
	extra  []byte // scratch for the packets after it, made for the first of them
	inbox  frames // datagrams received, waiting for Next

	now     time.Duration // of the last Flush
	silence time.Duration // how long something has waited and nothing was acknowledged
	flushed bool          // whether now means anything yet
	err     error         // why the link is dead
	stats   Stats
}

// Config is what a link is made of. Its zero value is usable.
type Config struct {
	// Epoch is the run of the match that datagrams belong to; see
	// [Link.SetEpoch].
	Epoch uint8
	// BytesPerSecond is the budget of everything that leaves, counted in
	// packet bytes before sealing; 100 ms of it, at most 64 KB, may leave at
	// once. Datagrams always leave and are charged to it; the reliable channel
	// gets what they leave over, and never less than an eighth. Zero means
	// 262144; else at least 8192 and at most 2^24.
	BytesPerSecond int
	// QueueBytes bounds the reliable messages that are not acknowledged yet,
	// in bytes. Above it SendReliable returns ErrQueueFull. Zero means
	// 163840, which holds two of the largest messages; else at least 65539,
	// one of them.
	QueueBytes int
	// Timeout is how long a peer may acknowledge nothing while something
	// waits for it, before the link is dead. A gap between two Flushes counts
	// as a quarter of it at most, so a host that was suspended finds its links
	// alive. Zero means 10 s; else at least 100 ms.
	Timeout time.Duration
}

const (
	// MaxMessage is the largest reliable message, in bytes.
	MaxMessage = 64 << 10
	// MaxDatagram is the largest datagram message, in bytes: one packet.
	MaxDatagram = wire.MaxPart

	maxFramed  = MaxMessage + 3 // with its length before it
	inboxBytes = 32 << 10       // datagrams received between two drains; 26 full packets
)

// The errors of this package. [Link.Receive] also returns those of net/wire.
var (
	// ErrTooLong reports a message above MaxMessage or MaxDatagram.
	ErrTooLong = errors.New("link: message too long for its channel")
	// ErrEmpty reports a message of no bytes.
	ErrEmpty = errors.New("link: message is empty")
	// ErrQueueFull reports that a message must wait: the reliable queue is at
	// Config.QueueBytes, or this tick's packet has no room for the datagram.
	ErrQueueFull = errors.New("link: queue full")
	// ErrSegment reports a reliable part that is not a row of KCP segments
	// as STANDARD.md has them.
	ErrSegment = errors.New("link: malformed reliable segment")
	// ErrTimeout is why a link is dead whose peer acknowledges nothing.
	ErrTimeout = errors.New("link: peer stopped acknowledging")
	// ErrStream is why a link is dead whose peer broke the framing of the
	// reliable stream; what follows in it cannot be understood.
	ErrStream = errors.New("link: peer broke the reliable stream")
)

// A ConfigError says which field of a [Config] cannot be used.
type ConfigError struct {
	Field string // the field's name
	Want  string // the permitted interval, with its unit
}

// Error names the field, and says what it may be.
func (e *ConfigError) Error() string {
	return "link: Config." + e.Field + " must be " + e.Want + ", or zero for its default"
}

// withDefaults replaces zero values and checks the others.
func (c Config) withDefaults() (Config, error) {
	if c.BytesPerSecond == 0 {
		c.BytesPerSecond = 256 << 10
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = 160 << 10
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	switch {
	case c.BytesPerSecond < 8<<10 || c.BytesPerSecond > 1<<24:
		return c, &ConfigError{"BytesPerSecond", "in [8192, 16777216] bytes a second"}
	case c.QueueBytes < maxFramed:
		return c, &ConfigError{"QueueBytes", "at least 65539 bytes, one message of the largest size"}
	case c.Timeout < 100*time.Millisecond:
		return c, &ConfigError{"Timeout", "at least 100 ms"}
	}
	return c, nil
}

// New returns a link. The error is a *[ConfigError].
func New(config Config) (*Link, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Link{config: config, budget: newBudget(config.BytesPerSecond)}
	l.reliable.open(&l.budget, &l.stats)
	l.packet = wire.AppendEnvelope(make([]byte, 0, wire.PacketLimit), config.Epoch)
	return l, nil
}

// SendReliable queues a message of 1 to [MaxMessage] bytes. The message is
// copied. On [ErrQueueFull] nothing was queued; try again after a tick.
func (l *Link) SendReliable(message []byte) error {
	switch {
	case l.err != nil:
		return l.err
	case len(message) == 0:
		return ErrEmpty
	case len(message) > MaxMessage:
		return ErrTooLong
	case l.reliable.unacked+framedSize(len(message)) > l.config.QueueBytes:
		return ErrQueueFull
	}
	l.reliable.send(message)
	return nil
}

// SendDatagram queues a message of 1 to [MaxDatagram] bytes for the next
// Flush. The message is copied. All datagrams of a tick share one packet; one
// that does not fit beside those already queued is refused with
// [ErrQueueFull], and what is left out is the caller's choice.
func (l *Link) SendDatagram(message []byte) error {
	switch {
	case l.err != nil:
		return l.err
	case len(message) == 0:
		return ErrEmpty
	case len(message) > MaxDatagram:
		return ErrTooLong
	case wire.PartSize(len(message)) > wire.PacketLimit-len(l.packet):
		return ErrQueueFull
	}
	l.packet = wire.AppendPart(l.packet, wire.Datagram, message)
	return nil
}

// Receive takes one opened packet. It keeps nothing of it. A malformed packet
// is refused as a whole, changes nothing and is counted; it never kills the
// link.
func (l *Link) Receive(packet []byte) error {
	if l.err != nil {
		return l.err
	}
	l.stats.PacketsReceived++
	l.stats.BytesReceived += uint64(len(packet))
	epoch, parts, err := check(packet)
	if err != nil {
		l.stats.Malformed++
		return err
	}
	for channel, payload, ok := parts.Next(); ok; channel, payload, ok = parts.Next() {
		switch {
		case channel == wire.Reliable:
			l.reliable.input(payload)
		case epoch != l.config.Epoch:
			l.stats.Stale++
		case l.inbox.size()+framedSize(len(payload)) > inboxBytes:
			l.stats.Dropped++
		default:
			l.inbox.push(payload)
		}
	}
	return nil
}

// check walks a whole packet without believing any of it.
func check(packet []byte) (epoch uint8, parts wire.Parts, err error) {
	epoch, parts, err = wire.OpenEnvelope(packet)
	if err != nil {
		return 0, wire.Parts{}, err
	}
	walk := parts
	for channel, payload, ok := walk.Next(); ok; channel, payload, ok = walk.Next() {
		if channel == wire.Reliable && !segmentsWellFormed(payload) {
			return 0, wire.Parts{}, ErrSegment
		}
	}
	return epoch, parts, walk.Err()
}

// Next returns the next received message, reliable ones first, and false when
// there is none. The message is valid until the next call of Next or Receive.
// Reliable messages that are not taken close the peer's window.
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
		return wire.Reliable, message, true
	}
	message, ok, _ = l.inbox.message() // framed by push: it cannot be malformed
	return wire.Datagram, message, ok
}

// Flush ends a tick: it hands emit the tick's packets, at most
// [wire.PacketLimit] bytes each and valid until emit returns. now is the time
// since any fixed moment, the same one in every call; it must not run
// backwards. A tick with nothing to say emits nothing.
func (l *Link) Flush(now time.Duration, emit func(packet []byte)) {
	if l.err != nil {
		return
	}
	if !l.flushed {
		l.flushed, l.now = true, now
	}
	elapsed := max(now-l.now, 0)
	l.now = now
	if l.silence += min(elapsed, l.config.Timeout/4); l.reliable.takeProgress() {
		l.silence = 0
	}
	if l.silence >= l.config.Timeout {
		l.err = ErrTimeout
		l.packet = l.packet[:wire.EnvelopeSize]
		return
	}
	l.budget.refill(elapsed)
	if len(l.packet) > wire.EnvelopeSize {
		l.budget.spend(len(l.packet))
	}
	l.reliable.flush(now)
	l.pack(emit)
}

// pack spreads the segments that wait over packets: the tick's own first,
// beside the datagrams, then further ones.
func (l *Link) pack(emit func(packet []byte)) {
	packet, segments := l.packet, l.reliable.out
	for len(segments) > 0 {
		n := segmentsWithin(segments, min(wire.MaxPart, wire.PacketLimit-len(packet)-partOverhead))
		if n > 0 {
			packet = wire.AppendPart(packet, wire.Reliable, segments[:n])
			segments = segments[n:]
		}
		if len(segments) > 0 {
			l.emit(packet, emit)
			if l.extra == nil {
				l.extra = make([]byte, 0, wire.PacketLimit)
			}
			packet = wire.AppendEnvelope(l.extra, l.config.Epoch)
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
	emit(packet)
}

// SetEpoch begins another run of the match on the same connection. Datagrams
// of the old one are forgotten, sent and received, and those still on their
// way are dropped when they arrive. The reliable channel goes on untouched:
// the message that announces the new run is best sent on it.
func (l *Link) SetEpoch(epoch uint8) {
	l.config.Epoch = epoch
	l.packet = wire.AppendEnvelope(l.packet[:0], epoch)
	l.inbox = frames{}
}

// Pending returns how many reliable bytes, with two or three a message for
// its length, are not acknowledged yet. Zero means that the peer's core has
// everything; whoever sends bulk keeps it below [Config.QueueBytes].
func (l *Link) Pending() (unacknowledged int) { return l.reliable.unacked }

// Dead reports that the link is of no further use: everything returns
// [Link.Err] or nothing. Whoever owns the connection closes it.
func (l *Link) Dead() bool { return l.err != nil }

// Err returns why the link is dead, [ErrTimeout] or [ErrStream], or nil.
func (l *Link) Err() error { return l.err }

// Stats counts since the link was made.
type Stats struct {
	PacketsSent, BytesSent         uint64 // handed to emit
	PacketsReceived, BytesReceived uint64 // given to Receive, malformed ones too
	Retransmits                    uint64 // segments sent again
	Withheld                       uint64 // segments that were over the budget; the core sends them later
	Malformed                      uint64 // packets refused
	Stale                          uint64 // datagrams of another epoch
	Dropped                        uint64 // datagrams that nobody took in time
	// RTT is the smoothed round trip of reliable segments, from Flush to the
	// first Flush after the acknowledgement: whole ticks of both sides are in
	// it. Zero before the first one. For charts; net/session's clock probes
	// measure finer.
	RTT time.Duration
}

// Stats returns the counters.
func (l *Link) Stats() Stats { return l.stats }
