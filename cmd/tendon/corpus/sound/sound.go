// Package sound holds rules without a fault that resemble rules with one. tendonvet reports none of them.
package sound

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Unit is a soldier of a player.
type Unit struct {
	Pos     fixed.Vec2
	X, Y, Z float64
	Count   int32
	_       uint32
}

// Keys are all that a player can do in one tick.
type Keys struct{ Move int8 }

// Predict returns no keys.
func (k Keys) Predict() Keys { return Keys{} }

var (
	unit = ecs.NewComponent("unit", ecs.Roles[Unit]{
		Lerp: func(a, b Unit, t float64) Unit { // only a view runs it: no rule calls Seen
			return Unit{Pos: a.Pos.Lerp(b.Pos, fixed.FromFloat(t)), X: a.X + (b.X-a.X)*t, Y: math.Sin(t)}
		},
	})
	seat  = ecs.NewComponent[ecs.Seat]("seat")
	keys  = ecs.NewInput[Keys]()
	board = ecs.NewResource[Unit]("board")
	units = ecs.NewQuery2(ecs.Write(unit), ecs.Read(seat))
	seats = ecs.NewQuery1(ecs.Read(seat))

	// squares is a table that is only read, though a literal fills it.
	squares = func() (list [8]int32) {
		for i := range list {
			list[i] = int32(i * i)
		}
		return list
	}()
	started = time.Now() // no rule reads it
)

func tables(w *ecs.World) {
	counts := map[ecs.Player]int32{}
	for e := range seats.All(w) {
		counts[e.A.Player]++
	}
	var players []ecs.Player
	sum, most, anyone := int32(0), int32(0), false
	doubled := map[ecs.Player]int32{}
	for p, n := range counts {
		players = append(players, p)
		sum += n
		most = max(most, n)
		doubled[p] = 2 * n
		if n > 1 {
			anyone = true
		}
	}
	slices.Sort(players)
	for _, p := range slices.Sorted(maps.Keys(doubled)) {
		sum += doubled[p]
	}
	list := slices.Collect(maps.Keys(counts))
	slices.Sort(list)
	for p := range counts {
		if p > 3 {
			delete(counts, p)
		}
	}
	if anyone && len(players)+len(list) > int(sum+most) {
		fill(w, int32(players[0]))
	}
}

func fill(w *ecs.World, n int32) {
	for e := range units.All(w) {
		e.A.Count = n + squares[n&7]
	}
}

func floats(w *ecs.World) {
	for e := range units.All(w) {
		u := e.A
		u.X = float64(u.X*u.Y) + u.Z
		u.Y = -float64(u.X*u.Y*3) - 2*u.Z
		if u.X*u.Y > 4 || u.X*u.Y/u.Z > 1 {
			u.Z = math.Sqrt(u.X*u.X) + math.Floor(u.Y)
		}
		u.Count = int32(u.X * u.Y)
		u.Pos.X = fixed.FromFloat(0.25)
	}
}

type found struct {
	e     ecs.Entity
	count int32
}

type byRow []found

func (l byRow) Len() int           { return len(l) }
func (l byRow) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l byRow) Less(i, j int) bool { return l[i].e.Row < l[j].e.Row }

func sorts(w *ecs.World) {
	var list []found
	for e := range units.All(w) {
		list = append(list, found{e.Entity(), e.A.Count})
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(a.count, b.count) })
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.e.Row, b.e.Row))
	})
	sort.Sort(byRow(list))
	names := strings.Fields("b a")
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	slices.SortFunc(names, strings.Compare)
	if len(list) > 0 {
		unit.Write(w, list[0].e).Count = int32(len(names[0]))
	}
}

// stack is memory that a rule makes and forgets.
type stack struct{ list []int32 }

func (s *stack) push(n int32) { s.list = append(s.list, n) }

func memory(w *ecs.World) {
	s, n := &stack{}, int32(0)
	each(func(i int32) {
		n += i
		s.push(i)
	})
	b := binary.LittleEndian.AppendUint32(nil, uint32(n))
	binary.LittleEndian.PutUint32(b, 7)
	clear(b)
	text := fmt.Sprintf("%d %s", n, time.Duration(n))
	dice := rand.New(rand.NewPCG(uint64(w.Tick()), 1))
	total := board.Read(w)
	total.Count += int32(len(text)) + dice.Int32N(6) + s.list[0]
	*board.Write(w) = total
	for run := range units.Runs(w) {
		for i := range run.A {
			run.A[i].Count++
		}
	}
	for e := range seats.All(w) {
		e.A.Player++ // a copy that the next line reads
		fill(w, int32(e.A.Player))
	}
}

// moved returns a changed copy.
func moved(w *ecs.World, e ecs.Entity) (u Unit) {
	u, _ = unit.Read(w, e)
	u.Count++
	return
}

func copies(w *ecs.World) {
	for e := range units.All(w) {
		u := moved(w, e.Entity())
		v, _ := unit.Read(w, e.Entity())
		p := &v
		v.Count += u.Count
		unit.Put(w, e.Entity(), *p)
	}
}

// ordered calls f in order. report calls it with another function, outside of ticks.
func ordered(list []int32, f func(a int32) float64) {
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(f(a), f(b)) })
}

func captures(w *ecs.World) {
	list := []int32{3, 1}
	ordered(list, func(a int32) float64 { return -float64(a) })
	fill(w, list[0])
}

func each(f func(i int32)) {
	for i := range int32(3) {
		f(i)
	}
}

// trace is a count for a debugger. No rule reads it.
var trace int32

func traced(*ecs.World) {
	trace++ //tendon:allow only a debugger reads it
	//tendon:allow only a debugger reads it
	trace--
}

// every returns a rule that runs in each n-th tick.
func every(n ecs.Tick, f func(*ecs.World)) func(*ecs.World) {
	return func(w *ecs.World) {
		if w.Tick()%n == 0 {
			f(w)
		}
	}
}

// report runs outside of ticks, and calls a function that rules call too.
func report() string {
	seconds := 0.0
	each(func(i int32) { seconds += time.Since(started).Seconds()*float64(i) + math.Sin(1) })
	ordered([]int32{1, 2}, func(a int32) float64 { return math.Sin(float64(a)) })
	return fmt.Sprint(seconds)
}

// Game is the game of the rules.
var Game = &ecs.Game{
	Name: "sound", TickRate: 60, MaxPlayers: 4, Input: keys, Components: ecs.Components(unit, seat), Resources: ecs.Resources(board),
	Systems: ecs.Systems(tables, floats, sorts, memory, copies, captures, traced, every(2, floats)),
	Bot: func(_ *ecs.World, _ ecs.Player, r *ecs.Rand) ecs.InputBytes {
		trace++ // a bot's result is an input
		return keys.Pack(Keys{Move: int8(r.IntN(3))})
	},
	Screen: ecs.Screen{Draw: func(c ecs.Canvas, v *ecs.View) {
		trace++
		c.Text(0, 0, 1, 0, report(), ecs.Color{})
	}},
}
