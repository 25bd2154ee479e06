package record

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

type (
	early struct{ Count, Gone int32 }
	late  struct {
		Added uint16
		Count int32
	}
	wrong   struct{ Count float32 }
	padOld  struct{ Left, Right bool }
	padLate struct{ Right, Up, Left bool }
)

// counts is a version of a game that adds step to a number in each tick, and what the player's input has to it.
func counts[T, P any](step int32, count func(*T) *int32, right func(P) bool) (*ecs.Game, *ecs.Resource[T], *ecs.Input[P]) {
	total, in := ecs.NewResource[T]("total"), ecs.NewInput[P]()
	return &ecs.Game{Name: "counts", TickRate: 20, MaxPlayers: 2, Input: in, Components: ecs.Components(ecs.NewComponent[ecs.Seat]("seat")), Resources: ecs.Resources(total),
		Systems: []ecs.System{{Name: "count", Run: func(w *ecs.World) {
			*count(total.Write(w)) += step
			if right(in.Of(w, 1)) {
				*count(total.Write(w)) += 100
			}
		}}}}, total, in
}

// A record of another version of the game continues from its last image, with the same match, seats and hash chain.
// Its later ticks play by the new rules.
func TestARecordIsCarriedOverToAnotherVersionOfTheGame(t *testing.T) {
	g, total, pad := counts(1, func(v *early) *int32 { return &v.Count }, func(p padOld) bool { return p.Right })
	h := HeaderOf(g, 3, "the first build")
	h.Strategy, h.Room, h.Match = "relay", "den", 9
	var to bytes.Buffer
	w, err := NewWriter(&to, g, h)
	world, bad := ecs.NewWorld(g, 3)
	err = errors.Join(err, bad, w.Seat(Seat{Player: 1, Client: 5, Name: "ann", Held: true}), w.Seat(Seat{Player: 0, Client: 4, Held: true}))
	var chain Chain
	for f := ecs.Tick(1); f <= 12; f++ {
		tick := Tick{Tick: f, Inputs: []ecs.InputBytes{{}, pad.Pack(padOld{Right: f >= 10})}, Checksum: 1}
		if f == 1 {
			tick.Orders = []image.Order{{Kind: image.OrderJoin, Player: 1}}
		}
		world.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders})
		if err = errors.Join(err, w.Tick(tick)); f == 10 {
			var s image.Snapshot
			world.Image().Save(&s)
			err = errors.Join(err, w.Image(&s), w.Seat(Seat{Player: 0, Client: 4}))
			chain = w.Chain()
		}
	}
	if err = errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	if got := total.Read(world).Count; got != 312 {
		t.Fatalf("the old rules count %d", got)
	}
	later, total2, _ := counts(1000, func(v *late) *int32 { return &v.Count }, func(p padLate) bool { return p.Right })
	r, err := Migrate(to.Bytes(), later, "the second build", 12)
	if err != nil {
		t.Fatal(err)
	}
	n := r.Header()
	if n.Match != 9 || n.Room != "den" || n.Build != "the second build" || n.Start.Tick != 10 || n.Start.Chain != chain || r.Last().Tick != 12 {
		t.Errorf("%+v to %d", n, r.Last().Tick)
	}
	if seats := r.Seats(); len(seats) != 1 || seats[0].Name != "ann" || !seats[0].Held {
		t.Errorf("%+v", seats)
	}
	now, err := r.WorldAt(12)
	if err != nil {
		t.Fatal(err)
	}
	if got := total2.Read(now); got != (late{Count: 110 + 2*1100}) { // two ticks by the new rules
		t.Errorf("%+v", got)
	}
	retyped, _, _ := counts(1, func(v *wrong) *int32 { return new(int32) }, func(p padOld) bool { return p.Right })
	if _, err := Migrate(to.Bytes(), retyped, "", 12); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), `resource "total": field Count was int32 and is float32`) {
		t.Error(err)
	}
	for cut := range to.Len() {
		if _, err := Migrate(to.Bytes()[:cut], later, "", 12); err == nil && cut < 300 {
			t.Errorf("%d bytes are a record", cut)
		}
	}
}
