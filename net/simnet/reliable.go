package simnet

import (
	"time"

	"github.com/cespare/xxhash/v2"
)

// The reliable channel follows KCP with NoDelay 1/10/2/1: segment size, window, timer and fast retransmission. A
// segment is retransmitted after the second acknowledgement of a later one; without it the model is up to twice as slow
// as KCP at P5. The model sends a segment and its acknowledgement at once, and each in a datagram of its own.
const (
	segmentBytes   = 1152 - segmentHeader
	segmentHeader  = 24
	reliableWindow = 128 // segments under way at most
	fastResend     = 2   // acknowledgements of later segments
	firstRTO       = 200 * time.Millisecond
	minRTO         = 30 * time.Millisecond
	maxRTO         = time.Minute
)

// stream is the reliable channel in one direction, both of its ends at once:
//
//	[una, want)   arrived in order, delivered, not yet acknowledged to the sender
//	[want, next)  under way, or arrived out of order (received)
//	[next, end)   waiting for the window
//
// una ≤ want ≤ next ≤ end, next − una ≤ reliableWindow, end − una ≤ len(ring). Numbers never start over: after a reset,
// whatever is still under way lies before una and is recognised.
type stream struct {
	ring                 []segment
	una, want, next, end uint64
	srtt, rttvar, rto    time.Duration
	message              []byte // segments in order, up to the next last one
}

type segment struct {
	payload  []byte
	last     bool // ends a message
	received bool
	acked    bool
	sends    uint32
	skipped  uint32 // acknowledgements of segments sent later
	sent     Time   // last
	expires  Time   // sent + rto; a timer before it was overtaken
	rto      time.Duration
	verdict  verdict // of a Rule, for the first sending
}

func (s *stream) at(seq uint64) *segment { return &s.ring[seq&uint64(len(s.ring)-1)] }

// room makes place for n more segments, if limit allows.
func (s *stream) room(n, limit int) bool {
	need := int(s.end-s.una) + n
	if need > limit {
		return false
	}
	if need <= len(s.ring) {
		return true
	}
	size := max(16, len(s.ring))
	for size < need {
		size *= 2
	}
	grown := make([]segment, size)
	for seq := s.una; seq < s.end; seq++ {
		grown[seq&uint64(size-1)] = *s.at(seq)
	}
	s.ring = grown
	return true
}

// reset drops all that was not delivered, on both ends.
func (s *stream) reset() (discarded uint64) {
	discarded = s.end - s.want
	s.una, s.want, s.next = s.end, s.end, s.end
	s.message = s.message[:0]
	s.srtt, s.rttvar, s.rto = 0, 0, firstRTO
	return discarded
}

// sample takes a round trip into the estimate (Jacobson 1988, as in KCP).
func (s *stream) sample(rtt time.Duration) {
	if s.srtt == 0 {
		s.srtt, s.rttvar = rtt, rtt/2
	} else {
		distance := rtt - s.srtt
		s.srtt += distance / 8
		s.rttvar += (max(distance, -distance) - s.rttvar) / 4
	}
	s.rto = min(max(minRTO, s.srtt+4*s.rttvar), maxRTO)
}

func (n *Network) sendReliable(d *direction, payload []byte) error {
	if len(payload) > MaxMessage {
		return ErrTooLarge
	}
	s := &d.stream
	segments := max(1, (len(payload)+segmentBytes-1)/segmentBytes)
	if !s.room(segments, int(n.config.ReliableQueue)) {
		return ErrFull
	}
	n.trace(traceSend, d.index|1<<32, xxhash.Sum64(payload))
	v := d.judge(Reliable, payload)
	for i := range segments {
		part := payload[i*segmentBytes : min(len(payload), (i+1)*segmentBytes)]
		g := s.at(s.end)
		*g = segment{payload: append(g.payload[:0], part...), last: i == segments-1, verdict: v}
		s.end++
	}
	n.fill(d)
	return nil
}

func (n *Network) fill(d *direction) {
	for s := &d.stream; s.next < s.end && s.next-s.una < reliableWindow; {
		s.next++
		n.transmit(d, s.next-1)
	}
}

// transmit sends a segment, first or again, and starts its timer, which waits half of the round trip's timeout longer
// each time it expired.
func (n *Network) transmit(d *direction, seq uint64) {
	g := d.stream.at(seq)
	v := g.verdict
	g.verdict = verdict{}
	if g.sends == 0 || g.skipped >= fastResend {
		g.rto = d.stream.rto
	} else {
		g.rto = min(g.rto+d.stream.rto/2, maxRTO)
	}
	if g.sends > 0 {
		d.Counters.Resent++
	}
	g.sends++
	g.skipped, g.sent, g.expires = 0, n.now, n.now+g.rto
	n.push(g.expires, classTimer|n.inserted, event{kind: kindTimer, way: d, seq: seq})
	n.carry(d, segmentHeader+len(g.payload), event{kind: kindSegment, seq: seq, sent: n.now}, v)
}

// expire runs a timer, unless the segment is acknowledged or was sent again since. The timers of a paused sender wait.
func (n *Network) expire(d *direction, seq uint64) {
	s := &d.stream
	if n.nodes[d.from].paused == 0 && seq >= s.una && seq < s.next && !s.at(seq).acked && n.now >= s.at(seq).expires {
		n.transmit(d, seq)
	}
}

// expireHeld runs the timers that expired while the sender was paused.
func (n *Network) expireHeld(d *direction) {
	for seq := d.stream.una; seq < d.stream.next; seq++ {
		n.expire(d, seq)
	}
}

// receiveSegment accepts a segment at the far end, delivers complete messages and acknowledges.
func (n *Network) receiveSegment(d *direction, seq uint64, sent Time) {
	s := &d.stream
	if seq < s.want || s.at(seq).received {
		d.Counters.Repeated++
	} else {
		s.at(seq).received = true
	}
	for s.want < s.next && s.at(s.want).received {
		g := s.at(s.want)
		s.message = append(s.message, g.payload...)
		s.want++
		if g.last {
			// The handler may reset the stream: nothing of it is kept here.
			message := s.message
			s.message = s.message[:0]
			n.hand(d, Reliable, message)
		}
	}
	if n.nodes[d.to].down {
		return // the handler crashed its own node
	}
	n.carry(d.back, segmentHeader, event{kind: kindAck, seq: seq, want: s.want, sent: sent}, verdict{})
}

// receiveAck frees the segments that the far end has, on the sending side of d.
func (n *Network) receiveAck(d *direction, p *event) {
	s := &d.stream
	if p.seq < s.una && p.want <= s.una {
		return // from before a reset, or overtaken
	}
	s.sample(n.now - p.sent)
	for seq := s.una; seq < p.seq; seq++ {
		g := s.at(seq)
		if g.acked || seq < p.want || g.sent > p.sent {
			continue
		}
		if g.skipped++; g.skipped >= fastResend {
			n.transmit(d, seq)
		}
	}
	if p.seq >= s.una {
		s.at(p.seq).acked = true
	}
	for s.una < s.next && (s.una < p.want || s.at(s.una).acked) {
		s.una++
	}
	n.fill(d)
}
