package ecs_test

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

type score struct {
	Count  uint16
	Secret uint16 `tendon:"private"`
	Public uint16
}

// hiding is a game in which each value is private in another way. Secrets are drawn from the random source.
type hiding struct {
	ecs.Game
	hand  *ecs.Component[holding]
	score *ecs.Component[score]
	deck  *ecs.Resource[pile]
	all   *ecs.Query2[holding, *holding, score, *score]
}

func newHiding() *hiding {
	g := &hiding{hand: ecs.NewComponent("hand", ecs.Roles[holding]{Private: true}), score: ecs.NewComponent[score]("score"), deck: ecs.NewResource[pile]("deck")}
	g.all = ecs.NewQuery2(ecs.Write(g.hand), ecs.Write(g.score))
	g.Game = ecs.Game{Name: "hiding", TickRate: 10, MaxPlayers: 3, Input: ecs.NewInput[uint16](),
		Components: ecs.Components(g.hand, g.score), Resources: ecs.Resources(g.deck), Systems: ecs.Systems(g.draw),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			for range 40 { // several pages, short and long ones
				w.Spawn(ecs.OwnedBy(p), g.hand, g.score)
			}
		},
	}
	return g
}

func (g *hiding) draw(w *ecs.World) {
	g.deck.Write(w).Order[w.Tick()%8] = uint8(w.Rand().Uint64()) | 1
	g.deck.Write(w).Left++
	for e := range g.all.All(w) {
		if i := e.Entity().Index(); i%5 == uint32(w.Tick()%5) {
			e.A.Cards[i%4] = uint8(w.Rand().Uint64()) | 1
			*e.B = score{uint16(w.Tick()), uint16(w.Rand().Uint64()) | 1, uint16(i)}
		}
	}
}

// play returns the states of some ticks of a match, and its world.
func (g *hiding) play(t *testing.T, seed uint64, each func(w *ecs.World)) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(&g.Game, seed)
	if err != nil {
		t.Fatal(err)
	}
	in := ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}}, Players: make([]ecs.InputBytes, 3)}
	for f := range 12 {
		for p := range in.Players {
			in.Players[p][0] = byte(seed) + byte(p*f) // private: others' inputs
		}
		in.Players[2] = ecs.InputBytes{byte(f)} // the viewer's own
		w.Step(in)
		in.Orders = nil
		each(w)
	}
	return w
}

func TestARedactedStateDependsOnNothingThatIsHidden(t *testing.T) {
	g := newHiding()
	encode := func(seed uint64, viewer int) (all []byte) {
		s, before := &image.Snapshot{}, &image.Snapshot{}
		var whole image.Snapshot
		var changed image.Changed
		g.play(t, seed, func(w *ecs.World) {
			w.Image().Save(&whole)
			s.Redact(&whole, before, viewer, func(e ecs.Entity) bool { return w.Sees(viewer, e) })
			if !before.Empty() {
				all = s.AppendDelta(all, before)
			}
			all = s.AppendImage(all)
			for _, sum := range s.ComponentChecksums(nil) {
				all = append(all, sum.Hex()...)
			}
			changed.Find(before, s)
			for row := range changed.Rows {
				_, _, values := s.AppendScalars(nil, row)
				for _, v := range values {
					all = append(all, byte(row), byte(v))
				}
			}
			s, before = before, s
		})
		return all
	}
	for viewer := -1; viewer < 3; viewer++ {
		a, b := encode(1, viewer), encode(2, viewer)
		if equal := bytes.Equal(a, b); equal != (viewer < 0 || viewer == 2) {
			t.Errorf("viewer %d: equal %v for two matches with other secrets", viewer, equal)
		}
	}
}

func TestARedactedStateHasWhatItsViewerSees(t *testing.T) {
	g := newHiding()
	w := g.play(t, 7, func(*ecs.World) {})
	var whole, known image.Snapshot
	w.Image().Save(&whole)
	known.Redact(&whole, nil, 1, func(e ecs.Entity) bool { return w.Sees(1, e) })
	other, _ := ecs.NewWorld(&g.Game, 0)
	if err := other.Image().Copy(&known); err != nil {
		t.Fatal(err)
	}
	hidden, seen := 0, 0
	for e := range whole.Entities {
		mine, _ := g.hand.ReadAt(&whole, e)
		theirs, _ := g.hand.Read(other, e)
		own, got := e.Owner() == ecs.OwnedBy(1), g.score
		count, _ := got.Read(other, e)
		want, _ := got.ReadAt(&whole, e)
		switch {
		case count.Count != want.Count || count.Public != want.Public:
			t.Fatalf("entity %v: public values %v, want %v", e, count, want)
		case own && (theirs != mine || count != want):
			t.Fatalf("entity %v of the viewer: %v %v, want %v %v", e, theirs, count, mine, want)
		case !own && (theirs != holding{} || count.Secret != 0):
			t.Fatalf("entity %v of another player: %v %v", e, theirs, count)
		case own:
			seen++
		default:
			hidden++
		}
	}
	if seen == 0 || hidden == 0 {
		t.Error("the match has no hands")
	}
	if d := g.deck.Read(other); d.Order != [8]uint8{} || d.Left != 12 {
		t.Errorf("the deck is %v, want 12 left and no order", d)
	}
	if *other.Rand() == *w.Rand() {
		t.Error("the random source is not hidden")
	}
}

func TestRedactingAStateThatDoesNotChangeSharesItsPages(t *testing.T) {
	g := newHiding()
	w := g.play(t, 7, func(*ecs.World) {})
	var whole image.Snapshot
	var known [2]image.Snapshot
	w.Image().Save(&whole)
	sees := func(e ecs.Entity) bool { return w.Sees(1, e) }
	known[0].Redact(&whole, nil, 1, sees)
	known[1].Redact(&whole, &known[0], 1, sees)
	pages := w.Image().PageBytes()
	if n := testing.AllocsPerRun(20, func() {
		known[0].Redact(&whole, &known[1], 1, sees)
		known[1].Redact(&whole, &known[0], 1, sees)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := w.Image().PageBytes(); got != pages {
		t.Errorf("%d bytes of pages, before %d", got, pages)
	}
}

func TestRedactRowsClearsWhatAClientComputed(t *testing.T) {
	g := newHiding()
	w := g.play(t, 7, func(*ecs.World) {})
	w.Image().RedactRows(image.EveryRow(), func(e ecs.Entity) bool { return w.Sees(1, e) })
	var state image.Snapshot
	w.Image().Save(&state)
	if strays := w.Image().Strays(); strays != 0 {
		t.Errorf("%d pages were written without a mark", strays)
	}
	for e := range state.Entities {
		h, _ := g.hand.ReadAt(&state, e)
		x, _ := g.score.ReadAt(&state, e)
		if own := e.Owner() == ecs.OwnedBy(1); own != (h != holding{}) || own != (x.Secret != 0) || x.Count == 0 {
			t.Fatalf("entity %v: hand %v, score %v", e, h, x)
		}
	}
}
