package predict

import (
	"math"
	"testing"
	"time"

	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/interp"
)

// shownAt returns where a view shows an entity.
func shownAt(v *ecs.View, e ecs.Entity) (at interp.Vec, ok bool) {
	for shown, m := range v.Sim.Image().Motions {
		if shown == e {
			return interp.VecOf(m.Pos), true
		}
	}
	return at, false
}

// Remote entities move evenly at twenty states a second over a bad path. The view stamp of an input is the shown
// moment: the server finds the entity where the player saw it.
func TestRemoteEntitiesMoveEvenlyAndTheViewStampIsTheShownMoment(t *testing.T) {
	m := newMatch(t, slow(newRules(exactBody)).game(60), 4, Config{})
	m.join(profile(t, "P1"), simnet.Clock{}, systems.ClientConfig{}, 60, func(*player, int) pad { return pad{DX: 1} })
	watcher := m.join(profile(t, "P5"), simnet.Clock{}, systems.ClientConfig{Seat: 1}, 60, idle)
	var last interp.Vec
	var stamp image.ViewStamp
	worst, off, back, frames, declared := 0.0, 0.0, 0, 0, 0
	watcher.onFrame = func(p *player) {
		e := figure(p.view.Sim, 0)
		at, ok := shownAt(p.view, e)
		if ok && m.Net.Now() > 6*time.Second && last.X > 0 {
			frames++
			step := (at.X - last.X) / 0.1
			worst = max(worst, math.Abs(step-1))
			if at.X < last.X {
				back++
			}
			if stamp = p.show.seen(); stamp.Tick > 0 {
				from, ok := m.states.At(stamp.Tick)
				to, ok2 := m.states.At(stamp.Tick + 1)
				if ok && ok2 {
					declared++
					x := xAt(from, e) + (xAt(to, e)-xAt(from, e))*float64(stamp.Part)/partUnit
					off = max(off, math.Abs(x-at.X))
				}
			}
		}
		last = at
	}
	m.Net.RunUntil(8*time.Second + soakTime())
	if frames < 300 || back > 0 || worst > 0.1 {
		t.Errorf("%d frames, %d of them backward, the worst step %v off its speed", frames, back, worst)
	}
	if declared < 300 || off > 0.002 {
		t.Errorf("the view stamp has the remote entity %v from its shown position, in %d frames", off, declared)
	}
	if age := float64(m.server.Done()) - watcher.show.playback.Tick(); age < 8 || age > 40 {
		t.Errorf("remote entities are shown %v ticks late", age)
	}
}

// The server uses the view that the player declared for a tick, and the game can query it.
func TestTheServerJudgesByTheDeclaredView(t *testing.T) {
	t.Run("near", func(t *testing.T) { judgesByTheDeclaredView(t, 2, Config{}) })
	t.Run("far", func(t *testing.T) { judgesByTheDeclaredView(t, 12, Config{MaxView: systems.Second}) })
}

// judgesByTheDeclaredView runs with a delay of way ticks.
func judgesByTheDeclaredView(t *testing.T, way int, config Config) {
	r := newRig(t, slow(newRules(exactBody)).game(60), 2, way, way, config, systems.ClientConfig{})
	r.pads[1].DX = 1
	r.Run(60)
	c := r.clients[0]
	his := figure(r.server.World(), 1)
	seen, asked, worst := 0, 0, 0.0
	hooks[r.server.World()] = func(w *ecs.World) {
		asked++
		v, ok := w.Image().ViewOf(0)
		e, given := c.line.Inputs.Given(w.Tick())
		if !ok || !given {
			return
		}
		seen++
		worst = max(worst, math.Abs(float64(parts(v)-parts(e.View))))
		now, _ := exactBody.Read(w, his)
		then, _ := exactBody.Seen(w, 0, his)
		if age := (now.Pos.X - then.Pos.X).Float() / 0.1; math.Abs(age-float64(w.Tick())+float64(parts(v))/partUnit) > 0.02 {
			t.Errorf("tick %d, view %v: seen %v ticks ago", w.Tick(), v, age)
		}
	}
	r.Run(60)
	if asked != 60 || seen < 55 || worst > 0 {
		t.Errorf("%d of %d ticks had a view, the worst off by %v parts", seen, asked, worst)
	}
}

// LC-06 at the server: any declared view is judged within the cap and the tolerance.
func TestForgedViewsAreBounded(t *testing.T) {
	r := newRig(t, slow(newRules(exactBody)).game(60), 1, 4, 4, Config{}, systems.ClientConfig{})
	rng := image.NewRand(3)
	bad, entered := 0, 0
	hooks[r.server.World()] = func(w *ecs.World) {
		if v, ok := w.Image().ViewOf(0); ok {
			entered++
			if v.Tick >= w.Tick() || w.Tick()-v.Tick > 16 { // 250 ms are 15 ticks
				bad++
			}
		}
	}
	for range 300 {
		c := r.clients[0]
		r.Step()
		s, _ := c.line.Inputs.Given(c.line.Inputs.Sampled())
		switch rng.IntN(4) {
		case 0:
			s.View.Tick += 60
		case 1:
			s.View.Tick -= min(60, s.View.Tick)
		case 2:
			s.View = image.ViewStamp{Tick: ecs.Tick(rng.Uint64() >> 33), Part: 255}
		}
	}
	if bad > 0 || entered < 100 {
		t.Errorf("%d of %d views were out of bounds", bad, entered)
	}
}

// Without lag compensation no view is declared, and the present is judged.
func TestWithoutMaxViewNothingIsSeenLate(t *testing.T) {
	r := newRig(t, slow(newRules(exactBody)).game(60), 1, 4, 4, Config{MaxView: -1}, systems.ClientConfig{})
	hooks[r.server.World()] = func(w *ecs.World) {
		if _, ok := w.Image().ViewOf(0); ok {
			t.Error("a view was entered")
		}
	}
	r.Run(60)
}

// An entity does not jump from one timeline to another, at any distance. With a round trip of a second, an entity in
// even motion is extrapolated evenly.
func TestSwitchingFarDoesNotJumpEither(t *testing.T) {
	game := slow(newRules(exactBody)).game(60)
	var cart ecs.Entity
	game.Setup = func(w *ecs.World) {
		cart = w.Spawn(ecs.OwnedByWorld, exactBody, rockets)
		exactBody.Put(w, cart, body{Vel: fixed.Vec3{X: fixed.FromInt(6)}})
		rockets.Put(w, cart, rocket{Left: 3000})
	}
	r := newRig(t, game, 1, 30, 30, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	view, err := ecs.NewView(game)
	if err != nil {
		t.Fatal(err)
	}
	r.Run(240)
	last := 0.0
	frame := func() (moved float64) {
		r.Step()
		c.Present(view, r.Now())
		at, ok := shownAt(view, cart)
		if !ok {
			t.Fatal("the cart is not shown")
		}
		moved, last = at.X-last, at.X
		return moved
	}
	for range 60 {
		frame()
	}
	for _, to := range []Timeline{Reckoned, Interpolated, Predicted, Interpolated} {
		from := c.Timeline(cart)
		if err := c.Switch(cart, to, systems.Second); err != nil {
			t.Fatal(err)
		}
		at, most := last, 0.0
		for range 120 {
			moved := frame()
			most = max(most, moved, -moved)
		}
		if went := last - at - 120*0.1; most > 0.4 || max(went, -went) < 2.1 {
			t.Errorf("%v to %v, which are %v apart: a frame moved by %v", from, to, went, most)
		}
		for k := range 60 {
			if moved := frame(); moved < 0.05 || moved > 0.15 {
				t.Errorf("%v: frame %d moved by %v", to, k, moved)
			}
		}
	}
	for name, err := range map[string]error{"a timeline that there is not": c.Switch(cart, 99, 0), "less than no time": c.Switch(cart, Predicted, -1)} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// An entity switches to another timeline and back without a jump. When it is removed, its row is on the owner's
// timeline again.
func TestSwitchingTimelinesDoesNotJump(t *testing.T) {
	rules := slow(newRules(exactBody))
	game := rules.game(60)
	var cart ecs.Entity
	game.Setup = func(w *ecs.World) {
		cart = w.Spawn(ecs.OwnedByWorld, exactBody, rockets)
		exactBody.Put(w, cart, body{Vel: fixed.Vec3{X: fixed.FromInt(6)}})
		rockets.Put(w, cart, rocket{Left: 1200})
	}
	r := newRig(t, game, 1, 6, 6, Config{}, systems.ClientConfig{})
	c := r.clients[0]
	view, err := ecs.NewView(game)
	if err != nil {
		t.Fatal(err)
	}
	frame := func() float64 {
		r.Step()
		c.Present(view, r.Now())
		at, ok := shownAt(view, cart)
		if !ok {
			t.Fatal("the cart is not shown")
		}
		return at.X
	}
	truth := func() float64 {
		m, _ := exactBody.Read(r.server.World(), cart)
		return m.Pos.X.Float()
	}
	last := frame()
	for range 30 {
		last = frame()
	}
	// The shown position relative to the server's, in ticks of motion.
	ahead := map[Timeline]struct{ least, most float64 }{
		Predicted: {4, 8}, Interpolated: {-18, -10}, Confirmed: {-10, -5}, Reckoned: {3, 8},
	}
	const p, i, d, q = Predicted, Interpolated, Confirmed, Reckoned
	for _, to := range []Timeline{p, i, d, i, q, p, d, p, q, d, q, i} { // from i on: every switch from one to another
		from := c.Timeline(cart)
		if err := c.Switch(cart, to, systems.Second/2); err != nil {
			t.Fatal(err)
		}
		if c.Timeline(cart) != to {
			t.Fatalf("on the %v timeline", c.Timeline(cart))
		}
		for k := range 60 {
			x := frame()
			most := 0.55
			if to == Confirmed {
				most = 0.65 // it follows the states, one every three ticks
			}
			if x < last-0.12 || x > last+most {
				t.Errorf("%v to %v: frame %d moved by %v", from, to, k, x-last)
			}
			last = x
		}
		if by := (last - truth()) / 0.1; by < ahead[to].least || by > ahead[to].most {
			t.Errorf("%v to %v: shown %v ticks ahead of the server", from, to, by)
		}
	}
	if c.counts.Corrections > 0 {
		t.Errorf("%+v", c.counts)
	}
	if err := c.Switch(cart, Predicted, 0); err != nil {
		t.Fatal(err)
	}
	for c.World().Exists(cart) {
		r.Step()
	}
	r.Run(30)
	if c.Timeline(cart) != Interpolated || c.Predicted.Has(cart.Row) || len(c.show.switched) > 0 {
		t.Error("a removed entity is still on the timeline that it was switched to")
	}
	if c.Switch(cart, Predicted, 0) == nil {
		t.Error("a removed entity was switched")
	}
}

// Ten states a second of circular motion: linear interpolation would be off by 2.5 cm. The game dresses each entity
// that appears in the view once.
func TestRemoteEntitiesFollowCurvesAndAreDressedOnce(t *testing.T) {
	game := newRules(exactBody).game(60)
	dressed := map[ecs.Entity]int{}
	game.Screen.Dress = func(v *ecs.View, entry *donburi.Entry) {
		if e, ok := ecs.EntityOf(entry); ok {
			dressed[e]++
		}
	}
	r := newRig(t, game, 2, 4, 4, Config{SnapshotRate: 10}, systems.ClientConfig{})
	his := figure(r.server.World(), 1)
	hooks[r.server.World()] = func(w *ecs.World) {
		angle := float64(w.Tick()) * 2 / 60
		sin, cos := math.Sincos(angle)
		exactBody.Put(w, his, body{Pos: fixed.Vec3{X: fixed.FromFloat(5 * cos), Y: fixed.FromFloat(5 * sin)},
			Vel: fixed.Vec3{X: fixed.FromFloat(-10 * sin), Y: fixed.FromFloat(10 * cos)}})
	}
	view, err := ecs.NewView(game)
	if err != nil {
		t.Fatal(err)
	}
	r.Run(60)
	worst, frames := 0.0, 0
	for range 120 {
		r.Step()
		r.clients[0].Present(view, r.Now())
		if at, ok := shownAt(view, his); ok {
			frames++
			worst = max(worst, math.Abs(at.Len()-5))
		}
	}
	if frames != 120 || worst > 0.002 {
		t.Errorf("%d frames, %v off the circle", frames, worst)
	}
	if len(dressed) != 2 || dressed[his] != 1 {
		t.Errorf("dressed %v", dressed)
	}
}

// An entity that falls is shown on its parabola, between two states and beyond the newest one.
func TestAFallFollowsTheGravityOfTheGame(t *testing.T) {
	for _, to := range []Timeline{Interpolated, Reckoned} {
		game := newRules(exactBody).game(60)
		game.Physics.Gravity = fixed.FromInt(18)
		r := newRig(t, game, 2, 4, 4, Config{SnapshotRate: 10}, systems.ClientConfig{})
		falling := figure(r.server.World(), 1)
		height := func(tick float64) float64 { return 3000 - 9*(tick/60)*(tick/60) }
		hooks[r.server.World()] = func(w *ecs.World) {
			at := float64(w.Tick())
			exactBody.Put(w, falling, body{Pos: fixed.Vec3{Z: fixed.FromFloat(height(at))}, Vel: fixed.Vec3{Z: fixed.FromFloat(-18 * at / 60)}})
		}
		c := r.clients[0]
		r.Run(60)
		if err := c.Switch(falling, to, 0); err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for range 60 {
			r.Step()
			tick := c.show.playback.Tick()
			if to == Reckoned {
				tick = c.line.Pacer.At(r.Now()) - float64(c.line.Delay.Ticks())
			}
			at, ok := c.shownAt(falling, r.Now())
			if !ok {
				t.Fatalf("%v: not shown", to)
			}
			worst = max(worst, math.Abs(at.Z-height(tick)))
		}
		if worst > 0.05 {
			t.Errorf("%v: up to %.2f off", to, worst)
		}
	}
}

// An entity that a state does not update rests only if the state is complete. Otherwise it may have moved.
func TestAnIncompleteStateLetsNoEntityRest(t *testing.T) {
	for _, complete := range []bool{false, true} {
		r := newRig(t, slow(newRules(exactBody)).game(60), 2, 4, 4, Config{}, systems.ClientConfig{})
		r.pads[1].DX = 1
		r.Run(60)
		c := r.clients[0]
		replica, _ := c.Replica()
		f := c.Received
		c.World().Image().Restore(replica)
		if err := c.World().Image().PutTick(f+3, replica.Players()); err != nil {
			t.Fatal(err)
		}
		c.show.receive(c.states.Save(c.World()), complete)
		i, known := c.show.tracks.Slot(figure(c.World(), 1).Row)
		if !known {
			t.Fatal("a moving entity has no track")
		}
		want := interp.Beyond
		if complete {
			want = interp.Resting
		}
		if _, b := c.show.tracks.At(i).remote.Motion(float64(f) + 2); b.Kind != want {
			t.Errorf("complete %v: bracket %+v", complete, b)
		}
	}
}

// A removed entity is played up to the tick of its removal. It does not rest from the moment the removal is received.
func TestARemovedEntityIsPlayedUntilItsRemoval(t *testing.T) {
	r := newRig(t, slow(newRules(exactBody)).game(60), 2, 6, 6, Config{}, systems.ClientConfig{})
	view, err := ecs.NewView(r.Game)
	if err != nil {
		t.Fatal(err)
	}
	r.Run(60)
	was := map[ecs.Entity]interp.Vec{}
	flying, gone := 0, 0
	for n := range 240 {
		r.pads[1].Fire = n == 0
		r.Step()
		r.clients[0].Present(view, r.Now())
		now := map[ecs.Entity]interp.Vec{}
		for e, m := range view.Sim.Image().Motions {
			if rockets.Has(view.Sim, e) {
				now[e] = interp.VecOf(m.Pos)
			}
		}
		for e, at := range now {
			if before, ok := was[e]; ok {
				flying++
				if step := at.Sub(before).Len() * 60 / math.Sqrt(200); math.Abs(step-1) > 0.1 {
					t.Errorf("frame %d: a rocket flies at %v of its speed", n, step)
				}
			}
		}
		for e := range was {
			if _, ok := now[e]; !ok {
				gone++
			}
		}
		was = now
	}
	if flying < 50 || gone != 2 {
		t.Errorf("%d steps of rockets were seen, %d of them ended", flying, gone)
	}
}
