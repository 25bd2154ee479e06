package predict

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/clock"
	"tendon/systems/predictor"
)

// CP-04: lost, duplicate and reordered replies, and inputs that arrive twice, the second time too late, lead to the
// same end as GAM-3.
func TestCP04LossDuplicatesAndReorderingNeverStepBack(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := image.NewRand(seed + 1)
			r := gambetta(t, 250, Config{})
			r.route = func(toClient bool, message []byte) (later []int) {
				if !toClient {
					return []int{0, 1 + rng.IntN(8)}
				}
				for range rng.IntN(3) {
					later = append(later, rng.IntN(6))
				}
				return later
			}
			state, shown := r.act([]int{0, 100}, 900, nil)
			if backward(state)+backward(shown) != 0 || state[0] != 11 || state[len(state)-1] != 12 || r.presses(0) != 0 {
				t.Errorf("states %v, %d presses pending", state, r.presses(0))
			}
			if c := r.clients[0].counts; c.Corrections != 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// CP-06: in a deterministic game without external effects, only substituted inputs cause corrections. A correction
// never shows as a jump.
func TestCP06CorrectionsComeFromSubstitutedInputsOnlyAndAreBlended(t *testing.T) {
	m := newMatch(t, slow(newRules(exactBody)).game(60), 7, Config{})
	play := wander(77)
	c := m.join(profile(t, "P5"), simnet.Clock{DriftPPM: 80}, systems.ClientConfig{}, 60, func(p *player, f int) pad {
		in := play(p, f)
		return pad{DX: in.DX, DY: in.DY}
	})
	worst, jump := 0.0, 0.0
	frames, stalled := 0, 0
	c.onFrame = func(p *player) {
		at, ok := p.own()
		offset := p.show.offsets.Of(figure(p.World(), 0)).Len()
		if p.Counted.Stalled != systems.NotStalled {
			stalled = p.peer.Frames
		}
		if ok && p.seen && p.Live() && p.peer.Frames > stalled+10 { // after a stall the client catches up in steps
			frames++
			// Two frames of steering at 6 units a second each way, a pace of up to 1.1, and the fading.
			allowed := math.Sqrt2*0.1*1.1 + 0.15*max(offset, p.worst)/0.85 + 0.002
			worst = max(worst, at.Sub(p.shown).Len()-allowed)
		}
		jump = max(jump, offset)
		p.shown, p.seen, p.worst = at, ok, offset
	}
	m.Net.RunUntil(8*time.Second + 2*soakTime())
	m.log()
	if c.counts.Corrections == 0 || c.counts.Substituted != c.counts.Corrections || c.counts.Snaps > 0 {
		t.Errorf("%+v: want corrections, all of them of substituted inputs", c.counts)
	}
	if jump < 0.05 || frames < 300 {
		t.Errorf("the largest offset was %v in %d frames: the test proves nothing", jump, frames)
	}
	if worst > 0 {
		t.Errorf("the shown figure jumped by %v more than it moved", worst)
	}
}

// CP-10: a client whose clock runs twice as fast moves no faster.
func TestCP10AFastClockMovesAPlayerNoFaster(t *testing.T) {
	m := newMatch(t, slow(newRules(exactBody)).game(60), 3, Config{})
	fast := m.join(profile(t, "P3"), simnet.Clock{DriftPPM: 1_000_000}, systems.ClientConfig{}, 60, func(p *player, _ int) pad {
		p.Reach(predictor.CatchingUp) // such a clock never settles, and a cheat does not wait for it
		return pad{DX: 1}
	})
	m.Net.RunUntil(3 * time.Second)
	where := func() float64 {
		s, _ := m.states.At(m.server.Done())
		return xAt(s, figure(m.server.World(), 0))
	}
	from, tick := where(), m.server.Done()
	m.Net.RunUntil(13 * time.Second)
	legal := float64(m.server.Done()-tick) * 0.1
	if moved := where() - from; moved > legal+1e-6 || moved < legal/2 {
		t.Errorf("moved %v in %d ticks, legal are %v", moved, m.server.Done()-tick, legal)
	}
	if fast.peer.Frames < 1000 {
		t.Errorf("only %d frames: the clock was not fast", fast.peer.Frames)
	}
}

// CP-12: a press during an outage takes effect once.
func TestCP12APressDuringAnOutageTakesEffectOnce(t *testing.T) {
	for seed := range uint64(8) {
		m := newMatch(t, newRules(exactBody).game(60), seed+1, Config{})
		press := -1
		c := m.join(profile(t, "P8"), simnet.Clock{}, systems.ClientConfig{}, 60, func(p *player, f int) pad { return pad{Step: f == press} })
		m.Net.RunUntil(4 * time.Second)
		now := m.Net.Now()
		m.Net.Partition(c.peer.Node, m.Node, now, now+250*time.Millisecond)
		press = c.peer.Frames + 2 + int(seed) // in the outage, which is 15 frames long
		m.Net.RunUntil(now + 3*time.Second)
		if s, _ := m.states.At(m.server.Done()); m.used[0] != 1 || xAt(s, figure(m.server.World(), 0)) != 11 || !c.Live() {
			t.Errorf("the press was used %d times, the figure is at %v", m.used[0], xAt(s, figure(m.server.World(), 0)))
		}
		mine, _ := c.History.At(c.Tick)
		if x := xAt(mine, figure(c.World(), 0)); x != 11 {
			t.Errorf("the client has its figure at %v", x)
		}
	}
}

// Ajackster/ClientPredictionTutorial#1: a client behind the newest state has no prediction to compare. It adopts the
// state once and continues.
func TestAClientBehindTheServerAdoptsItsState(t *testing.T) {
	r := newRig(t, newRules(exactBody).game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	r.pads[0].DX = 1
	r.Run(20)
	r.forget()
	for range 90 { // the window is dragged: messages arrive, and no frames run
		r.Next()
		r.server.Tick(r.Now() + r.Length)
		r.server.Send(r.Now(), r)
	}
	if c.counts.Corrections != 0 || c.counts.Snaps == 0 || c.Tick != c.Received || c.waiting() != 0 {
		t.Errorf("%+v, present %d, confirmed %d, %d inputs wait", c.counts, c.Tick, c.Received, c.waiting())
	}
	s, _ := c.Replica()
	if x := r.x(0); x != xAt(s, figure(c.World(), 0)) {
		t.Errorf("the figure is at %v, the server's at %v", x, xAt(s, figure(c.World(), 0)))
	}
	snaps := c.counts.Snaps
	for range 200 {
		r.Step()
	}
	if c.counts.Snaps != snaps || !c.Live() || c.Tick <= c.Received {
		t.Errorf("%d more states were adopted, live %v, present %d, confirmed %d", c.counts.Snaps-snaps, c.Live(), c.Tick, c.Received)
	}
}

// A snapshot of a tick that is not in the history is adopted, not compared with another tick.
func TestAStateOlderThanTheHistoryIsAdopted(t *testing.T) {
	r := newRig(t, newRules(exactBody).game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	r.forget()
	c.History.Clear()
	c.History.Save(c.World())
	for before := c.Received; c.Received == before; {
		r.Step()
	}
	if c.counts.Snaps != 1 || c.counts.Corrections != 0 {
		t.Errorf("%+v", c.counts)
	}
	r.Run(100)
	if !c.Live() || c.counts.Snaps != 1 || c.counts.Corrections > 1 {
		t.Errorf("%+v, live %v", c.counts, c.Live())
	}
}

// foxssake/netfox#280: an input that arrives after its tick still counts: its presses, and the keys held since.
func TestALateInputIsUsed(t *testing.T) {
	r := newRig(t, newRules(exactBody).game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	lost := 0
	r.lose = func(toClient bool, _ int, _ []byte) bool { return !toClient && lost > 0 }
	start := r.xIn(r.server.World(), 0)
	r.press[0].Step = true
	lost = 1
	r.Run(10) // ten ticks are computed without it
	lost = 0
	r.pads[0].DX = 1
	r.Run(20)
	r.pads[0].DX = 0
	r.Run(30)
	if x := r.xIn(r.server.World(), 0) - start; x != 21 || r.x(0)-start != 21 {
		t.Errorf("the figure moved by %v, here by %v: want the press and 20 ticks", x, r.x(0)-start)
	}
	if st := r.server.PeerStats(0); st.Late == 0 || st.Substituted == 0 || r.clients[0].Counted.Substituted == 0 {
		t.Errorf("%+v: no input was late", st)
	}
}

// foxssake/netfox#321: a player without inputs is still simulated.
func TestAPlayerWithoutInputsIsSimulated(t *testing.T) {
	r := newRig(t, newRules(exactBody).game(60), 2, 4, 4, Config{}, systems.ClientConfig{})
	r.pads[1].DX = 1
	r.Run(30)
	r.lose = func(toClient bool, seat int, _ []byte) bool { return !toClient && seat == 1 }
	r.Run(10)
	from, tick := r.xIn(r.server.World(), 1), r.server.Done()
	r.Run(20)
	if moved := r.xIn(r.server.World(), 1) - from; moved != float64(r.server.Done()-tick) {
		t.Errorf("the figure of a player without inputs moved by %v in %d ticks", moved, r.server.Done()-tick)
	}
}

// cBournhonesque/sixdof#5: inputs before the clock has settled cause no corrections.
func TestInputsBeforeTheClockSettlesCauseNoCorrections(t *testing.T) {
	for seed := range uint64(5) {
		m := newMatch(t, slow(newRules(exactBody)).game(60), seed+1, Config{})
		m.NoRTT = true
		c := m.join(profile(t, "P4"), simnet.Clock{Offset: time.Hour}, systems.ClientConfig{}, 60, func(*player, int) pad { return pad{DX: 1} })
		early := false
		c.onFrame = func(p *player) { early = early || !p.Settled() && p.peer.Frames > 10 }
		m.Net.RunUntil(5 * time.Second)
		if !early || c.counts.Corrections != 0 || !c.Live() {
			t.Errorf("inputs before the clock settled: %v, %+v", early, c.counts)
		}
		if s, _ := c.Replica(); xAt(s, figure(c.World(), 0)) < 15 {
			t.Errorf("the figure is at %v: it never moved", xAt(s, figure(c.World(), 0)))
		}
	}
}

// bdero/flutter_scene#288: a client that was in the background neither computes nor sends every tick that it missed.
func TestASuspendedClientSkipsMissedTicks(t *testing.T) {
	r := newRig(t, newRules(exactBody).game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	r.Run(10)
	r.Peers[0].Deaf = true
	for range 600 { // in the background: no frames run, and the socket is not read
		r.Next()
		r.server.Tick(r.Now() + r.Length)
		r.server.Send(r.Now(), r)
	}
	r.Peers[0].Deaf = false
	before := c.Tick
	steps, sent, bytes := 0, 0, 0
	r.lose = func(toClient bool, _ int, message []byte) bool {
		if !toClient {
			sent++
			bytes = max(bytes, len(message))
		}
		return false
	}
	hooks[c.World()] = func(*ecs.World) { steps++ }
	r.Peers[0].Frame(r.Now())
	if steps > clock.MaxSteps || sent > 1 || bytes > systems.MaxDatagram || c.Tick > before+clock.MaxSteps {
		t.Errorf("one frame computed %d ticks and sent %d messages of up to %d bytes", steps, sent, bytes)
	}
	delete(hooks, c.World())
	r.Run(200)
	if !c.Live() {
		t.Errorf("not live again: %+v", c.Stats())
	}
}

// thatjoaoguy/unity-fastpacedmultiplayer#3: every input is consumed once on both sides, with or without a correction.
// Seeds are tried until one has a misprediction.
func TestEveryPressCountsOnceOnEveryPath(t *testing.T) {
	const seeds = 30
	for name, c := range map[string]Config{"compared": {}, "unconditional": {Unconditional: true}, "every tick": {SnapshotRate: 60}} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				if everyPressCountsOnce(t, c, seed+1) {
					return
				}
			}
			t.Errorf("no misprediction with %d seeds", seeds)
		})
	}
}

// everyPressCountsOnce checks one match over a bad path, and reports whether an input was mispredicted.
func everyPressCountsOnce(t *testing.T, c Config, seed uint64) (mispredicted bool) {
	m := newMatch(t, newRules(exactBody).game(60), seed, c)
	r, pressed, until := image.NewRand(9), 0, 100000
	path := profile(t, "P5")
	path.Up.Loss, path.Down.Loss = 0.45, 0.25
	p := m.join(path, simnet.Clock{}, systems.ClientConfig{}, 60, func(p *player, f int) pad {
		// Two late presses can be merged into one tick, and count once.
		step := p.Settled() && f < until && f%12 == 0 && r.Chance(2, 3)
		if step {
			pressed++
		}
		return pad{Step: step}
	})
	m.Net.RunUntil(3*time.Second + soakTime())
	until = p.peer.Frames
	m.Net.RunUntil(m.Net.Now() + 3*time.Second)
	mine, _ := p.History.At(p.Tick)
	if x := xAt(mine, figure(p.World(), 0)); m.used[0] != pressed || x != float64(10+pressed) || pressed < 10 {
		t.Errorf("seed %d: %d presses, %d were used, the figure is at %v", seed, pressed, m.used[0], x)
	}
	counts := map[ecs.EffectStatus]int{}
	for _, effects := range p.effects {
		last := effects[len(effects)-1]
		counts[last.Status]++
		predicted := len(effects) == 2 && effects[0].Status == ecs.EffectPredicted
		if !predicted && (len(effects) != 1 || last.Status != ecs.EffectConfirmed) || m.events[last.Event.Key] != (last.Status == ecs.EffectConfirmed) {
			t.Errorf("seed %d: an event has effects %v; it happened: %v", seed, effects, m.events[last.Event.Key])
		}
	}
	if counts[ecs.EffectConfirmed] != pressed {
		t.Errorf("seed %d: effects %v of %d presses", seed, counts, pressed)
	}
	return p.counts.Corrections > 0 && p.Counted.Rollbacks > 0 && (counts[ecs.EffectCancelled] > 0 || c.SnapshotRate > 0)
}

// Two rockets that are predicted in one tick have the identities of the server's.
func TestTwoRocketsOfOneTickAreTheServersTwo(t *testing.T) {
	r := newRig(t, newRules(exactBody).game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	r.press[0].Fire = true
	r.Step()
	rocketsIn := func(w *ecs.World) (list []ecs.Entity) {
		for e := range ecs.NewQuery1(ecs.Read(rockets)).All(w) {
			list = append(list, e.Entity())
		}
		return list
	}
	c := r.clients[0]
	predicted := rocketsIn(c.World())
	r.Run(15)
	if there := rocketsIn(r.server.World()); len(predicted) != 2 || len(there) != 2 || predicted[0] != there[0] || predicted[1] != there[1] {
		t.Errorf("predicted %v, the server has %v", predicted, there)
	}
	r.Run(60)
	if c.counts.Corrections != 0 || len(rocketsIn(c.World())) != 0 || len(rocketsIn(r.server.World())) != 0 {
		t.Errorf("%+v, %d rockets are left", c.counts, len(rocketsIn(c.World())))
	}
	if r.effectsOf(0, ecs.EffectPredicted, is(r.Game, fired)) != 2 || r.effectsOf(0, ecs.EffectConfirmed, is(r.Game, fired)) != 2 {
		t.Errorf("effects %+v", r.Peers[0].Effects)
	}
}

// Predicted rockets that the server refused are removed, and their effects cancelled.
func TestRocketsThatTheServerRefusedAreWithdrawn(t *testing.T) {
	rules := newRules(exactBody)
	rules.wall = func(_ *ecs.World, _ ecs.Player, in pad) bool { return in.Fire }
	r := newRig(t, rules.game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	r.press[0].Fire = true
	r.Step()
	count := func() (n int) {
		for range ecs.NewQuery1(ecs.Read(rockets)).All(r.clients[0].World()) {
			n++
		}
		return n
	}
	if count() != 2 {
		t.Fatal("nothing was predicted")
	}
	r.Run(12)
	if count() != 0 || r.clients[0].counts.Corrections != 1 || r.effectsOf(0, ecs.EffectCancelled, is(r.Game, fired)) != 2 {
		t.Errorf("%d rockets are left, %+v, effects %v", count(), r.clients[0].counts, r.Peers[0].Effects)
	}
}

// The cause of a correction is what happened since the last comparison.
func TestACorrectionHasTheCauseOfItsInterval(t *testing.T) {
	rules := newRules(exactBody)
	r := newRig(t, rules.game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	rules.wall = func(_ *ecs.World, _ ecs.Player, in pad) bool { return in.Step }
	r.press[0].Step = true
	r.Run(20)
	if c.counts.Corrections != 1 || c.counts.Substituted != 1 {
		t.Fatalf("%+v", c.counts)
	}
	r.atServer(r.server.Done()+2, 0, func(b *body) { b.Pos.X += num(1, 2) })
	r.Run(20)
	if c.counts.Corrections != 2 || c.counts.Substituted != 1 {
		t.Errorf("%+v: the second was external", c.counts)
	}
}

// A key that is held during a correction is not pressed again.
func TestAHeldKeyIsNotPressedAgainByACorrection(t *testing.T) {
	rules := newRules(exactBody)
	game := rules.game(60)
	game.Systems = append(game.Systems, ecs.System{Name: "jump", Run: func(w *ecs.World) {
		for e := range mortals.All(w) {
			if padInput.Of(w, e.B.Player).DX > 0 && padInput.Last(w, e.B.Player).DX <= 0 {
				e.A.Points++
			}
		}
	}})
	r := newRig(t, game, 1, 4, 4, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	r.pads[0].DX = 1
	r.Run(30)
	r.forget()
	r.atServer(r.server.Done()+2, 0, func(b *body) { b.Pos.X += num(1, 2) })
	r.Run(8)
	e := figure(c.World(), 0)
	if hp, _ := hpComp.Read(c.World(), e); c.counts.Corrections != 1 || hp.Points != 101 {
		t.Errorf("%+v, %d points after one jump from 100", c.counts, hp.Points)
	}
	r.Run(20)
	if hp, _ := hpComp.Read(c.World(), e); c.counts.Corrections != 1 || hp.Points != 101 {
		t.Errorf("%+v, %d points in the end", c.counts, hp.Points)
	}
}

// A late press is judged by the view in which it was given. A substitute is judged by the view that follows. A new
// player has no view yet.
func TestALatePressIsJudgedByItsOwnView(t *testing.T) {
	game := newRules(exactBody).game(60)
	var seat authority.Seat
	put := func(f, done ecs.Tick, e entry) { seat.Put(f, done, e, game) }
	next := func(f ecs.Tick) (e entry, altered bool) {
		e.In, altered = seat.Next(f, game)
		return entry{In: e.In, View: seat.View()}, altered
	}
	at := func(f ecs.Tick, p pad) entry {
		return entry{In: padInput.Pack(p), View: image.ViewStamp{Tick: f - 10, Part: 7}}
	}
	put(100, 99, at(100, pad{}))
	next(100)
	if e, altered := next(101); !altered || e.View != (image.ViewStamp{Tick: 91, Part: 7}) {
		t.Errorf("a substitute is judged by %v", e.View)
	}
	put(101, 101, at(101, pad{Step: true}))
	late := at(101, pad{}).View
	if e, altered := next(102); !altered || !padInput.Unpack(e.In).Step || e.View != late {
		t.Errorf("a late press is %v, judged by %v, want %v", padInput.Unpack(e.In), e.View, late)
	}
	put(103, 102, at(103, pad{}))
	if e, altered := next(103); altered || e.View != at(103, pad{}).View {
		t.Errorf("an input in time is judged by %v", e.View)
	}
	seat.Vacant(104)
	if e, _ := next(105); e.View.Tick != 0 {
		t.Errorf("a new player is judged by %v", e.View)
	}
	if f, ok := seat.Missing(106, maxBack); !ok || f != 105 {
		t.Errorf("lacks %d, %v; want 105, the first tick of the player", f, ok)
	}
}
