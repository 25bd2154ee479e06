package main

import (
	"fmt"
	"strings"

	"tendon/bench/internal/measure"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/interest"
)

// interestRows measure interest management. The reference compares every client with every entity.
func interestRows() []measure.Row {
	var rows []measure.Row
	for _, backend := range []interest.Backend{interest.Grid, interest.Pairs} {
		for _, c := range []struct{ entities, clients int }{{1000, 64}, {1000, 1000}, {10_000, 64}} {
			rows = append(rows, measure.Row{
				Name:      fmt.Sprintf("interest-%s-%d-%d", strings.ToLower(backend.String()), c.entities, c.clients),
				What:      fmt.Sprintf("interest with the backend %v: %d entities that all walk, %d of them clients with some 30 entities near", backend, c.entities, c.clients),
				Reference: "every client compared with every entity",
				Run:       func() measure.Result { return updateInterest(backend, c.entities, c.clients) },
			})
		}
	}
	return rows
}

const (
	interestRadius = 50  // units
	interestArea   = 262 // square units to each entity: 30 within the radius
)

// wanderers is a set of entities that walk at 5 units a second in a square and turn at its sides.
type wanderers struct {
	side     fixed.Num
	pos, vel []fixed.Vec2
	sets     *interest.Sets
	clients  int
}

func newWanderers(backend interest.Backend, entities, clients int) *wanderers {
	sets, err := interest.New(interest.Config{Radius: fixed.FromInt(interestRadius), Rate: 60, Backend: backend})
	if err != nil {
		panic(err)
	}
	t := &wanderers{sets: sets, clients: clients}
	for t.side*t.side < fixed.Num(entities*interestArea) {
		t.side++
	}
	t.side *= fixed.One
	rand := image.NewRand(8)
	for range entities {
		t.pos = append(t.pos, fixed.Vec2{X: fixed.Num(rand.IntN(int(t.side))), Y: fixed.Num(rand.IntN(int(t.side)))})
		t.vel = append(t.vel, fixed.FromAngle(fixed.Num(rand.IntN(int(fixed.Tau))), fixed.FromRatio(5, 60)))
	}
	for range 3 {
		t.walk()
		t.update()
	}
	return t
}

// walk moves every entity.
func (t *wanderers) walk() {
	for i, p := range t.pos {
		p = p.Add(t.vel[i])
		if p.X < 0 || p.X > t.side {
			t.vel[i].X = -t.vel[i].X
		}
		if p.Y < 0 || p.Y > t.side {
			t.vel[i].Y = -t.vel[i].Y
		}
		t.pos[i] = p
	}
}

// update sets the place of every entity and updates all relevance sets.
func (t *wanderers) update() {
	for i, p := range t.pos {
		at := fixed.Vec3{X: p.X, Y: p.Y}
		t.sets.Place(i, at)
		if i < t.clients {
			t.sets.Watch(i, at)
		}
	}
	t.sets.Update()
}

func updateInterest(backend interest.Backend, entities, clients int) measure.Result {
	ours, theirs := newWanderers(backend, entities, clients), newWanderers(interest.Brute, entities, clients)
	r := measure.Compare(measure.Op{Prepare: theirs.walk, Run: theirs.update}, measure.Op{Prepare: ours.walk, Run: ours.update})
	return measure.Result{Unit: "tick", Ratio: r, Note: fmt.Sprintf("%.0f entities near a client", float64(ours.sets.Counts().Members)/float64(clients)-1)}
}
