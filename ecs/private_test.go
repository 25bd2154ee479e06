package ecs_test

import (
	"fmt"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

type holding struct{ Cards [4]uint8 }

type pile struct {
	Left  uint8
	Order [8]uint8 `tendon:"private"`
}

type drawn struct{ Card uint8 }

// ExampleGame_See declares a game with hands that their owners see, and that everyone sees once they are laid down.
func ExampleGame_See() {
	type Down struct{}
	hand := ecs.NewComponent("hand", ecs.Roles[holding]{Private: true})
	down := ecs.NewComponent[Down]("down")
	deck := ecs.NewResource[pile]("deck") // no client knows its order
	drew := ecs.NewEvent[drawn]("drew").Private()
	game := ecs.Game{
		Name: "cards", TickRate: 10, MaxPlayers: 4, Input: ecs.NewInput[struct{ Draw bool }](),
		Components: ecs.Components(hand, down), Resources: ecs.Resources(deck), Events: ecs.Events(drew),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), hand)
			drew.Emit(w, e, drawn{Card: 7}) // only p receives it
		},
		See: func(w *ecs.World, viewer ecs.Player, e ecs.Entity) bool {
			return e.Owner() == ecs.OwnedBy(viewer) || down.Has(w, e)
		},
	}
	w, err := ecs.NewWorld(&game, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 2}}})
	about := w.Events()[0].Key.Entity
	fmt.Println(w.Sees(1, about), w.Sees(2, about), w.Sees(-1, about))
	// Output: false true false
}

func TestAPrivateDeclarationIsPartOfTheFingerprint(t *testing.T) {
	make := func(private bool, event *ecs.Event[drawn]) uint64 {
		g := ecs.Game{Name: "x", TickRate: 10, MaxPlayers: 2, Input: ecs.NewInput[uint8](), Events: ecs.Events(event),
			Components: ecs.Components(ecs.NewComponent("a", ecs.Roles[holding]{Private: private}))}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		return g.Fingerprint()
	}
	open := ecs.NewEvent[drawn]("e")
	if make(false, open) == make(true, open) {
		t.Error("a private component does not change the fingerprint")
	}
	if make(false, open) == make(false, ecs.NewEvent[drawn]("e").Private()) {
		t.Error("a private event does not change the fingerprint")
	}
	type tagged struct {
		A uint8 `tendon:"private"`
	}
	type plain struct{ A uint8 }
	print := func(c ecs.AnyComponent) uint64 {
		g := ecs.Game{Name: "x", TickRate: 10, MaxPlayers: 2, Input: ecs.NewInput[uint8](), Components: ecs.Components(c)}
		return g.Fingerprint()
	}
	if print(ecs.NewComponent[tagged]("a")) == print(ecs.NewComponent[plain]("a")) {
		t.Error("a private field does not change the fingerprint")
	}
}

func TestCheckRefusesPrivateValuesThatCannotBeHidden(t *testing.T) {
	type input struct {
		A uint8 `tendon:"private"`
	}
	type place struct {
		At     fixed.Vec2
		Secret uint64 `tendon:"private"`
	}
	at := func(*place) ecs.Motion { return ecs.Motion{} }
	for name, c := range map[string]struct {
		change func(*ecs.Game)
		want   string
	}{
		"input":  {func(g *ecs.Game) { g.Input = ecs.NewInput[input]() }, "is private in an input"},
		"event":  {func(g *ecs.Game) { g.Events = ecs.Events(ecs.NewEvent[input]("e")) }, "is private in an event"},
		"motion": {func(g *ecs.Game) { g.Components = ecs.Components(ecs.NewComponent("p", ecs.Roles[place]{Motion: at})) }, "a Motion role"},
		"see":    {func(g *ecs.Game) { g.See = func(*ecs.World, ecs.Player, ecs.Entity) bool { return true } }, "nothing is private"},
	} {
		g := ecs.Game{Name: "x", TickRate: 10, MaxPlayers: 2, Input: ecs.NewInput[uint8]()}
		c.change(&g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestThePrivateTagMayPrecedeAnother(t *testing.T) {
	type score struct {
		Points fixed.Num `tendon:"private,step=1/4"`
	}
	g := ecs.Game{Name: "x", TickRate: 10, MaxPlayers: 2, Input: ecs.NewInput[uint8](), Components: ecs.Components(ecs.NewComponent[score]("score"))}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	if !g.Schema().HasPrivate() {
		t.Error("the field is not private")
	}
}
