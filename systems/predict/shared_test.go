package predict

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/interp"
)

type puck struct{ Hits int32 }

var (
	sharedPuck = ecs.NewComponent("puck", ecs.Roles[puck]{Predicted: true})
	remotePuck = ecs.NewComponent[puck]("puck")
	struck     = ecs.NewEvent[by]("struck")
)

const puckSpeed = 30 // units per second, when it is struck

// puckGame has a puck between the lines of two figures that figures strike when they walk into it. It slows down.
func puckGame(comp *ecs.Component[puck]) *ecs.Game {
	r := newRules(exactBody)
	g := r.game(60)
	pucks := ecs.NewQuery2(ecs.Write(exactBody), ecs.Write(comp))
	walkers := ecs.NewQuery2(ecs.Read(exactBody), ecs.Read(seatComp))
	g.Components = append(g.Components, comp)
	g.Events = append(g.Events, struck)
	g.Setup = func(w *ecs.World) {
		e := w.Spawn(ecs.OwnedByWorld, exactBody, comp)
		exactBody.Put(w, e, body{Pos: fixed.Vec3{X: fixed.FromInt(30), Y: fixed.FromRatio(5, 2)}})
	}
	g.Systems = append(g.Systems, ecs.System{Name: "strike", Run: func(w *ecs.World) {
		for e := range pucks.All(w) {
			for f := range walkers.All(w) {
				in := padInput.Of(w, f.B.Player)
				if d := e.A.Pos.Sub(f.A.Pos); in.DX > 0 && d.X >= 0 && d.X < fixed.FromInt(2) && d.Y.Abs() < fixed.FromInt(3) {
					e.A.Vel = fixed.Vec3{X: fixed.FromInt(puckSpeed)}
					e.B.Hits++
					struck.Emit(w, e.Entity(), by{f.B.Player})
				}
			}
			e.A.Pos.X += e.A.Vel.X.Div(fixed.FromInt(60))
			e.A.Vel.X = e.A.Vel.X.Mul(fixed.FromRatio(95, 100))
		}
	}})
	return g
}

func puckOf(t *testing.T, w *ecs.World, comp *ecs.Component[puck]) (e ecs.Entity, b body) {
	t.Helper()
	for r := range ecs.NewQuery2(ecs.Read(exactBody), ecs.Read(comp)).All(w) {
		return r.Entity(), r.A
	}
	t.Fatal("there is no puck")
	return e, b
}

// A player who strikes a shared puck sees it move in the same tick, without a correction. Without the role, it moves a round trip
// later.
func TestASharedEntityIsSimulatedAheadWithThePlayer(t *testing.T) {
	for _, c := range []struct {
		name   string
		comp   *ecs.Component[puck]
		shared bool
	}{{"shared", sharedPuck, true}, {"not shared", remotePuck, false}} {
		r := newRig(t, puckGame(c.comp), 2, 6, 6, Config{}, systems.ClientConfig{})
		client := r.clients[0]
		r.pads[0].DX = 1
		var server, own ecs.Tick
		for range 90 {
			r.Step()
			if _, b := puckOf(t, client.World(), c.comp); b.Vel.X > 0 && own == 0 {
				own = client.Tick
				r.pads[0].DX = 0
			}
			if _, b := puckOf(t, r.server.World(), c.comp); b.Vel.X > 0 && server == 0 {
				server = r.server.World().Tick()
			}
		}
		if server == 0 {
			t.Fatalf("%s: the puck was not struck", c.name)
		}
		if c.shared != (own == server) {
			t.Errorf("%s: the puck moves in tick %d on the client, in tick %d on the server", c.name, own, server)
		}
		if !c.shared {
			continue
		}
		predicted, cancelled := r.effectsOf(0, ecs.EffectPredicted, is(r.Game, struck)), r.effectsOf(0, ecs.EffectCancelled, is(r.Game, struck))
		if client.counts.Corrections != 0 || predicted == 0 || cancelled != 0 {
			t.Errorf("%d corrections, %d events predicted, %d cancelled; want none corrected or cancelled", client.counts.Corrections, predicted, cancelled)
		}
	}
}

// A strike of another player corrects a shared puck. It is shown without a jump, and ends where the server has it.
func TestACorrectionOfASharedEntityDecays(t *testing.T) {
	r := newRig(t, puckGame(sharedPuck), 2, 6, 6, Config{}, systems.ClientConfig{})
	client := r.clients[0]
	e, _ := puckOf(t, client.World(), sharedPuck)
	view, err := ecs.NewView(r.Game)
	if err != nil {
		t.Fatal(err)
	}
	r.Step()
	r.pads[1].DX = 1
	last, worst, frames := interp.Vec{}, 0.0, 0
	for range 240 {
		r.Step()
		if _, b := puckOf(t, r.server.World(), sharedPuck); b.Vel.X > 0 {
			r.pads[1] = pad{}
		}
		client.Present(view, r.Peers[0].Now())
		if at, ok := shownAt(view, e); ok {
			if frames++; frames > 1 {
				worst = max(worst, math.Abs(at.X-last.X))
			}
			last = at
		}
	}
	if client.counts.Corrections == 0 || frames < 200 {
		t.Fatalf("%d corrections in %d frames: the test shows nothing", client.counts.Corrections, frames)
	}
	if limit := 1.3 * puckSpeed / 60; worst > limit {
		t.Errorf("the shown puck moves by %v in a frame, want at most %v", worst, limit)
	}
	_, want := puckOf(t, r.server.World(), sharedPuck)
	if math.Abs(last.X-want.Pos.X.Float()) > 0.05 {
		t.Errorf("the puck is shown at %v, the server has it at %v", last.X, want.Pos.X)
	}
}

// A row is predicted as long as an entity with the role is in it.
func TestTheRowOfASharedEntityIsReleased(t *testing.T) {
	g := puckGame(sharedPuck)
	r := newRig(t, g, 2, 3, 3, Config{}, systems.ClientConfig{})
	client := r.clients[0]
	e, _ := puckOf(t, client.World(), sharedPuck)
	if !client.Predicted.Has(e.Row) || client.Timeline(e) != Predicted {
		t.Fatalf("the puck is %v", client.Timeline(e))
	}
	hooks[r.server.World()] = func(w *ecs.World) {
		if w.Exists(e) {
			sharedPuck.Remove(w, e)
		}
	}
	r.Run(30)
	if client.Predicted.Has(e.Row) || client.Timeline(e) != Interpolated || !client.World().Exists(e) {
		t.Errorf("without the component it is %v", client.Timeline(e))
	}
	hooks[r.server.World()] = func(w *ecs.World) {
		if w.Exists(e) {
			sharedPuck.Add(w, e, puck{})
		}
	}
	r.Run(30)
	if err := client.Switch(e, Interpolated, 0); err != nil || client.Predicted.Has(e.Row) {
		t.Errorf("switched to interpolated: %v, still predicted: %t", err, client.Predicted.Has(e.Row))
	}
	r.Run(30)
	if client.Predicted.Has(e.Row) {
		t.Error("a state ended the switch")
	}
	if err := client.Switch(e, Predicted, 0); err != nil || !client.Predicted.Has(e.Row) {
		t.Errorf("switched back: %v", err)
	}
}
