package matchtest

import (
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// conforms plays the suite; under the race detector over one link, which takes every path through the code that the
// others take.
func conforms(t *testing.T, s systems.Strategy) {
	if raceEnabled {
		conformance(t, s, links[1:2])
		return
	}
	Conformance(t, s)
}

// The default strategy is what the suite was written against.
func TestRelayConforms(t *testing.T) { conforms(t, relay.Strategy) }

// Verify sync, whose clients simulate nothing, shows the server's states all the same.
func TestVerifyConforms(t *testing.T) {
	t.Run("datagrams", func(t *testing.T) { conforms(t, verify.Strategy) })
	if !raceEnabled {
		t.Run("reliable", func(t *testing.T) { conforms(t, verify.New(verify.Config{Reliable: true})) })
	}
}

// Prediction shows what the server told, and what is its own ahead of that; what it was told is the server's.
func TestPredictConforms(t *testing.T) { conforms(t, predict.Strategy) }

// Lockstep has the same state everywhere, over either channel and whether or not the server simulates.
func TestLockstepConforms(t *testing.T) {
	t.Run("datagrams", func(t *testing.T) { conforms(t, lockstep.Strategy) })
	if raceEnabled {
		return
	}
	for name, c := range map[string]lockstep.Config{"reliable": {Reliable: true}, "on demand": {Simulate: lockstep.OnDemand}, "eager": {Interval: 5, Eager: true}} {
		t.Run(name, func(t *testing.T) { conforms(t, lockstep.New(c)) })
	}
}

// Dead reckoning, whose clients say where they are, has the server's state of all else, and journals that bring the match
// back where they were.
func TestReckonConforms(t *testing.T) { conforms(t, reckon.Strategy) }

// blind is a server half that is wrong in one way.
type blind struct {
	systems.Server
	blame  systems.Peer // who is said to differ in tick 420, by mistake; 0: nobody
	deaf   bool         // differences are not told
	lonely bool         // joins are stamped twice, as leave and join
}

func (b *blind) Desynced(f func(systems.Peer)) {
	if !b.deaf {
		b.Server.Desynced(f)
	}
	if b.blame != 0 && b.World().Tick() == 420 {
		f(b.blame)
	}
}

func (b *blind) Stamp(o ecs.Order, out systems.Outbox) ecs.Tick {
	if b.lonely && o.Kind == ecs.OrderJoin {
		b.Server.Stamp(o, out)
		o.Kind = ecs.OrderLeave
	}
	return b.Server.Stamp(o, out)
}

// A suite that passes whatever it is given proves nothing: strategies that are wrong in one way fail the scenario that
// is there for it.
func TestTheSuiteSeesAStrategyThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		half     blind
		scenario func(*stage) *Client
		want     string
	}{
		{blind{deaf: true}, wrongBit, "was not found"},
		{blind{blame: 2}, leaves, "who was not concerned: 0 reconnects, 1 resyncs"},
		{blind{lonely: true}, lateJoin, "1 joins and 1 leaves were stamped"},
	} {
		s := relay.Strategy
		s.NewServer = func(sc systems.ServerConfig) (systems.Server, error) {
			half := c.half
			var err error
			half.Server, err = relay.NewServer(sc)
			return &half, err
		}
		wrong, err := conform(s, links[0], scenario{play: c.scenario})
		if all := strings.Join(wrong, "\n"); err != nil || !strings.Contains(all, c.want) {
			t.Errorf("%+v: %v, wrong:\n%s\nwant %q", c.half, err, all, c.want)
		}
	}
}

// An image that is sent as fast as it can is more than the budget, and is seen to be.
func TestTheSuiteSeesAnImageBeyondItsBudget(t *testing.T) {
	st, err := newStage(relay.Strategy, "P2")
	if err != nil {
		t.Fatal(err)
	}
	st.RunUntil(links[0].warmup)
	for _, c := range st.Clients {
		c.server.most = 0
	}
	c := st.Join(st.plan())
	if !st.until(loading, c.Live) {
		t.Fatal("the joiner was never live")
	}
	c.server.largest, c.server.most = crowdSize*32/2, crowdSize*32
	st.judgeImage(c, st.Net.Now()-time.Second)
	if len(st.wrong) != 3 {
		t.Errorf("a whole image at once, in one second, in two messages: %q", st.wrong)
	}
}
