package reckon

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

// The Params of a server carry the settings that a client needs.
func TestParamsCarryTheSettingsOfAClient(t *testing.T) {
	if len(Strategy.Params) != 4 {
		t.Errorf("the default Params are %x", Strategy.Params)
	}
	for _, c := range []Config{{}, {Records: motion.SendConfig{Reading: motion.Instant}}, {Remotes: motion.RemoteConfig{Deadline: motion.RestartAlways}},
		{Records: motion.SendConfig{Turn: fixed.Half}}, {Records: motion.SendConfig{Near: 1 << 52, Turn: 100 * fixed.One}, StateRate: 60, Assumed: 80e6}, {Terrain: true}} {
		half, err := Strategy.NewClient(systems.ClientConfig{World: newWorld(t, testGame(false)), Params: New(c).Params})
		if err != nil {
			t.Fatal(err)
		}
		got := half.(*Client).limits
		want, _ := c.withDefaults(testGame(false))
		if got.Records != want.Records || got.Terrain != want.Terrain || got.Remotes.Deadline != want.Remotes.Deadline || got.StateRate != want.StateRate || got.Assumed != want.Assumed {
			t.Errorf("%+v became %+v", want, got)
		}
	}
	own := New(Config{Records: motion.SendConfig{Turn: fixed.Half}})
	half, err := own.NewClient(systems.ClientConfig{World: newWorld(t, testGame(false)), Params: Strategy.Params})
	if err != nil || half.(*Client).limits.Records.Turn != fixed.Half {
		t.Errorf("a server with defaults changes a client's own records: %v", err)
	}
}

// A client knows how recent the last record of an entity is, and shows a lost one as in the states received.
func TestAnEntityWithoutRecordsIsLost(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	c, e := r.clients[1], r.walker(0)
	live := func(want motion.Liveness) {
		t.Helper()
		if got := c.Liveness(e, r.Local(1)); got != want {
			t.Errorf("liveness %d, want %d", got, want)
		}
	}
	r.Run(gameRate)
	live(motion.Alive)
	r.lose = func(toClient bool, seat int, _ []byte) bool { return toClient && seat == 1 }
	r.Run(4 * gameRate)
	live(motion.Fading)
	r.Run(10 * gameRate)
	live(motion.Lost)
	e.Born++
	live(motion.Alive) // no record of it came
}
