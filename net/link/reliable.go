package link

import (
	"time"

	"github.com/xtaci/kcp-go/v5"
)

// reliable drives the KCP core: it cuts framed messages into segments as the
// budget allows, holds what the core sends until the tick's Flush, and puts
// messages together again from what the core received.
//
// Sequence numbers below acked are acknowledged, those in [acked, sent) are in
// flight, those in [sent, fed) wait in the core for the peer's window, and
// fed - acked is at most window. Nothing is fed while something waits, so the
// core never holds more unsent segments than one tick's budget.
type reliable struct {
	core   *kcp.KCP
	budget *budget
	stats  *Stats

	queue  frames // framed messages not fed yet
	stream frames // received pieces of framed messages
	out    []byte // segments that the core sent since the last Flush

	fed, sent, acked uint32
	flight           [window]flight // of [acked, fed), at number % window
	unacked          int            // bytes in queue and flight
	progressed       bool           // something was acknowledged since takeProgress
	now              time.Duration  // of the last flush

	sampled  bool          // sampleAt is waiting to become a round trip
	sampleAt time.Duration // when the newest acknowledged segment had left
}

// flight is what is remembered of a segment until it is acknowledged.
type flight struct {
	at    time.Duration // when it first left
	size  uint16        // bytes of data
	spent bool          // no round trip may be measured by it: sent twice, or measured already
}

// outSlack is room in out beside one burst: acknowledgements of a full window.
const outSlack = 4 << 10

func (r *reliable) open(budget *budget, stats *Stats) {
	r.budget, r.stats = budget, stats
	r.core = kcp.NewKCP(conversation, r.output)
	// No-delay mode, 10 ms interval, retransmit after two later
	// acknowledgements, no congestion window: the budget is ours to keep.
	r.core.NoDelay(1, 10, 2, 1)
	r.core.WndSize(window, window)
	r.core.SetMtu(segmentMTU)
}

func (r *reliable) send(message []byte) {
	r.queue.push(message)
	r.unacked += framedSize(len(message))
}

// takeProgress reports whether the peer is known to be there: it acknowledged
// something since the last call, or nothing waits for it.
func (r *reliable) takeProgress() bool {
	progressed := r.progressed || r.unacked == 0
	r.progressed = false
	return progressed
}

// flush feeds the core and lets it send, at most once in 10 ms.
func (r *reliable) flush(now time.Duration) {
	r.now = now
	r.measure()
	r.feed()
	r.core.Update()
}

// feed hands the core as many segments as budget and window hold.
func (r *reliable) feed() {
	if r.fed != r.sent {
		return // the peer's window is closed: what waits there goes first
	}
	r.queue.drop()
	tokens := r.budget.tokens
	for r.queue.size() > 0 && r.fed-r.acked < window {
		n := min(r.queue.size(), segmentLimit)
		if tokens -= packetCost(segmentHead + n); tokens < 0 {
			break
		}
		r.flight[r.fed%window] = flight{at: r.now, size: uint16(n)}
		r.core.Send(r.queue.take(n)) // refuses only nothing and more than 255 segments
		r.fed++
	}
}

// output is what the core calls with segments to send, from Update and from
// Input. Those that may leave wait in out for Flush; the others are dropped,
// which to the core is a loss like any other.
func (r *reliable) output(buf []byte, size int) {
	for b := buf[:size]; len(b) > 0; {
		s, ok := firstSegment(b)
		if !ok {
			panic("link: the KCP core sent a segment that STANDARD.md does not know; was kcp-go upgraded?")
		}
		if r.mayLeave(s) {
			r.out = append(r.out, b[:s.size]...)
		} else {
			r.stats.Withheld++
		}
		b = b[s.size:]
	}
}

// mayLeave decides about one segment and pays for it.
func (r *reliable) mayLeave(s segment) bool {
	leaves := int64(len(r.out)+s.size) <= r.budget.burst+outSlack
	if s.command != push {
		if leaves {
			r.budget.spend(int(packetCost(s.size)))
		}
		return leaves
	}
	f := &r.flight[s.number%window]
	if s.number == r.sent { // the first time: feed saw that the budget holds it
		r.sent++
		f.at = r.now
	} else {
		f.spent = true
		if leaves = leaves && !r.budget.overdrawn(); leaves {
			r.stats.Retransmits++
		}
	}
	if leaves {
		r.budget.pay(packetCost(s.size))
	}
	return leaves
}

// input gives the core a part that segmentsWellFormed accepted.
func (r *reliable) input(part []byte) {
	for b := part; len(b) > 0; {
		s, _ := firstSegment(b)
		if s.command == ack && s.number-r.acked < r.sent-r.acked {
			if f := &r.flight[s.number%window]; !f.spent {
				f.spent = true
				r.sampled, r.sampleAt = true, f.at
			}
		}
		b = b[s.size:]
	}
	r.core.Input(part, kcp.IKCP_PACKET_REGULAR, false)
	for waiting := uint32(r.core.WaitSnd()); r.fed-r.acked > waiting; r.acked++ {
		if r.acked == r.sent {
			r.sent++ // a lie: it never left. The peer loses it; we keep count
		}
		r.unacked -= int(r.flight[r.acked%window].size)
		r.progressed = true
	}
}

// clearOut empties out after its segments were packed, and gives its memory
// up in a tick that did not need it.
func (r *reliable) clearOut() {
	if len(r.out) == 0 {
		r.out = trim(r.out)
	}
	r.out = r.out[:0]
}

// measure turns an acknowledgement into a round trip, now that a time is known.
func (r *reliable) measure() {
	if !r.sampled {
		return
	}
	r.sampled = false
	trip := max(r.now-r.sampleAt, 0)
	if r.stats.RTT == 0 {
		r.stats.RTT = trip
	} else {
		r.stats.RTT += (trip - r.stats.RTT) / 8
	}
}

// next returns the next whole message. The stream holds at most one message
// and one segment: more is pulled only while the front one is not whole.
func (r *reliable) next() (message []byte, ok bool, err error) {
	for {
		message, ok, err = r.stream.message()
		if ok || err != nil {
			return message, ok, err
		}
		n := r.core.PeekSize()
		if n <= 0 {
			r.stream.drop()
			return nil, false, nil
		}
		r.core.Recv(r.stream.extend(n))
	}
}
