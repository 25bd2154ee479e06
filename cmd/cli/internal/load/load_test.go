package load

import (
	"testing"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/simnet"
)

// play returns a load of a strategy after two seconds of a match.
func play(t testing.TB, strategy int, bytes bool) *Load {
	t.Helper()
	l, err := New(Config{Game: rules.Game(), Strategy: syncflags.All[strategy], Profile: simnet.Profiles()[3], Players: 4, Seed: 1, Bytes: bytes})
	if err != nil {
		t.Fatal(err)
	}
	step := func(time.Duration) error { return nil }
	if err := l.Prepare(step); err != nil {
		t.Fatal(err)
	}
	if err := l.Play(2*time.Second, step); err != nil {
		t.Fatal(err)
	}
	return l
}

// The bytes of every strategy's messages are accounted: those that are sent as inputs, and those that are sent as states, by
// component and kind of entity.
func TestBytesOfEveryStrategyAreAccounted(t *testing.T) {
	race.OneGoroutine(t)
	for i, s := range syncflags.All {
		l := play(t, i, true)
		server, _ := l.Reports()
		b, sum, states, inputs, other := server.Bytes, uint64(0), uint64(0), uint64(0), uint64(0)
		for _, r := range b.Largest() {
			sum += r.Bytes
			switch {
			case r.Kind != "":
				states += r.Bytes
			case r.Part == "inputs":
				inputs += r.Bytes
			case r.Part == "other":
				other += r.Bytes
			}
			if r.Bytes*50 > b.Total {
				t.Logf("%s: %s %s %d of %d", s.Name, r.Kind, r.Part, r.Bytes, b.Total)
			}
		}
		if b.Total < 1000 || sum > b.Total+uint64(len(b.Rows)) || sum+uint64(len(b.Rows)) < b.Total || other > b.Total*35/100 {
			t.Errorf("%s: %d of %d bytes are accounted, other %d", s.Name, sum, b.Total, other)
		}
		if s.Needs.Exact != (states == 0) || s.Needs.Exact != (inputs > b.Total/4) {
			t.Errorf("%s: %d bytes of states and %d of inputs of %d", s.Name, states, inputs, b.Total)
		}
	}
}

// Accounting allocates nothing once every kind was seen.
func TestAccountingAllocatesNothing(t *testing.T) {
	l := play(t, 0, true)
	if n := testing.AllocsPerRun(100, func() {
		l.server.Sent(10)
		l.server.Part(1, 4, image.ByteUnits)
		l.server.Part(0, image.PartOrders, image.ByteUnits)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
