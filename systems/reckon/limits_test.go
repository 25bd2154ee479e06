package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
)

// The limits of the game that is attacked: those of an avatar that runs and dashes.
const (
	running = 7  // world units per second
	dashing = 18 // world units per second
	saved   = dashing / 2.0
	wallAt  = 10 // the wall's place on the x axis
)

func limitedGame() *ecs.Game {
	g := testGame(false)
	behind := func(p fixed.Vec3) bool { return p.X > wallAt*fixed.One }
	g.Physics = ecs.Physics{MoveLimit: running * fixed.One, BurstLimit: dashing * fixed.One,
		Blocked: func(from, to fixed.Vec3) bool { return behind(from) != behind(to) },
		MoveCost: func(_ *ecs.World, _ ecs.Entity, from, to fixed.Vec3) (fixed.Num, bool) {
			return to.Sub(from).Len(), behind(from) == behind(to)
		},
	}
	return g
}

// modified is a modified client with a seat: its messages have the records that forge returns, and otherwise are those of
// the client. local is the time on the client's clock.
func (r *rig) modified(seat int, forge func(local systems.Time, m *moveMessage) []motion.Record) {
	r.lose = func(toClient bool, of int, message []byte) bool {
		if toClient || of != seat || message[0] != kindMove {
			return false
		}
		var m moveMessage
		if err := m.read(message, r.server.Done(), motion.StampOf(r.Local(seat)), new(inputs.WindowDecoder), r.Game); err != nil {
			r.t.Fatal(err)
		}
		m.claims = m.claims[:0]
		for _, record := range forge(r.Local(seat), &m) {
			record.Entity = r.walker(seat)
			m.claims = append(m.claims, claim{r.server.avatar(record.Entity).epoch, record})
		}
		if err := r.server.Receive(systems.Peer(seat), systems.Datagram, m.append(nil, r.Game), r.Now(), r); err != nil {
			r.t.Fatal(err)
		}
		return true
	}
}

// leaps runs for a number of ticks and returns the largest distance that the server moved a walker in one tick.
func (r *rig) leaps(seat, ticks int) (largest float64) {
	for range ticks {
		before := r.believed(seat)
		r.Step()
		largest = max(largest, far(before, r.believed(seat)))
	}
	return largest
}

// A modified client stamps its records as if they were delayed, and then claims that it ran meanwhile. The delay counts as far
// as the client does not acknowledge newer ticks of the server, and up to 2.5 s.
func TestALateStampClaimsNoMoreThanItsDelayExplains(t *testing.T) {
	for name, v := range map[string]struct {
		unacked ecs.Tick     // ticks that the client pretends not to have received
		delay   systems.Time // of a record at most, by that
	}{"acknowledged": {0, systems.Second / 4}, "a second": {60, 5 * systems.Second / 4}, "ten seconds": {600, 5 * systems.Second / 2}} {
		r := newRigOf(t, limitedGame(), testGame(false), 2, 2, 2, Config{})
		ticks := 0
		r.modified(0, func(local systems.Time, m *moveMessage) []motion.Record {
			m.received -= min(v.unacked, m.received)
			switch ticks++; {
			case ticks < 8*gameRate && ticks%6 == 0:
				return []motion.Record{{Stamp: motion.StampOf(local - 2*systems.Second), Flags: motion.FlagStop}}
			case ticks == 8*gameRate:
				return []motion.Record{{Stamp: motion.StampOf(local), Pos: fixed.Vec3{X: fixed.FromInt(-37)}, Flags: motion.FlagStop}}
			}
			return nil
		})
		leap, bound := r.leaps(0, 9*gameRate), saved+1.05*running*motion.Seconds(v.delay).Float()
		if leap > bound || leap < bound/2 {
			t.Errorf("%s: the server moved the walker by %.1f in one tick, want at most %.1f", name, leap, bound)
		}
	}
}

// A modified client sends no records for ten seconds, and then claims that it ran meanwhile.
func TestAGapClaimsNoMoreThanTwoPeriods(t *testing.T) {
	r := newRigOf(t, limitedGame(), testGame(false), 2, 2, 2, Config{})
	ticks := 0
	r.modified(0, func(local systems.Time, _ *moveMessage) []motion.Record {
		if ticks++; ticks == 10*gameRate {
			return []motion.Record{{Stamp: motion.StampOf(local), Pos: fixed.Vec3{X: fixed.FromInt(-150)}, Flags: motion.FlagStop}}
		}
		return nil
	})
	if leap := r.leaps(0, 11*gameRate); leap > saved+2*1.05*running+0.01 {
		t.Errorf("the server moved the walker by %.1f in one tick", leap)
	}
}

// A modified client claims the speed of a dash all the time.
func TestTheSpeedOfABurstIsNotSustained(t *testing.T) {
	const seconds = 30
	r := newRigOf(t, limitedGame(), testGame(false), 2, 2, 2, Config{})
	ticks, from := 0, r.believed(0)
	r.modified(0, func(local systems.Time, _ *moveMessage) []motion.Record {
		if ticks++; ticks%6 != 0 {
			return nil
		}
		step := fixed.Vec3{X: -fixed.FromRatio(dashing*6, gameRate)}
		return []motion.Record{{Stamp: motion.StampOf(local), Pos: r.server.avatar(r.walker(0)).guard.At().Add(step), Vel: fixed.Vec3{X: -fixed.FromInt(dashing)}}}
	})
	r.Run(seconds * gameRate)
	if d := far(r.believed(0), from); d > 1.05*running*seconds+saved+2 || d < 0.9*running*seconds {
		t.Errorf("the walker moved at %.2f for %d s", d/seconds, seconds)
	}
}

// A modified client does not move, and its records have the velocity of a dash. The server extrapolates them no farther than the
// burst and a second more of running than the time since then allow.
func TestAVelocityLeadsNoFartherThanTheLimits(t *testing.T) {
	r := newRigOf(t, limitedGame(), testGame(false), 2, 2, 2, Config{})
	ticks, from, most := 0, r.believed(0), 0.0
	r.modified(0, func(local systems.Time, _ *moveMessage) []motion.Record {
		if ticks++; ticks%(3*gameRate) != 0 {
			return nil
		}
		return []motion.Record{{Stamp: motion.StampOf(local), Vel: fixed.Vec3{X: -fixed.FromInt(dashing)}}}
	})
	for range 12 * gameRate {
		r.Step()
		most = max(most, far(r.believed(0), from))
	}
	if bound := saved + 1.05*running*2.6; most > bound || most < bound/2 {
		t.Errorf("the server moved the walker by %.1f, want at most %.1f", most, bound)
	}
}

// A modified client walks through a wall, or sends a velocity that leads through it. Its speed is that of an honest one.
func TestAWallStopsAnAvatarOnTheServer(t *testing.T) {
	for _, name := range []string{"through", "extrapolated"} {
		r := newRigOf(t, limitedGame(), testGame(false), 2, 2, 2, Config{})
		ticks, x, most := 0, fixed.Num(0), 0.0
		r.modified(0, func(local systems.Time, _ *moveMessage) []motion.Record {
			if ticks++; ticks%12 != 0 || name == "extrapolated" && x > (wallAt-1)*fixed.One {
				return nil
			}
			x += fixed.FromRatio(5*12, gameRate)
			return []motion.Record{{Stamp: motion.StampOf(local), Pos: fixed.Vec3{X: x}, Vel: fixed.Vec3{X: fixed.FromInt(5)}}}
		})
		for range 6 * gameRate {
			r.Step()
			most = max(most, r.believed(0).X.Float())
		}
		if most > wallAt || most < wallAt-2 {
			t.Errorf("%s: the walker came to %.1f, the wall is at %d", name, most, wallAt)
		}
	}
}
