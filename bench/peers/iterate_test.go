package peers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mlange-42/ark/ecs"
	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	tendon "tendon/ecs"
)

// BenchmarkIterate measures position += velocity in other component stores and in Tendon. The reference is plain slices, as
// in bench.
func BenchmarkIterate(b *testing.B) {
	for _, store := range []struct {
		name, what string
		build      func(n int, churn bool) (run func(), matches int)
	}{
		{"tendon-runs", "Tendon, Runs", func(n int, churn bool) (func(), int) { return ours(n, churn, entities.Move) }},
		{"tendon-all", "Tendon, All", func(n int, churn bool) (func(), int) { return ours(n, churn, entities.MoveOneByOne) }},
		{"ark-columns", "ark, columns of a table", arkColumns},
		{"ark-cursor", "ark, entity by entity", arkCursor},
		{"donburi", "donburi, entity by entity", donburiEach},
	} {
		for _, n := range []int{10_000, 100_000} {
			for i, state := range []string{"fresh", "after churn, 10 % removed"} {
				name := fmt.Sprintf("%s/%dk", store.name, n/1000) + []string{"", "/churn"}[i]
				b.Run(name, func(b *testing.B) {
					run, matches := store.build(n, i > 0)
					measure.Row{
						What:      fmt.Sprintf("position += velocity, %d entities, %s: %s", n, state, store.what),
						Reference: "the loop over two plain slices, as many entities",
						Unit:      "entity",
					}.Report(b, measure.Compare(b,
						measure.Op{Units: matches, Run: entities.Slices(matches)}, measure.Op{Units: matches, Run: run}))
				})
			}
		}
	}
}

func ours(n int, churn bool, system func(*tendon.World)) (func(), int) {
	build := entities.World
	if churn {
		build = entities.Churned
	}
	w := build(n, system)
	w.Step(tendon.TickInputs{})
	return func() { w.Step(tendon.TickInputs{}) }, entities.Matches(w)
}

// churnRounds is how often a fifth of the entities is replaced, as in entities.Churned. Then a tenth is removed.
const churnRounds = 10

func arkWorld(n int, churn bool) (*ecs.World, *ecs.Filter2[entities.Position, entities.Velocity], int) {
	w := ecs.NewWorld(n)
	makes := ecs.NewMap4[entities.Position, entities.Velocity, entities.Body, entities.Life](w)
	create := func() ecs.Entity {
		return makes.NewEntity(&entities.Position{}, &entities.Velocity{X: 1, Y: 1}, &entities.Body{}, &entities.Life{})
	}
	live := make([]ecs.Entity, n)
	for i := range live {
		live[i] = create()
	}
	if churn {
		live = churned(live, create, w.RemoveEntity)
	}
	return w, ecs.NewFilter2[entities.Position, entities.Velocity](w), len(live)
}

// churned replaces random entities and returns those that remain.
func churned[E any](live []E, create func() E, remove func(E)) []E {
	dice := rand.New(rand.NewPCG(1, 2))
	for range churnRounds {
		for i := range live {
			if dice.IntN(5) == 0 {
				remove(live[i])
				live[i] = create()
			}
		}
	}
	left := live[:0]
	for _, e := range live {
		if dice.IntN(10) == 0 {
			remove(e)
		} else {
			left = append(left, e)
		}
	}
	return left
}

func arkColumns(n int, churn bool) (func(), int) {
	_, filter, matches := arkWorld(n, churn)
	return func() { moveTables(filter) }, matches
}

func moveTables(filter *ecs.Filter2[entities.Position, entities.Velocity]) {
	query := filter.Query()
	for query.NextTable() {
		positions, velocities := query.GetColumns()
		for i := range positions {
			positions[i].X += velocities[i].X
			positions[i].Y += velocities[i].Y
		}
	}
}

func arkCursor(n int, churn bool) (func(), int) {
	_, filter, matches := arkWorld(n, churn)
	return func() { moveCursor(filter) }, matches
}

func moveCursor(filter *ecs.Filter2[entities.Position, entities.Velocity]) {
	query := filter.Query()
	for query.Next() {
		p, v := query.Get()
		p.X += v.X
		p.Y += v.Y
	}
}

var (
	position = donburi.NewComponentType[entities.Position]()
	velocity = donburi.NewComponentType[entities.Velocity]()
	body     = donburi.NewComponentType[entities.Body]()
	life     = donburi.NewComponentType[entities.Life]()
)

func donburiEach(n int, churn bool) (func(), int) {
	w := donburi.NewWorld()
	create := func() donburi.Entity { return w.Create(position, velocity, body, life) }
	live := make([]donburi.Entity, n)
	for i := range live {
		live[i] = create()
	}
	if churn {
		live = churned(live, create, w.Remove)
	}
	query := donburi.NewQuery(filter.Contains(position, velocity))
	return func() { moveEntries(w, query) }, len(live)
}

func moveEntries(w donburi.World, query *donburi.Query) {
	for entry := range query.Iter(w) {
		p, v := position.Get(entry), velocity.Get(entry)
		p.X += v.X
		p.Y += v.Y
	}
}
