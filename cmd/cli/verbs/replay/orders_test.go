package replay

import (
	"bytes"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// The summary has every change of the strategy. A pause and its end are shown with the player or the operator.
func TestOrdersAreShownWithThePlayerOrTheOperator(t *testing.T) {
	g := crumbs.Game()
	w, err := ecs.NewWorld(g, 3)
	if err != nil {
		t.Fatal(err)
	}
	orders := [][]image.Order{{{Kind: image.OrderJoin}}, {{Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, "lockstep", nil)}}, {{Kind: image.OrderPause}},
		{{Kind: image.OrderResume}}, {{Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, "predict", nil)}},
		{image.PauseOrder(image.OrderPause, 1)}, {image.PauseOrder(image.OrderResume, 1)}}
	var ticks []record.Tick
	var s image.Snapshot
	w.Image().Save(&s)
	first := record.ImageOf(&s)
	for i, list := range orders {
		tick := record.Tick{Tick: ecs.Tick(i + 1), Inputs: make([]ecs.InputBytes, g.MaxPlayers), Orders: list}
		w.Step(ecs.TickInputs{Players: tick.Inputs, Orders: list})
		w.Image().Save(&s)
		tick.Checksum = s.Checksum()
		ticks = append(ticks, tick)
	}
	r, err := record.Collect(g, record.HeaderOf(g, 3, "test"), []record.Image{first}, ticks)
	if err != nil {
		t.Fatal(err)
	}
	var out, note bytes.Buffer
	a := app.New(t.Context(), g, &out, &note)
	if _, err := openRecording(a, "file", r.Bytes()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tick 2: the match continues with lockstep\n", "tick 5: the match continues with predict\n"} {
		if !strings.Contains(note.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &note)
		}
	}
	new(Verb).dump(a, r, 7)
	for at := uint64(2); at <= 7; at++ {
		if err := (&Verb{At: &at}).inspect(a, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"join of player 0", "  pause of the operator\n", "  resume\n", "  pause of player 1\n", "  resume of player 1\n", "\npause of player 1\n", "\nresume of player 1\n", "  switch to predict\n", "\npause of the operator\n", "\nresume\n", "\nswitch: the match continues with lockstep\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "switch of player") || strings.Contains(out.String(), "pause of player 0") {
		t.Errorf("an order of the operator has a player:\n%s", &out)
	}
}
