package reckon

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/motion"
)

// course is the walker's true motion: straight runs at top speed with a turn every few seconds.
type course struct {
	run   systems.Time
	turns []ecs.Motion // at the start of each run
}

func newCourse(seed uint64, lasting, run systems.Time, straight bool) *course {
	r := rand.New(rand.NewPCG(seed, 6))
	c := &course{run: run}
	m := ecs.Motion{}
	for at := systems.Time(0); at <= lasting; at += run {
		m.Pos = m.Pos.Add(m.Vel.Scale(motion.Seconds(run)))
		if at == 0 || !straight {
			level := fixed.FromAngle(fixed.Num(r.Int64N(int64(fixed.Tau))), top*fixed.One).Limit(top * fixed.One)
			m.Vel = fixed.Vec3{X: level.X, Y: level.Y}
		}
		c.turns = append(c.turns, m)
	}
	return c
}

func (c *course) at(t systems.Time) ecs.Motion {
	m := c.turns[t/c.run]
	m.Pos = m.Pos.Add(m.Vel.Scale(motion.Seconds(t % c.run)))
	return m
}

// match is a walker, a server and a watcher, each with its own clock, over the simulated network. It runs the parts of the
// strategy without sessions.
type match struct {
	net                     *simnet.Network
	server, walker, watcher simnet.NodeID
	course                  *course

	probe  [3]*clock.Prober // by node
	answer [3]*clock.Answerer
	sender *motion.SendPolicy
	own    *echoCheck
	guard  *motion.Guard
	ghost  motion.Remote
	config *motion.RemoteConfig
	rules  motion.Rules
	limits Config

	sends  int
	frames int
	square float64 // of the ghost's errors, summed
	worst  float64
	echoes int
	behind float64 // largest difference of an echo
}

func newMatch(t testing.TB, seed uint64, profile string, c *course, config motion.RemoteConfig) *match {
	t.Helper()
	p, ok := simnet.ByName(profile)
	if !ok {
		t.Fatal("no profile", profile)
	}
	m := &match{net: simnet.New(simnet.Config{Seed: seed}), course: c, config: configured(t, config), guard: guard()}
	m.server = m.net.AddNode(simnet.Clock{Offset: 500 * time.Second})
	m.walker = m.net.AddNode(simnet.Clock{Offset: 90 * time.Second, DriftPPM: 60})
	m.watcher = m.net.AddNode(simnet.Clock{Offset: 3 * time.Second, DriftPPM: -40})
	m.sender = motion.NewSendPolicy(motion.SendConfig{}, &m.rules)
	m.own = &echoCheck{maxSpeed: top * fixed.One, rules: &m.rules}
	for _, id := range []simnet.NodeID{m.walker, m.watcher} {
		if err := m.net.Connect(id, m.server, p); err != nil {
			t.Fatal(err)
		}
		m.probe[id] = clock.NewProber()
		m.answer[id] = clock.NewAnswerer()
		m.net.OnMessage(id, m.atClient(t, id))
		m.net.Every(id, m.net.LocalNow(id), 60, func(_ int64, now simnet.Time) { m.frame(t, id, systems.Time(now)) })
	}
	m.net.OnMessage(m.server, m.atServer(t))
	return m
}

func (m *match) send(from, to simnet.NodeID, b []byte) { m.net.Send(from, to, simnet.Datagram, b) }

// atServer answers clock messages, and checks, forwards and broadcasts the walker's records.
func (m *match) atServer(t testing.TB) func(simnet.NodeID, simnet.Channel, []byte, simnet.Time) {
	return func(from simnet.NodeID, _ simnet.Channel, b []byte, at simnet.Time) {
		now, a := systems.Time(at), m.answer[from]
		if clock.Owns(b) {
			if err := a.Receive(b, now); err != nil {
				t.Error(err)
			}
		} else {
			clientNow, known := a.ToRemote(now)
			if !known {
				return // without its clock, a client's stamps cannot be expanded
			}
			r := read(t, b, clientNow)
			a.Check(r.Stamp.Time(), now)
			if v := m.guard.Check(&r, 5*systems.Second/2, now); v == motion.Accepted {
				believed, age := motion.LimitAge(r, m.limits.age(r.Stamp, clientNow))
				f := m.rules.Forward(believed, age, motion.StampOf(now))
				for _, to := range []simnet.NodeID{m.walker, m.watcher} {
					m.send(m.server, to, append([]byte{1}, written(t, f)...))
				}
			}
		}
		for reply := a.Append(nil, now); len(reply) > 0; reply = a.Append(nil, now) {
			m.send(m.server, from, reply)
		}
	}
}

// atClient receives a record from the server: the watcher extrapolates it, the walker compares it with its own
// position.
func (m *match) atClient(t testing.TB, id simnet.NodeID) func(simnet.NodeID, simnet.Channel, []byte, simnet.Time) {
	return func(_ simnet.NodeID, _ simnet.Channel, b []byte, at simnet.Time) {
		now, p := systems.Time(at), m.probe[id]
		if clock.Owns(b) {
			if err := p.Receive(b, now); err != nil {
				t.Error(err)
			}
			return
		}
		serverNow, known := p.ToRemote(now)
		if !known {
			return
		}
		r := read(t, b, serverNow)
		p.Check(r.Stamp.Time(), now)
		age := m.limits.age(r.Stamp, serverNow)
		if id == m.watcher {
			m.ghost.Receive(m.config, r, age, serverNow)
			return
		}
		r, age = motion.LimitAge(r, age)
		echo, _ := m.rules.Predict(&r, age)
		own := m.course.at(systems.Time(m.net.Now())).Pos
		m.own.check(own, echo.Pos, p.LastRTT(), now)
		m.echoes++
		m.behind = max(m.behind, own.Sub(echo.Pos).Len().Float())
	}
}

// frame is a tick of a client: the walker moves and sends records, the watcher measures the error.
func (m *match) frame(t testing.TB, id simnet.NodeID, now systems.Time) {
	p := m.probe[id]
	for b := p.Append(nil, now); len(b) > 0; b = p.Append(nil, now) {
		m.send(id, m.server, b)
	}
	truth := m.course.at(systems.Time(m.net.Now()))
	if id == m.walker {
		r := motion.Record{Entity: ecs.Entity{Row: 7, Born: 3}, Stamp: motion.StampOf(now), Pos: truth.Pos, Vel: truth.Vel}
		if m.sender.Update(&r, now, 0) != motion.NotDue {
			m.sends++
			m.own.add(&r, now)
			m.send(id, m.server, written(t, r))
		}
		return
	}
	serverNow, _ := p.ToRemote(now)
	shown, ok := m.ghost.Shown(m.config, serverNow)
	if !ok || m.net.Now() < 10*time.Second {
		return
	}
	wrong := shown.Pos.Sub(truth.Pos).Len().Float()
	m.frames++
	m.square += wrong * wrong
	m.worst = max(m.worst, wrong)
}

func written(t testing.TB, r motion.Record) []byte {
	w := wire.NewWriter(nil, motion.MaxRecord)
	if r.Append(&w); w.Err() != nil {
		t.Fatal(w.Err())
	}
	return w.Bytes()
}

// read parses a record. A record from the server follows a byte that separates it from clock messages.
func read(t testing.TB, b []byte, senderNow systems.Time) (r motion.Record) {
	if len(b) > 0 && b[0] == 1 {
		b = b[1:]
	}
	reader := wire.NewReader(b)
	if r.Read(&reader, motion.StampOf(senderNow)); reader.Close() != nil {
		t.Fatal(reader.Err())
	}
	return r
}

// rms returns the ghost's root mean square error, in speeds of the walker.
func (m *match) rms() float64 { return math.Sqrt(m.square/float64(m.frames)) / top }

const tenMinutes = 600 * systems.Second

// DR-06 and DR-07: runs of 3 s at 5 m/s for 10 minutes over P7, whose round trip varies between 200 ms and 2 s. The
// remote entity is off by at most 1.0 v (RMS) and jumps at most once a minute. The walker is never corrected, and
// sends at most 1.2 records a second.
// With a turn every 2.7 s, the model gives 0.20 v at P3 and 0.38 v at P5. The error depends on the course of the
// round trip, so several matches count as one.
func TestDR06DR07GhostsOverBadNetworks(t *testing.T) {
	for _, v := range []struct {
		profile string
		run     systems.Time
		rms     float64
	}{{"P3", 2700 * ms, 0.2}, {"P5", 2700 * ms, 0.42}, {"P7", 2700 * ms, 1.0}, {"P7", 3 * sec, 1.0}} {
		square, worst, behind := 0.0, 0.0, 0.0
		const matches = 8
		for seed := range uint64(matches) {
			m := newMatch(t, seed, v.profile, newCourse(seed, tenMinutes, v.run, false), motion.RemoteConfig{})
			m.net.RunUntil(time.Duration(tenMinutes))
			rate := float64(m.sends) / 600
			square, worst, behind = square+m.rms()*m.rms(), max(worst, m.worst/top), max(behind, m.behind)
			if m.ghost.Stats.Snaps > 10 || m.own.snaps > 0 || rate > 1.2 || m.rms() > 1.5*v.rms {
				t.Errorf("%s, seed %d: rms %.2f v, %d jumps, %d own corrections, %.2f records a second", v.profile, seed, m.rms(), m.ghost.Stats.Snaps, m.own.snaps, rate)
			}
			// DR-08: an honest client is not corrected.
			if s := m.guard.Stats; s.Clamped+s.Refused+s.Fast+s.Slowed > 0 {
				t.Errorf("%s, seed %d: %+v", v.profile, seed, s)
			}
			if m.frames < 35_000 || m.ghost.Stats.Records < 500 || m.echoes < 500 || m.net.Counters(m.walker, m.server).Lost == 0 || m.guard.Stats.Accepted < 500 {
				t.Errorf("%s, seed %d: %d frames, %+v, %d echoes: the run proves nothing", v.profile, seed, m.frames, m.ghost.Stats, m.echoes)
			}
		}
		rms := math.Sqrt(square / matches)
		t.Logf("%s, a turn every %.1f s: rms %.2f v, worst %.1f v, echoes off by up to %.1f m", v.profile, motion.Seconds(v.run).Float(), rms, worst, behind)
		if rms > v.rms || rms < v.rms/3 {
			t.Errorf("%s: rms %.2f v", v.profile, rms)
		}
		if v.profile == "P7" && behind < 14 {
			t.Errorf("%s: no echo was off by more than the limit: that nothing was corrected proves nothing", v.profile)
		}
	}
}

// DR-06: a horizon of 0.3 s reduces the error, compared with one of 1 s that is shortened by the age of each record.
func TestDR06AShorterHorizonIsLessWrong(t *testing.T) {
	run := func(profile string, c motion.RemoteConfig) float64 {
		m := newMatch(t, 10, profile, newCourse(10, tenMinutes/2, 2700*ms, false), c)
		m.net.RunUntil(time.Duration(tenMinutes / 2))
		return m.rms()
	}
	for profile, least := range map[string]float64{"P3": 0.12, "P5": 0.05} {
		usual, short := run(profile, motion.RemoteConfig{}), run(profile, motion.RemoteConfig{Horizon: 300 * ms})
		if gain := 1 - short/usual; gain < least || gain > 0.25 {
			t.Errorf("%s: off by %.3f v, with a horizon of 1 s by %.3f v", profile, short, usual)
		}
	}
}

// DR-07: on a straight line exactly one record a second is sent. The error of the remote entity is that of the
// clocks.
func TestDR07AStraightLineTakesOneRecordASecond(t *testing.T) {
	m := newMatch(t, 77, "P4", newCourse(11, 60*sec, 3*sec, true), motion.RemoteConfig{})
	m.net.RunUntil(59500 * time.Millisecond)
	if m.sends != 60 {
		t.Errorf("%d records at 0, 1, … 59 s", m.sends)
	}
	if m.worst > 0.2 || m.frames < 2900 {
		t.Errorf("the remote entity is off by up to %.2f m on a straight line", m.worst)
	}
}

// DR-10: at a constant round trip, with a clock drift of 100 ppm, neither side restarts the exchange in 10 minutes.
// Stamps of records are checked too. The negative control is a server whose clock is stepped.
func TestDR10NoResyncAtAConstantRoundTrip(t *testing.T) {
	m := newMatch(t, 77, "P4", newCourse(12, tenMinutes, 3*sec, false), motion.RemoteConfig{})
	resyncs := func() (n uint64) {
		for _, id := range []simnet.NodeID{m.walker, m.watcher} {
			n += m.probe[id].Stats().Resyncs + m.answer[id].Stats().Resyncs
		}
		return n
	}
	m.net.RunUntil(time.Duration(tenMinutes - 5*sec))
	if n := resyncs(); n > 0 || m.probe[m.walker].Stats().Samples < 500 {
		t.Errorf("%d resyncs", n)
	}
	m.net.StepClock(m.server, -time.Second)
	m.net.RunUntil(time.Duration(tenMinutes))
	if resyncs() == 0 {
		t.Error("a step of the server's clock was not noticed")
	}
}

// Without clocks the error is the speed times the error of the assumed delay, and grows with jitter. With clocks it
// does not.
func TestNoClockOverTheNetwork(t *testing.T) {
	run := func(c Config) float64 {
		m := newMatch(t, 77, "P5", newCourse(13, 120*sec, 3*sec, true), motion.RemoteConfig{})
		m.limits = c
		m.net.RunUntil(120 * time.Second)
		return m.rms()
	}
	exact, assumed, wrong := run(Config{}), run(Config{Assumed: 145 * ms}), run(Config{Assumed: 45 * ms})
	t.Logf("rms %.3f v with clocks, %.3f v and %.3f v without", exact, assumed, wrong)
	if exact > 0.03 || assumed > 0.06 || assumed < exact || wrong < 0.15 || wrong > 0.25 {
		t.Errorf("rms %.3f v with clocks, %.3f v with the right assumed delay, %.3f v with one that is 100 ms off each way", exact, assumed, wrong)
	}
}
