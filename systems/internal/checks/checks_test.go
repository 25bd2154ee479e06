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

// An error names the strategy and the field. A field at its bounds is accepted.
func TestAnErrorNamesTheField(t *testing.T) {
	w := testWorld(t)
	all := func(c systems.ClientConfig) error {
		if err := Client("some", &c); err != nil {
			return err
		}
		return Prediction("some", &c, 10)
	}
	for field, err := range map[string]error{
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
		all(systems.ClientConfig{World: w, Seat: -1, MaxPrediction: 1}),
		all(systems.ClientConfig{World: w, Seat: 1, InputDelay: MaxInputDelay, MaxPrediction: 10}),
		Order("some", 0, make([]byte, image.MaxOrderBytes)),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}
