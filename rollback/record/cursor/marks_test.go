package cursor_test

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// track returns the ticks of a kind and name.
func track(m *cursor.Marks, kind cursor.MarkKind, name string) []ecs.Tick {
	i := slices.IndexFunc(m.Tracks, func(t cursor.Track) bool { return t.Kind == kind && t.Name == name })
	if i < 0 {
		return nil
	}
	return m.Tracks[i].Ticks
}

// Joins and events are marked in their ticks, from wherever a recording begins.
func TestMarksAreInTheTicksOfWhatHappened(t *testing.T) {
	for _, name := range []string{"images every ten seconds", "views that look back", "a start in the middle", "nothing but a start"} {
		p := recipes[name]
		m := p.play(t)
		reached := ecs.Tick(0)
		found, err := m.cursor(t).Marks(func(f ecs.Tick) bool { reached = f; return true })
		if err != nil {
			t.Fatal(err)
		}
		var joins, fires []ecs.Tick
		for f := p.start + 1; f <= p.ticks; f++ {
			if f <= 3 {
				joins = append(joins, f)
			}
			if m.events[f] > 0 {
				fires = append(fires, f)
			}
		}
		if got := track(found, cursor.MarkJoin, "join"); !slices.Equal(got, joins) {
			t.Errorf("%s: joins in %v, want %v", name, got, joins)
		}
		if got := track(found, cursor.MarkEvent, "fired"); !slices.Equal(got, fires) {
			t.Errorf("%s: events in %d ticks, want %d", name, len(got), len(fires))
		}
		if got := track(found, cursor.MarkDesync, "desync"); got != nil {
			t.Errorf("%s: desyncs in %v", name, got)
		}
		if p.ticks > 64 && (found.To != p.ticks || reached+64 <= p.ticks) {
			t.Errorf("%s: marks to tick %d, progress to %d, want %d", name, found.To, reached, p.ticks)
		}
	}
}

// A desync is marked where it begins, and again after an image from which the states agree.
func TestADesyncIsMarkedWhereItBegins(t *testing.T) {
	m := recipe{ticks: 500, seed: 9, every: 100, change: func(w *ecs.World) {
		if f := w.Tick(); f == 129 || f == 329 { // no build replays this
			scores.Write(w).Shots += 1000
		}
	}}.play(t)
	found, err := m.cursor(t).Marks(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := track(found, cursor.MarkDesync, "desync"); !slices.Equal(got, []ecs.Tick{130, 330}) {
		t.Errorf("desyncs in %v, want 130 and 330", got)
	}
	stopped, err := m.cursor(t).Marks(func(f ecs.Tick) bool { return f < 256 })
	if err != nil || stopped.To != 256 || len(track(stopped, cursor.MarkDesync, "desync")) != 1 {
		t.Errorf("%+v, %v", stopped, err)
	}
	m = recipe{ticks: 120, seed: 9, start: 100, views: 7, past: 7, change: func(w *ecs.World) {
		if w.Tick() == 102 { // views look back to before the start, at states that are stored
			scores.Write(w).Shots += 1000
		}
	}}.play(t)
	if found, err = m.cursor(t).Marks(nil); err != nil || !slices.Equal(track(found, cursor.MarkDesync, "desync"), []ecs.Tick{103}) {
		t.Errorf("%+v, %v, want a desync in 103", found, err)
	}
}

type place struct{ At fixed.Vec3 }

type face struct{ Face uint8 }

type card struct {
	Face uint8
	Back uint8 `tendon:"private"`
}

var (
	cards  = ecs.NewComponent[card]("card")
	places = ecs.NewComponent("place", ecs.Roles[place]{Motion: func(p *place) ecs.Motion { return ecs.Motion{Pos: p.At} }})
	dealt  = ecs.NewEvent[face]("dealt").Private()
	shown  = ecs.NewEvent[face]("shown")
	lay    = ecs.NewOrder[face]("lay")
	every  = ecs.NewQuery1(ecs.Write(cards))
)

// deal changes all cards in each tick. It emits an event about each fifth one.
func deal(w *ecs.World) {
	for e := range every.All(w) {
		e.A.Face++
		e.A.Back += 3
		dealt.Emit(w, e.Entity(), face{e.A.Face})
		shown.Emit(w, e.Entity(), face{e.A.Face})
	}
}

// table returns a record of a game with private cards, played with flags.
func table(t *testing.T, flags string) *record.Record {
	t.Helper()
	g := &ecs.Game{Name: "cards", TickRate: 10, MaxPlayers: 3, Input: ecs.NewInput[struct{ DX int8 }](), Components: ecs.Components(cards, places),
		Events: ecs.Events(dealt, shown), Systems: ecs.Systems(deal),
		Orders: ecs.Orders(lay.Do(func(*ecs.World, ecs.Player, ecs.Entity, face) {}).If(func(_ *ecs.World, _ ecs.Player, _ ecs.Entity, c face) string {
			if c.Face == 0 {
				return "it has no face"
			}
			return ""
		})),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), cards, places)
			cards.Put(w, e, card{Back: 1})
			places.Put(w, e, place{At: fixed.Vec3{X: fixed.FromInt(10 * int(p))}})
		}}
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := record.HeaderOf(g, 1, "test")
	h.Flags = flags
	var first image.Snapshot
	w.Image().Save(&first)
	images, ticks := []record.Image{record.ImageOf(&first)}, []record.Tick(nil)
	for f := ecs.Tick(1); f <= 400; f++ {
		k := record.Tick{Tick: f, Inputs: []ecs.InputBytes{{1}, {2}, {3}}}
		if f <= 3 {
			k.Orders = append(k.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(f - 1)})
		}
		if f == 100 || f == 333 {
			k.Orders = append(k.Orders, image.Order{Kind: image.OrderGame, Player: 1, Payload: lay.Pack(g, face{uint8(f % 2)})})
		}
		if f == 150 {
			k.Orders = append(k.Orders, image.Order{Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, "lockstep", nil)})
		}
		if f == 222 {
			k.Orders = append(k.Orders, image.Order{Kind: image.OrderLeave, Player: 2})
		}
		w.Step(ecs.TickInputs{Players: k.Inputs, Orders: k.Orders})
		var s image.Snapshot
		w.Image().Save(&s)
		k.Checksum = s.Checksum()
		ticks = append(ticks, k)
	}
	r, err := record.Collect(g, h, images, ticks)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Orders, leaves and private events have marks, and a viewer is shown only those that they know.
func TestMarksOfAViewerAreThoseThatTheyKnow(t *testing.T) {
	c, err := cursor.New(table(t, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	for viewer, lays := range map[int]int{cursor.Everyone: 2, cursor.Spectator: 0, 0: 0, 1: 2} {
		c.As(viewer)
		m, err := c.Marks(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := track(m, cursor.MarkOrder, "lay"); len(got) != lays {
			t.Errorf("viewer %d: orders in %v, want %d", viewer, got, lays)
		}
		if got := track(m, cursor.MarkLeave, "leave"); !slices.Equal(got, []ecs.Tick{222}) {
			t.Errorf("viewer %d: leaves in %v", viewer, got)
		}
		if got := track(m, cursor.MarkSwitch, "lockstep"); !slices.Equal(got, []ecs.Tick{150}) {
			t.Errorf("viewer %d: switches in %v", viewer, got)
		}
		if got := len(track(m, cursor.MarkEvent, "dealt")); (got == 0) != (viewer == cursor.Spectator) {
			t.Errorf("viewer %d: %d ticks with private events", viewer, got)
		}
		if got := len(track(m, cursor.MarkEvent, "shown")); got != 400 {
			t.Errorf("viewer %d: %d ticks with events", viewer, got)
		}
	}
}

// A viewer is shown no private value, input, order or event of others, and the checksums of the whole state. Everyone is shown all
// again afterwards.
func TestAViewerIsShownWhatTheyMayKnow(t *testing.T) {
	c, err := cursor.New(table(t, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []ecs.Tick{333, 100, 334, 5} {
		for _, viewer := range []int{cursor.Everyone, 1, cursor.Spectator, 0, cursor.Everyone} {
			c.As(viewer)
			if err := c.Seek(f); err != nil {
				t.Fatal(err)
			}
			whole := viewer == cursor.Everyone
			for _, s := range []*image.Snapshot{c.State(), c.StateBefore()} {
				for e := range s.Entities {
					x, _ := cards.ReadAt(s, e)
					p, _ := e.Owner().Player()
					if mine := whole || int(p) == viewer; x.Face == 0 || mine != (x.Back != 0) {
						t.Fatalf("tick %d, viewer %d: the card of player %d is %+v", f, viewer, p, x)
					}
				}
			}
			frame := c.Frame()
			if frame.Match != cursor.Matches {
				t.Errorf("tick %d, viewer %d: %+v", f, viewer, frame)
			}
			for _, p := range frame.Players {
				if mine := whole || int(p.Player) == viewer; mine == p.Hidden || mine != (len(p.Input) > 0) {
					t.Errorf("tick %d, viewer %d: %+v", f, viewer, p)
				}
			}
			if laid := f == 100 || f == 333; (len(frame.Orders) > 0) != (laid && (whole || viewer == 1)) {
				t.Errorf("tick %d, viewer %d: orders %+v", f, viewer, frame.Orders)
			}
			if f == 100 && len(frame.Orders) == 1 && frame.Orders[0].Refused != "it has no face" {
				t.Errorf("%+v", frame.Orders)
			}
			private := 0
			for _, e := range frame.Events {
				if e.Name == "dealt" {
					private++
				}
			}
			if want := map[int]int{cursor.Everyone: len(frame.Events) / 2, cursor.Spectator: 0, 0: 1, 1: 1}[viewer]; private != want {
				t.Errorf("tick %d, viewer %d: %d private events of %d, want %d", f, viewer, private, len(frame.Events), want)
			}
		}
	}
}

// A player with a radius of interest sees what is near.
func TestAViewerSeesWhatIsRelevant(t *testing.T) {
	c, err := cursor.New(table(t, "--sync predict --interest 12"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Seek(200); err != nil {
		t.Fatal(err)
	}
	for viewer, want := range map[int]int{cursor.Everyone: 3, cursor.Spectator: 3, 0: 2, 1: 3, 2: 2} {
		c.As(viewer)
		n := 0
		for range c.State().Entities {
			n++
		}
		if n != want {
			t.Errorf("viewer %d sees %d entities, want %d", viewer, n, want)
		}
	}
}

// The refusal of an order is shown in its tick alone, also after the memory of the tick was used again.
func TestARefusalIsShownInItsTickAlone(t *testing.T) {
	c, err := cursor.New(table(t, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []ecs.Tick{100, 200, 300, 400, 100, 333, 100} {
		if err := c.Seek(f); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.Frame().Orders {
			if refused := f == 100; refused != (o.Refused != "") {
				t.Errorf("tick %d: %+v", f, o)
			}
		}
	}
}
