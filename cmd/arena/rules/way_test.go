package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

// guardOf returns the limits that a server of dead reckoning has for a player.
func (a *arena) guardOf(p ecs.Player) *motion.Guard {
	return motion.NewGuard(motion.GuardConfig{MaxSpeed: a.w.Game().Physics.BurstLimit, Sustained: a.w.Game().Physics.MoveLimit,
		Cost: func(from, to fixed.Vec3) (fixed.Num, bool) {
			return a.w.Game().Physics.MoveCost(a.w, avatar(a.w, p), from, to)
		}})
}

// check reports a player's position to a guard, without delay.
func (a *arena) check(g *motion.Guard, at, vel fixed.Vec3) motion.Verdict {
	now := systems.TickTime(0, a.w.Tick(), tickRate)
	return g.Check(&motion.Record{Stamp: motion.StampOf(now), Pos: at, Vel: vel}, 0, now)
}

// hopper runs from kit to kit, dashes as soon as it can, and jumps as soon as it touches the floor.
func (a *arena) hopper(p ecs.Player) {
	tick := a.w.Tick()
	here := flat(a.body(p).Pos)
	goal := level.Kits[(int(tick)/200+int(p))%len(level.Kits)]
	a.hold(p, Pad{Dash: tick%2 == 0, Jump: tick%2 == 1}.WithWalk(level.Toward(here, goal).Sub(here).Normalize()))
}

// The limits of the arena are no limit for honest players: bots that are thrown by rockets, players who press everything, and
// hoppers, who are the fastest. They report 2 to 10 times a second.
func TestNoHonestPlayerExceedsTheLimits(t *testing.T) {
	const players = 6
	a := newArena(t, players, 3)
	guards, last, since := [players]*motion.Guard{}, [players]fixed.Vec3{}, [players]ecs.Tick{}
	way, ticks := [players]fixed.Num{}, [players]int64{}
	for p := range guards {
		guards[p], last[p] = a.guardOf(ecs.Player(p)), a.body(ecs.Player(p)).Pos
	}
	for i := range 3 * 60 * tickRate {
		a.bots()
		for p := ecs.Player(2); p < 4; p++ {
			a.in[p] = script(a.w.Tick(), p)
		}
		a.hopper(4)
		a.hopper(5)
		a.step()
		for p := range guards {
			b := a.body(ecs.Player(p))
			step := flat(b.Pos.Sub(last[p])).Len()
			if last[p] = b.Pos; step > fixed.One { // a respawn
				guards[p].Place(b.Pos)
				continue
			}
			if way[p], ticks[p] = way[p]+step, ticks[p]+1; a.w.Tick()-since[p] < ecs.Tick(6+i%25) {
				continue
			}
			since[p] = a.w.Tick()
			at := guards[p].At()
			if v := a.check(guards[p], b.Pos, b.Vel); v != motion.Accepted {
				t.Fatalf("tick %d: player %d at %v, from %v: verdict %d", a.w.Tick(), p, b.Pos, at, v)
			}
		}
	}
	for p := range guards {
		mean := way[p].Div(fixed.FromRatio(ticks[p], tickRate))
		t.Logf("player %d moves at %.2f m/s, %+v", p, mean.Float(), guards[p].Stats)
		if s := guards[p].Stats; s.Accepted < 300 || s.Slowed > 0 {
			t.Errorf("player %d: %+v", p, s)
		}
		if p >= 4 && mean <= runSpeed {
			t.Errorf("hopper %d moves at %v m/s: no faster than a runner", p, mean)
		}
	}
}

// A player who does not dash keeps up 7.35 m/s, the speed of running and 5 %, and gets 9 m farther once.
func TestAPlayerWhoDoesNotDashKeepsUpTheSpeedOfRunning(t *testing.T) {
	const seconds = 60
	a := newArena(t, 1, 3)
	a.put(0, roomX, roomY)
	g := a.guardOf(0)
	g.Place(a.body(0).Pos)
	for i := range seconds * tickRate / 6 {
		a.run(6)
		step := fixed.FromRatio(18*6, tickRate)
		if i/5%2 == 1 {
			step = -step
		}
		a.check(g, g.At().Add(fixed.Vec3{X: step}), fixed.Vec3{})
	}
	if d := g.Stats.Distance.Float(); d > 7.35*seconds+9 || d < 7.35*(seconds-1) {
		t.Errorf("%.1f m in %d s", d, seconds)
	}
}

// A way around a wall counts in full. No way leads into a wall or out of the level.
func TestAPathLeadsAroundWalls(t *testing.T) {
	a := newArena(t, 1, 3)
	me := avatar(a.w, 0)
	cost := func(from, to fixed.Vec2) float64 {
		far, ok := moveCost(a.w, me, lifted(from, 0), lifted(to, 0))
		if !ok {
			return -1
		}
		return far.Float()
	}
	for name, v := range map[string]struct {
		from, to    fixed.Vec2
		least, most float64
	}{
		"an open floor":      {point("3", "3"), point("9", "3"), 6, 6},
		"a wall between":     {point("13", "3"), point("17", "3"), 6, 30},
		"a door between":     {point("21", "7"), point("21", "13"), 6, 20},
		"a low wall between": {point("39", "5"), point("45", "5"), 6, 6.1},
		"in a wall":          {point("13", "3"), point("15", "3"), -1, -1},
		"out of the level":   {point("3", "3"), point("-3", "3"), -1, -1},
		"far out":            {point("3", "3"), fixed.Vec2{X: fixed.Max, Y: fixed.Min}, -1, -1},
	} {
		if d := cost(v.from, v.to); d < v.least-1e-6 || d > v.most+1e-6 {
			t.Errorf("%s: %.2f m, want %v to %v", name, d, v.least, v.most)
		}
	}
	g := a.guardOf(0)
	g.Place(lifted(point("13", "3"), 0))
	if v := a.check(g, lifted(point("17", "3"), 0), fixed.Vec3{}); v != motion.Clamped || g.At() != lifted(point("13", "3"), 0) {
		t.Errorf("through a wall: verdict %d, at %v", v, g.At())
	}
	if n := len(levelWays().bends); n > maxBends {
		t.Errorf("%d bends", n)
	}
	from, to := point("13", "3"), point("45", "29")
	if n := testing.AllocsPerRun(20, func() { cost(from, to) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
