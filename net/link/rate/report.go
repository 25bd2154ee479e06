package rate

import "time"

// report is what an end has received.
type report struct {
	newest  uint16 // number of a packet
	count   uint16 // of all packets, modulo 2^16
	arrival uint16 // when newest arrived, in ms of the clock of this end, modulo 2^16
}

// arrivals counts the packets of the peer.
type arrivals struct {
	report
	begun    bool
	sent     uint64        // packets of the peer up to newest
	fresh    bool          // newest has arrived since the last update
	owed     int           // packets with content since the last report
	reported time.Duration // when that was
}

func (a *arrivals) add(number uint16, content bool) {
	a.count++
	if content {
		a.owed++
	}
	if !a.begun || int16(number-a.newest) > 0 {
		if a.sent++; a.begun {
			a.sent += uint64(number - a.newest - 1)
		}
		a.begun, a.fresh, a.newest = true, true, number
	}
}

func (a *arrivals) update(now time.Duration) {
	if a.fresh {
		a.fresh, a.arrival = false, uint16(now/time.Millisecond)
	}
}

// kept is the number of packets whose reports can be used: two seconds at 256 KB per second.
const kept = 512

// log keeps the packets that were sent.
type log struct {
	next    uint16 // number of the next packet
	bytes   uint32 // of all
	packets [kept]packet
	last    report // that was used
	counted uint32 // bytes up to its newest packet
	begun   bool   // last was received
}

type packet struct {
	at    uint32 // ms
	bytes uint32 // of all packets up to this one
}

func (l *log) add(now time.Duration, bytes int) (number uint16) {
	number = l.next
	l.bytes += uint32(bytes)
	l.packets[number%kept] = packet{uint32(now / time.Millisecond), l.bytes}
	l.next++
	return number
}

// sample is what two reports of the peer show.
type sample struct {
	packets   float64       // sent
	loss      float64       // share of them that did not arrive; negative if earlier ones arrived late
	bytes     float64       // sent
	newest    float64       // bytes of the newest packet
	gap       time.Duration // between the arrivals of the newest packets; 0: not known
	delay     uint16        // difference of both clocks between the newest packet's departure and arrival, in ms
	roundTrip time.Duration
}

// match compares a report with the packets that were sent since the last one. ok is false if it is older, or of packets that
// were not sent or are not kept.
func (l *log) match(r report, now time.Duration) (s sample, ok bool) {
	n, sent := r.newest-l.last.newest, l.next-1-l.last.newest
	if n == 0 || n > sent {
		return s, false
	}
	p, last, counted := l.packets[r.newest%kept], l.last, l.counted
	begun := l.begun
	l.last, l.counted, l.begun = r, p.bytes, true
	if l.next-r.newest > kept {
		return s, false
	}
	s.packets, s.bytes = float64(n), float64(p.bytes-counted)
	s.newest = float64(p.bytes - l.packets[(r.newest-1)%kept].bytes)
	s.loss = min(max(1-float64(r.count-last.count)/s.packets, -1), 1)
	s.delay = r.arrival - uint16(p.at)
	s.roundTrip = time.Duration(uint32(now/time.Millisecond)-p.at) * time.Millisecond
	if gap := r.arrival - last.arrival; begun && gap < 1<<15 {
		s.gap = max(time.Duration(gap)*time.Millisecond, delay/4)
	}
	return s, true
}

// line is what is known of the line to the peer.
type line struct {
	loss      float64       // share of packets, over some 32 of them
	lost      time.Duration // when the last loss was reported
	used      float64       // bytes per second that were sent
	delivered float64       // bytes per second that arrived
	steady    float64       // delivered, averaged over a second
	rtt       time.Duration
	queue     time.Duration // the shorter of the last two delays in queues
	newest    float64       // bytes of the newest packet
	packet    time.Duration // which the larger of the last two newest packets takes on the line

	begun    bool
	delay    uint16        // the last one
	shortest [2]uint16     // delay in this interval, and in the one before
	since    time.Duration // when this interval began
}

// interval is a half of the longest time for which the shortest delay is kept.
const interval = 10 * time.Second

func (l *line) add(s sample, now time.Duration) {
	l.rtt = s.roundTrip
	if s.loss > 0 {
		l.lost = now
	}
	l.loss = min(max(l.loss+(s.loss-l.loss)*min(s.packets/32, 1), 0), 1)
	if s.gap > 0 {
		weight, used := min(s.gap.Seconds()/0.3, 1), s.bytes/s.gap.Seconds()
		delivered := used * (1 - s.loss)
		l.used += (used - l.used) * weight
		l.delivered += (delivered - l.delivered) * weight
		l.steady += (delivered - l.steady) * min(s.gap.Seconds(), 1)
	}
	if !l.begun {
		l.begun, l.delay, l.shortest, l.since = true, s.delay, [2]uint16{s.delay, s.delay}, now
	}
	if now-l.since >= interval {
		l.shortest[1], l.shortest[0], l.since = l.shortest[0], s.delay, now
	}
	l.shortest[0] = shorter(l.shortest[0], s.delay)
	base := shorter(l.shortest[0], l.shortest[1])
	l.queue = time.Duration(int16(shorter(l.delay, s.delay)-base)) * time.Millisecond
	l.delay = s.delay
	l.packet = time.Duration(max(s.newest, l.newest) / max(l.steady, lowest) * float64(time.Second))
	l.newest = s.newest
}

// restart makes the present delay the shortest.
func (l *line) restart() {
	l.queue, l.shortest = 0, [2]uint16{l.delay, l.delay}
}

// shorter returns the smaller of two numbers modulo 2^16.
func shorter(a, b uint16) uint16 {
	if int16(a-b) < 0 {
		return a
	}
	return b
}
