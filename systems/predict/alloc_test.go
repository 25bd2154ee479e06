package predict

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/systems"
)

// Neither the server nor a client allocates in a tick: with corrections, spawns, views and presentation.
func TestATickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	t.Run("everything is heard", func(t *testing.T) { allocatesNothing(t, Config{}) })
	t.Run("near entities are replicated", func(t *testing.T) { allocatesNothing(t, Config{Interest: fixed.FromInt(20)}) })
}

func allocatesNothing(t *testing.T, config Config) {
	rules := slow(newRules(exactBody))
	r := newRig(t, rules.game(60), 3, 4, 4, config, systems.ClientConfig{})
	refused := 0
	rules.wall = func(w *ecs.World, p ecs.Player, in pad) bool {
		if w.Tick()%16 == 0 && p == 0 {
			refused++
			return true
		}
		return false
	}
	var views []*ecs.View
	for range r.clients {
		v, err := ecs.NewView(r.Game)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	for seat, p := range r.Peers {
		p.Display = func(now systems.Time) {
			p.Frame(now)
			p.Effects = p.Effects[:0]
			r.clients[seat].Present(views[seat], now)
		}
	}
	step := func() {
		for seat := range r.pads {
			k := r.Tick + 3*seat
			r.pads[seat] = pad{DX: int8(k/7%3) - 1, DY: int8(k/5%3) - 1}
			r.press[seat].Fire = k%40 == 0
		}
		r.Step()
	}
	for range 2500 {
		step()
	}
	before := r.clients[0].counts.Corrections
	n := testing.AllocsPerRun(600, step)
	c := r.clients[0]
	if c.counts.Corrections < before+10 || refused < 100 || c.show.tracks.Len() < 2 || !c.Live() {
		t.Errorf("%+v, %d inputs refused, %d tracks: the test proves nothing", c.counts, refused, c.show.tracks.Len())
	}
	if n != 0 {
		t.Errorf("%v allocations in a tick", n)
	}
}
