package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/predict"
)

// A strategy whose entities are shown at different moments fills the client's view itself: the own avatar is ahead of the
// replica, the other player's is behind it.
func TestAHalfThatPresentsItselfFillsTheView(t *testing.T) {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: predict.Strategy, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	right := func(*matchsim.Client, systems.Time) ecs.InputBytes { return halves.PadInput.Pack(halves.Pad{DX: 1}) }
	for range 2 {
		m.Join(matchsim.Plan{Profile: profile(t, "P4"), Play: right})
	}
	m.RunUntil(5 * time.Second)
	c := m.Clients[0]
	view := c.Core.View(c.Now())
	replica, _ := c.Core.Strategy().(systems.Replicated).Replica()
	ahead := map[int]float64{}
	for e, shown := range view.Sim.Image().Motions {
		if s, ok := halves.Seats.ReadAt(replica, e); ok {
			received, _ := replica.Motion(e)
			ahead[int(s.Player)] = (shown.Pos.X - received.Pos.X).Float() * 60 / 4 // in ticks
		}
	}
	own, other := c.Seat(), m.Clients[1].Seat()
	if ahead[own] < 12 || ahead[own] > 30 || ahead[other] > -2 || ahead[other] < -15 || view.Seat != own {
		t.Errorf("shown %v ticks ahead of the replica, by seat; own is %d", ahead, own)
	}
}
