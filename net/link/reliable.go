package link

import "time"

// reliable is the reliable channel. It cuts framed messages into segments as the budget allows, and passes them to the KCP
// core, which retransmits lost ones. It collects the segments that the core sends until the next Flush, and reassembles
// messages from the segments that the core received.
//
// Sequence numbers below acked are acknowledged. Those in [acked, sent) are in flight. Those in [sent, fed) wait in the
// core for the window of the peer. fed - acked is at most window. No segment is fed while one waits, so the core holds at
// most the segments of one tick's budget unsent.
type reliable struct {
	core   core
	budget *budget
	stats  *Stats

	queue  frames // framed messages not fed yet
	stream frames // received pieces of framed messages
	out    []byte // segments sent by the core since the last Flush

	fed, sent, acked uint32
	flight           [window]flight // of [acked, fed), at number % window
	unacked          int            // bytes in queue and flight
	progressed       bool           // a segment was acknowledged since the link last set it to false
	now              time.Duration  // of the last flush
	used             bool           // the core has received or returned data since the last flush
	usedAt           time.Duration  // the flush after that
	readable         bool           // the core may have received data

	roundTrip time.Duration // newest round trip of the line; 0: not known
	newest    uint32        // number of the acknowledged segment that was sent last
	newestAt  time.Duration // when it was sent

	sampled  bool          // sampleAt is set; the next flush measures the round trip
	sampleAt time.Duration // when the newest acknowledged segment was sent
}

type flight struct {
	at    time.Duration // when it was last sent
	size  uint16        // bytes of data
	again bool          // it was retransmitted, so its acknowledgement does not measure the round trip
	acked bool
}

// outSlack is room in out beside one burst: acknowledgements of a full window.
const outSlack = 4 << 10

// flush feeds the core and has it send, at most once in 10 ms.
func (r *reliable) flush(now time.Duration) {
	r.now = now
	if r.sampled { // a round trip from the last acknowledgement
		r.sampled = false
		trip := max(now-r.sampleAt, 0)
		if r.stats.RTT == 0 {
			r.stats.RTT = trip
		} else {
			r.stats.RTT += (trip - r.stats.RTT) / 8
		}
	}
	r.feed()
	if r.used {
		r.used, r.usedAt = false, now
	}
	if r.unacked > 0 || now-r.usedAt <= idleAfter { // otherwise the core has nothing to send
		r.core.Update()
	}
}

func (r *reliable) feed() {
	if r.fed != r.sent {
		return // the window of the peer is closed, and earlier segments wait in the core
	}
	r.queue.drop()
	tokens := r.budget.tokens
	for r.queue.Len() > 0 && r.fed-r.acked < window {
		n := min(r.queue.Len(), segmentLimit)
		if tokens -= packetCost(segmentHead + n); tokens < 0 {
			break
		}
		r.flight[r.fed%window] = flight{at: r.now, size: uint16(n)}
		r.core.Send(r.queue.Next(n)) // it refuses only empty data and more than 255 segments
		r.fed++
	}
}

// output receives segments from the core. Those that may be sent are kept for Flush. The core handles others as lost.
func (r *reliable) output(buf []byte, size int) {
	for b := buf[:size]; len(b) > 0; {
		s, ok := firstSegment(b)
		if !ok {
			panic("link: the KCP core sent a segment that STANDARD.md does not know; was kcp-go upgraded?")
		}
		if r.maySend(s) {
			r.out = append(r.out, b[:s.size]...)
		} else {
			r.stats.Withheld++
		}
		b = b[s.size:]
	}
}

// maySend decides about one segment and charges the budget for it.
func (r *reliable) maySend(s segment) bool {
	send := int64(len(r.out)+s.size) <= r.budget.burst+outSlack
	if s.command != push {
		if send {
			r.budget.owe(int(packetCost(s.size)))
		}
		return send
	}
	f := &r.flight[s.number%window]
	if s.number == r.sent { // the first time: feed has checked the budget
		r.sent++
		f.at = r.now
	} else {
		f.again = true
		if send = send && !r.budget.overdrawn() && r.overdue(s.number); send {
			r.stats.Retransmits++
			f.at = r.now
		}
	}
	if send {
		r.budget.pay(packetCost(s.size))
	}
	return send
}

// overdue reports whether a segment is probably lost. Then a segment that was sent later is acknowledged, or the acknowledgement
// should have arrived by now. The timeouts of the core do not follow a queue that grows fast. See RACK, RFC 8985. The first
// segment, which opens a session, always counts as lost.
func (r *reliable) overdue(number uint32) bool {
	f := &r.flight[number%window]
	if number == 0 {
		return true
	}
	return f.at < r.newestAt || f.at == r.newestAt && int32(r.newest-number) > 0 || r.now-f.at > r.roundTrip*5/4+ackDelay
}

// ackDelay is the maximum time by which both ends delay an acknowledgement: two ticks and an interval of the core.
const ackDelay = 50 * time.Millisecond

// input passes a part to the core. It is well-formed.
func (r *reliable) input(part []byte) {
	for b := part; len(b) > 0; {
		s, _ := firstSegment(b)
		if s.command == ack && s.number-r.acked < r.sent-r.acked {
			f := &r.flight[s.number%window]
			if !f.acked && !f.again {
				r.sampled, r.sampleAt = true, f.at
				if f.at >= r.newestAt {
					r.newest, r.newestAt = s.number, f.at
				}
			}
			r.progressed, f.acked = r.progressed || !f.acked, true
		}
		b = b[s.size:]
	}
	r.core.Input(part)
	r.used, r.readable = true, true
	for waiting := uint32(r.core.WaitSnd()); r.fed-r.acked > waiting; r.acked++ {
		if r.acked == r.sent {
			r.sent++ // a forged acknowledgement: the segment was never sent, and is lost to the peer
		}
		r.unacked -= int(r.flight[r.acked%window].size)
		r.progressed = true
	}
}

// clearOut empties out after its segments were packed. It releases a large memory in a tick that did not need it.
func (r *reliable) clearOut() {
	if len(r.out) == 0 && cap(r.out) > keepBytes {
		r.out = nil
	}
	r.out = r.out[:0]
}

// next returns the next whole message. The stream holds at most one message and one segment, because more is read from the
// core only while the first message is not whole.
func (r *reliable) next() (message []byte, ok bool, err error) {
	for {
		message, ok, err = r.stream.message()
		if ok || err != nil {
			return message, ok, err
		}
		if !r.readable {
			return nil, false, nil
		}
		n := r.core.PeekSize()
		if n <= 0 {
			r.readable = false
			r.stream.drop()
			return nil, false, nil
		}
		r.used = true // the window of the peer may open
		r.stream.Grow(n)
		piece := r.stream.AvailableBuffer()[:n]
		r.core.Recv(piece)
		r.stream.Write(piece)
	}
}
