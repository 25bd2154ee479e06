package checks

import (
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

type pad struct{ X int8 }

func testWorld(t *testing.T) *ecs.World {
	w, err := ecs.NewWorld(&ecs.Game{Name: "checks", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[pad]()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// An error says whose it is and names the field, or the one who reads it does not know where to look; at its bounds a
// field is taken.
func TestAnErrorNamesTheField(t *testing.T) {
	w := testWorld(t)
	all := func(c systems.ClientConfig) error {
		if err := Client("some", &c); err != nil {
			return err
		}
		return Prediction("some", &c, 10)
	}
	for field, err := range map[string]error{
		"ServerConfig.World":         Server("some", &systems.ServerConfig{Peers: 1}),
		"ServerConfig.Peers":         Server("some", &systems.ServerConfig{World: w}),
		"ClientConfig.World":         all(systems.ClientConfig{MaxPrediction: 1}),
		"ClientConfig.Seat is 2":     all(systems.ClientConfig{World: w, Seat: 2, MaxPrediction: 1}),
		"ClientConfig.Seat is -2":    all(systems.ClientConfig{World: w, Seat: -2, MaxPrediction: 1}),
		"ClientConfig.InputDelay":    all(systems.ClientConfig{World: w, InputDelay: MaxInputDelay + 1, MaxPrediction: 1}),
		"InputDelay is -1":           all(systems.ClientConfig{World: w, InputDelay: -1, MaxPrediction: 1}),
		"ClientConfig.MaxPrediction": all(systems.ClientConfig{World: w, MaxPrediction: 11}),
		"MaxPrediction is 0":         all(systems.ClientConfig{World: w}),
		"an order of 1025 bytes":     Order("some", 0, make([]byte, image.MaxOrderBytes+1)),
		"a spectator":                Order("some", -1, nil),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "some: ") || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, err := range []error{
		Server("some", &systems.ServerConfig{World: w, Peers: 1}),
		all(systems.ClientConfig{World: w, Seat: -1, MaxPrediction: 1}),
		all(systems.ClientConfig{World: w, Seat: 1, InputDelay: MaxInputDelay, MaxPrediction: 10}),
		Order("some", 0, make([]byte, image.MaxOrderBytes)),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// What only a mistake of the caller's can ask for is a panic, at once: later nobody would know where it came from.
func TestAMistakeOfTheCallersPanics(t *testing.T) {
	g := testWorld(t).Game()
	stamp := func(o image.Order) func() { return func() { Stamp("some", &o, g) } }
	for name, c := range map[string]struct {
		f      func()
		panics bool
	}{
		"a spectator":              {func() { Seat("some", -1, 2) }, false},
		"the last seat":            {func() { Seat("some", 1, 2) }, false},
		"no seat":                  {func() { Seat("some", 2, 2) }, true},
		"less than a spectator":    {func() { Seat("some", -2, 2) }, true},
		"the oldest state":         {func() { Held("some", 10, 10, 20) }, false},
		"the newest state":         {func() { Held("some", 20, 10, 20) }, false},
		"a state that is gone":     {func() { Held("some", 9, 10, 20) }, true},
		"a state of the future":    {func() { Held("some", 21, 10, 20) }, true},
		"the tick that follows":    {func() { Adopt("some", 21, 20) }, false},
		"a tick again":             {func() { Adopt("some", 20, 20) }, true},
		"a gap":                    {func() { Adopt("some", 22, 20) }, true},
		"an order":                 {stamp(image.Order{Kind: image.OrderGame, Player: 1, Payload: make([]byte, image.MaxOrderBytes)}), false},
		"an order of nobody's":     {stamp(image.Order{Kind: image.OrderGame, Player: 2}), true},
		"an order that is long":    {stamp(image.Order{Kind: image.OrderGame, Payload: make([]byte, image.MaxOrderBytes+1)}), true},
		"an order of a strategy's": {stamp(image.Order{Kind: image.OrderView}), true},
	} {
		func() {
			defer func() {
				said := recover()
				if text, _ := said.(string); (said != nil) != c.panics || c.panics && !strings.HasPrefix(text, "some: ") {
					t.Errorf("%s: %v", name, said)
				}
			}()
			c.f()
		}()
	}
}
