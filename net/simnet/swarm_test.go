package simnet

import (
	"bytes"
	"testing"
	"time"
)

// anyPath draws a path from everything that a Path can say.
func anyPath(d *dice) Path {
	upTo := func(most time.Duration) time.Duration { return time.Duration(d.below(uint64(most))) }
	p := Path{
		Delay:  upTo(300 * ms),
		Jitter: Jitter{Kind: JitterKind(d.below(5)), Size: upTo(100 * ms), Trace: []time.Duration{upTo(ms), upTo(second), upTo(50 * ms)}},
		Loss:   float64(d.below(40)) / 100, Duplicate: float64(d.below(30)) / 100,
		Reorder: float64(d.below(30)) / 100, ReorderDelay: upTo(400 * ms),
		Ordered: d.below(4) == 0,
	}
	if d.below(2) == 0 {
		p.Burst = Burst{EnterPerSecond: 0.5, Stay: 10*ms + upTo(500*ms), Loss: 0.9}
	}
	if d.below(3) == 0 {
		p.Bandwidth = 2000 + int(d.below(50_000))
	}
	if d.below(4) == 0 {
		p.Walk = Walk{Min: 10 * ms, Max: 600 * ms, StepPerSecond: 100 * ms}
	}
	return p
}

func checkStreams(t *testing.T, n *Network, seed uint64) {
	t.Helper()
	for _, d := range n.directions {
		s := &d.stream
		if s.una > s.want || s.want > s.next || s.next > s.end || s.next-s.una > reliableWindow || s.end-s.una > uint64(len(s.ring)) {
			t.Fatalf("seed %d, %v: stream %d→%d has una %d, want %d, next %d, end %d", seed, n.now, d.from, d.to, s.una, s.want, s.next, s.end)
		}
	}
}

// First trouble of every kind, then a good network: whatever was promised in the trouble must be kept, and everything
// must arrive once the network heals. A failing seed is the bug report.
func TestTheReliableChannelKeepsItsPromiseInAnyWeather(t *testing.T) {
	resent := uint64(0)
	for seed := range uint64(60) {
		d := newDice(seed, 77)
		n := New(Config{Seed: seed, SocketBuffer: 20, ReliableQueue: 200})
		server, client := n.AddNode(Clock{}), n.AddNode(Clock{DriftPPM: int64(d.below(1000))})
		connect(t, n, client, server, Profile{Up: anyPath(&d), Down: anyPath(&d)})
		var sent, got [2]int
		for i, id := range []NodeID{client, server} {
			n.OnMessage(id, func(_ NodeID, ch Channel, payload []byte, _ Time) {
				if ch != Reliable {
					return
				}
				if !bytes.Equal(payload, message(got[i])) {
					t.Fatalf("seed %d: message %d came out of order or spoilt", seed, got[i])
				}
				got[i]++
			})
			n.Every(id, 0, 20, func(_ int64, now Time) {
				to := client + server - id
				n.Send(id, to, Datagram, number(sent[i]))
				if n.Now() < 20*second && n.Send(id, to, Reliable, message(sent[1-i])) == nil {
					sent[1-i]++
				}
			})
			at := Time(d.below(uint64(10 * second)))
			n.Pause(id, at, at+Time(d.below(uint64(3*second))))
		}
		n.Partition(client, server, 12*second, 12*second+Time(d.below(uint64(4*second))))
		for n.Now() < 20*second {
			n.step()
			checkStreams(t, n, seed)
		}
		if err := n.SetProfile(client, server, profile(t, "P1")); err != nil {
			t.Fatal(err)
		}
		n.RunUntil(60 * second)
		if got != sent || min(got[0], got[1]) < 20 {
			t.Errorf("seed %d: %v messages of %v arrived after the network healed", seed, got, sent)
		}
		resent += n.Counters(client, server).Resent
	}
	if resent < 1000 {
		t.Errorf("only %d segments were sent again: the swarm proves nothing", resent)
	}
}
