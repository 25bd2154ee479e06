package room_test

import (
	"testing"

	"tendon/ecs"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// A match that ends after its players have left is decided once, by every strategy, before the room is over. A strategy
// that only keeps the log may decide it while the room is still kept open.
func TestAMatchThatEveryoneLeftBeforeItsEndIsDecided(t *testing.T) {
	for _, c := range []struct {
		play  systems.Strategy
		how   systems.How
		votes bool // it is decided after its end
		idle  bool // it is decided while the empty room goes on
	}{
		{relay.Strategy, systems.ByServer, false, false},
		{verify.Strategy, systems.ByServer, false, false},
		{lockstep.New(lockstep.Config{VoteTime: 600 * systems.Second}), systems.ByReplay, true, false},
		{lockstep.New(lockstep.Config{OnDemand: true, VoteTime: 600 * systems.Second}), systems.ByReplay, true, false},
		{lockstep.New(lockstep.Config{OnDemand: true, VoteTime: 2 * systems.Second}), systems.ByReplay, true, true},
	} {
		var decided []systems.Decision
		end := ecs.Tick(1 << 40)
		g := newRig(t, func(r *room.Config) {
			game := *halves.Dots()
			game.Result = func(w *ecs.World) []byte {
				if w.Tick() != end {
					return nil
				}
				return []byte("over")
			}
			r.Game, r.Strategy, r.KeepSeat = &game, c.play, systems.Second
			r.Sinks = []room.Sink{{Decision: func(d systems.Decision) { decided = append(decided, d) }}}
		})
		a, b := g.enter(player(1), nil), g.enter(player(2), nil)
		g.live()
		g.steps(30)
		end = g.room.Tick() + 20
		for _, v := range []*testClient{a, b} {
			v.in = false
			g.room.Vanish(v.peer, g.now)
		}
		g.steps(90) // by now they have left the match
		if (len(decided) == 0) != c.votes {
			t.Errorf("%s: right after the end: %+v", c.play.Name, decided)
		}
		if c.idle {
			if g.steps(120); len(decided) != 1 {
				t.Errorf("%s: two seconds later: %+v", c.play.Name, decided)
			}
		}
		g.room.Close("")
		g.room.Conclude()
		if len(decided) != 1 || decided[0].Tick != end || decided[0].How != c.how || decided[0].Registered != 3 || string(decided[0].Result) != "over" {
			t.Errorf("%s: %+v, want tick %d", c.play.Name, decided, end)
		}
	}
}
