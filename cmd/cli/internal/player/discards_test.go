package player

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
)

func TestDiscardedWritesAreReportedOnce(t *testing.T) {
	g := halves.Dots()
	read := ecs.NewQuery1(ecs.Read(halves.Bodies))
	g.Systems = append(g.Systems, ecs.System{Name: "touch", Run: func(w *ecs.World) {
		for e := range read.All(w) {
			halves.Bodies.Write(w, e.Entity())
		}
	}})
	w := halves.NewWorld(t, g, 1)
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}}})
	w.Image().SetPredicted(&image.RowSet{})
	var n discards
	var got []ecs.DiscardedWrites
	for range 3 {
		w.Step(ecs.TickInputs{})
		n.report(w, func(d ecs.DiscardedWrites) { got = append(got, d) })
	}
	if len(got) != 1 || got[0].System != "touch" {
		t.Errorf("reported %v, want system touch once", got)
	}
	n.report(nil, nil)
	n.report(halves.NewWorld(t, g, 1), nil) // after a new start there are none
}
