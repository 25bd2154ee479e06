package room_test

import (
	"testing"

	"tendon/ecs"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// played is the result of a run whose ticks take time.
type played struct {
	ticks   ecs.Tick
	most    ecs.Tick     // ticks of one Frame
	longest systems.Time // without a tick
}

// run plays for a time with a server that needs cost for each tick.
func (g *rig) run(length, cost systems.Time) (p played) {
	tick := systems.Second / 60
	for end, last := g.now+length, g.now; g.now < end; {
		for _, v := range g.clients {
			v.up.deliver(v.say)
		}
		before := g.room.Tick()
		g.room.Frame(g.now)
		g.room.Gone(g.forget)
		n := g.room.Tick() - before
		if p.ticks, p.most = p.ticks+n, max(p.most, n); n > 0 {
			p.longest, last = max(p.longest, g.now-last), g.now
		}
		for _, v := range g.clients {
			v.down.deliver(v.receive)
			v.core.Frame(g.now)
		}
		g.now = max((g.now/tick+1)*tick, g.now+systems.Time(n)*cost)
	}
	return p
}

// A room whose ticks take one and a half times their time runs the match in slow motion. It computes at most two ticks at once,
// and never leaves a long gap. It counts the time that it gives up. When the load ends, it runs at full speed.
func TestAnOverloadedRoomRunsInSlowMotionAndNotInBursts(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy} {
		g := newRig(t, func(c *room.Config) { c.Strategy = s })
		for id := range uint64(2) {
			g.enter(player(id+1), nil)
		}
		g.live()
		const length = 60 * systems.Second
		tick := systems.Second / 60
		p := g.run(length, tick*3/2)
		if want := ecs.Tick(2 * 60 * 60 / 3); p.most > 2 || p.ticks+100 < want || p.ticks > want+20 || p.longest > 4*tick {
			t.Errorf("%s: %+v, want about %d ticks, 2 at once", s.Name, p, want)
		}
		if st := g.room.Stats(); st.GivenUp < length/3-systems.Second || st.GivenUp > length/3+3*systems.Second || st.MostLate > 3*tick {
			t.Errorf("%s: %v was given up of %v, the latest tick %v", s.Name, st.GivenUp, length, st.MostLate)
		}
		given := g.room.Stats().GivenUp
		if p := g.run(10*systems.Second, 0); p.ticks < 598 || p.ticks > 604 || g.room.Stats().GivenUp > given+3*tick {
			t.Errorf("%s: without the load %+v in 10 s, and %v was given up", s.Name, p, g.room.Stats().GivenUp-given)
		}
		for i, v := range g.clients {
			if st := v.core.Stats(); !v.core.Strategy().Live() || st.Resyncs > 0 || st.Reconnects > 0 {
				t.Errorf("%s: client %d: %+v", s.Name, i, st)
			}
		}
	}
}

// A room gives up all but half a second of a longer pause, and nothing of a shorter one. A paused match has nothing to give up.
func TestARoomGivesUpTheTimeBeyondHalfASecond(t *testing.T) {
	for _, v := range []struct{ stood, givenUp systems.Time }{
		{systems.Second / 3, 0}, {systems.Second / 2, 0}, {systems.Second, systems.Second / 2}, {systems.Second * 3600, systems.Second*3600 - systems.Second/2},
	} {
		g := newRig(t, nil)
		g.steps(60)
		g.room.Frame(g.now + v.stood)
		got, tick := g.room.Stats().GivenUp, systems.Second/60
		if got < v.givenUp-2*tick || got > v.givenUp+2*tick || got%tick != 0 {
			t.Errorf("after %v the room gave up %v, want about %v in whole ticks", v.stood, got, v.givenUp)
		}
		for range 10 {
			g.room.Frame(g.now + v.stood)
		}
		if n := g.room.Tick() - 60; systems.Time(n)*tick > v.stood-got+tick || systems.Time(n)*tick < v.stood-got-tick {
			t.Errorf("after %v the room computed %d ticks", v.stood, n)
		}
	}
	g := newRig(t, func(c *room.Config) { c.Pause.By = room.PauseAdmin })
	g.steps(10)
	if err := g.room.Pause(true, room.Admin); err != nil {
		t.Fatal(err)
	}
	g.steps(30)
	before := g.room.Tick()
	for i := range systems.Time(20) {
		g.room.Frame(g.now + i*systems.Second)
	}
	if st := g.room.Stats(); st.GivenUp != 0 || g.room.Tick() != before {
		t.Errorf("a paused match gave up %v", st.GivenUp)
	}
}
