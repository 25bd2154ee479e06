package image_test

import (
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

type (
	oldBody struct {
		Pos    fixed.Vec2
		Life   int32
		Old    bool
		Scores [5]int16
		Bag    ecs.List[int16, [4]int16]
	}
	newBody struct {
		Scores [3]int16
		Armour uint8 // added
		Life   int32 // moved
		Bag    ecs.List[int16, [2]int16]
		Pos    fixed.Vec2
	}
	retyped struct {
		Pos  fixed.Vec2
		Life int64
	}
	oldPad struct{ DX, DY int8 }
	newPad struct {
		Jump   bool
		DY, DX int8
	}
	clock  struct{ Left, Right int32 }
	clock2 struct{ Right int32 }
)

// version is one version of a game: its world builds one entity of a player, with a component that the other version does
// not have.
func version[B, P, C any](players int, extra ...ecs.AnyComponent) (ecs.Game, *ecs.Component[B], *ecs.Resource[C]) {
	body, times := ecs.NewComponent[B]("body"), ecs.NewResource[C]("clock")
	g := ecs.Game{Name: "versions", TickRate: 60, MaxPlayers: players, Input: ecs.NewInput[P](), Components: append(ecs.Components(body), extra...),
		Resources: ecs.Resources(times), Systems: []ecs.System{{Name: "idle", Run: func(*ecs.World) {}}}}
	return g, body, times
}

// A state of another version of the game is carried over by the names of its fields. Added ones are zero, and removed ones are
// dropped. Entities, inputs, resources and the random source stay.
func TestAStateIsCarriedOverByTheNamesOfItsFields(t *testing.T) {
	gone, added := ecs.NewComponent[clock]("gone"), ecs.NewComponent[clock]("added")
	before, body, times := version[oldBody, oldPad, clock](2, gone)
	after, body2, times2 := version[newBody, newPad, clock2](3, added)
	w, err := ecs.NewWorld(&before, 7)
	if err != nil {
		t.Fatal(err)
	}
	e := w.Spawn(ecs.OwnedBy(1), body, gone)
	other := w.Spawn(ecs.OwnedByWorld, gone)
	b := oldBody{Pos: fixed.Vec2{X: fixed.FromInt(3), Y: fixed.FromInt(-4)}, Life: 12, Old: true, Scores: [5]int16{1, 2, 3, 4, 5}}
	for i := range 3 {
		b.Bag.Append(int16(i + 5))
	}
	body.Put(w, e, b)
	w.Image().Flush()
	*times.Write(w) = clock{Left: 1, Right: 2}
	in := ecs.NewInput[oldPad]()
	w.Step(ecs.TickInputs{Players: []ecs.InputBytes{in.Pack(oldPad{DX: 1, DY: 2}), in.Pack(oldPad{DX: 3, DY: 4})}, Orders: []image.Order{{Kind: image.OrderJoin, Player: 1}}})
	var s image.Snapshot
	w.Image().Save(&s)
	m, err := image.NewMigration(before.Schema().AppendLayout(nil), after.Schema())
	if err != nil {
		t.Fatal(err)
	}
	now, err := ecs.NewWorld(&after, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Load(now.Image(), s.AppendImage(nil)); err != nil {
		t.Fatal(err)
	}
	got, ok := body2.Read(now, e)
	if !ok || got.Pos != b.Pos || got.Life != 12 || got.Scores != [3]int16{1, 2, 3} || got.Armour != 0 || got.Bag.Len() != 2 || got.Bag.At(1) != 6 {
		t.Errorf("%v: %+v", ok, got)
	}
	if !now.Image().Exists(other) || now.Tick() != 1 || now.Players() != w.Players() || *now.Image().Rand() != *w.Image().Rand() {
		t.Errorf("entity %v, tick %d, players %v", now.Image().Exists(other), now.Tick(), now.Players())
	}
	if c := times2.Read(now); c != (clock2{Right: 2}) {
		t.Errorf("the resource is %+v", c)
	}
	if in := ecs.NewInput[newPad]().Unpack(now.Image().Input(1)); in != (newPad{DX: 3, DY: 4}) {
		t.Errorf("the input is %+v", in)
	}
	now.Step(ecs.TickInputs{}) // the state can be continued
}

// A field that has another type is refused, and named.
func TestAFieldOfAnotherTypeIsRefused(t *testing.T) {
	before, _, _ := version[oldBody, oldPad, clock](2)
	layout := before.Schema().AppendLayout(nil)
	for want, g := range map[string]ecs.Game{
		`component "body": field Life was int32 and is int64`: func() ecs.Game { g, _, _ := version[retyped, oldPad, clock](2); return g }(),
		`MaxPlayers is 1 and was 2`:                           func() ecs.Game { g, _, _ := version[oldBody, oldPad, clock](1); return g }(),
		`"clock" was a resource and is a component`: func() ecs.Game {
			g, _, _ := version[oldBody, oldPad, clock](2, ecs.NewComponent[clock]("clock"))
			g.Resources = nil
			return g
		}(),
	} {
		if _, err := image.NewMigration(layout, g.Schema()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A layout comes from a file. Any other text is refused.
func FuzzLayouts(f *testing.F) {
	g, _, _ := version[newBody, newPad, clock](2)
	schema := g.Schema()
	f.Add(string(schema.AppendLayout(nil)))
	for _, text := range []string{"", "players 65\n", "players 2\n", "players 2\ncomponent \"a\" 9999999\n", "players 2\ninput \"p\" 4\n \"X\" int32 2 4 0 1\n",
		"players 2\n \"X\" int32 0 4 0 1\n", "players 2\ninput \"p\" 4\ninput \"q\" 4\n"} {
		f.Add(text)
		if _, err := image.NewMigration([]byte(text), schema); !errors.Is(err, image.ErrLayout) {
			f.Errorf("%q: %v", text, err)
		}
	}
	w, err := ecs.NewWorld(&g, 1)
	if err != nil {
		f.Fatal(err)
	}
	var s image.Snapshot
	w.Image().Save(&s)
	encoded := s.AppendImage(nil)
	f.Fuzz(func(t *testing.T, layout string) {
		if m, err := image.NewMigration([]byte(layout), schema); err == nil {
			_ = m.Load(w.Image(), encoded)
		}
	})
}
