package interest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs/fixed"
	"tendon/ecs/race"
)

// play makes one random move in all sets and in the model, if there is one.
func (c *script) play(radius fixed.Num, sets []*Sets, m *model) {
	id := c.IntN(len(c.at[1]))
	switch p := c.IntN(100); {
	case p < 3: // a marker is removed; half of the time its id is reused before the next Update
		for _, s := range sets {
			s.Remove(id)
		}
		if m != nil {
			m.remove(id)
		}
		if c.IntN(2) == 0 {
			c.place(sets, m, id, c.step(c.at[1][id], radius/8))
		}
	case p < 4: // a watcher leaves; half of the time its index is reused
		id %= len(c.at[0])
		for _, s := range sets {
			s.Unwatch(id)
		}
		if m != nil {
			m.unwatch(id)
		}
		if c.IntN(2) == 0 {
			c.watch(sets, m, id, c.anywhere())
		}
	case p < 6:
		c.place(sets, m, id, c.anywhere())
	case p < 60:
		c.place(sets, m, id, c.step(c.at[1][id], radius/6))
	default:
		id %= len(c.at[0])
		c.watch(sets, m, id, c.step(c.at[0][id], radius/6))
	}
}

func (c *script) place(sets []*Sets, m *model, id int, pos fixed.Vec3) {
	c.at[1][id] = pos
	for _, s := range sets {
		s.Place(id, pos)
	}
	if m != nil {
		m.markers[id] = pos
	}
}

func (c *script) watch(sets []*Sets, m *model, id int, pos fixed.Vec3) {
	c.at[0][id] = pos
	for _, s := range sets {
		s.Watch(id, pos)
	}
	if m != nil {
		m.watchers[id] = pos
	}
}

// Backends differ in cost only. The brute force and all backends are compared with a model that shares no code with them,
// event by event and set by set.
func TestAOI01AllBackendsEqualBruteForceOver10000RandomMoves(t *testing.T) {
	const markers, watchers = 24, 12
	config := Config{Radius: fixed.FromInt(40) + 1, Rate: 10}
	seeds := uint64(1)
	if race.Long {
		seeds = 2
	}
	for seed := range seeds {
		sets, m := all(t, config), newModel(config, markers)
		c := &script{Rand: rand.New(rand.NewPCG(1, seed)), size: fixed.FromInt(200)}
		c.at = [2][]fixed.Vec3{make([]fixed.Vec3, watchers), make([]fixed.Vec3, markers)}
		var seen [Enter + 1]int
		for move := range 10_000 {
			c.play(config.Radius, sets, m)
			want := m.update()
			for b, s := range sets {
				if got := s.Update(); !slices.Equal(got, want) {
					t.Fatalf("seed %d, move %d, backend %d: %v, want %v", seed, move, b, got, want)
				}
			}
			for _, e := range want {
				seen[e.Kind]++
			}
			if move%50 == 0 {
				sameSets(t, sets, m)
			}
		}
		if seen[Enter] < 1000 || seen[Leave] < 500 || seen[Gone] < 200 {
			t.Errorf("seed %d: too little happened: %v", seed, seen)
		}
		if n := sets[withPairs].Counts(); n.Rechecked == 0 || n.Compared > sets[bruteForce].Counts().Compared/10 {
			t.Errorf("seed %d: the pair list compared %d pairs and rechecked %d", seed, n.Compared, n.Rechecked)
		}
		if n := sets[withGrid].Counts().Compared; n > sets[bruteForce].Counts().Compared*2/3 {
			t.Errorf("seed %d: the grid compared %d pairs", seed, n)
		}
	}
}

func sameSets(t *testing.T, sets []*Sets, m *model) {
	t.Helper()
	for b, s := range sets {
		total := 0
		for w := range m.n {
			for k := range m.n {
				if _, want := m.outside[[2]int{w, k}]; s.Has(w, k) != want {
					t.Fatalf("backend %d: %d has %d: %v", b, w, k, !want)
				}
			}
			set := s.AppendSet(nil, w)
			if !slices.IsSorted(set) {
				t.Fatalf("backend %d: the set of %d is %v", b, w, set)
			}
			total += len(set)
		}
		if total != len(m.outside) || total != s.Counts().Members {
			t.Fatalf("backend %d: %d members, counted %d, want %d", b, total, s.Counts().Members, len(m.outside))
		}
	}
}

// An enter costs a full state. A marker that oscillates across either border causes at most one enter a second.
func TestAOI02OscillationAtTheBorderCostsOneEnterAndLeaveAGracePeriodAtMost(t *testing.T) {
	const rate, seconds = 60, 20
	radius := fixed.FromInt(100)
	for _, border := range []fixed.Num{radius, radius + radius/4} {
		for _, period := range []int{2, 7, 30, 60, 90, 121, 200, 400} {
			for b, s := range all(t, Config{Radius: radius, Rate: rate}) {
				var at []int // ticks of the events of the one pair
				s.Watch(0, fixed.Vec3{})
				s.Place(0, fixed.Vec3{})
				s.Update()
				for tick := range rate * seconds {
					d := border - radius/10
					if tick%period >= period/2 {
						d = border + radius/10
					}
					s.Place(0, fixed.Vec3{Y: d})
					for range s.Update() {
						at = append(at, tick)
					}
				}
				if border == radius && len(at) > 0 {
					t.Errorf("backend %d, period %d: events at the inner border in ticks %v", b, period, at)
				}
				for i := 2; i < len(at); i++ { // of three events in a row, two are of one kind
					if at[i]-at[i-2] < rate {
						t.Errorf("backend %d, period %d: events in ticks %v", b, period, at)
					}
				}
			}
		}
	}
}

// A marker that oscillates from 0.9·R to 1.4·R crosses both borders. It causes at most one enter and leave a second.
func TestAOI02CrossingBothBordersCostsOneEnterAndLeaveAGracePeriodAtMost(t *testing.T) {
	const rate = 60
	radius := fixed.FromInt(100)
	for _, period := range []int{2, 60, 119, 122, 130, 200} {
		for b, s := range all(t, Config{Radius: radius, Rate: rate}) {
			s.Watch(0, fixed.Vec3{})
			events := 0
			for tick := range rate * 20 {
				d := radius * 9 / 10
				if tick%period >= period/2 {
					d = radius * 14 / 10
				}
				s.Place(0, fixed.Vec3{Y: d})
				events += len(s.Update())
			}
			if period <= 119 && events != 1 || period >= 122 && (events < 10 || events > 2*20) {
				t.Errorf("backend %d, period %d: %d events in 20 s", b, period, events)
			}
		}
	}
}

// The pair list compares no pairs of a marker that stays near its anchor.
func TestAOI05MovementBelowHalfTheRadiusMakesNoPairWork(t *testing.T) {
	radius := fixed.FromInt(50)
	s := all(t, Config{Radius: radius, Rate: 60})[withPairs]
	r := rand.New(rand.NewPCG(5, 5))
	spot := func() fixed.Vec3 {
		return fixed.Vec3{X: fixed.FromInt(r.IntN(1000)), Y: fixed.FromInt(r.IntN(1000))}
	}
	w, m := make([]fixed.Vec3, 50), make([]fixed.Vec3, 500)
	for i := range m {
		m[i] = spot()
		s.Place(i, m[i])
	}
	for i := range w {
		w[i] = spot()
		s.Watch(i, w[i])
	}
	s.Update()
	before := s.Counts()
	if before.Compared != 50*500 {
		t.Fatalf("%d pairs were compared at first", before.Compared)
	}
	below := radius/2 - 1
	for range 200 {
		around := func(v fixed.Vec3) fixed.Vec3 {
			d := fixed.FromAngle(fixed.Num(r.Int64N(int64(fixed.Tau))), fixed.Num(r.Int64N(int64(below))))
			return fixed.Vec3{X: v.X + d.X, Y: v.Y + d.Y}
		}
		for i := range m {
			s.Place(i, around(m[i]))
		}
		for i := range w {
			s.Watch(i, around(w[i]))
		}
		s.Update()
	}
	s.Place(7, fixed.Vec3{X: m[7].X + below, Y: m[7].Y})
	s.Update()
	after := s.Counts()
	if after.Compared != before.Compared {
		t.Errorf("%d pairs were compared", after.Compared-before.Compared)
	}
	if after.Enters == before.Enters || after.Rechecked == 0 {
		t.Error("no marker came near: the test proves nothing")
	}
	s.Place(7, fixed.Vec3{X: m[7].X - radius/2, Y: m[7].Y})
	if s.Update(); s.Counts().Compared != after.Compared+50 {
		t.Errorf("a move by R/2 compared %d pairs", s.Counts().Compared-after.Compared)
	}
}

// A server that is restarted must compute the same events in the same order. The order of calls within a tick does not
// matter.
func TestAOI06TheOrderIsTheSameOnRepeatRuns(t *testing.T) {
	run := func(b int, shuffle uint64) (events []Event) {
		s := all(t, Config{Radius: fixed.FromInt(60), Rate: 5})[b]
		r := rand.New(rand.NewPCG(6, 6))
		calls := rand.New(rand.NewPCG(shuffle, 0))
		c := &script{Rand: r, size: fixed.FromInt(300)}
		ids := make([]int, 80)
		pos := make([]fixed.Vec3, len(ids))
		for i := range ids {
			ids[i], pos[i] = i, c.anywhere()
		}
		for range 100 {
			for i := range pos {
				pos[i] = c.step(pos[i], fixed.FromInt(12))
			}
			gone := r.IntN(len(ids))
			if shuffle > 0 {
				calls.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			}
			s.Remove(gone)
			for _, i := range ids {
				if s.Place(i, pos[i]); i%2 == 0 {
					s.Watch(i, pos[i])
				}
			}
			got := s.Update()
			if !slices.IsSortedFunc(got, func(a, b Event) int {
				return slices.Compare([]int{a.Watcher, a.Marker, int(a.Kind)}, []int{b.Watcher, b.Marker, int(b.Kind)})
			}) {
				t.Fatalf("backend %d: %v", b, got)
			}
			events = append(events, got...)
		}
		return events
	}
	want := run(bruteForce, 0)
	if len(want) < 1000 {
		t.Fatalf("%d events", len(want))
	}
	for b := range bruteForce {
		for shuffle := range uint64(3) {
			if !slices.Equal(run(b, shuffle), want) {
				t.Errorf("backend %d, order of calls %d: other events", b, shuffle)
			}
		}
	}
}

func ExampleSets() {
	kinds := [...]string{Gone: "gone", Leave: "leave", Enter: "enter"}
	sets, err := New(Config{Radius: fixed.FromInt(50), Rate: 60})
	if err != nil {
		panic(err)
	}
	sets.Watch(3, fixed.Vec3{})
	sets.Place(20, fixed.Vec3{X: fixed.FromInt(30)})
	sets.Place(21, fixed.Vec3{X: fixed.FromInt(51)})
	for _, e := range sets.Update() {
		fmt.Println(e.Watcher, kinds[e.Kind], e.Marker)
	}
	sets.Remove(20)
	sets.Place(21, fixed.Vec3{X: fixed.FromInt(50)})
	for _, e := range sets.Update() {
		fmt.Println(e.Watcher, kinds[e.Kind], e.Marker)
	}
	// Output:
	// 3 enter 20
	// 3 gone 20
	// 3 enter 21
}
