package replay

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
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

type push struct {
	By    int32
	Hard  bool
	_     [3]uint8
	Whom  ecs.Entity
	Extra ecs.List[uint8, [4]uint8]
}

var pushOrder = ecs.NewOrder[push]("push")

// A game's order is shown with its name and fields, and with the reason if it was not executed: in the dump, in a tick, and in
// the JSON of the page and of --json.
func TestAnOrderIsShownWithItsFields(t *testing.T) {
	g := crumbs.Game()
	g.Orders = ecs.Orders(pushOrder.Do(func(*ecs.World, ecs.Player, ecs.Entity, push) {}).If(func(_ *ecs.World, _ ecs.Player, _ ecs.Entity, p push) string {
		if p.By > 10 {
			return "too far"
		}
		return ""
	}))
	w, err := ecs.NewWorld(g, 3)
	if err != nil {
		t.Fatal(err)
	}
	near, far := push{By: 3, Hard: true, Whom: ecs.Entity{Row: 9, Born: 2}}, push{By: 30}
	near.Extra.Append(7)
	tick := record.Tick{Tick: 1, Inputs: make([]ecs.InputBytes, g.MaxPlayers), Orders: []image.Order{{Player: 1, Payload: pushOrder.Pack(g, near)}, {Player: 2, Payload: pushOrder.Pack(g, far)}}}
	var s image.Snapshot
	w.Image().Save(&s)
	first := record.ImageOf(&s)
	w.Step(ecs.TickInputs{Orders: tick.Orders})
	w.Image().Save(&s)
	tick.Checksum = s.Checksum()
	r, err := record.Collect(g, record.HeaderOf(g, 3, "test"), []record.Image{first}, []record.Tick{tick})
	if err != nil {
		t.Fatal(err)
	}
	var out, note bytes.Buffer
	a := app.New(t.Context(), g, &out, &note)
	new(Verb).dump(a, r, 1)
	at := uint64(1)
	if err := (&Verb{At: &at}).inspect(a, r); err != nil {
		t.Fatal(err)
	}
	c, err := cursor.New(r, nil)
	if err == nil {
		err = c.Seek(1)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Frame().Orders)
	if err != nil {
		t.Fatal(err)
	}
	shown := out.String() + string(text)
	for _, want := range []string{"order of player 1, push: By 3, Hard true, Whom.Row 9, Whom.Born 2, Extra.Len 1, Extra[0] 7", "order of player 2, push: By 30, Hard false",
		"\norder of player 2, push: By 30, Hard false, Whom.Row 0, Whom.Born 0, Extra.Len 0; refused: too far\n",
		`"name":"push","fields":[{"path":"By","text":"3","number":3},{"path":"Hard","text":"true","number":1}`, `"refused":"too far"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
	if strings.Contains(string(text), "payload") || strings.Count(shown, "refused") != 2 {
		t.Errorf("a payload is shown, or another refusal:\n%s", shown)
	}
}
