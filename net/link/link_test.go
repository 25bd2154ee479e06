package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/wire"
)

// Reliable messages arrive once, whole and in order on every network. 20 000 bytes are 18 segments; the loss of one of them
// is repaired by retransmission.
func TestReliableMessagesArriveOnceWholeAndInOrder(t *testing.T) {
	for name, set := range map[string]func(*pair){
		"clean":             func(*pair) {},
		"20 % loss":         func(p *pair) { p.loss = 0.2 },
		"duplicated":        func(p *pair) { p.double = 0.5 },
		"reordered":         func(p *pair) { p.jitter = 60 * time.Millisecond },
		"all, and no delay": func(p *pair) { p.delay, p.loss, p.double, p.jitter = 0, 0.2, 0.2, 40*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t)
				set(p)
				sizes := []int{20_000, 4, 1079, 20_000, 1080, 1081, 130, MaxMessage, 20_000}
				sent, got := 0, 0
				for steps := 0; got < 60; steps++ {
					if steps > 60*60 {
						t.Fatalf("%d of 60 messages after a minute", got)
					}
					for sent < 60 && p.ends[0].Send(wire.Reliable, numbered(sent, sizes[sent%len(sizes)])) == nil {
						sent++
					}
					p.step()
					for _, m := range p.take(1, wire.Reliable) {
						if want := numbered(got, sizes[got%len(sizes)]); !bytes.Equal(m, want) {
							t.Fatalf("message %d: %d bytes of number %d, want %d bytes", got, len(m), m[0], len(want))
						}
						got++
					}
				}
				for range 120 {
					p.step()
				}
				if n := len(p.take(1, wire.Reliable)); n != 0 || p.ends[0].Pending() != 0 || p.ends[0].Err() != nil || p.ends[1].Err() != nil {
					t.Errorf("%d more messages, %d bytes pending, dead: %v, %v", n, p.ends[0].Pending(), p.ends[0].Err(), p.ends[1].Err())
				}
				if stats := p.ends[0].Stats(); p.loss > 0 && stats.Retransmits == 0 {
					t.Error("the test lost nothing: no segment was sent again")
				}
			})
		})
	}
}

// A tick with datagrams, an order and acknowledgements is one packet. Each packet costs 28 bytes of headers and 40 of
// netcode.
func TestATickOfBothChannelsIsOnePacket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		for i := range 300 {
			for end := range p.ends {
				must(t, p.ends[end].Send(wire.Datagram, numbered(i, 60)))
				must(t, p.ends[end].Send(wire.Datagram, numbered(i, 40)))
				if i%3 == 0 {
					must(t, p.ends[end].Send(wire.Reliable, numbered(i, 200)))
				}
			}
			p.step()
			if p.packets != [2]int{1, 1} {
				t.Fatalf("tick %d: %v packets", i, p.packets)
			}
		}
		for range 20 {
			p.step()
		}
		for end := range p.ends {
			if d, r := len(p.take(end, wire.Datagram)), len(p.take(end, wire.Reliable)); d != 600 || r != 100 {
				t.Errorf("end %d: %d datagrams, %d reliable messages; want 600, 100", end, d, r)
			}
		}
	})
}

// Small datagrams are sent in the packets of bulk data, as far as the limit allows. Most of them fit in packets of 1200 bytes.
func TestPacketsKeepToTheLimit(t *testing.T) {
	packets := map[int]int{}
	for _, limit := range []int{wire.PacketLimit, wire.MinPacketLimit} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t)
			p.ends[0].LimitPackets(limit)
			largest, sent, got := 0, 0, 0
			p.emitted = func(packet []byte) { largest = max(largest, len(packet)) }
			for i := 0; got < 256<<10; i++ {
				for sent < 256<<10 && p.ends[0].Send(wire.Reliable, numbered(sent, 16<<10)) == nil {
					sent += 16 << 10
				}
				must(t, p.ends[0].Send(wire.Datagram, numbered(i, 60)))
				p.step()
				packets[limit] += p.packets[0]
				for _, m := range p.take(1, wire.Reliable) {
					got += len(m)
				}
			}
			if p.ends[0].PacketLimit() != limit || largest > limit || largest <= wire.MinPacketLimit-60 {
				t.Errorf("limit %d: PacketLimit %d, largest packet %d", limit, p.ends[0].PacketLimit(), largest)
			}
			if limit > wire.MinPacketLimit && largest <= wire.MinPacketLimit {
				t.Errorf("limit %d: no packet of more than %d bytes", limit, wire.MinPacketLimit)
			}
		})
	}
	t.Logf("packets sent: %v", packets)
	if packets[wire.PacketLimit] >= packets[wire.MinPacketLimit] {
		t.Errorf("%v packets, want fewer with the larger limit", packets)
	}
}

// LimitPackets only lowers the limit, and not below wire.MinPacketLimit.
func TestTheLimitOfPacketsOnlyFalls(t *testing.T) {
	l := New()
	for _, step := range [][2]int{{5000, wire.PacketLimit}, {1180, 1180}, {1190, 1180}, {0, wire.MinPacketLimit}} {
		if l.LimitPackets(step[0]); l.PacketLimit() != step[1] {
			t.Errorf("after LimitPackets(%d): %d, want %d", step[0], l.PacketLimit(), step[1])
		}
	}
}

// A link without messages sends no packets. Keep-alive packets are sent by net/netcode.
func TestAnIdleLinkEmitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		must(t, p.ends[0].Send(wire.Reliable, []byte("hello")))
		for range 60 {
			p.step()
		}
		before := p.sent
		for range 60 * 30 {
			p.step()
		}
		if p.sent != before || p.ends[0].Err() != nil {
			t.Errorf("%v bytes, then %v; dead: %v", before, p.sent, p.ends[0].Err())
		}
	})
}

// The link delivers duplicated and late datagrams. The strategy decides about them.
func TestDatagramsPassThroughDoubledAndReordered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.double, p.jitter = 1, 100*time.Millisecond
		for i := range 100 {
			must(t, p.ends[0].Send(wire.Datagram, numbered(i, 20)))
			p.step()
		}
		for range 20 {
			p.step()
		}
		got := p.take(1, wire.Datagram)
		disorder := 0
		for i := range got {
			if i > 0 && got[i][0] < got[i-1][0] {
				disorder++
			}
		}
		if len(got) != 200 || disorder == 0 {
			t.Errorf("%d datagrams, %d out of order; want 200, some", len(got), disorder)
		}
	})
}

// 2 MB of reliable messages at the budget of 256 KB/s take 8 s. The budget holds in every second, and every tick still sends
// its datagrams.
func TestBulkKeepsTheBudgetAndDatagramsLeaveEveryTick(t *testing.T) {
	for name, loss := range map[string]float64{"clean": 0, "10 % loss": 0.1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const total = 2 << 20
				p := newPair(t)
				p.loss = loss
				rate := bytesPerSecond
				sent, got, ticks := 0, 0, 0
				var perTick []int
				for ; got < total; ticks++ {
					for sent < total && p.ends[0].Send(wire.Reliable, numbered(sent, 32<<10)) == nil {
						sent += 32 << 10
					}
					must(t, p.ends[0].Send(wire.Datagram, numbered(ticks, 100)))
					before := p.sent[0]
					p.step()
					perTick = append(perTick, p.sent[0]-before)
					if p.packets[0] == 0 {
						t.Fatal("a tick without its datagram")
					}
					for _, m := range p.take(1, wire.Reliable) {
						if !bytes.Equal(m, numbered(got, 32<<10)) {
							t.Fatalf("message at %d is another", got)
						}
						got += len(m)
					}
					if ticks > 60*30 {
						t.Fatalf("%d of %d bytes after 30 s", got, total)
					}
				}
				burst := int(p.ends[0].budget.burst)
				for from := 0; from+60 <= len(perTick); from++ {
					sum := 0
					for _, n := range perTick[from : from+60] {
						sum += n
					}
					if sum > rate+2*burst {
						t.Fatalf("%d bytes in the second from tick %d; the budget is %d and a burst %d", sum, from, rate, burst)
					}
				}
				if whole := p.sent[0]; whole > rate*ticks/60+2*burst {
					t.Errorf("%d bytes in %d ticks: above the budget of %d/s", whole, ticks, rate)
				}
				if least := total * 60 / rate; ticks > least*5/4+int(60*loss*20) {
					t.Errorf("%d ticks, the budget allows %d: the budget is not used", ticks, least)
				}
				if n := len(p.take(1, wire.Datagram)); n < int(float64(ticks)*(1-loss)*0.9)-10 {
					t.Errorf("%d datagrams of %d ticks arrived", n, ticks)
				}
				t.Logf("%d ticks, %d bytes, %+v", ticks, p.sent[0], p.ends[0].Stats())
			})
		})
	}
}

// Datagrams above the budget slow the reliable channel down, but do not stop it.
func TestDatagramsAboveTheBudgetDoNotStopTheReliableChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.ends[0].budget = newBudget(32 << 10)
		for i := range 60 * 20 { // 1000 bytes a tick are 60 KB/s
			must(t, p.ends[0].Send(wire.Datagram, numbered(i, 1000)))
			if i%30 == 0 {
				must(t, p.ends[0].Send(wire.Reliable, numbered(i, 300)))
			}
			p.step()
		}
		for range 30 {
			p.step()
		}
		if n := len(p.take(1, wire.Reliable)); n != 40 {
			t.Errorf("%d of 40 orders arrived", n)
		}
	})
}

// A full queue refuses messages, and accepts them again after acknowledgements.
func TestAFullQueueRefusesAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		l, accepted := p.ends[0], 0
		for l.Send(wire.Reliable, numbered(accepted, 1000)) == nil {
			accepted++
		}
		if err := l.Send(wire.Reliable, numbered(0, 1000)); !errors.Is(err, ErrQueueFull) {
			t.Fatalf("err %v", err)
		}
		if want := QueueBytes / 1002; accepted != want || l.Pending() != want*1002 {
			t.Errorf("%d accepted, %d pending; want %d messages", accepted, l.Pending(), want)
		}
		got := 0
		for range 60 * 3 {
			p.step()
			for _, m := range p.take(1, wire.Reliable) {
				if !bytes.Equal(m, numbered(got, 1000)) {
					t.Fatalf("message %d is another", got)
				}
				got++
			}
		}
		if got != accepted || l.Pending() != 0 || l.Send(wire.Reliable, numbered(0, MaxMessage)) != nil {
			t.Errorf("%d of %d arrived, %d pending", got, accepted, l.Pending())
		}
	})
}

func TestMessagesOutsideTheirBoundsAreRefused(t *testing.T) {
	l := New()
	for _, c := range []struct {
		ch   wire.Channel
		size int
		want error
	}{
		{wire.Reliable, 0, ErrEmpty},
		{wire.Datagram, 0, ErrEmpty},
		{wire.Reliable, MaxMessage + 1, ErrTooLong},
		{wire.Reliable, MaxMessage, nil},
		{wire.Datagram, MaxDatagram + 1, ErrTooLong},
		{wire.Datagram, MaxDatagram - 50, nil},
		{wire.Datagram, 49, nil}, // 50 bytes are left, and the head of a part takes 2: it begins a second packet
		{wire.Datagram, MaxDatagram, nil},
		{wire.Datagram, MaxDatagram, nil},
		{wire.Datagram, MaxDatagram, ErrQueueFull}, // the rate is 32 KB per second
		{wire.Datagram, 48, ErrQueueFull},
	} {
		if err := l.Send(c.ch, make([]byte, c.size)); !errors.Is(err, c.want) {
			t.Errorf("%d bytes: %v, want %v", c.size, err, c.want)
		}
	}
	n := 0
	l.Flush(0, func([]byte) { n++ })
	if err := l.Send(wire.Datagram, make([]byte, MaxDatagram)); n < 3 || err != nil {
		t.Errorf("after the Flush: %d packets, then %v", n, err)
	}
}

// Datagrams of a tick that do not fit into one packet are sent in further packets. A tick has at most four, as far as the rate of
// the line allows. On a slow line it has one.
func TestATickHasAsManyDatagramsAsTheRateAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		sent := [2]int{}
		for i := range 600 {
			if i == 300 {
				p.bandwidth = 4000
			}
			for p.ends[0].Send(wire.Datagram, numbered(i, 1100)) == nil && i%3 == 0 {
				sent[i/300]++
			}
			allowed := p.ends[0].rate.Rate()
			p.step()
			if p.packets[0] > 4 || p.packets[0] > 1 && allowed < 8000 {
				t.Fatalf("tick %d: %d packets at %d bytes per second", i, p.packets[0], allowed)
			}
		}
		first := 0
		for _, m := range p.take(1, wire.Datagram) {
			if binary.LittleEndian.Uint32(m) < 300 {
				first++
			}
		}
		if sent[0] < 350 || first < 300+2*80 {
			t.Errorf("%d datagrams were accepted and %d arrived", sent[0], first)
		}
	})
}

// The first segment of a link is sent again after the first timeout of the core, whatever the round trip is.
func TestTheFirstSegmentIsSentAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.delay = 75 * time.Millisecond
		send := func(ch wire.Channel) {
			for end := range p.ends {
				if err := p.ends[end].Send(ch, []byte("hello")); err != nil {
					t.Fatal(err)
				}
			}
		}
		send(wire.Reliable)
		p.loss = 1
		p.step()
		p.loss = 0
		for range 19 { // 200 ms, the way, and two ticks
			send(wire.Datagram)
			p.step()
		}
		for end := range p.ends {
			if n := len(p.take(end, wire.Reliable)); n != 1 {
				t.Errorf("end %d has received %d messages after %v", end, n, p.now)
			}
		}
	})
}

// A link whose peer acknowledges nothing is dead after the timeout. The core alone would send for ever.
func TestALostPeerEndsTheLinkAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t).withTimeout(3 * time.Second)
		for range 60 {
			must(t, p.ends[0].Send(wire.Reliable, numbered(1, 100)))
			p.step()
		}
		p.loss = 1
		for p.ends[0].Send(wire.Reliable, numbered(1, 10_000)) == nil {
		}
		start, sent := p.now, p.sent[0]
		for p.ends[0].Err() == nil {
			p.ends[0].Send(wire.Reliable, numbered(1, 10_000))
			if p.step(); p.now-start > 4*time.Second {
				t.Fatal("alive after 4 s of silence")
			}
		}
		if silence := p.now - start; silence < 2900*time.Millisecond || !errors.Is(p.ends[0].Err(), ErrTimeout) {
			t.Errorf("dead after %v: %v", silence, p.ends[0].Err())
		}
		l := p.ends[0]
		if limit := bytesPerSecond*3 + 2*int(l.budget.burst); p.sent[0]-sent > limit {
			t.Errorf("%d bytes sent to a lost peer", p.sent[0]-sent)
		}
		if !errors.Is(l.Send(wire.Reliable, []byte{1}), ErrTimeout) || !errors.Is(l.Send(wire.Datagram, []byte{1}), ErrTimeout) {
			t.Error("a dead link takes messages")
		}
		before := p.sent[0]
		if p.step(); p.sent[0] != before {
			t.Error("a dead link sends")
		}
	})
}

// A suspended host finds its links alive: packets that wait in the socket are received before the timeout counts.
func TestAGapBetweenFlushesDoesNotEndTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t).withTimeout(3 * time.Second)
		p.step()
		must(t, p.ends[0].Send(wire.Reliable, []byte("x")))
		time.Sleep(time.Hour)
		p.now += time.Hour
		for range 60 {
			p.step()
		}
		if p.ends[0].Err() != nil || len(p.take(1, wire.Reliable)) != 1 {
			t.Errorf("dead: %v", p.ends[0].Err())
		}
	})
}

// A peer that does not read its messages closes its window. The sender then sends almost nothing, and its link ends after
// the timeout.
func TestASlowReaderClosesItsWindowAndEndsTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t).withTimeout(3 * time.Second)
		a, b := p.ends[0], p.ends[1]
		for range 60 * 6 {
			for a.Send(wire.Reliable, numbered(1, 1000)) == nil {
			}
			time.Sleep(tick)
			p.now += tick
			a.Flush(p.now, func(packet []byte) { b.Receive(packet) })
			b.Flush(p.now, func(packet []byte) { a.Receive(packet) }) // and never Next
		}
		if a.Err() == nil || a.Stats().BytesSent > 2*window*segmentMTU {
			t.Errorf("dead: %v, %d bytes sent", a.Err(), a.Stats().BytesSent)
		}
	})
}

// The window opens again when the messages are read, whatever was lost meanwhile: the probes of KCP ask for it.
func TestAWindowOpensAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t).withTimeout(10 * time.Second)
		a, b := p.ends[0], p.ends[1]
		sent, got := 0, 0
		for i := range 60 * 12 {
			for sent < 600 && a.Send(wire.Reliable, numbered(sent, 1000)) == nil {
				sent++
			}
			time.Sleep(tick)
			p.now += tick
			a.Flush(p.now, func(packet []byte) { b.Receive(packet) })
			b.Flush(p.now, func(packet []byte) { a.Receive(packet) })
			if i < 60*4 {
				continue
			}
			for _, m, ok := b.Next(); ok; _, m, ok = b.Next() {
				if !bytes.Equal(m, numbered(got, 1000)) {
					t.Fatalf("message %d is another", got)
				}
				got++
			}
		}
		if got < 600 || a.Err() != nil {
			t.Errorf("%d of %d messages, dead: %v", got, sent, a.Err())
		}
		if n := a.Stats().Withheld; n != 0 {
			t.Errorf("%d segments were withheld when the window opened", n)
		}
	})
}

// Datagrams that are not read are dropped and counted.
func TestUnreadDatagramsAreDroppedAndCounted(t *testing.T) {
	a, b := New(), New()
	for i := range 1000 {
		must(t, a.Send(wire.Datagram, numbered(i, 1000)))
		a.Flush(time.Duration(i)*tick, func(packet []byte) { b.Receive(packet) })
	}
	kept := uint64(0)
	for _, _, ok := b.Next(); ok; _, _, ok = b.Next() {
		kept++
	}
	if kept < 20 || kept*1002 > inboxBytes || b.Stats().Dropped != 1000-kept {
		t.Errorf("%d kept, %d dropped", kept, b.Stats().Dropped)
	}
}

// The measured round trip is that of the network plus at most a tick at each end. Retransmitted segments are not measured.
func TestStatsReportTheRoundTrip(t *testing.T) {
	for _, loss := range []float64{0, 0.3} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t)
			p.delay, p.loss = 40*time.Millisecond, loss
			longest := time.Duration(0)
			for i := range 600 {
				if i%20 == 0 {
					must(t, p.ends[0].Send(wire.Reliable, numbered(i, 50)))
				}
				p.step()
				longest = max(longest, p.ends[0].Stats().RTT)
			}
			if rtt := p.ends[0].Stats().RTT; rtt < 80*time.Millisecond || longest > 80*time.Millisecond+2*tick {
				t.Errorf("loss %v: round trip %v, at times %v, of an 80 ms network", loss, rtt, longest)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// countedCore counts the calls of a KCP core that read its memory.
type countedCore struct {
	core
	calls int
}

func (c *countedCore) Update() {
	c.calls++
	c.core.Update()
}

func (c *countedCore) PeekSize() int {
	c.calls++
	return c.core.PeekSize()
}

// A link whose reliable channel is idle does not touch the KCP core while datagrams pass. The channel works again afterwards.
func TestAnIdleReliableChannelCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		var cores [2]*countedCore
		for i, l := range p.ends {
			cores[i] = &countedCore{core: l.reliable.core}
			l.reliable.core = cores[i]
		}
		for round := range 2 {
			must(t, p.ends[0].Send(wire.Reliable, []byte{byte(round + 1)}))
			for range 60 {
				p.step()
			}
			got := slices.DeleteFunc(p.received[1], func(m message) bool { return m.channel != wire.Reliable })
			if p.received[1] = got; len(got) != round+1 || p.ends[0].Pending() > 0 {
				t.Fatalf("%d messages, %d bytes are not acknowledged", len(got), p.ends[0].Pending())
			}
			before := cores[0].calls + cores[1].calls
			for range 60 {
				p.pass(false)
				for _, l := range p.ends {
					must(t, l.Send(wire.Datagram, []byte{1, 2, 3}))
					for ok := true; ok; {
						_, _, ok = l.Next()
					}
				}
			}
			if calls := cores[0].calls + cores[1].calls - before; calls > 0 {
				t.Errorf("%d calls of the core in 60 ticks with datagrams alone", calls)
			}
		}
	})
}

// Each end knows the share of its packets that were lost, and how many the peer has sent.
func TestStatsShowTheLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.loss = 0.25
		for range 3000 {
			for _, l := range p.ends {
				_ = l.Send(wire.Datagram, []byte("tick"))
			}
			p.step()
		}
		for i, l := range p.ends {
			s, peer := l.Stats(), p.ends[1-i].Stats()
			if got := float64(s.PacketsReceived) / float64(s.PacketsExpected); got < 0.7 || got > 0.8 || s.PacketsExpected > peer.PacketsSent || s.PacketsExpected+100 < peer.PacketsSent {
				t.Errorf("end %d received %d of %d packets; %d were sent", i, s.PacketsReceived, s.PacketsExpected, peer.PacketsSent)
			}
			if s.Loss < 0.05 || s.Loss > 0.5 {
				t.Errorf("end %d knows a loss of %.2f, want about 0.25", i, s.Loss)
			}
		}
	})
}
