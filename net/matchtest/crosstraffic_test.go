package matchtest

import (
	"os"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// The requirements of a line that carries 1.3 times what a player needs.
const (
	recovery   = 3 * time.Second // until a player is live and keeps up again, after the end of cross traffic
	longestGap = 2 * time.Second // without a new confirmed tick
	slowest    = 128 * 125       // bytes per second of the slowest line: 128 kbit/s
)

// longer is 1 for tests at full length, else 0.
var longer = map[bool]int{true: 1}[race.Long]

// soaks is set for tests that play for many minutes.
var soaks = race.Long && os.Getenv("TENDON_SOAK") != ""

// slowMatch is a match of four bots over links. The first client is observed.
type slowMatch struct {
	*matchsim.Match
	players []*progress
}

// progress is what was observed of a client.
type progress struct {
	*matchsim.Client
	confirmed ecs.Tick      // newest confirmed tick
	at        time.Duration // when it became confirmed
	gap       time.Duration // the longest time without a new one
	lag       ecs.Tick      // the most ticks behind the server
	limit     ecs.Tick      // a client that is further behind does not keep up; 0: no limit
	behind    time.Duration // when it last did not keep up
}

// newSlowMatch returns a match over links in which clients join with these profiles.
func newSlowMatch(t *testing.T, game *ecs.Game, s systems.Strategy, seed uint64, profiles ...simnet.Profile) *slowMatch {
	m := new(slowMatch)
	var err error
	m.Match, err = matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: seed, Links: true,
		Ticked: func(now time.Duration) {
			for _, p := range m.players {
				p.observe(now, m.Room.Tick())
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		m.join(p)
	}
	return m
}

func (m *slowMatch) join(p simnet.Profile) *progress {
	phase := time.Duration(len(m.players)) * 3 * time.Millisecond
	m.players = append(m.players, &progress{Client: m.Join(matchsim.Plan{Profile: p, Phase: phase})})
	return m.players[len(m.players)-1]
}

func (p *progress) observe(now time.Duration, server ecs.Tick) {
	if p.FirstLive == 0 {
		return
	}
	if f := p.Core.Stats().Strategy.Confirmed; f > p.confirmed || p.at == 0 {
		p.confirmed, p.at = f, now
	}
	lag := server - min(server, p.confirmed)
	p.gap, p.lag = max(p.gap, now-p.at), max(p.lag, lag)
	if !p.Live() || p.limit > 0 && lag > p.limit {
		p.behind = now
	}
}

// settle begins to judge whether a client keeps up: its lag may exceed that of the time since the last settle by a quarter of a
// second. It begins to measure the gap and the lag again.
func (p *progress) settle() { p.limit, p.lag, p.gap = p.lag+15, 0, 0 }

// want fails the test unless a client keeps up from a moment on and never stalled for long.
func (p *progress) want(t *testing.T, from time.Duration) {
	t.Helper()
	if s := p.Core.Stats(); !p.Live() || s.Resyncs+s.Reconnects > 0 || p.gap > longestGap || p.behind > from {
		t.Errorf("client %d is %v, %d resyncs, %d reconnects, longest gap %v, did not keep up until %v after %v", p.Number, p.Core.State(),
			s.Resyncs, s.Reconnects, p.gap, p.behind-from, from)
	}
	if p.Checked < 100 {
		t.Errorf("client %d: %d ticks compared", p.Number, p.Checked)
	}
}

// narrow returns a line of this many bytes per second each way, with a queue of one second. 0: unlimited.
func narrow(up, down int) simnet.Profile {
	path := func(bandwidth int) simnet.Path {
		return simnet.Path{Delay: 25 * time.Millisecond, Jitter: simnet.Jitter{Kind: simnet.Exponential, Size: 2 * time.Millisecond}, Bandwidth: bandwidth, QueueBytes: bandwidth}
	}
	return simnet.Profile{Name: "narrow", Title: "narrow", Up: path(up), Down: path(down)}
}

// need returns the bytes per second that the first of four clients sends and receives on an unlimited line, headers included.
func need(t *testing.T, game *ecs.Game, s systems.Strategy) (up, down int) {
	m := newSlowMatch(t, game, s, 9, narrow(0, 0), narrow(0, 0), narrow(0, 0), narrow(0, 0))
	bytes := func() (up, down int) {
		c := m.players[0].Client
		return int(m.Net.Counters(c.Node, m.Server).Bytes), int(m.Net.Counters(m.Server, c.Node).Bytes)
	}
	m.RunUntil(3 * time.Second)
	up0, down0 := bytes()
	const seconds = 5
	m.Run(seconds * time.Second)
	up, down = bytes()
	return (up - up0) / seconds, (down - down0) / seconds
}

// inEveryStrategy runs a test with each strategy, in parallel subtests. They begin when the calling test function returns.
func inEveryStrategy(t *testing.T, test func(t *testing.T, s systems.Strategy)) {
	for _, s := range strategies {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// Cross traffic of twice the line fills the queue for 5 s. The client never stalls for long. It keeps up again soon after the end,
// for 6 s. With TENDON_LONG, the test plays with three seeds on more lines, and for a minute with one of them. With TENDON_SOAK too, it
// plays with 60 seeds on the line that carries 1.3 times the need.
func TestAClientKeepsUpAfterCrossTraffic(t *testing.T) {
	inEveryStrategy(t, func(t *testing.T, s systems.Strategy) {
		up, down := need(t, halves.Dots(), s)
		lines := []simnet.Profile{narrow(up*13/10, down*13/10)}
		if race.Long {
			lines = append(lines, narrow(up*17/10, down*17/10))
		}
		for _, kilobits := range []int{128, 200, 300} {
			if bandwidth := kilobits * 125; race.Long && bandwidth >= max(up, down)*13/10 {
				lines = append(lines, narrow(bandwidth, bandwidth))
			}
		}
		for i, l := range lines {
			seeds := 1 + 2*longer
			if i == 0 && soaks {
				seeds = 60
			}
			for seed := range uint64(seeds) {
				m := newSlowMatch(t, halves.Dots(), s, 5+seed, l, narrow(0, 0), narrow(0, 0), narrow(0, 0))
				m.RunUntil(2 * time.Second)
				p := m.players[0]
				p.lag = 0
				m.RunUntil(4 * time.Second)
				p.settle()
				const end = 9 * time.Second
				after := 6 * time.Second
				if race.Long && seed == 0 {
					after = time.Minute
				}
				m.cross(p, 2, 4*time.Second, end)
				m.RunUntil(end)
				if p.lag < 30 {
					t.Errorf("the run proves nothing: at most %d ticks behind in the cross traffic", p.lag)
				}
				m.RunUntil(end + after)
				p.want(t, end+recovery)
				if err := m.Err(); t.Failed() || err != nil {
					t.Errorf("seed %d, on a line of %d and %d B/s: %v", 5+seed, l.Up.Bandwidth, l.Down.Bandwidth, err)
				}
			}
		}
	})
}

// cross sends cross traffic through the lines of a client, both ways.
func (m *slowMatch) cross(p *progress, share float64, from, to time.Duration) {
	m.Net.Cross(p.Node, m.Server, int(share*float64(p.Plan.Profile.Up.Bandwidth)), from, to)
	m.Net.Cross(m.Server, p.Node, int(share*float64(p.Plan.Profile.Down.Bandwidth)), from, to)
}

// Four clients share 1 Mbit/s with bursts of cross traffic. Each keeps up again soon after the end of a burst.
func TestFourClientsShareALineWithCrossTraffic(t *testing.T) {
	inEveryStrategy(t, func(t *testing.T, s systems.Strategy) {
		shared := profile(t, "P11")
		shared.Up.Cross, shared.Down.Cross = simnet.Cross{}, simnet.Cross{} // bursts at known times instead
		m := newSlowMatch(t, halves.Dots(), s, 3, shared, shared, shared, shared)
		m.RunUntil(2 * time.Second)
		for _, p := range m.players {
			p.lag = 0
		}
		m.RunUntil(4 * time.Second)
		for _, p := range m.players {
			p.settle()
		}
		for i, length := range []time.Duration{2 * time.Second, 5 * time.Second}[:1+longer] {
			begin := m.Net.Now()
			m.cross(m.players[0], 1+float64(i), begin, begin+length)
			m.Run(length + 5*time.Second)
			for _, p := range m.players {
				p.want(t, begin+length+recovery)
			}
		}
		if err := m.Err(); err != nil {
			t.Error(err)
		}
	})
}

// On every slow profile the states of all clients are the server's, and no client is lost. With TENDON_SOAK and TENDON_LONG, the
// test plays ten minutes on each profile.
func TestEveryStrategyPlaysOnSlowLines(t *testing.T) {
	duration := 10 * time.Second
	if soaks {
		duration = 10 * time.Minute
	}
	for _, name := range []string{"P10", "P11", "P12"}[2*(1-longer):] {
		t.Run(name, func(t *testing.T) {
			inEveryStrategy(t, func(t *testing.T, s systems.Strategy) {
				path := profile(t, name)
				m := newSlowMatch(t, halves.Dots(), s, 4, path, path, path, path)
				m.RunUntil(duration)
				for _, p := range m.players {
					p.want(t, m.Net.Now())
				}
				if err := m.Err(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A client joins a running match over 128 kbit/s, which carries the image and the ticks. It keeps up from the beginning. Verify
// needs 17 KB per second in this game, more than the line carries. It therefore sends two of three ticks, each with all changes.
func TestAClientJoinsOverASlowLine(t *testing.T) {
	inEveryStrategy(t, func(t *testing.T, s systems.Strategy) {
		game := dustyGame(1000)
		_, down := need(t, game, s)
		m := newSlowMatch(t, game, s, 6, narrow(0, 0), narrow(0, 0), narrow(0, 0))
		m.RunUntil(3 * time.Second)
		p := m.join(narrow(slowest, slowest))
		rest := max(slowest-down, slowest/2)                // of the line, for the image; verify sends fewer ticks during the transfer
		image := 32_000 * time.Second / time.Duration(rest) // 1000 entities of 32 random bytes
		m.RunUntil(3*time.Second + 2*image + recovery)
		if p.FirstLive == 0 {
			t.Fatalf("%v after %v the client is %v", s.Name, m.Net.Now()-3*time.Second, p.Core.State())
		}
		p.lag = 0
		m.Run(time.Second)
		p.settle()
		m.Run(5 * time.Second)
		p.want(t, p.FirstLive+recovery)
		if err := m.Err(); err != nil {
			t.Error(err)
		}
	})
}
