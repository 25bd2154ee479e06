package rate

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A match is some games on a line that they share with other traffic.
type match struct {
	games []*game
	line  *bottleneck
	tcp   *reno
	now   time.Duration
	owed  float64
}

// run runs the games. Other traffic takes a share of the line.
func (m *match) run(d time.Duration, share float64) {
	for end := m.now + d; m.now < end; m.now += tick {
		m.owed += share * m.line.rate * tick.Seconds()
		m.cross(m.line.random.Float64() * m.owed) // the rest of them is behind the packets of the games
		for _, i := range m.line.random.Perm(len(m.games)) {
			m.games[i].step(m.now)
		}
		m.cross(m.owed)
		if m.tcp != nil {
			m.tcp.step(m.now)
		}
	}
}

// cross sends packets of other traffic, of so many bytes. They have random sizes: packets of one size would keep to the same places
// between the ticks, and a run would judge one place.
func (m *match) cross(bytes float64) {
	for size := 100 + m.line.random.Float64()*1400; bytes > size; size = 100 + m.line.random.Float64()*1400 {
		m.line.pass(m.now, int(size))
		bytes -= size
		m.owed -= size
	}
}

func (m *match) add(perTick int) *game {
	g := newGame(m.line, newBottleneck(10_000, time.Second), perTick)
	m.games = append(m.games, g)
	return g
}

// kilobits returns the rate of so many bytes in a time.
func kilobits(bytes int, d time.Duration) int { return int(float64(bytes) * 8 / 1000 / d.Seconds()) }

// Other traffic fills the line of a game that needs some 50 kbit/s. The game is live again 3 s later, on each line that carries
// 1.3 times the need, and remains live. Without congestion control, the game repeats more ticks the longer the queue is, and fills
// the line alone.
//
// Each run is judged. Traffic within the rate of the line delays ticks by its queue, at most twice. More traffic drops packets at
// random, and the few messages of the game with them: in some runs the game waits for most of the traffic, but in none for all of
// it. Twice the rate drops half of them, so in half of the runs the game waits at most 2 s.
func TestAGameRecoversFromTrafficOfOthers(t *testing.T) {
	collapsed := 0
	for _, rate := range []int{72, 128, 200, 300, 1000} {
		for _, c := range []struct {
			share        float64
			most, median time.Duration // of the gaps
		}{{0.6, time.Second / 4, time.Second / 4}, {1, 9 * time.Second / 4, 3 * time.Second / 2}, {2, 9 * time.Second / 2, 2 * time.Second},
			{5, traffic, 7 * time.Second / 2}} {
			var gaps []time.Duration
			for seed := range uint64(15) {
				if _, behind := recovers(rate, c.share, true, seed); behind {
					collapsed++
				}
				gap, behind := recovers(rate, c.share, false, seed)
				if gaps = append(gaps, gap); behind || gap >= c.most {
					t.Errorf("%d kbit/s, %v of it, seed %d: gap %v, want less than %v; behind later: %v", rate, c.share, seed, gap, c.most, behind)
				}
			}
			slices.Sort(gaps)
			t.Logf("%d kbit/s, %v of it: gaps %v", rate, c.share, gaps)
			if gaps[7] > c.median {
				t.Errorf("%d kbit/s, %v of it: the median of the gaps is %v, want at most %v", rate, c.share, gaps[7], c.median)
			}
		}
	}
	if collapsed == 0 {
		t.Error("the test proves nothing: without control every line recovers")
	}
}

// traffic is the length of the cross traffic of recovers.
const traffic = 5 * time.Second

// recovers returns the longest time without a new tick during the cross traffic and the 3 s after it. behind reports whether the
// game is behind in the next minute, or sends more than it needs.
func recovers(rate int, share float64, unpaced bool, seed uint64) (gap time.Duration, behind bool) {
	m := match{line: newBottleneck(rate, time.Second)}
	m.line.random = rand.New(rand.NewPCG(3, seed))
	g := m.add(8)
	g.unpaced = unpaced
	m.run(10*time.Second, 0)
	before := g.server.sends
	g.reset()
	m.run(traffic, share)
	m.run(3*time.Second, 0)
	gap = g.gap
	g.reset()
	sends := g.server.sends
	m.run(time.Minute, 0)
	needs, later := kilobits(before, 10*time.Second), kilobits(g.server.sends-sends, time.Minute)
	return gap, g.longest > 250*time.Millisecond || later > needs*5/4
}

// A game beside a TCP flow that fills a queue of a second keeps its ticks, and the flow has three quarters of the line. Beside an
// image, the flow has at least a third of the line, and the game with its image a twentieth. On 300 kbit/s the flow has 147 kbit/s,
// and the game with its image 157.
func TestNeitherAGameNorTCPStarves(t *testing.T) {
	for _, rate := range []int{200, 300, 1000, 4000} {
		for _, image := range []bool{false, true} {
			m := match{line: newBottleneck(rate, time.Second)}
			m.tcp = &reno{line: m.line, window: 2, threshold: 1 << 10}
			g := m.add(8)
			m.run(5*time.Second, 0)
			if image {
				g.bulk = 100 << 20
			}
			m.run(20*time.Second, 0)
			g.reset()
			sends, tcp := g.server.sends, m.tcp.bytes
			const d = 60 * time.Second
			m.run(d, 0)
			ours, theirs := kilobits(g.server.sends-sends, d), kilobits(m.tcp.bytes-tcp, d)
			t.Logf("%d kbit/s, image %v: %d kbit/s beside %d of TCP, gap %v, %v behind", rate, image, ours, theirs, g.gap, g.longest)
			least := rate * 3 / 4
			if image {
				least = rate / 3
			}
			if theirs < least || image && ours < rate/20 || g.gap > time.Second {
				t.Errorf("one of them starves: TCP wants %d kbit/s", least)
			}
		}
	}
}

// Games and images share a line fairly, whichever of them begins first.
func TestFlowsShareALineFairly(t *testing.T) {
	m := match{line: newBottleneck(1000, time.Second)}
	for range 4 {
		m.add(8).bulk = 100 << 20
		m.run(10*time.Second, 0)
	}
	m.run(20*time.Second, 0)
	var before [4]int
	for i, g := range m.games {
		before[i] = g.server.sends
		g.reset()
	}
	const d = 60 * time.Second
	m.run(d, 0)
	for i, g := range m.games {
		got := kilobits(g.server.sends-before[i], d)
		t.Logf("%d kbit/s, gap %v, %v behind", got, g.gap, g.longest)
		if got < 120 || got > 480 {
			t.Errorf("game %d has %d of 1000 kbit/s", i, got)
		}
	}
}

// An image on a slow line delays ticks a little, and uses most of the line.
func TestAnImageDelaysTicksLittle(t *testing.T) {
	for _, rate := range []int{128, 200, 300, 1000} {
		m := match{line: newBottleneck(rate, time.Second)}
		g := m.add(8)
		m.run(10*time.Second, 0)
		g.bulk = 100 << 20
		sends := g.server.sends
		g.reset()
		m.run(5*time.Second, 0)
		first := g.longest
		g.reset()
		m.run(25*time.Second, 0)
		used := kilobits(g.server.sends-sends, 30*time.Second)
		t.Logf("%d kbit/s: used %d, %v behind at first, then %v", rate, used, first, g.longest)
		if used < rate*6/10 || g.longest > 400*time.Millisecond || first > 900*time.Millisecond {
			t.Error("the image takes too much or too little")
		}
	}
}

// Random loss without a queue is no congestion: no tick is skipped, and an image has the rate that the line delivers.
func TestRandomLossLeavesTheRateAlone(t *testing.T) {
	for _, loss := range []float64{0.05, 0.25} {
		m := match{line: newBottleneck(4000, time.Second)}
		m.line.loss = loss
		g := m.add(8)
		m.run(30*time.Second, 0)
		if g.server.limited || g.server.skipped > 0 {
			t.Errorf("%v loss: ticks are skipped: %+v", loss, g.server.line)
		}
		g.bulk = 100 << 20
		m.run(30*time.Second, 0)
		if r := kilobits(g.server.Rate(), time.Second); r < 1000 || g.server.skipped > 0 {
			t.Errorf("%v loss: the rate is %d kbit/s, skipped at %v", loss, r, g.server.skipped)
		}
	}
}

// A line that drops at once what it cannot carry has no queue that shows congestion. The loss bounds the rate there.
func TestALineWithoutAQueueIsNotFlooded(t *testing.T) {
	m := match{line: newBottleneck(300, 30*time.Millisecond)}
	g := m.add(8)
	m.run(10*time.Second, 0)
	g.bulk = 100 << 20
	m.run(10*time.Second, 0)
	sends := g.server.sends
	g.reset()
	m.run(30*time.Second, 0)
	if used := kilobits(g.server.sends-sends, 30*time.Second); used > 450 || g.gap > time.Second {
		t.Errorf("sends %d kbit/s on a line of 300, gap %v", used, g.gap)
	}
}

// A peer that forges its reports gains nothing, and one that sends none is sent little.
func TestALyingPeerGainsNothing(t *testing.T) {
	for name, lie := range map[string]func(*report){
		"received all":        func(r *report) { r.count += 1 << 10 },
		"received the future": func(r *report) { r.newest += 1 << 10 },
		"no delay":            func(r *report) { r.arrival = 0 },
		"arrived early":       func(r *report) { r.arrival -= 1 << 14 },
	} {
		m := match{line: newBottleneck(300, time.Second)}
		g := m.add(8)
		g.bulk, g.server.forge = 100<<20, lie
		for range 60 * 20 {
			m.run(tick, 0)
			if g.server.Rate() > 256<<10 || g.server.Rate() < lowest {
				t.Fatalf("%s: the rate is %d", name, g.server.Rate())
			}
		}
		if future := name == "received the future"; future && (g.server.line != line{} || g.server.Rate() != lowest) {
			t.Errorf("reports of packets that were not sent count: %+v, rate %d", g.server.line, g.server.Rate())
		}
	}
	m := match{line: newBottleneck(4000, time.Second)}
	g := m.add(8)
	g.bulk, g.client.mute = 100<<20, true
	m.run(20*time.Second, 0)
	if g.server.Rate() != lowest || !g.server.limited {
		t.Errorf("a peer without reports is sent %d bytes a second", g.server.Rate())
	}
	g.client.mute = false
	m.run(10*time.Second, 0)
	if g.server.Rate() <= 64<<10 {
		t.Errorf("%d bytes a second after the reports have come back", g.server.Rate())
	}
}

// The reports of a game cost 90 bytes per second or less in each direction, with the head of their parts.
func TestReportsCostLittle(t *testing.T) {
	m := match{line: newBottleneck(4000, time.Second)}
	g := m.add(8)
	m.run(100*time.Second, 0)
	if n := g.client.sends - 60*100*(40+Header); n > 90*100 {
		t.Errorf("%d bytes per second", n/100)
	}
}

// A report goes with another packet after 100 ms. It has a packet of its own after 200 ms, or once four packets have arrived.
func TestAReportWaitsForAPacket(t *testing.T) {
	for _, c := range []struct {
		packets int
		after   time.Duration
		due     bool
		alone   bool // it is due without another packet
	}{{0, time.Second, false, false}, {1, delay - 1, false, false}, {1, delay, true, false}, {3, 2*delay - 1, true, false},
		{1, 2 * delay, true, true}, {4, delay - 1, false, false}, {4, delay, true, true}} {
		controller := New(1 << 20)
		for n := range c.packets {
			controller.Received(uint16(n), true)
		}
		controller.Update(c.after)
		if due, alone := controller.ReportDue(false), controller.ReportDue(true); due != c.due || alone != c.alone {
			t.Errorf("%v after %d packets: due %v, alone %v", c.after, c.packets, due, alone)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	m := match{line: newBottleneck(4000, time.Second)}
	g := m.add(8)
	m.run(10*time.Second, 0)
	b.ReportAllocs()
	for now := m.now; b.Loop(); now += tick {
		g.server.Update(now)
		if g.server.Ready() {
			g.server.Charge(100)
			g.server.Sent(100)
		}
		g.server.Received(uint16(now/tick), true)
	}
}

// A route that becomes longer looks like a queue that stays, and random loss like that of a full line. Neither changes while hardly
// anything is sent. Some seconds later ticks and bulk data are sent as before.
func TestALongerRouteIsNoQueue(t *testing.T) {
	for _, loss := range []float64{0, 0.05} {
		m := match{line: newBottleneck(4000, time.Second)}
		m.line.loss = loss
		g := m.add(40)
		m.run(10*time.Second, 0)
		m.line.delay += 125 * time.Millisecond
		m.run(7*time.Second, 0)
		g.reset()
		sends := g.server.sends
		m.run(3*time.Second, 0)
		if used := kilobits(g.server.sends-sends, 3*time.Second); used < 70 || g.gap > time.Second/2 {
			t.Errorf("%v loss: %d kbit/s are sent, gap %v: %+v", loss, used, g.gap, g.server.line)
		}
	}
}
