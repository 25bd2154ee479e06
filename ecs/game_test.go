package ecs_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/raworder"
)

// For a forgotten field an author gets an error with its name, not a panic.
func TestCheckNamesEachMissingField(t *testing.T) {
	cases := []struct {
		want   string
		damage func(g *ecs.Game)
	}{
		{"Game.Name", func(g *ecs.Game) { g.Name = "" }},
		{"Game.TickRate", func(g *ecs.Game) { g.TickRate = 0 }},
		{"Game.TickRate", func(g *ecs.Game) { g.TickRate = 1001 }},
		{"Game.MaxPlayers", func(g *ecs.Game) { g.MaxPlayers = 0 }},
		{"Game.MaxPlayers", func(g *ecs.Game) { g.MaxPlayers = 65 }},
		{"Game.Input", func(g *ecs.Game) { g.Input = nil }},
		{"Game.Systems[1].Run", func(g *ecs.Game) { g.Systems = []ecs.System{{Run: sample.Move}, {Name: "x"}} }},
		{`"pos" is empty, declared twice`, func(g *ecs.Game) { g.Components = append(g.Components, sample.Positions) }},
		{`"tick" is empty, declared twice`, func(g *ecs.Game) { g.Components = append(g.Components, ecs.NewComponent[sample.Pos]("tick")) }},
		{`event name "hit"`, func(g *ecs.Game) { g.Events = append(g.Events, sample.Hits) }},
		{`component "bad": struct { N int }.N: int has`, func(g *ecs.Game) {
			g.Components = append(g.Components, ecs.NewComponent[struct{ N int }]("bad"))
		}},
		{`Roles.Priority of "bad" is -1`, func(g *ecs.Game) {
			g.Components = append(g.Components, ecs.NewComponent("bad", ecs.Roles[sample.Pos]{Priority: -1}))
		}},
		{`Roles.Priority of "bad" is NaN`, func(g *ecs.Game) {
			g.Components = append(g.Components, ecs.NewComponent("bad", ecs.Roles[sample.Pos]{Priority: float32(math.NaN())}))
		}},
		{`Roles.Tolerance of "bad" is -1`, func(g *ecs.Game) {
			g.Components = append(g.Components, ecs.NewComponent("bad", ecs.Roles[sample.Pos]{Tolerance: -fixed.One, Motion: func(*sample.Pos) (m ecs.Motion) { return m }}))
		}},
		{`Roles of "bad" have`, func(g *ecs.Game) {
			g.Components = append(g.Components, ecs.NewComponent("bad", ecs.Roles[sample.Pos]{Tolerance: fixed.One}))
		}},
		{"Game.Screen.History is 5000", func(g *ecs.Game) { g.Screen.History = 5000 }},
		{"Game.Physics.MoveLimit is -1", func(g *ecs.Game) { g.Physics.MoveLimit = -fixed.One }},
		{"Game.Physics.BurstLimit is 1", func(g *ecs.Game) { g.Physics.MoveLimit, g.Physics.BurstLimit = 2*fixed.One, fixed.One }},
		{"MoveLimit, which is 0", func(g *ecs.Game) { g.Physics.BurstLimit = fixed.One }},
		{"is a press in component int32", func(g *ecs.Game) {
			g.Components = append(g.Components, ecs.NewComponent[struct {
				Held int32 `tendon:"press"`
			}]("held"))
		}},
		{"is a press in input int8", func(g *ecs.Game) {
			g.Input = ecs.NewInput[struct {
				DX int8 `tendon:"press"`
			}]()
		}},
		{`the tag "stpe=1/2" is not valid`, func(g *ecs.Game) {
			g.Components = append(g.Components, ecs.NewComponent[struct {
				X fixed.Num `tendon:"stpe=1/2"`
			}]("bad"))
		}},
		{`event "bad"`, func(g *ecs.Game) { g.Events = append(g.Events, ecs.NewEvent[string]("bad")) }},
		{"at most 32", func(g *ecs.Game) { g.Input = ecs.NewInput[[5]uint64]() }},
	}
	for _, c := range cases {
		g := sample.Bare()
		c.damage(g)
		_, err := ecs.NewWorld(g, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not name %s", err, c.want)
		}
	}
	if err := sample.Bare().Check(); err != nil {
		t.Error(err)
	}
}

// Two peers that differ in any of these would compute different states, or decode each other's bytes wrongly.
func TestFingerprintChangesWithEachIngredient(t *testing.T) {
	base := sample.Busy().Fingerprint()
	if again := sample.Busy().Fingerprint(); again != base {
		t.Fatal("the same game has two fingerprints")
	}
	changes := map[string]func(g *ecs.Game){
		"name":            func(g *ecs.Game) { g.Name = "u" },
		"version":         func(g *ecs.Game) { g.Version = "2" },
		"tick rate":       func(g *ecs.Game) { g.TickRate = 30 },
		"players":         func(g *ecs.Game) { g.MaxPlayers = 5 },
		"component order": func(g *ecs.Game) { g.Components[0], g.Components[1] = g.Components[1], g.Components[0] },
		"component name":  func(g *ecs.Game) { g.Components[6] = ecs.NewComponent[struct{}]("gat") },
		"component field": func(g *ecs.Game) { g.Components[0] = ecs.NewComponent[struct{ X, Z fixed.Num }]("pos") },
		"component kind":  func(g *ecs.Game) { g.Components[5] = ecs.NewComponent[struct{ Player int8 }]("seat") },
		"resource": func(g *ecs.Game) {
			g.Resources = g.Resources[:1]
			g.Components = append([]ecs.AnyComponent{ecs.NewComponent[sample.Clock]("clock")}, g.Components...)
		},
		"event":           func(g *ecs.Game) { g.Events = g.Events[:1] },
		"irreversible":    func(g *ecs.Game) { g.Events[0] = ecs.NewIrreversibleEvent[sample.Hit]("hit") },
		"input":           func(g *ecs.Game) { g.Input = ecs.NewInput[struct{ DX, DY int8 }]() },
		"input's presses": func(g *ecs.Game) { g.Input = ecs.NewInput[tPadHeld]() },
		"system order":    func(g *ecs.Game) { g.Systems[0], g.Systems[1] = g.Systems[1], g.Systems[0] },
		"asset":           func(g *ecs.Game) { g.Assets = []ecs.Asset{{"level", []byte{1}}} },
		"asset content":   func(g *ecs.Game) { g.Assets = []ecs.Asset{{"level", []byte{2}}} },
		"asset name":      func(g *ecs.Game) { g.Assets = []ecs.Asset{{"lever", []byte{1}}} },
	}
	seen := map[uint64]string{base: "the game unchanged"}
	for name, change := range changes {
		g := sample.Busy()
		change(g)
		if err := g.Check(); err != nil {
			t.Fatal(name, err)
		}
		if other, ok := seen[g.Fingerprint()]; ok {
			t.Errorf("a change of %s has the fingerprint of %s", name, other)
		}
		seen[g.Fingerprint()] = name
	}
}

// tPadHeld is tPad without the press.
type tPadHeld struct {
	DX, DY int8
	Fire   bool
	Aim    uint32
}

// The golden test of the whole core. If this number changes, recordings and peers of the last version no longer
// agree.
func TestStateAfter600TicksIsPinned(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	sample.Play(w, 600)
	const golden = 0xb903c161b2b479ca
	if got := sample.Saved(w).Checksum(); got != golden {
		t.Errorf("checksum %#x, pinned %#x", uint64(got), uint64(golden))
	}
	if w.Image().Strays() != 0 {
		t.Errorf("%d undeclared writes", w.Image().Strays())
	}
}

// Systems run in their listed order, under the names of their functions, between Enter and Leave.
func TestObserverReceivesEverySystemInOrder(t *testing.T) {
	g := sample.Busy()
	w := sample.NewWorld(t, g)
	o := &recorder{}
	w.Image().SetObserver(o)
	w.Step(ecs.TickInputs{})
	if first, last := o.sections[0], o.sections[len(o.sections)-1]; first != int(image.SectionSimulate) || last != -int(image.SectionSimulate) {
		t.Errorf("a tick begins with section %d and ends with %d", first, last)
	}
	for i := range g.Systems {
		if s := image.SectionSystems + image.Section(i); o.sections[2*i+1] != int(s) || o.sections[2*i+2] != -int(s) {
			t.Fatal(o.sections)
		}
	}
	if g.Systems[0].Name != "steer" {
		t.Error(g.Systems[0].Name)
	}
}

type recorder struct{ sections []int }

func (r *recorder) Enter(s image.Section) { r.sections = append(r.sections, int(s)) }

func (r *recorder) Leave(s image.Section) { r.sections = append(r.sections, -int(s)) }

func (r *recorder) Turn(ecs.Tick) {}

func (r *recorder) Name(image.Section, string, string) {}

// Joins, leaves and the game's orders are executed once in their tick, in the order stamped.
func TestOrdersAreExecutedOnceInTheirOrder(t *testing.T) {
	g := sample.Bare()
	var log []string
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) { log = append(log, "join"+string('0'+rune(p))) }
	g.Leave = func(w *ecs.World, p ecs.Player) { log = append(log, "leave"+string('0'+rune(p))) }
	g.Orders = raworder.Orders(func(w *ecs.World, p ecs.Player, e ecs.Entity, order []byte) { log = append(log, string(order)) })
	w := sample.NewWorld(t, g)
	w.Step(ecs.TickInputs{Orders: []image.Order{
		{Kind: image.OrderJoin, Player: 1}, {Kind: image.OrderJoin, Player: 1}, // the second is no news
		{Kind: image.OrderLeave, Player: 3}, // was never there
		{Kind: image.OrderGame, Player: 1, Payload: []byte("buy")},
		{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderLeave, Player: 1},
		{Kind: image.OrderJoin, Player: 200}, {Kind: 99, Player: 0},
	}})
	if got := strings.Join(log, " "); got != "join1 buy join0 leave1" {
		t.Error(got)
	}
	if ps := w.Players(); ps.Len() != 1 || !ps.Has(0) || ps.Has(1) {
		t.Errorf("players %b", ps)
	}
	for p := range w.Players().All() {
		if p != 0 {
			t.Error(p)
		}
	}
	log = nil
	w.Step(ecs.TickInputs{})
	if len(log) != 0 {
		t.Error("orders of an earlier tick ran again:", log)
	}
}

// An order that the game refuses does nothing, and the next one is checked against the state without it. Games
// cannot refuse the engine's own orders.
func TestARefusedOrderIsSkipped(t *testing.T) {
	g := sample.Bare()
	gift := ecs.NewOrder[uint8]("gift")
	g.Orders = ecs.Orders(gift.Do(func(w *ecs.World, p ecs.Player, e ecs.Entity, n uint8) {
		sample.Scores.Write(w).Points[p] += int32(n)
	}).If(func(w *ecs.World, p ecs.Player, e ecs.Entity, n uint8) string {
		switch {
		case e.Row != 5:
			return "another entity"
		case sample.Scores.Read(w).Points[p]+int32(n) > 10:
			return "too many points"
		}
		return ""
	}))
	w := sample.NewWorld(t, g)
	buy := func(p ecs.Player, n byte) image.Order {
		return image.Order{Player: p, Entity: ecs.Entity{Row: 5}, Payload: gift.Pack(g, n)}
	}
	orders := []image.Order{{Kind: image.OrderJoin, Player: 2}, buy(1, 7), buy(1, 4), buy(2, 4), buy(1, 3), buy(1, 1), {Player: 3, Payload: []byte{0, 1}}, {Player: 3}}
	w.Step(ecs.TickInputs{Orders: orders})
	if got := sample.Scores.Read(w).Points; got != [4]int32{0, 10, 4, 0} || !w.Players().Has(2) {
		t.Error(got, w.Players())
	}
	want := []ecs.Refusal{{2, "too many points"}, {5, "too many points"}, {6, "another entity"}, {7, image.ReasonUnknown}}
	if got := w.Refusals(); !slices.Equal(got, want) {
		t.Errorf("refused %v, want %v", got, want)
	}
	if reason := w.RefuseOrder(&orders[3]); reason != "" {
		t.Errorf("an order that is valid: %s", reason)
	}
	w.Step(ecs.TickInputs{})
	if len(w.Refusals()) > 0 {
		t.Error("refusals of an earlier tick")
	}
}

// Hooks are code. A game with other rules has the same layouts, so its fingerprint and older recordings stay valid. The names
// and the fields of orders are layouts.
func TestHooksAreNoPartOfTheFingerprint(t *testing.T) {
	g := sample.Busy()
	before := g.Fingerprint()
	g.Result = func(*ecs.World) []byte { return nil }
	g.Orders = ecs.Orders(sample.Buys.Do(func(*ecs.World, ecs.Player, ecs.Entity, sample.Purchase) {}))
	if g.Fingerprint() != before {
		t.Error("a hook changes the fingerprint")
	}
	for _, other := range []ecs.AnyOrder{ecs.NewOrder[sample.Purchase]("sell").Do(func(*ecs.World, ecs.Player, ecs.Entity, sample.Purchase) {}),
		ecs.NewOrder[sample.Item]("buy").Do(func(*ecs.World, ecs.Player, ecs.Entity, sample.Item) {})} {
		if g.Orders = ecs.Orders(other); g.Fingerprint() == before {
			t.Error("another order does not change the fingerprint")
		}
	}
}

// An entity that an order spawned exists for the next order of the tick and for the first system.
func TestOrdersSeeEffectsOfEarlierOrders(t *testing.T) {
	g := sample.Bare()
	var seen []int
	count := func(w *ecs.World) {
		n := 0
		for range sample.Placed.All(w) {
			n++
		}
		seen = append(seen, n)
	}
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		count(w)
		w.Spawn(ecs.OwnedBy(p), sample.Positions)
		count(w)
	}
	g.Systems = ecs.Systems(count)
	w := sample.NewWorld(t, g)
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}}})
	if len(seen) != 5 || seen[0] != 0 || seen[1] != 0 || seen[2] != 1 || seen[3] != 1 || seen[4] != 2 {
		t.Error(seen)
	}
}

// Data that every peer must share is found by name.
func TestAssetIsFoundByName(t *testing.T) {
	g := &ecs.Game{Assets: []ecs.Asset{{"level", []byte("wall")}}}
	if string(g.Asset("level")) != "wall" || g.Asset("other") != nil {
		t.Error(g.Asset("level"))
	}
}

// A component that is used but not listed has no column. The panic names the list to add it to.
func TestUnlistedComponentPanicsWithASentence(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	other := ecs.NewComponent[sample.Pos]("other")
	sample.MustPanic(t, "Game.Components", func() { other.Has(w, ecs.Entity{}); other.Read(w, ecs.Entity{Row: 1}) })
	sample.MustPanic(t, "Game.Events", func() { ecs.NewEvent[sample.Hit]("unlisted").Emit(w, ecs.Entity{}, sample.Hit{}) })
	sample.MustPanic(t, "Game.Derived", func() { ecs.NewDerived("unlisted", func(*ecs.World, *int) {}, nil).Of(w) })
	sample.MustPanic(t, "OwnedBy(p)", func() { w.Spawn(ecs.OwnedBy(4), sample.Positions) })
	sample.MustPanic(t, "another world", func() { w.Image().Restore(sample.Saved(sample.NewWorld(t, sample.Bare()))) })
	sample.MustPanic(t, "another world", func() { w.Image().Restore(&image.Snapshot{}) })
}
