package matchtest

import (
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/matchsim"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// seeds returns n at full length, and 1 otherwise.
func seeds(n uint64) uint64 {
	if race.Long {
		return n
	}
	return 1
}

// conforms plays the suite. Under the race detector, and without TENDON_LONG, it uses one link, which runs the same code as the
// others. A suite runs in one goroutine, where the race detector finds nothing: it plays one strategy only.
func conforms(t *testing.T, s systems.Strategy) {
	if s.Name != relay.Strategy.Name {
		race.OneGoroutine(t)
	}
	if !race.Long {
		conformance(t, s, links[1:2])
		return
	}
	Conformance(t, s)
}

func TestRelayConforms(t *testing.T) { conforms(t, relay.Strategy) }

// Clients of verify simulate nothing and show the server's states.
func TestVerifyConforms(t *testing.T) {
	t.Run("datagrams", func(t *testing.T) { conforms(t, verify.Strategy) })
	if race.Long {
		t.Run("reliable", func(t *testing.T) { conforms(t, verify.New(verify.Config{Reliable: true})) })
	}
}

// Clients of predict show a replica and predict their own entities ahead of it; the replica equals the server's state.
func TestPredictConforms(t *testing.T) { conforms(t, predict.Strategy) }

// Lockstep has the same state on every peer, over either channel and whether or not the server simulates.
func TestLockstepConforms(t *testing.T) {
	t.Run("datagrams", func(t *testing.T) { conforms(t, lockstep.Strategy) })
	if !race.Long {
		return
	}
	for name, c := range map[string]lockstep.Config{"reliable": {Reliable: true}, "on demand": {OnDemand: true}, "eager": {Interval: 5, Eager: true}} {
		t.Run(name, func(t *testing.T) { conforms(t, lockstep.New(c)) })
	}
}

// Clients of reckon have authority over their avatars. All other state equals the server's, and a journal restores the
// match.
func TestReckonConforms(t *testing.T) { conforms(t, reckon.Strategy) }

// faulty is a server half with one fault.
type faulty struct {
	systems.FullServer
	accuse      systems.Peer // is reported to differ in tick 420; 0: none
	silent      bool         // reports no differences
	doubleJoins bool         // stamps each join twice, as join and leave
}

func (h *faulty) Desynced(f func(systems.Peer)) {
	if !h.silent {
		h.FullServer.Desynced(f)
	}
	if h.accuse != 0 && h.World().Tick() == 420 {
		f(h.accuse)
	}
}

func (h *faulty) Stamp(o image.Order, out systems.Outbox) ecs.Tick {
	if h.doubleJoins && o.Kind == image.OrderJoin {
		h.FullServer.Stamp(o, out)
		o.Kind = image.OrderLeave
	}
	return h.FullServer.Stamp(o, out)
}

// A strategy with one fault fails the scenario for that fault. A suite that passes everything would prove nothing.
func TestConformanceFindsFaultyStrategies(t *testing.T) {
	for _, c := range []struct {
		half     faulty
		scenario func(*stage) *matchsim.Client
		want     string
	}{
		{faulty{silent: true}, wrongBit, "was not found"},
		{faulty{accuse: 2}, leave, ": 0 reconnects, 1 resyncs"},
		{faulty{doubleJoins: true}, joinLate, "1 joins and 1 leaves were stamped"},
	} {
		s := relay.Strategy
		s.NewServer = func(sc systems.ServerConfig) (systems.Server, error) {
			half := c.half
			server, err := relay.NewServer(sc)
			half.FullServer = systems.Full(server)
			return &half, err
		}
		failures, err := conform(s, links[0], scenario{play: c.scenario})
		if all := strings.Join(failures, "\n"); err != nil || !strings.Contains(all, c.want) {
			t.Errorf("%+v: %v, failures:\n%s\nwant %q", c.half, err, all, c.want)
		}
	}
}

// An image that is sent faster than its budget allows, or in messages that are too large, fails the suite.
func TestConformanceFindsAnImageBeyondItsBudget(t *testing.T) {
	st, err := newStage(relay.Strategy, "P2")
	if err != nil {
		t.Fatal(err)
	}
	st.checkImageSent(st.Clients[0], time.Second, matchsim.Sent{MostPerSecond: dustCount * 32, Largest: dustCount * 32 / 2}, 1000)
	if len(st.failures) != 3 {
		t.Errorf("a whole image within one second, in two messages: %q", st.failures)
	}
}
