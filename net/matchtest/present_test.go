package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/predict"
)

// A strategy whose entities are at different moments fills the client's view itself: one's own avatar is ahead of what
// the server told, the other's behind it.
func TestAHalfThatPresentsItselfFillsTheView(t *testing.T) {
	h, err := New(Config{Game: Dots(), Strategy: predict.Strategy, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path, _ := simnet.ByName("P4")
	right := func(*Client, systems.Time) ecs.InputBytes { return dotInput.Pack(dotPad{DX: 1}) }
	for range 2 {
		h.Join(Plan{Profile: path, Play: right})
	}
	h.RunUntil(5 * time.Second)
	c := h.Clients[0]
	view := c.Core.View(systems.Time(h.Net.LocalNow(c.Node())))
	told, _ := c.Core.Strategy().(systems.Replicated).Replica()
	ahead := map[int]float64{}
	for e, m := range view.Motions {
		if s, ok := dotSeats.ReadAt(told, e); ok {
			was, _ := told.Motion(e)
			ahead[int(s.Player)] = (m.Pos.X - was.Pos.X).Float() * 60 / 4 // in ticks
		}
	}
	own, other := c.Seat(), h.Clients[1].Seat()
	if ahead[own] < 12 || ahead[own] > 30 || ahead[other] > -2 || ahead[other] < -15 || view.Seat != own {
		t.Errorf("shown %v ticks ahead of what was told, by seat; own is %d", ahead, own)
	}
}
