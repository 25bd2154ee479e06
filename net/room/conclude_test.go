package room_test

import (
	"testing"

	"tendon/ecs"
	"tendon/net/matchtest"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// A match that ends when everybody has just gone is decided by the time the room is over, by every strategy, once, and
// with those who were in it. A strategy that only keeps the log decides it while the room is still kept open.
func TestAMatchThatEveryoneLeftBeforeItsEndIsDecided(t *testing.T) {
	for _, c := range []struct {
		play  systems.Strategy
		how   systems.How
		votes bool // it is decided later than its end
		idle  bool // though not at all unless the room goes on for a while
	}{
		{relay.Strategy, systems.ByServer, false, false},
		{verify.Strategy, systems.ByServer, false, false},
		{lockstep.New(lockstep.Config{VoteTime: 600 * systems.Second}), systems.ByReplay, true, false},
		{lockstep.New(lockstep.Config{Simulate: lockstep.OnDemand, VoteTime: 600 * systems.Second}), systems.ByReplay, true, false},
		{lockstep.New(lockstep.Config{Simulate: lockstep.OnDemand, VoteTime: 2 * systems.Second}), systems.ByReplay, true, true},
	} {
		var told []systems.Decision
		end := ecs.Tick(1 << 40)
		g := newRig(t, func(r *room.Config) {
			game := *matchtest.Dots()
			game.Result = func(w *ecs.World) []byte {
				if w.Tick() != end {
					return nil
				}
				return []byte("over")
			}
			r.Game, r.Strategy, r.KeepSeat = &game, c.play, systems.Second
			r.Sinks = []room.Sink{{Decision: func(d systems.Decision) { told = append(told, d) }}}
		})
		a, b := g.enter(player(1), nil), g.enter(player(2), nil)
		g.live()
		g.steps(30)
		end = g.room.Tick() + 20
		for _, v := range []*guest{a, b} {
			v.in = false
			g.room.Vanish(v.peer, g.now)
		}
		g.steps(90) // they have left the match since
		if (len(told) == 0) != c.votes {
			t.Errorf("%s: right after the end: %+v", c.play.Name, told)
		}
		if c.idle {
			if g.steps(120); len(told) != 1 {
				t.Errorf("%s: two seconds later: %+v", c.play.Name, told)
			}
		}
		g.room.Close("")
		g.room.Conclude()
		if len(told) != 1 || told[0].Tick != end || told[0].How != c.how || told[0].Registered != 3 || string(told[0].Result) != "over" {
			t.Errorf("%s: %+v, want tick %d", c.play.Name, told, end)
		}
	}
}
