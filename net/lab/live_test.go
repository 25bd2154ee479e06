package lab

import (
	"errors"
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

// liveGame is testGame with a bot that turns now and then.
func liveGame() *ecs.Game {
	g := testGame()
	g.Bot = func(w *ecs.World, p ecs.Player, random *ecs.Rand) ecs.InputBytes {
		held := steers.Unpack(w.Image().Input(p))
		if random.Chance(1, 30) || held == (steer{}) {
			held = steer{DX: int8(random.IntN(3)) - 1, DY: int8(random.IntN(3)) - 1}
		}
		return steers.Pack(held)
	}
	return g
}

// entry is a match of a Live.
type entry struct {
	systems.Strategy
	Own
}

func entries(list ...systems.Strategy) (of []entry) {
	for _, s := range list {
		of = append(of, entry{Strategy: s})
	}
	return of
}

// liveTest is a Live with a caller.
type liveTest struct {
	*Live
	t *testing.T
}

func newLiveTest(t *testing.T, profile string, list ...entry) *liveTest {
	t.Helper()
	c, own := Config{Game: liveGame(), Profiles: profiles(t, profile), Seed: 4}, []Own(nil)
	for _, e := range list {
		c.Strategies, own = append(c.Strategies, e.Strategy), append(own, e.Own)
	}
	l, err := NewLive(c, own)
	if err != nil {
		t.Fatal(err)
	}
	return &liveTest{Live: l, t: t}
}

// pass advances the Live, in steps of 20 ms.
func (w *liveTest) pass(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= 20 * time.Millisecond {
		if err := w.Advance(20 * time.Millisecond); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *liveTest) read(i int) Reading {
	r, _ := w.Readings(i)
	return r
}

func oneWay(d time.Duration) simnet.Profile {
	return simnet.Symmetric("", "", simnet.Path{Delay: d})
}

// The network is measured by probes and by each client. A change of the profile shows in both.
func TestAChangedNetworkIsMeasured(t *testing.T) {
	w := newLiveTest(t, "P3", entries(relay.Strategy, lockstep.Strategy)...)
	w.pass(3 * time.Second)
	if k := w.Link(); k.RTT < 100 || k.RTT > 130 {
		t.Errorf("on P3 the probes measure %v ms, want about 110", k.RTT)
	}
	if err := w.SetProfile(oneWay(150 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	w.pass(40 * time.Second) // clients measure once per second and smooth
	if k := w.Link(); k.RTT != 300 || k.Jitter != 0 || k.Lost != 0 {
		t.Errorf("a round trip of 300 ms was measured as %+v", k)
	}
	for i := range w.Len() {
		if r := w.read(i); r.RTT < 295 || r.RTT > 330 {
			t.Errorf("%s: the client measures %v ms, want 300", r.Strategy, r.RTT)
		}
	}
	if err := w.SetProfile(simnet.Symmetric("", "", simnet.Path{Loss: 0.2})); err != nil {
		t.Fatal(err)
	}
	w.pass(5 * time.Second)
	if k := w.Link(); k.Lost < 20 || k.Lost > 55 {
		t.Errorf("of a loss of 20 %% each way, %v %% was measured", k.Lost)
	}
}

func TestRelayShowsAPressAtOnceAndLockstepAfterARoundTrip(t *testing.T) {
	w := newLiveTest(t, "P4", entries(relay.Strategy, lockstep.Strategy)...)
	w.pass(3 * time.Second)
	w.Input(steers.Pack(steer{}), 1)
	w.pass(time.Second)
	w.Input(steers.Pack(steer{DX: 1}), 2)
	w.pass(100 * time.Millisecond)
	if r := w.read(0); r.Seen != 2 || r.SeenAfter > 20 {
		t.Errorf("relay: press %d was shown after %v ms, want 2 at once", r.Seen, r.SeenAfter)
	}
	if r := w.read(1); r.Seen != 1 {
		t.Errorf("lockstep shows press %d, before it can be on the server", r.Seen)
	}
	w.pass(time.Second)
	if r := w.read(1); r.Seen != 2 || r.SeenAfter < 250 || r.SeenAfter > 500 {
		t.Errorf("lockstep: press %d was shown after %v ms, want 2 after 250 to 500", r.Seen, r.SeenAfter)
	}
}

// After a change of the network the latency of the old one is unknown, and is measured again with the next press. The picture
// stands still for no more than the time of a reading.
func TestAChangeOfTheNetworkForgetsTheLatencyOfTheOldOne(t *testing.T) {
	w := newLiveTest(t, "P4", entries(lockstep.Strategy, relay.Strategy)...)
	w.pass(3 * time.Second)
	for i := range w.Len() {
		if r := w.read(i); !r.Pressed {
			t.Fatalf("%s: no press is shown: %+v", r.Strategy, r)
		}
	}
	w.Input(steers.Pack(steer{DX: 1}), 1) // this player presses nothing more
	w.pass(2 * time.Second)
	_, before := w.Readings(0)
	if err := w.SetProfile(oneWay(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, now := w.Readings(0); now == before {
		t.Error("the change makes no new reading")
	}
	for range 40 {
		w.pass(readEvery)
		for i := range w.Len() {
			if r := w.read(i); r.Pressed || r.Display != 0 || r.Stalled > 250 {
				t.Fatalf("%s after the change: pressed %t, %v ms, stands still %v ms of 250", r.Strategy, r.Pressed, r.Display, r.Stalled)
			}
		}
	}
	w.Input(steers.Pack(steer{DY: 1}), 2)
	w.pass(5 * time.Second)
	if r := w.read(0); !r.Pressed || r.Display < 2000 {
		t.Errorf("lockstep on a round trip of 2 s: pressed %t, shown after %v ms", r.Pressed, r.Display)
	}
}

// Until a press is shown its latency is unknown, which is not 0.
func TestInputToDisplayIsUnknownUntilAPressIsShown(t *testing.T) {
	w := newLiveTest(t, "P4", entries(lockstep.Strategy)...)
	unknown := 0
	for ; !w.read(0).Pressed; unknown++ {
		if r := w.read(0); r.Display != 0 || unknown > 1000 {
			t.Fatalf("after %d steps: %+v", unknown, r)
		}
		w.pass(50 * time.Millisecond)
	}
	if r := w.read(0); unknown == 0 || r.Display < 250 {
		t.Errorf("lockstep's first presses are shown after %v ms, known after %d steps", r.Display, unknown)
	}
}

// A desync is found where checksums are compared, and its report names the component, the field and both values. Where states
// are sent they correct it, and a client that computes nothing cannot desync.
func TestACausedDesyncIsReportedAndCorrected(t *testing.T) {
	w := newLiveTest(t, "P3", entries(relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy)...)
	w.pass(2 * time.Second)
	w.Desync()
	w.pass(8 * time.Second)
	for i, want := range []Outcome{Found, Found, Corrected, Immune, Adopted} {
		r := w.read(i)
		t.Logf("%s: %+v", r.Strategy, r.Desync)
		if r.Desync.Outcome != want {
			t.Errorf("%s: the desync is %q, want %q", r.Strategy, r.Desync.Outcome, want)
			continue
		}
		if want == Corrected && r.Desync.After < 100 {
			t.Errorf("%s: the desync is corrected after %v ms, before a round trip of 100 ms is over", r.Strategy, r.Desync.After)
		}
		if want == Found && (r.Desync.Component != "runner" || r.Desync.Field != "Pos.X" || r.Desync.Here == r.Desync.There || r.Desync.Entity == "") {
			t.Errorf("%s: the report says %+v", r.Strategy, r.Desync)
		}
		if want == Found && w.matches[i].desyncs == 0 {
			t.Errorf("%s: no confirmed state differed", r.Strategy)
		}
	}
	before := w.matches[0].desyncs
	w.pass(3 * time.Second)
	if after := w.matches[0].desyncs; after != before {
		t.Errorf("states still differ after the desync was corrected: %d, then %d", before, after)
	}
}

// press turns the player, and returns the time until match i shows it, in ms.
func (w *liveTest) press(i int, pad steer) float64 {
	w.t.Helper()
	mark := w.read(i).Seen + 1
	w.Input(steers.Pack(pad), mark)
	for range 100 {
		w.pass(20 * time.Millisecond)
		if r := w.read(i); r.Seen == mark {
			return r.SeenAfter
		}
	}
	w.t.Fatalf("%s: press %d was not shown within 2 s", w.read(i).Strategy, mark)
	return 0
}

// Settings change while the match goes on.
func TestWithoutPredictionAPressTakesARoundTrip(t *testing.T) {
	w := newLiveTest(t, "P4", entries(relay.Strategy, predict.Strategy)...)
	for i := range w.Len() {
		if took := w.press(i, steer{DX: 1}); took > 20 {
			t.Errorf("%s with prediction shows a press after %v ms", w.read(i).Strategy, took)
		}
		if err := w.SetOwn(i, Own{MaxPrediction: 1}); err != nil {
			t.Fatal(err)
		}
		w.pass(5 * time.Second)
		if took := w.press(i, steer{DY: 1}); took < 220 {
			t.Errorf("%s without prediction shows a press after %v ms on a round trip of 250 ms", w.read(i).Strategy, took)
		}
		if err := w.SetOwn(i, Own{InputDelay: 6}); err != nil {
			t.Fatal(err)
		}
		w.pass(5 * time.Second)
		if took := w.press(i, steer{DX: -1}); took < 85 || took > 135 {
			t.Errorf("%s: an input delay of 6 ticks shows a press after %v ms, want about 100", w.read(i).Strategy, took)
		}
	}
}

// A caller may offer settings until some are accepted.
func TestRefusedSettingsLeaveThePresentClientAsItIs(t *testing.T) {
	w := newLiveTest(t, "P1", entries(relay.Strategy)...)
	m := w.matches[0]
	good := Own{InputDelay: 2}
	if err := w.SetOwn(0, good); err != nil {
		t.Fatal(err)
	}
	w.pass(2 * time.Second)
	core, view, frames := m.own.Core, w.View(0), len(m.own.display.frames)
	for want, o := range map[string]Own{"lockstep": {Strategy: lockstep.Strategy}, "InputDelay": {InputDelay: 31}} {
		if err := w.SetOwn(0, o); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %s, got %v", want, err)
		}
		if m.own.Core != core || w.View(0) != view || view == nil || m.settings.InputDelay != good.InputDelay || m.settings.Strategy.NewClient != nil ||
			len(m.own.display.frames) != frames {
			t.Errorf("refused settings of %s changed the present client: %+v", want, m.settings)
		}
		w.pass(time.Second)
	}
	if r := w.read(0); r.Delay != good.InputDelay || !r.Joined {
		t.Errorf("after refused settings: %+v", r)
	}
}

func TestWithoutReconciliationADesyncStays(t *testing.T) {
	for _, off := range []bool{false, true} {
		e := entry{Strategy: predict.Strategy, Own: Own{Strategy: predict.New(predict.Config{NoReconcile: off})}}
		w := newLiveTest(t, "P3", e)
		w.Input(steers.Pack(steer{DX: 1}), 1)
		w.pass(3 * time.Second)
		if r := w.read(0); !off && r.Own > 0.5 {
			t.Fatalf("the avatar is %v off before anything went wrong", r.Own)
		}
		w.Desync()
		w.pass(5 * time.Second)
		if r := w.read(0); off != (r.Own > 2) || r.Desync.Outcome != map[bool]Outcome{true: Kept, false: Corrected}[off] {
			t.Errorf("reconciliation off %v: 5 s after it was moved by %d, the avatar is %v off, and the desync is %q", off, faultWay, r.Own, r.Desync.Outcome)
		}
	}
}

func TestWithoutInterpolationRemoteEntitiesAreNewerAndMoveInSteps(t *testing.T) {
	var age, still [2]float64
	for i, off := range []bool{false, true} {
		e := entry{Strategy: predict.Strategy, Own: Own{Strategy: predict.New(predict.Config{NoPlayback: off})}}
		w := newLiveTest(t, "P3", e)
		w.pass(2 * time.Second)
		for range 16 {
			w.pass(readEvery)
			r := w.read(0)
			age[i], still[i] = age[i]+r.Remote/16, still[i]+r.Still/16
		}
	}
	t.Logf("ages %v ms, still %v %%", age, still)
	if age[1] > age[0]-20 || still[0] > 5 || still[1] < 40 {
		t.Errorf("with interpolation the others are %v ms old and stand still in %v %% of the steps, without %v ms and %v %%", age[0], still[0], age[1], still[1])
	}
}

func TestWithoutLagCompensationTheServerHitsSomethingElse(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine has nothing to race with, and it takes long")
	}
	var hits [2]float64
	for i, view := range []systems.Time{0, -1} {
		w := newLiveTest(t, "P3", entry{Strategy: predict.New(predict.Config{MaxView: view})})
		w.pass(5 * time.Second) // until there is a first reading of it
		for range 60 {
			w.pass(readEvery)
			hits[i] += w.read(0).Hits / 60
		}
	}
	if hits[0] < 70 || hits[1] > hits[0]-15 {
		t.Errorf("picture and server agree on %v %% of the rays, without lag compensation on %v %%", hits[0], hits[1])
	}
}

// A page may be open for days: a Live does not grow.
func TestALiveDoesNotGrow(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine has nothing to race with, and it takes long")
	}
	w := newLiveTest(t, "P3", entries(relay.Strategy, predict.Strategy)...)
	held := func() (n int) {
		for _, m := range w.matches {
			k := &m.samples
			n += len(k.costs) + len(k.window) + len(k.sizes) + len(k.display) + len(k.confirm) + len(k.own) + len(k.remote) + len(k.absolute) + len(k.ownState) +
				len(k.shape) + len(k.jumps) + len(k.paces) + len(k.viewAges) + len(k.past) + len(k.seconds)
			for _, p := range m.players {
				n += len(p.inputs.list)/maxChanges + len(p.display.frames)
			}
		}
		return n
	}
	w.pass(20 * time.Second)
	early := held()
	w.pass(60 * time.Second)
	if late := held(); early == 0 || late > 2*early {
		t.Errorf("after 20 s %d values are held, after 80 s %d", early, late)
	}
}

// On a machine that is too slow the matches run slower, and never catch up.
func TestLostTimeIsNotCaughtUp(t *testing.T) {
	w := newLiveTest(t, "P1", entries(relay.Strategy)...)
	w.pass(time.Second)
	before := w.Now()
	for range 10 {
		if err := w.Advance(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if passed := w.Now() - before; passed != 10*catchUp || w.Pace() > 0.2 {
		t.Errorf("of 10 s %v passed in the matches, and their pace is said to be %v", passed, w.Pace())
	}
	if err := w.Advance(-time.Hour); err != nil || w.Now() != before+10*catchUp {
		t.Errorf("a clock that went back moved the matches to %v: %v", w.Now(), err)
	}
}

func TestAnInvalidLiveConfigNamesTheField(t *testing.T) {
	type live struct {
		Config
		own []Own
	}
	for want, spoil := range map[string]func(*live){
		"Game is nil":   func(c *live) { c.Game = nil },
		"Bot":           func(c *live) { c.Game = testGame() },
		"0 clients":     func(c *live) { c.own = nil },
		"InputDelay":    func(c *live) { c.own[0].InputDelay = 31 },
		"MaxPrediction": func(c *live) { c.own[0].MaxPrediction = -1 },
		"Profiles[0]":   func(c *live) { c.Profiles[0].Up.Loss = 2 },
		"Players":       func(c *live) { c.Players = 9 },
	} {
		c := live{Config{Game: liveGame(), Strategies: []systems.Strategy{relay.Strategy}, Profiles: []simnet.Profile{oneWay(0)}}, make([]Own, 1)}
		spoil(&c)
		if _, err := NewLive(c.Config, c.own); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %s, got %v", want, err)
		}
	}
}

// The matches continue with each other's strategies. Player 0 stays connected, is live again within a second, and is measured with
// the new strategy.
func TestSwapExchangesTheStrategiesOfRunningMatches(t *testing.T) {
	w := newLiveTest(t, "P3", entries(relay.Strategy, lockstep.Strategy, verify.Strategy)...)
	w.Desync()
	for _, want := range [][]string{{"lockstep", "verify", "relay"}, {"verify", "relay", "lockstep"}} {
		if err := w.Swap(); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(w.Swap(), ErrBusy) {
			t.Error("a second Swap does not wait for the first")
		}
		for range 50 {
			w.pass(20 * time.Millisecond)
			for i := range want {
				w.View(i)
				w.ServerView(i)
			}
		}
		for _, m := range w.matches {
			m.desyncs = 0 // the first strategies may have found the desync that was caused
		}
		w.pass(time.Second)
		for i, name := range want {
			r, own := w.read(i), w.matches[i].own
			if r.Strategy != name || w.Strategy(i).Name != name || !r.Joined || !own.Live() || own.Core.Stats().Reconnects != 0 || w.matches[i].desyncs != 0 {
				t.Errorf("match %d: %+v, %d reconnects, %d desyncs, want %s", i, r, own.Core.Stats().Reconnects, w.matches[i].desyncs, name)
			}
		}
	}
}

// A Live accounts where the bytes of each strategy's messages go.
func TestLiveAccountsBytes(t *testing.T) {
	w := newLiveTest(t, "P3", entries(relay.Strategy, predict.Strategy)...)
	w.pass(time.Second)
	for i, want := range []string{"inputs", "runner"} {
		b, sum, part := w.Bytes(i), uint64(0), uint64(0)
		for _, r := range b.Rows {
			if sum += r.Bytes; r.Part == want {
				part += r.Bytes
			}
		}
		if part < b.Total/4 || b.Total < 1000 || sum < b.Total*9/10 || sum > b.Total*11/10 {
			t.Errorf("match %d: %+v, want much of it %s", i, b, want)
		}
		w.matches[i].bytes.Reset()
		if b := w.Bytes(i); b.Rows == nil {
			t.Errorf("match %d: without bytes the rows are null in JSON", i)
		}
	}
}

// A lag spike and an unplugged cable concern player 0 alone, and end by themselves. A second press of the button does not make
// the cut longer.
func TestASpikeAndACutConcernTheOwnLinkAndEnd(t *testing.T) {
	w := newLiveTest(t, "P4", entries(relay.Strategy)...)
	w.pass(3 * time.Second)
	before := w.Link().RTT
	w.Spike()
	w.pass(1500 * time.Millisecond)
	if k := w.Link(); k.Jitter < before*1.2 {
		t.Errorf("after a spike the round trip of %v ms varies by %v ms", before, k.Jitter)
	}
	w.pass(3 * time.Second)
	if k := w.Link(); k.RTT != before || k.Lost != 0 || k.Jitter > 1 {
		t.Errorf("three seconds later the link is %+v, want %v ms", k, before)
	}
	w.Unplug()
	w.pass(time.Second)
	w.Unplug()
	lost := w.matches[0].Net.Counters(w.matches[0].own.Node, w.matches[0].Server)
	others := w.matches[0].Net.Counters(w.matches[0].players[1].Node, w.matches[0].Server)
	w.pass(800 * time.Millisecond)
	if now := w.matches[0].Net.Counters(w.matches[0].own.Node, w.matches[0].Server); now.Delivered != lost.Delivered {
		t.Errorf("%d packets of player 0 arrive while the cable is unplugged", now.Delivered-lost.Delivered)
	}
	if now := w.matches[0].Net.Counters(w.matches[0].players[1].Node, w.matches[0].Server); now.Delivered == others.Delivered {
		t.Error("no packet of player 1 arrives while the cable of player 0 is unplugged")
	}
	w.pass(600 * time.Millisecond)
	if now := w.matches[0].Net.Counters(w.matches[0].own.Node, w.matches[0].Server); now.Delivered == lost.Delivered {
		t.Error("the second press made the cut longer than two seconds")
	}
	w.pass(4 * time.Second)
	if k := w.Link(); k.RTT != before || k.Lost != 0 || !w.matches[0].own.Live() {
		t.Errorf("after the cut the link is %+v, and player 0 is %v", k, w.matches[0].own.Core.State())
	}
}

// The other player's view is that of seat 1, and a match of one player has none.
func TestTheViewOfTheOtherPlayer(t *testing.T) {
	w := newLiveTest(t, "P3", entries(relay.Strategy)...)
	w.pass(time.Second)
	if v := w.OtherView(0); v == nil || v.Seat != 1 || v.Tick == 0 {
		t.Errorf("the view of player 1 is %+v", v)
	}
	l, err := NewLive(Config{Game: liveGame(), Profiles: profiles(t, "P1"), Strategies: []systems.Strategy{relay.Strategy}, Players: 1}, []Own{{}})
	if err != nil {
		t.Fatal(err)
	}
	if l.OtherView(0) != nil {
		t.Error("a match of one player has another player's view")
	}
}
