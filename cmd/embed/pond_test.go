package main

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/matchsim"
	"tendon/net/matchtest"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/reckon"
)

func TestPond(t *testing.T) {
	matchtest.SyncTest(t, pond(nil))
	matchtest.Match(t, pond(nil), "P5")
}

// ridden plays three idle fish until the turtle has carried the third one for 3 s. each is called after each frame of a
// client while it does, with the state of the server.
func ridden(t *testing.T, rules *ecs.Game, strategy systems.Strategy, each func(c *matchsim.Client, server *ecs.World, rider, turtle ecs.Entity)) *matchsim.Match {
	t.Helper()
	m, err := matchsim.New(matchsim.Config{Game: rules, Strategy: strategy, Seed: 1, FixedSeats: true})
	if err != nil {
		t.Fatal(err)
	}
	p3, _ := simnet.ByName("P3")
	carried := 0
	for range 3 {
		m.Join(matchsim.Plan{Profile: p3, Play: func(c *matchsim.Client, _ time.Duration) ecs.InputBytes {
			world := m.Room.World()
			for f := range fish.All(world) {
				if on := carrier(world, f.Entity()); f.B.Player == 2 && !on.IsZero() {
					carried++
					each(c, world, f.Entity(), on)
				}
			}
			return pad.Pack(Pad{})
		}})
	}
	for range 20 {
		m.Run(time.Second)
		if carried > 3*3*tickRate {
			break
		}
	}
	if err := m.Err(); err != nil || carried < 3*3*tickRate {
		t.Fatalf("the turtle carried the fish for %d frames: %v", carried, err)
	}
	return m
}

// A fish on the turtle sends its place on it, and the turtle its place on the circle. The rider is then shown
// nearer to its place, with no more records.
func TestARiderIsShownOnTheTurtle(t *testing.T) {
	var off, sent [2]float64 // sum of the distances; bytes
	for i, physics := range []ecs.Physics{{MoveLimit: fixed.FromInt(15)}, pond(nil).Physics} {
		rules := pond(nil)
		rules.Physics = physics
		m := ridden(t, rules, reckon.Strategy, func(c *matchsim.Client, server *ecs.World, rider, on ecs.Entity) {
			if c.Number == 0 && c.Live() {
				view := c.Core.View(c.Now()).Sim
				off[i] += place(server, rider).Sub(place(server, on)).Dist(place(view, rider).Sub(place(view, on))).Float()
			}
		})
		sent[i] = float64(m.Clients[0].Sent().Bytes)
	}
	if off[1] > 0.8*off[0] || sent[1] > 1.1*sent[0] {
		t.Errorf("the rider is off by %.0f in all with %.0f bytes; without carrier and path by %.0f with %.0f bytes", off[1], sent[1], off[0], sent[0])
	}
}

func place(w *ecs.World, e ecs.Entity) fixed.Vec2 {
	b, _ := body.Read(w, e)
	return b.Pos
}

// A turtle on the timeline of the fish that it carries is where the fish is predicted to be, so fewer predictions are wrong.
func TestATurtleIsPredictedWithItsRider(t *testing.T) {
	wrong := map[bool]uint64{}
	for _, followed := range []bool{false, true} {
		switched := 0
		m := ridden(t, pond(nil), predict.Strategy, func(c *matchsim.Client, _ *ecs.World, _, on ecs.Entity) {
			if c.Number == 2 && followed && c.Live() {
				follow(c.Core)
				if c.Core.Strategy().(*predict.Client).Timeline(on) == predict.Predicted {
					switched++
				}
			}
		})
		wrong[followed] = m.Clients[2].Core.Stats().Strategy.Corrections
		if followed && switched < 2*tickRate {
			t.Errorf("the turtle was predicted in %d frames", switched)
		}
	}
	if wrong[true] > wrong[false]/4 {
		t.Errorf("%d corrections while the turtle is predicted, %d otherwise", wrong[true], wrong[false])
	}
}
