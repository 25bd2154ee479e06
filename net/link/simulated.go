package link

import (
	"encoding/binary"
	"slices"
	"time"
)

// core is the part of kcp.KCP that a link uses.
type core interface {
	Send(data []byte) int
	Recv(piece []byte) int
	PeekSize() int
	Input(part []byte)
	Update()
	WaitSnd() int
}

// simulated is a KCP core with the settings of a link and a given clock. It sends the same segments at the same times as kcp.KCP,
// which reads the clock of the process. It does not probe a closed window. All times are in ms.
type simulated struct {
	clock  func() time.Duration
	output func(segments []byte, size int)
	out    []byte

	queue     [][]byte // data that was never sent
	flying    []flying // sent, ascending by number from lowest
	next      uint32   // number of the next new segment
	window    int      // of the peer
	trip      int32    // round trip, smoothed
	variation int32    // of it
	timeout   uint32   // after which a segment is sent again
	flushAt   uint32   // when Update flushes next; at once if that is ten seconds before or after now

	ready [][]byte          // data received in order
	want  uint32            // number of the next segment in order
	early map[uint32][]byte // data received out of order, by number
	acks  []arrival         // to be acknowledged
}

// flying is a segment that was sent.
type flying struct {
	data         []byte
	acked        bool
	sent, again  uint32 // when it was sent last, and when it is sent again
	timeout      uint32
	skipped      uint32 // acknowledgements of later segments
	skippedAgain bool   // it was sent again because of them since the last timeout
}

// arrival is a segment that was received, with the time at which the peer sent it.
type arrival struct{ number, sent uint32 }

const (
	interval        = 10     // of flushes
	fastResend      = 2      // acknowledgements of later segments, after which a segment is sent again
	firstTimeout    = 200    // before a round trip is known
	shortestTimeout = 30     // of a retransmission
	longestTimeout  = 60_000 // of a retransmission
	firstWindow     = 32     // of a peer that has not sent anything
)

func newSimulated(clock func() time.Duration, output func(segments []byte, size int)) *simulated {
	s := &simulated{clock: clock, output: output, window: firstWindow, timeout: firstTimeout, early: map[uint32][]byte{}}
	s.flushAt = s.now() - 20_000
	return s
}

func (s *simulated) now() uint32 { return uint32(s.clock() / time.Millisecond) }

// Send queues a segment's data.
func (s *simulated) Send(data []byte) int {
	s.queue = append(s.queue, slices.Clone(data))
	return 0
}

// WaitSnd returns the number of segments that are not acknowledged.
func (s *simulated) WaitSnd() int { return len(s.flying) + len(s.queue) }

// PeekSize returns the size of the next received data, -1 if there is none.
func (s *simulated) PeekSize() int {
	if len(s.ready) == 0 {
		return -1
	}
	return len(s.ready[0])
}

// Recv copies the next received data.
func (s *simulated) Recv(piece []byte) int {
	n := copy(piece, s.ready[0])
	s.ready = slices.Delete(s.ready, 0, 1)
	return n
}

// Input processes a well-formed part.
func (s *simulated) Input(part []byte) {
	flush, measured, sent := false, false, uint32(0)
	for b := part; len(b) > 0; {
		x, _ := firstSegment(b)
		s.window = int(binary.LittleEndian.Uint16(b[6:]))
		stamp, lowest := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[16:])
		if n := min(int32(lowest-s.lowest()), int32(len(s.flying))); n > 0 {
			s.flying, flush = slices.Delete(s.flying, 0, int(n)), true
		}
		switch x.command {
		case ack:
			flush = s.acknowledged(x.number, stamp) || flush
			measured, sent = true, stamp
		case push:
			s.receive(x.number, stamp, b[segmentHead:x.size])
		}
		b = b[x.size:]
	}
	if trip := int32(s.now() - sent); measured && trip >= 0 {
		s.measure(trip)
	}
	if flush {
		s.flush()
	} else if len(s.acks) >= segmentMTU/segmentHead {
		s.flushAcks()
	}
}

// lowest returns the lowest number that is not acknowledged.
func (s *simulated) lowest() uint32 { return s.next - uint32(len(s.flying)) }

// acknowledged processes an acknowledgement. It reports whether a segment is then sent again at once.
func (s *simulated) acknowledged(number, sent uint32) (again bool) {
	n := int32(number - s.lowest())
	if n < 0 || n >= int32(len(s.flying)) {
		return false
	}
	s.flying[n].acked = true
	for i := range s.flying[:n] {
		if f := &s.flying[i]; int32(f.sent-sent) <= 0 && !f.skippedAgain {
			f.skipped++
			again = again || f.skipped >= fastResend
		}
	}
	return again
}

// receive stores the data of a segment and queues its acknowledgement.
func (s *simulated) receive(number, sent uint32, data []byte) {
	ahead := int32(number - s.want)
	if ahead >= window {
		return
	}
	s.acks = append(s.acks, arrival{number, sent})
	if ahead < 0 || s.early[number] != nil {
		return
	}
	s.early[number] = slices.Clone(data)
	for ; s.early[s.want] != nil; s.want++ {
		s.ready = append(s.ready, s.early[s.want])
		delete(s.early, s.want)
	}
}

// measure computes the timeout from a round trip, as in RFC 6298. A round trip that is much shorter than usual has less weight.
func (s *simulated) measure(trip int32) {
	if s.trip == 0 {
		s.trip, s.variation = trip, trip/2
	} else {
		off := trip - s.trip
		s.trip += off >> 3
		weight := 2
		if trip < s.trip-s.variation {
			weight = 5
		}
		s.variation += (max(off, -off) - s.variation) >> weight
	}
	s.timeout = min(max(uint32(s.trip)+max(interval, uint32(s.variation)*4), shortestTimeout), longestTimeout)
}

// Update flushes, if an interval has passed.
func (s *simulated) Update() {
	now := s.now()
	late := int32(now - s.flushAt)
	if late >= 10_000 || late < -10_000 {
		s.flushAt, late = now, 0
	}
	if late >= 0 {
		if s.flushAt += interval; int32(now-s.flushAt) >= 0 {
			s.flushAt = now + interval
		}
		s.flush()
	}
}

// flush sends acknowledgements, new segments within the window of the peer, and segments that seem lost.
func (s *simulated) flush() {
	s.flushAcks()
	now, old := s.now(), len(s.flying)
	for len(s.queue) > 0 && len(s.flying) < min(window, s.window) {
		s.flying = append(s.flying, flying{data: s.queue[0]})
		s.queue = slices.Delete(s.queue, 0, 1)
		s.next++
	}
	s.out = s.out[:0]
	for i := range s.flying {
		f := &s.flying[i]
		skipped := f.skipped >= fastResend || f.skipped > 0 && len(s.flying) == old
		switch {
		case f.acked:
			continue
		case i >= old:
			f.timeout = s.timeout
		case skipped && !f.skippedAgain:
			f.timeout, f.skippedAgain = s.timeout, true
		case int32(now-f.again) >= 0:
			f.timeout += s.timeout / 2
			f.skipped, f.skippedAgain = 0, false
		default:
			continue
		}
		f.sent, f.again = now, now+f.timeout
		s.append(push, s.lowest()+uint32(i), now, f.data)
	}
	s.output(s.out, len(s.out))
}

// flushAcks sends acknowledgements of segments out of order, and of the last one.
func (s *simulated) flushAcks() {
	s.out = s.out[:0]
	for i, a := range s.acks {
		if int32(a.number-s.want) >= 0 || i == len(s.acks)-1 {
			s.append(ack, a.number, a.sent, nil)
		}
	}
	s.acks = s.acks[:0]
	s.output(s.out, len(s.out))
}

// append appends a segment to out.
func (s *simulated) append(command byte, number, stamp uint32, data []byte) {
	b := binary.LittleEndian.AppendUint32(s.out, conversation)
	b = append(b, command, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(max(window-len(s.ready), 0)))
	b = binary.LittleEndian.AppendUint32(b, stamp)
	b = binary.LittleEndian.AppendUint32(b, number)
	b = binary.LittleEndian.AppendUint32(b, s.want)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	s.out = append(b, data...)
}
