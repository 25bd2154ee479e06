// Package corpus holds forty rules with one fault each. The test of tendonvet checks which of them it finds, and the test of this
// package checks which of them SyncTest finds. The table in the README of cmd/tendonvet lists both.
//
// A comment "want" is the message that tendonvet prints for its line.
package corpus

import "tendon/ecs"

// Fault is a game with one fault.
type Fault struct {
	Func string // name of the function with the fault
	Game *ecs.Game
}

// Unit is a soldier of a player.
type Unit struct {
	X, Y, Z float64
	Count   int32
	_       uint32
}

// Counts are the units of each player, derived from the state.
type Counts struct{ Of [4]int32 }

// Keys are all that a player can do in one tick.
type Keys struct {
	Move int8
	Fire bool `tendon:"press"`
}

var (
	unit    = ecs.NewComponent[Unit]("unit")
	seat    = ecs.NewComponent[ecs.Seat]("seat")
	keys    = ecs.NewInput[Keys]()
	buying  = ecs.NewOrder[struct{}]("shop")
	numbers = ecs.NewDerived("numbers", count, func(a, b *Counts) bool { return *a == *b })

	units   = ecs.NewQuery2(ecs.Write(unit), ecs.Read(seat))
	watched = ecs.NewQuery2(ecs.Read(unit), ecs.Read(seat))
)

func count(w *ecs.World, into *Counts) {
	*into = Counts{}
	for e := range watched.All(w) {
		into.Of[e.B.Player]++
	}
}

// walk is the one rule without a fault: the corpus moves, so SyncTest proves something.
func walk(w *ecs.World) {
	for e := range units.All(w) {
		e.A.X += float64(keys.Of(w, e.B.Player).Move)
	}
}

// squad returns a game with these systems.
func squad(systems ...func(*ecs.World)) *ecs.Game {
	return &ecs.Game{
		Name: "corpus", TickRate: 60, MaxPlayers: 4, Input: keys, Components: ecs.Components(unit, seat),
		Systems: append(ecs.Systems(walk), ecs.Systems(systems...)...), Join: join, Leave: leave,
	}
}

func join(w *ecs.World, p ecs.Player, _ ecs.Card) {
	for range 3 {
		e := w.Spawn(ecs.OwnedBy(p), unit, seat)
		seat.Put(w, e, ecs.Seat{Player: p})
	}
}

func leave(w *ecs.World, p ecs.Player) {
	for e := range units.All(w) {
		if e.B.Player == p {
			w.Despawn(e.Entity())
		}
	}
}

// store writes a number into every unit.
func store(w *ecs.World, n int32) {
	for e := range units.All(w) {
		e.A.Count = n
	}
}

// All returns the faults in the order of the table.
func All() []Fault {
	derived := squad(stale)
	derived.Derived = []ecs.AnyDerived{numbers}
	parallel := squad(number)
	parallel.Systems[1].Parallel = ecs.Queries(units)
	order := squad()
	order.Orders = ecs.Orders(buying.Do(func(*ecs.World, ecs.Player, ecs.Entity, struct{}) {}).If(haggle))
	bot := squad()
	bot.Bot = cheat
	valid := squad()
	valid.Validate = punish
	return []Fault{
		{"mapOrder", squad(mapOrder)}, {"mapKeys", squad(mapKeys)}, {"mapSum", squad(mapSum)},
		{"clock", squad(clock)}, {"clockElsewhere", squad(clockElsewhere)},
		{"dice", squad(dice)}, {"hashSeed", squad(hashSeed)},
		{"background", squad(background)}, {"choice", squad(choice)}, {"queue", squad(queue)},
		{"environment", squad(environment)}, {"print", squad(print)}, {"file", squad(file)}, {"cores", squad(cores)}, {"address", squad(address)},
		{"packageVariable", squad(packageVariable)}, {"capturedVariable", squad(capturedVariable())}, {"receiver", squad(new(counter).receiver)},
		{"writingHelper", squad(writingHelper)}, {"aliasedVariable", squad(aliasedVariable)}, {"counterElsewhere", squad(counterElsewhere)},
		{"haggle", order}, {"cheat", bot}, {"punish", valid},
		{"fused", squad(fused)}, {"fusedLater", squad(fusedLater)}, {"sine", squad(sine)}, {"fromFloat", squad(fromFloat)},
		{"donburiWalk", squad(donburiWalk)},
		{"readRun", squad(readRun)}, {"readRunElsewhere", squad(readRunElsewhere)}, {"lostWrite", squad(lostWrite)},
		{"view", squad(view)}, {"version", squad(version)},
		{"unstable", squad(unstable)},
		{"stale", derived}, {"number", parallel}, {"stored", squad(stored)}, {"narrowed", squad(narrowed)}, {"setting", squad(setting)},
	}
}
