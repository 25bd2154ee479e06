package bench

import (
	"fmt"
	"testing"

	"tendon/bench/internal/measure"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/interest"
)

// BenchmarkInterest measures interest management. The reference compares every client with every entity.
func BenchmarkInterest(b *testing.B) {
	for i, backend := range []string{"grid", "pairs"} {
		for _, c := range []struct{ entities, clients int }{{1000, 64}, {1000, 1000}, {10_000, 64}} {
			b.Run(fmt.Sprintf("%s/%d/%d", backend, c.entities, c.clients), func(b *testing.B) {
				ours, theirs := newWanderers(i > 0, c.entities, c.clients), newWanderers(i > 0, c.entities, c.clients)
				all := newAllPairs(theirs)
				r := measure.Compare(b, measure.Op{Prepare: theirs.walk, Run: all.update}, measure.Op{Prepare: ours.walk, Run: ours.update})
				measure.Row{
					What: fmt.Sprintf("interest with the backend %v: %d entities that all walk, %d of them clients with some 30 entities near",
						backend, c.entities, c.clients),
					Reference: "every client compared with every entity",
					Unit:      "tick", Note: fmt.Sprintf("%.0f entities near a client", float64(ours.sets.Counts().Members)/float64(c.clients)-1),
				}.Report(b, r)
			})
		}
	}
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

func newWanderers(pairs bool, entities, clients int) *wanderers {
	sets := measure.Must(interest.New(interest.Config{Radius: fixed.FromInt(interestRadius), Rate: 60, PairList: pairs}))
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

// allPairs is the reference: it compares every client with every entity. Its sets equal those of package interest.
type allPairs struct {
	walkers *wanderers
	outside [][]uint8 // by client and entity: 0 is not relevant; else 1 + ticks beyond 1.25 times the radius
}

func newAllPairs(t *wanderers) *allPairs {
	a := &allPairs{walkers: t, outside: make([][]uint8, t.clients)}
	for c := range a.outside {
		a.outside[c] = make([]uint8, len(t.pos))
		for _, e := range t.sets.AppendSet(nil, c) {
			a.outside[c][e] = 1
		}
	}
	return a
}

func (a *allPairs) has(client, entity int) bool { return a.outside[client][entity] > 0 }

func (a *allPairs) update() {
	const grace = 60
	in, out := square(fixed.FromInt(interestRadius)), square(fixed.FromRatio(interestRadius*5, 4))
	for c, outside := range a.outside {
		at := a.walkers.pos[c]
		for e, p := range a.walkers.pos {
			distance := square(p.X-at.X) + square(p.Y-at.Y)
			switch {
			case outside[e] == 0:
				if distance <= in {
					outside[e] = 1
				}
			case distance <= out:
				outside[e] = 1
			case outside[e] > grace:
				outside[e] = 0
			default:
				outside[e]++
			}
		}
	}
}

// square returns x², which must fit into a Num.
func square(x fixed.Num) fixed.Num { return x.Mul(x) }

// The rows about interest compare backends with equal results, at the density that the rows say.
func TestWanderersAreAsDenseAsTheirRowsSay(t *testing.T) {
	ours := newWanderers(false, 1000, 64)
	theirs := newAllPairs(ours)
	for range 60 {
		ours.walk()
		ours.update()
		theirs.update()
	}
	for client := range 64 {
		for m := range 1000 {
			if ours.sets.Has(client, m) != theirs.has(client, m) {
				t.Fatalf("entity %[2]d is relevant to client %[1]d with one backend only", client, m)
			}
		}
	}
	if n := ours.sets.Counts().Members / 64; n < 20 || n > 45 {
		t.Errorf("%d are near a client", n)
	}
	if ours.pos[0] == newWanderers(false, 1000, 64).pos[0] {
		t.Error("no entity walks")
	}
}
