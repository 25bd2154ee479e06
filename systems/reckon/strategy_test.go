package reckon

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
)

// play is a match of the whole strategy, with rooms, sessions and different clocks over the simulated network. Client 0
// walks. Client 1 measures the shown error; its walker stands.
type play struct {
	t      testing.TB
	h      *matchsim.Match
	server *Server
	pads   []pad
	run    time.Duration // between turns
	dice   *rand.Rand
	turn   time.Duration // the next
	still  bool          // no walker turns

	frames        int
	answered      systems.Time // when client 0 last sent a record
	records       int          // of client 0
	square, worst float64      // error of walker 0 on client 1, in world units
}

func newPlay(t testing.TB, seed uint64, profile string, run time.Duration, c Config) *play {
	t.Helper()
	path, ok := simnet.ByName(profile)
	if !ok {
		t.Fatal("no profile", profile)
	}
	p := &play{t: t, run: run, pads: make([]pad, 2), dice: rand.New(rand.NewPCG(seed, 10))}
	s := New(c)
	made := s.NewServer
	s.NewServer = func(sc systems.ServerConfig) (systems.Server, error) {
		half, err := made(sc)
		if err == nil {
			p.server = half.(*Server)
		}
		return half, err
	}
	var err error
	p.h, err = matchsim.New(matchsim.Config{Game: testGame(false), Strategy: s, Seed: seed, Unchecked: true, Room: func(*room.Config) {}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.pads {
		clock := simnet.Clock{Offset: time.Duration(90*i+3) * time.Second, DriftPPM: []int64{60, -40}[i]}
		p.h.Join(matchsim.Plan{Profile: path, Clock: clock, Play: func(*matchsim.Client, systems.Time) ecs.InputBytes { return padInput.Pack(p.pads[i]) }})
	}
	return p
}

func (p *play) half(i int) *Client { return p.h.Clients[i].Core.Strategy().(*Client) }

// player returns the seat of client 0: the client that connects first has the first seat.
func (p *play) player() ecs.Player { return ecs.Player(p.h.Clients[0].Seat()) }

// begin plays until both are live, and client 0 has begun to walk.
func (p *play) begin() {
	p.t.Helper()
	for !p.h.Clients[0].Live() || !p.h.Clients[1].Live() {
		if p.h.Net.Now() > 30*time.Second {
			p.t.Fatalf("not live: %v, %v", p.h.Clients[0].Core.State(), p.h.Clients[1].Core.State())
		}
		p.h.Run(100 * time.Millisecond)
	}
	p.pads[0].Walk = true
	p.turn = p.h.Net.Now()
	p.walk(10 * time.Second)
	p.frames, p.records, p.square, p.worst = 0, 0, 0, 0
}

// walk runs for a while, a frame at a time, and compares the walker that client 1 shows with its true position.
func (p *play) walk(lasting time.Duration) {
	p.t.Helper()
	for end := p.h.Net.Now() + lasting; p.h.Net.Now() < end; {
		if p.h.Net.Now() >= p.turn && !p.still {
			p.pads[0].Heading = int16(p.dice.IntN(1024))
			p.turn += p.run
		}
		p.h.Run(time.Second / 60)
		for _, a := range p.half(0).avatars {
			if a.answered != p.answered {
				p.answered = a.answered
				p.records++
			}
		}
		me := walker(p.half(0).World(), p.player())
		truth, ok := p.half(0).World().Image().Motion(me)
		shown, ok2 := p.half(1).Shown(me, systems.Time(p.h.Net.LocalNow(p.h.Clients[1].Node)))
		if !ok || !ok2 {
			continue
		}
		wrong := shown.Pos.Sub(truth.Pos).Len().Float()
		p.frames++
		p.square += wrong * wrong
		p.worst = max(p.worst, wrong)
	}
	if err := p.h.Err(); err != nil {
		p.t.Fatal(err)
	}
}

// rms returns the root mean square of the error, in speeds.
func (p *play) rms() float64 { return math.Sqrt(p.square/float64(p.frames)) / top }

// resyncs counts the restarts of the clock exchange, of all sides.
func (p *play) resyncs() (n uint64) {
	for i := range p.pads {
		n += p.half(i).clock.exchange.Stats().Resyncs
	}
	for i := range p.server.Peers {
		if a := p.server.Peers[i].Own.clock.exchange; a != nil {
			n += a.Stats().Resyncs
		}
	}
	return n
}

// minutes returns how long an acceptance line runs. The race detector runs a tenth of it.
func minutes(n time.Duration) time.Duration {
	if race.Enabled {
		return n * time.Minute / 10
	}
	return n * time.Minute
}

// DR-06, DR-07, DR-08 and DR-10 of the whole strategy: runs at 5 m/s with a turn every 3 s for 10 minutes. They go over P3,
// P5 and P7, whose round trip varies between 200 ms and 2 s. The shown walker is within the RMS of the lines and jumps
// at most once a minute. Its client is never corrected or clamped, and sends at most 1.2 records a second.
func TestDR06DR07DR08TheWholeStrategyOverBadNetworks(t *testing.T) {
	for _, v := range []struct {
		profile string
		seed    uint64
		run     time.Duration
		rms     float64
	}{
		{"P3", 9, 2700 * time.Millisecond, 0.25}, {"P5", 9, 2700 * time.Millisecond, 0.45}, {"P7", 1, 3 * time.Second, 1.0}, {"P7", 2, 3 * time.Second, 1.0},
	} {
		p := newPlay(t, v.seed, v.profile, v.run, Config{})
		p.begin()
		me := walker(p.server.World(), p.player())
		before := p.server.avatar(me).guard.Stats
		p.walk(minutes(10))
		seconds := minutes(10).Seconds()
		rate := float64(p.records) / seconds
		o := p.half(1).remotes.all.Get(me.Row)
		g := p.server.avatar(me).guard.Stats
		snaps := p.half(0).Stats().Snaps
		t.Logf("%s: rms %.2f v, worst %.1f v, %.2f records a second, guard %+v, %d own corrections, %d resyncs", v.profile, p.rms(), p.worst/top, rate,
			g, snaps, p.resyncs())
		if race.Enabled {
			v.rms *= 1.5 // a minute may be a bad one
		}
		if !(p.rms() <= v.rms) || float64(o.motion.Stats.Snaps) > seconds/60 || snaps > 0 || rate > 1.2 {
			t.Errorf("%s: rms %.2f v, %d jumps, %d own corrections, %.2f records a second", v.profile, p.rms(), o.motion.Stats.Snaps, snaps, rate)
		}
		if g.Clamped+g.Refused > before.Clamped || g.Fast+g.Slowed > 0 {
			t.Errorf("%s: an honest client was limited: %+v", v.profile, g)
		}
		if p.frames < int(seconds)*55 || p.rms() < 0.05 || g.Accepted < uint64(seconds*2/3) || o.motion.Stats.Records < uint64(seconds*2/3) {
			t.Errorf("%s: %d frames, %+v: the run proves nothing", v.profile, p.frames, g)
		}
	}
}

// DR-07 of the whole strategy: on a straight line exactly one record a second is sent.
func TestDR07TheWholeStrategyOnAStraightLine(t *testing.T) {
	p := newPlay(t, 3, "P4", time.Second, Config{})
	p.begin()
	p.still = true
	p.walk(5 * time.Second)
	p.worst = 0
	p.records = 0
	p.walk(60 * time.Second)
	if p.records != 60 {
		t.Errorf("%d records in 60 s", p.records)
	}
	if p.worst > 0.2 {
		t.Errorf("the shown walker is off by up to %.2f m on a straight line", p.worst)
	}
}

// DR-10 of the whole strategy: at a constant round trip, with a clock drift of 100 ppm, no side restarts the
// exchange. The negative control is a server whose clock is stepped.
func TestDR10TheWholeStrategyAtAConstantRoundTrip(t *testing.T) {
	p := newPlay(t, 4, "P4", 3*time.Second, Config{})
	p.begin()
	before := p.resyncs()
	p.walk(minutes(10))
	if n := p.resyncs() - before; n > 0 || p.half(0).clock.exchange.Stats().Samples < uint64(minutes(10).Seconds()*5/6) {
		t.Errorf("%d resyncs, %+v", n, p.half(0).clock.exchange.Stats())
	}
	p.h.Net.StepClock(p.h.Clients[1].Node, time.Second)
	p.walk(5 * time.Second)
	if p.resyncs() == before {
		t.Error("a step of a clock was not noticed")
	}
}

// Bots that turn five times a second, throw sparks and are limited in speed play on the worst profiles. All become
// live, complete replicas equal the server's state, no honest client is clamped, and bandwidth stays within its
// bound. With TENDON_SOAK it runs ten minutes on every profile.
func TestBotsPlayOnTheWorstNetworks(t *testing.T) {
	profiles, lasting := []string{"P0", "P5", "P7", "P9"}, 60 // seconds
	switch {
	case os.Getenv("TENDON_SOAK") != "":
		profiles, lasting = []string{"P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12"}, 600
	case race.Enabled:
		profiles = profiles[:1]
	case !race.Long:
		profiles = profiles[2:]
	}
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			path, _ := simnet.ByName(profile)
			var server *Server
			s := New(Config{MaxSpeed: 6 * fixed.One})
			made := s.NewServer
			s.NewServer = func(sc systems.ServerConfig) (systems.Server, error) {
				half, err := made(sc)
				if err == nil {
					server = half.(*Server)
				}
				return half, err
			}
			h, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: s, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				h.Join(matchsim.Plan{Profile: path, Clock: simnet.Clock{Offset: time.Duration(i) * time.Hour, DriftPPM: int64(40 * i)}})
			}
			h.RunUntil(time.Duration(lasting) * time.Second)
			if err := h.Err(); err != nil {
				t.Error(err)
			}
			claims, snaps, most := uint64(0), uint64(0), 0
			for i, c := range h.Clients {
				half := c.Core.Strategy().(*Client)
				if !c.Live() || c.FirstLive > 40*time.Second || c.Checked < 50 || c.Core.Stats().Session.Malformed > 0 {
					t.Errorf("client %d is %v since %v, %d states compared, %+v", i, c.Core.State(), c.FirstLive, c.Checked, c.Core.Stats().Session)
				}
				snaps, most = snaps+half.Stats().Snaps, max(most, c.Sent().MostPerSecond)
			}
			doubts := uint64(0)
			for i := range server.avatars {
				g := server.avatars[i].guard.Stats
				claims, doubts = claims+checked(g), doubts+g.Clamped+g.Refused
			}
			t.Logf("%d claims, %d doubted, %d snaps, at most %d bytes to a client in a second", claims, doubts, snaps, most)
			if snaps > 0 || doubts > 0 || claims < uint64(4*lasting) || claims > uint64(4*11*lasting) || most > 32_000 {
				t.Errorf("%d claims, %d doubted, %d snaps, at most %d bytes to a client in a second", claims, doubts, snaps, most)
			}
		})
	}
}
