package lab

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// strategies are all strategies.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, verify.Strategy, predict.Strategy, reckon.Strategy}

func profiles(t testing.TB, names ...string) (list []simnet.Profile) {
	t.Helper()
	for _, name := range names {
		p, ok := simnet.ByName(name)
		if !ok {
			t.Fatalf("no profile %s", name)
		}
		list = append(list, p)
	}
	return list
}

func mustRun(t testing.TB, c Config) Report {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Results {
		if r.Results[i].Failed != "" {
			t.Fatalf("%s on %s: %s", r.Results[i].Strategy, r.Results[i].Profile, r.Results[i].Failed)
		}
	}
	return r
}

// The report does not depend on the load of the machine, so that two reports can be compared.
func TestTheSameConfigGivesTheSameReport(t *testing.T) {
	c := Config{Game: testGame(), Strategies: strategies, Profiles: profiles(t, "P3", "P11"), For: 3 * time.Second, Settle: -1, script: turns(40), Seed: 5}
	a := mustRun(t, c)
	c.Jobs = 3
	b := mustRun(t, c)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ:\n%+v\n%+v", a, b)
	}
	c.Seed = 6
	if other := mustRun(t, c); reflect.DeepEqual(a.Results, other.Results) {
		t.Error("another seed changes nothing, so that the test shows nothing")
	}
}

// twin plays a match of players that stand. If presses, player 1 begins to run. It returns where player 1's picture shows
// its entity, frame by frame.
func twin(t *testing.T, s systems.Strategy, profile string, presses bool) (m *match, at []simnet.Time, shown []ecs.Motion) {
	const pressed = 400
	c, err := Config{Game: testGame(), Strategies: strategies, Profiles: profiles(t, profile), For: 6 * time.Second, Settle: time.Second, Seed: 3}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c.script = newScript(4, 3600, func(f ecs.Tick, p ecs.Player) ecs.InputBytes {
		if presses && p == 1 && f >= pressed {
			return steers.Pack(steer{DX: 1})
		}
		return steers.Pack(steer{})
	})
	m, err = newMatch(&c, s, c.Profiles[0], c.Players, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := m.players[1]
	phase := time.Second / displayHz * 3 / 8
	m.Net.Every(p.Node, m.Net.LocalNow(p.Node)+phase, displayHz, func(_ int64, now simnet.Time) { // after the client's frame
		p.Core.View(systems.Time(now)).Sim.Image().Motions(func(e ecs.Entity, motion ecs.Motion) bool {
			if e.Owner() == ecs.OwnedBy(1) {
				at, shown = append(at, m.Net.Now()), append(shown, motion)
			}
			return true
		})
	})
	if err := m.play(func(time.Duration) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return m, at, shown
}

// Input to display ends at the first frame whose picture differs from that of a run without the change. The lab measures it
// without a second run, and must find the same frame.
func TestInputToDisplayEqualsTheDifferenceToARunWithoutTheChange(t *testing.T) {
	on := []string{"P0", "P3", "P5"}
	if race.Enabled {
		on = on[1:2]
	}
	for _, s := range strategies {
		for _, profile := range on {
			m, at, with := twin(t, s, profile, true)
			_, _, without := twin(t, s, profile, false)
			p := &m.players[1].inputs
			if len(p.display) != 1 || len(p.confirm) != 1 {
				t.Fatalf("%s on %s: %d presses shown, %d confirmed, want one", s.Name, profile, len(p.display), len(p.confirm))
			}
			pressed := p.list[0].at
			for i := range min(len(with), len(without)) {
				if with[i] == without[i] {
					continue
				}
				if took := milliseconds(at[i] - pressed); math.Abs(took-p.display[0]) > 1e-9 {
					t.Errorf("%s on %s: shown after %v ms, measured %v ms", s.Name, profile, took, p.display[0])
				}
				break
			}
			if slices.Equal(with, without) {
				t.Errorf("%s on %s: the press is never shown", s.Name, profile)
			}
			// In verify's picture an input is seen a playout delay after it is confirmed.
			if s.Name != verify.Strategy.Name && p.confirm[0] < p.display[0] {
				t.Errorf("%s on %s: confirmed after %v ms, shown after %v ms", s.Name, profile, p.confirm[0], p.display[0])
			}
		}
	}
}

// With a strategy that shows everything on one timeline, the remote age that is found from positions equals the own age.
func TestTheRemoteAgeIsFoundFromPositions(t *testing.T) {
	r := mustRun(t, Config{Game: testGame(), Strategies: []systems.Strategy{lockstep.Strategy, verify.Strategy}, Profiles: profiles(t, "P3", "P5"),
		For: 6 * time.Second, Settle: 6 * time.Second, script: turns(50), Seed: 2})
	for _, x := range r.Results {
		if x.Remote.N < 200 || math.Abs(x.Remote.P50-x.Own.P50) > 2 || math.Abs(x.Remote.P95-x.Own.P95) > 6 {
			t.Errorf("%s on %s: the remote age is %+v, the own age %+v", x.Strategy, x.Profile, x.Remote, x.Own)
		}
		if x.Shape.RMS > x.Absolute.RMS/4 {
			t.Errorf("%s on %s: absolute error %+v, shape error %+v", x.Strategy, x.Profile, x.Absolute, x.Shape)
		}
	}
}

// The measurements show the known properties of the strategies.
func TestTheReportShowsThePropertiesOfStrategies(t *testing.T) {
	r := mustRun(t, Config{Game: testGame(), Strategies: strategies[:3], Profiles: profiles(t, "P0", "P5"), For: 6 * time.Second, Settle: 2 * time.Second,
		script: turns(50), Seed: 2})
	by := map[string]Result{}
	for _, x := range r.Results {
		by[x.Strategy+x.Profile] = x
	}
	tick := 1e3 / 60
	relayed, locked, verified := by["relayP5"], by["lockstepP5"], by["verifyP5"]
	for name, ok := range map[string]bool{
		"relay shows own inputs at once":                      relayed.Display.P50 == 0 && relayed.Display.P99 < tick+0.1,
		"relay confirms after a round trip":                   relayed.Confirm.P50 > relayed.RTT && relayed.Confirm.P50 < relayed.RTT+6*tick,
		"verify confirms after a round trip":                  verified.Confirm.P50 > verified.RTT-tick && verified.Confirm.P50 < verified.RTT+2*tick,
		"verify shows a playout delay later":                  math.Abs(verified.Display.P50-verified.Confirm.P50-verified.Playout+tick) < 1.5*tick && verified.Playout > 3*tick,
		"computed states have no playout delay":               relayed.Playout == 0 && locked.Playout == 0,
		"lockstep shows later than verify":                    locked.Display.P50 > verified.Display.P50+tick,
		"lockstep shows states when they are confirmed":       locked.Display == locked.Confirm,
		"relay shows the present, ahead of the server":        relayed.Own.P50 < -100,
		"only relay corrects":                                 relayed.Corrections.PerMinute > 60 && locked.Corrections.PerMinute == 0 && verified.Corrections.PerMinute == 0,
		"a correction of relay is the motion of a round trip": relayed.Corrections.Size.P99 < 2*testSpeed*0.4*math.Sqrt2 && relayed.Corrections.Size.P50 > testSpeed*0.2,
		"relay smooths its corrections":                       relayed.Jumps.Max < 0.5 && relayed.Jumps.Snaps == 0 && locked.Jumps.Max < 0.5 && locked.Jumps.Snaps == 0,
		"relay mispredicts players who turn":                  relayed.Hits > 5 && relayed.Hits < 70 && by["relayP0"].Hits > 85,
		"lockstep and verify are even":                        locked.Roughness < 8 && verified.Roughness < 5,
		"lockstep and verify do not freeze":                   verified.Freeze.Percent < 1 && locked.Freeze.Percent < 1,
		"verify sends states, the others inputs":              verified.Down.Payload > 2*relayed.Down.Payload && locked.Down.Packets < 0.7*relayed.Down.Packets,
		"a client sends at most a packet a tick":              relayed.Up.Packets <= 60.5 && locked.Up.Packets <= 60.5 && verified.Up.Packets <= 60.5,
		"the wire carries more than the payload":              relayed.Up.Wire > relayed.Up.Payload+48*8*59/1e3,
		"no client desyncs":                                   relayed.Desyncs == 0 && locked.Desyncs == 0,
		"the speed of remote entities is the true speed":      relayed.Speed > testSpeed && relayed.Speed < testSpeed*math.Sqrt2,
	} {
		if !ok {
			t.Errorf("not so: %s", name)
		}
	}
	if t.Failed() {
		t.Logf("%+v\n%+v\n%+v", relayed, locked, verified)
	}
}

func TestDesyncsAreCounted(t *testing.T) {
	g, leak := testGame(), int32(0)
	g.Systems = append(g.Systems, ecs.System{Name: "leak", Run: func(w *ecs.World) {
		for e := range all.All(w) {
			leak++
			e.A.Pos.Z = 0
			if w.Tick() > 300 {
				e.A.Pos.Z += 1 << (leak % 30)
			}
		}
	}})
	r := mustRun(t, Config{Game: g, Strategies: []systems.Strategy{lockstep.Strategy}, Profiles: profiles(t, "P1"), For: 4 * time.Second, Settle: -1, script: turns(50)})
	if r.Results[0].Desyncs == 0 {
		t.Error("none of the states that differ was counted")
	}
}

// Costs are measured by Config.Clock, around room and clients alone. Here each reading of it takes a microsecond.
func TestCostsAreMeasuredByTheClock(t *testing.T) {
	now := time.Duration(0)
	c := Config{Game: testGame(), Strategies: []systems.Strategy{relay.Strategy}, Profiles: profiles(t, "P1"), For: time.Second, Settle: -1, script: turns(50),
		Clock: func() time.Duration { now += time.Microsecond; return now }}
	x := mustRun(t, c).Results[0]
	// A frame and the messages before it are a few intervals of one reading each.
	if x.ServerTick < 1000 || x.ServerTick > 20000 || x.ClientFrame < 1000 || x.ClientFrame > 10000 || x.Factor <= 0 {
		t.Errorf("server %v ns a tick, client %v ns a frame, factor %v", x.ServerTick, x.ClientFrame, x.Factor)
	}
	c.Clock = nil
	if x = mustRun(t, c).Results[0]; x.ServerTick != 0 || x.ClientFrame != 0 || x.Factor != 0 {
		t.Errorf("without a clock: %+v", x)
	}
}

func TestAStoppedRunReturnsTheFinishedMatches(t *testing.T) {
	finished, last := 0, 0.0
	c := Config{Game: testGame(), Strategies: strategies[:3], Profiles: profiles(t, "P0"), For: time.Second, Settle: -1, script: turns(50)}
	c.Finished = func(Result) { finished++ }
	stops := true
	c.Progress = func(done float64) bool {
		if done < last || done > 1+1e-9 {
			t.Errorf("progress is %v after %v", done, last)
		}
		last = done
		return !stops || finished != 1 || last <= 0.5
	}
	r, err := Run(c)
	if !errors.Is(err, ErrStopped) || len(r.Results) != 1 || finished != 1 || last <= 0.5 {
		t.Errorf("%v, %d results, %d finished, progress %v", err, len(r.Results), finished, last)
	}
	finished, last, stops = 0, 0, false
	mustRun(t, c)
	if math.Abs(last-1) > 1e-9 || finished != 3 {
		t.Errorf("progress at the end is %v, %d matches were finished", last, finished)
	}
}

// A match that cannot be measured has a result with the reason, and the other matches go on.
func TestAFailedMatchHasAReason(t *testing.T) {
	gone := profiles(t, "P0")[0]
	gone.Up.Loss = 1
	r, err := Run(Config{Game: testGame(), Strategies: strategies[:1], Profiles: append(profiles(t, "P0"), gone), For: time.Second, Settle: -1, script: turns(50)})
	if err != nil || len(r.Results) != 2 || r.Results[0].Failed != "" || r.Results[1].Failed == "" {
		t.Errorf("%v: %+v", err, r.Results)
	}
}

func TestBotsPlayOnTheirClientsWorld(t *testing.T) {
	g := testGame()
	bots := map[ecs.Player]bool{}
	g.Bot = func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
		bots[p] = true
		return steers.Pack(steer{DX: int8(w.Tick()/30%2)*2 - 1})
	}
	r := mustRun(t, Config{Game: g, Strategies: strategies[:1], Profiles: profiles(t, "P3"), For: 3 * time.Second, Settle: -1, Bots: true})
	if len(bots) != 4 || r.Script != "bots" || r.Results[0].Display.N < 10 {
		t.Errorf("bots %v, %+v", bots, r)
	}
}

func TestAnInvalidConfigNamesTheField(t *testing.T) {
	good := Config{Game: testGame(), Strategies: strategies, Profiles: profiles(t, "P0")}
	for field, spoil := range map[string]func(*Config){
		"Game is nil": func(c *Config) { c.Game = nil },
		"Strategies":  func(c *Config) { c.Strategies = nil },
		"both halves": func(c *Config) { c.Strategies = []systems.Strategy{{Name: "none"}} },
		"Profiles is": func(c *Config) { c.Profiles = nil },
		"Profiles[0]": func(c *Config) { c.Profiles = []simnet.Profile{{Up: simnet.Path{Loss: 2}}} },
		"Players":     func(c *Config) { c.Players = 9 },
		"For":         func(c *Config) { c.For = time.Millisecond },
		"Settle":      func(c *Config) { c.Settle = 2 * time.Hour },
		"Snap":        func(c *Config) { c.Snap = math.NaN() },
		"Jobs":        func(c *Config) { c.Jobs = -1 },
		"Bots":        func(c *Config) { c.Bots = true },
	} {
		c := good
		spoil(&c)
		if _, err := Run(c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// So does a strategy that refuses the game.
func TestAStrategyThatRefusesTheGameHasAReason(t *testing.T) {
	g := testGame()
	g.Components, g.Systems, g.Leave = ecs.Components(seats), nil, nil
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		seats.Put(w, w.Spawn(ecs.OwnedBy(p), seats), ecs.Seat{Player: p})
	}
	r, err := Run(Config{Game: g, Strategies: []systems.Strategy{reckon.Strategy, verify.Strategy}, Profiles: profiles(t, "P0"), For: time.Second, Settle: -1, script: turns(50)})
	if err != nil || len(r.Results) != 2 || r.Results[0].Failed != reckon.Strategy.Check(g).Error() || r.Results[1].Failed != "" {
		t.Errorf("%v: %+v", err, r.Results)
	}
}
