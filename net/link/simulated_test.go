package link

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xtaci/kcp-go/v5"

	"tendon/net/wire"
)

// exchange returns all packets that two links send while both send messages of many sizes on a bad network.
func exchange(t *testing.T, simulated bool, network func(*pair)) (packets []byte, retransmits uint64) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		unused := kcp.NewKCP(conversation, func([]byte, int) {}) // Check returns the clock of a core that was never updated
		for i := range p.ends {
			if simulated {
				p.ends[i] = NewSimulated(func() time.Duration { return time.Duration(unused.Check()) * time.Millisecond })
			}
		}
		network(p)
		p.emitted = func(packet []byte) { packets = append(packets, packet...) }
		sizes := []int{4, 200, 1079, 1080, 1081, 20_000, 5, MaxMessage, 4000}
		for n := range 60 * 20 {
			for i, l := range p.ends {
				if n%(20+i) == 0 {
					_ = l.Send(wire.Reliable, checkable(uint32(n), sizes[n/20%len(sizes)])) // the queue may be full
				}
				if l.Ready() {
					must(t, l.Send(wire.Datagram, numbered(n, 60)))
				}
			}
			p.step()
		}
		retransmits = p.ends[0].Stats().Retransmits + p.ends[1].Stats().Retransmits
	})
	return packets, retransmits
}

// A simulated link sends the same bytes as a link whose core is that of kcp-go, at the same times.
func TestASimulatedLinkSendsTheSamePackets(t *testing.T) {
	for name, network := range map[string]func(*pair){
		"good":  func(p *pair) { p.delay = 3 * time.Millisecond },
		"lossy": func(p *pair) { p.loss, p.double, p.jitter = 0.1, 0.1, 40*time.Millisecond },
		"awful": func(p *pair) { p.loss, p.delay = 0.3, 400*time.Millisecond },
		"slow":  func(p *pair) { p.loss, p.bandwidth = 0.01, 300*125 },
	} {
		want, retransmits := exchange(t, false, network)
		got, _ := exchange(t, true, network)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
		}
		if name != "good" && retransmits < 10 {
			t.Errorf("%s: the run proves little: %d retransmissions", name, retransmits)
		}
	}
}

// pushes reports whether a packet has the segment of a number.
func pushes(packet []byte, number uint32) bool {
	_, parts, _ := wire.OpenEnvelope(packet)
	for channel, b, ok := parts.Next(); ok; channel, b, ok = parts.Next() {
		for channel == wire.Reliable && len(b) > 0 {
			s, _ := firstSegment(b)
			if s.command == push && s.number == number {
				return true
			}
			b = b[s.size:]
		}
	}
	return false
}

// A link does not end while its peer acknowledges later segments, even if one segment is lost again and again.
func TestALinkWaitsForASegmentThatIsLostOften(t *testing.T) {
	now, got := time.Duration(0), 0
	a, b := NewSimulated(func() time.Duration { return now }), NewSimulated(func() time.Duration { return now })
	for n := 0; now < 20*time.Second; n, now = n+1, now+tick {
		if n%30 == 0 {
			must(t, a.Send(wire.Reliable, numbered(n, 40)))
		}
		a.Flush(now, func(packet []byte) {
			if now > 15*time.Second || !pushes(packet, 3) {
				must(t, b.Receive(packet))
			}
		})
		b.Flush(now, func(packet []byte) { must(t, a.Receive(packet)) })
		for _, _, ok := b.Next(); ok; _, _, ok = b.Next() {
			got++
		}
	}
	if a.Err() != nil || got < 38 {
		t.Errorf("%v after %d messages", a.Err(), got)
	}
}
