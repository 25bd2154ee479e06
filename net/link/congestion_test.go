package link

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/wire"
)

// An image that is sent on a slow line delays the datagrams beside it by a few packets only, and uses most of the line. It does
// not collapse: few segments are sent twice.
func TestAnImageOnASlowLineDelaysDatagramsLittle(t *testing.T) {
	for _, kilobits := range []int{128, 300, 1000} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t)
			p.delay, p.bandwidth = 25*time.Millisecond, kilobits*125
			packet := time.Second * 1250 / time.Duration(p.bandwidth)
			image, got, skipped := 20*p.bandwidth, 0, 0
			var begin, longest, total time.Duration
			arrived := 0
			for n := range 60 * 60 {
				if n == 60*5 {
					begin = p.now
				}
				for begin > 0 && image > 0 && p.ends[0].Room() > 0 && p.ends[0].Send(wire.Reliable, make([]byte, 4<<10)) == nil {
					image -= 4 << 10
				}
				if p.ends[0].Ready() {
					must(t, p.ends[0].Send(wire.Datagram, numbered(n, 30)))
				} else {
					skipped++
				}
				must(t, p.ends[1].Send(wire.Datagram, numbered(n, 30)))
				p.step()
				for _, m := range p.take(1, wire.Reliable) {
					got += len(m)
				}
				for _, m := range p.take(1, wire.Datagram) {
					late := time.Duration(n-int(binary.LittleEndian.Uint32(m))) * tick
					total, longest = total+late, max(longest, late)
					arrived++
				}
				p.take(0, wire.Datagram)
				if begin > 0 && image <= 0 && p.ends[0].Pending() == 0 {
					break
				}
			}
			took, mean := p.now-begin, total/time.Duration(arrived)
			t.Logf("%d kbit/s: %d bytes in %v; datagrams %v late, at most %v, %d skipped; %d segments sent twice", kilobits, got, took, mean, longest, skipped, p.ends[0].Stats().Retransmits)
			if image > 0 || p.ends[0].Pending() > 0 || took > 40*time.Second {
				t.Errorf("%d kbit/s: %d bytes in %v", kilobits, got, took)
			}
			if mean > 100*time.Millisecond+2*packet || longest > 700*time.Millisecond {
				t.Errorf("%d kbit/s: datagrams are %v late, at most %v", kilobits, mean, longest)
			}
			if twice := int(p.ends[0].Stats().Retransmits); twice > got/segmentLimit/5 {
				t.Errorf("%d kbit/s: %d segments were sent twice", kilobits, twice)
			}
		})
	}
}
