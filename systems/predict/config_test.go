package predict

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/interp"
)

// The Params of a server carry the settings that a client needs. Params that no server sends are refused.
func TestParamsCarryTheSettingsOfAClient(t *testing.T) {
	game := newRules(exactBody).game(60)
	if len(Strategy.Params) != 3 {
		t.Errorf("the default Params are %x", Strategy.Params)
	}
	for _, c := range []Config{{}, {Smoothing: interp.Stepping}, {Smoothing: interp.Jumping, Unconditional: true}, {Unconditional: true},
		{MaxSpeed: num(15, 2)}, {Smoothing: interp.Projective, MaxSpeed: math.MaxInt64, SnapshotRate: 1000, MaxView: -1}} {
		half, err := Strategy.NewClient(systems.ClientConfig{World: newWorld(t, game), Params: New(c).Params})
		if err != nil {
			t.Fatal(err)
		}
		cl := half.(*Client)
		got := cl.limits
		if want, _ := c.withDefaults(); got != want || cl.show.remote.Smoothing != want.Smoothing || cl.show.remote.MaxSpeed != want.MaxSpeed.Float() {
			t.Errorf("%+v became %+v", want, got)
		}
	}
	half, err := New(Config{Smoothing: interp.Jumping}).NewClient(systems.ClientConfig{World: newWorld(t, game), Params: Strategy.Params})
	if err != nil || half.(*Client).limits.Smoothing != interp.Jumping {
		t.Errorf("a server with defaults changes a client's own smoothing: %v", err)
	}
}

// Stepping leaves small offsets as they are. An offset ends with its entity.
func TestAnOffsetEndsWithItsEntity(t *testing.T) {
	r := newRig(t, slow(newRules(exactBody)).game(60), 1, 4, 4, Config{Smoothing: interp.Stepping}, systems.ClientConfig{})
	view, err := ecs.NewView(r.Game)
	if err != nil {
		t.Fatal(err)
	}
	c := r.clients[0]
	r.press[0].Fire = true
	r.Step()
	flying := 0
	for e := range c.Current().Entities {
		c.show.offsets.Add(e, interp.Vec{X: 0.05})
		flying++
	}
	r.Step()
	c.Present(view, r.Now())
	if flying < 2 || c.show.offsets.Len() != flying {
		t.Fatalf("%d entities have %d offsets", flying, c.show.offsets.Len())
	}
	r.Run(600)
	c.Present(view, r.Now())
	if me := figure(c.World(), 0); c.show.offsets.Len() != 1 || c.show.offsets.Of(me) == (interp.Vec{}) {
		t.Errorf("%d offsets are left when the rockets are gone", c.show.offsets.Len())
	}
	if at, ok := shownAt(view, figure(c.World(), 0)); !ok || fixed.FromFloat(at.X-r.x(0)).Float() < 0.04 {
		t.Errorf("the figure is shown at %v, and its offset is 0.05", at.X-r.x(0))
	}
}
