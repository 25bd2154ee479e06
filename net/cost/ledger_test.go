package cost

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
)

// clock is a clock that is set by hand.
type clock struct{ now time.Duration }

func (c *clock) read() time.Duration { return c.now }

// pad is the input of the tests' game.
type pad struct{ DX int8 }

var padInput = ecs.NewInput[pad]()

// someGame has two systems, and ticks of 10 ms.
func someGame() *ecs.Game {
	nothing := func(*ecs.World) {}
	return &ecs.Game{Name: "some", TickRate: 100, MaxPlayers: 2, Input: padInput,
		Systems: []ecs.System{{Name: "move", Run: nothing}, {Name: "rockets", Run: nothing}}}
}

// The systems' sections.
const (
	move    = image.SectionSystems
	rockets = image.SectionSystems + 1
)

func newLedger(t testing.TB, change func(*Config)) (*Ledger, *clock) {
	t.Helper()
	config := Config{Game: someGame(), Name: "test"}
	if change != nil {
		change(&config)
	}
	l, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{}
	l.clock = c.read
	return l, c
}

// in spends time in a section and in its nested sections.
func in(l *Ledger, c *clock, s image.Section, d time.Duration, nested ...func()) {
	l.Enter(s)
	c.now += d
	for _, f := range nested {
		f()
	}
	l.Leave(s)
}

// rollbackTurn is a turn with two ticks computed again and one forward.
func rollbackTurn(l *Ledger, c *clock, f ecs.Tick) {
	in(l, c, image.SectionReceive, 100)
	in(l, c, image.SectionFrame, 10, func() {
		in(l, c, image.SectionRewind, 30, func() { in(l, c, image.SectionRestore, 400) })
		in(l, c, image.SectionResimulate, 5, func() {
			for range 2 {
				in(l, c, image.SectionSimulate, 50, func() { in(l, c, move, 600) }, func() { in(l, c, rockets, 700) })
				in(l, c, image.SectionSave, 80)
			}
		})
		in(l, c, image.SectionSimulate, 50, func() { in(l, c, move, 1600) }, func() { in(l, c, rockets, 1700) })
	})
	l.Turn(f)
}

// Self times of all sections add up to the whole time, for every nesting. Forward and resimulated costs are never mixed.
func TestSelfTimesAddUpAndTotalsIncludeNestedSections(t *testing.T) {
	l, c := newLedger(t, nil)
	rollbackTurn(l, c, 7)
	r := l.Report()
	want := map[[2]string][3]int64{ // calls, self, total
		{"receive", ""}:           {1, 100, 100},
		{"frame", ""}:             {1, 15, 10 + 430 + 5 + 2*1430 + 3350},
		{"rewind", ""}:            {1, 30, 430},
		{"restore", ""}:           {1, 400, 400},
		{"save", ""}:              {2, 160, 160},
		{"simulate", ""}:          {1, 50, 3350},
		{"resimulate", ""}:        {2, 100, 2 * 1350},
		{"simulate", "move"}:      {1, 1600, 1600},
		{"simulate", "rockets"}:   {1, 1700, 1700},
		{"resimulate", "move"}:    {2, 1200, 1200},
		{"resimulate", "rockets"}: {2, 1400, 1400},
	}
	sum, share := time.Duration(0), 0.0
	for i := range r.Rows {
		row := &r.Rows[i]
		got := [3]int64{int64(row.Calls), int64(row.Self), int64(row.Total)}
		if w, ok := want[[2]string{row.Phase, row.System}]; !ok || got != w {
			t.Errorf("%s %s: calls, self and total are %v, want %v", row.Phase, row.System, got, w)
		}
		sum, share = sum+row.Self, share+row.Share
	}
	if len(r.Rows) != len(want) {
		t.Errorf("%d rows, want %d", len(r.Rows), len(want))
	}
	if sum != c.now || r.Busy != c.now || r.Turns != 1 {
		t.Errorf("self times add up to %v, busy %v, of %v spent in %d turns", sum, r.Busy, c.now, r.Turns)
	}
	if used := r.Used(); used != float64(c.now)/1e7 || share < used*0.999 || share > used*1.001 {
		t.Errorf("%v of the budget used, shares add up to %v, want %v", used, share, float64(c.now)/1e7)
	}
}

// The shares of a line add up to at most the whole, also if the time since the last turn is longer than all turns.
func TestTheSharesOfALineAreOfTheWhole(t *testing.T) {
	l, c := newLedger(t, nil)
	in(l, c, image.SectionFrame, 100)
	l.Turn(1)
	in(l, c, image.SectionReceive, 300)
	r := l.Report()
	if line := r.Line(); !strings.Contains(line, "most of it receive 75 %, frame 25 %;") {
		t.Error(line)
	}
}

// The largest turn is reported with all its parts.
func TestTheLargestTurnIsReportedWithItsParts(t *testing.T) {
	l, c := newLedger(t, nil)
	in(l, c, image.SectionFrame, 50)
	l.Turn(6)
	rollbackTurn(l, c, 7)
	in(l, c, image.SectionFrame, 60)
	l.Turn(8)
	got := l.Report().Largest
	if got.Tick != 7 || got.Again != 2 || got.Computed != 1 || len(got.Parts) != 11 {
		t.Errorf("the largest turn is %+v", got)
	}
	sum := time.Duration(0)
	for _, p := range got.Parts {
		sum += p.Self
	}
	if sum != got.Cost || sum != c.now-110 {
		t.Errorf("its parts add up to %v of %v, want %v", sum, got.Cost, c.now-110)
	}
	if text := got.Text(); !strings.Contains(text, "tick 7") || !strings.Contains(text, "rockets (again)") {
		t.Error(text)
	}
}

// Quantiles are of single calls and have Digits digits; the largest is exact.
func TestQuantilesAreOfCalls(t *testing.T) {
	for digits, off := range map[int]float64{1: 0.07, 2: 0.01} {
		l, c := newLedger(t, func(c *Config) { c.Digits = digits })
		for i := range 1000 {
			in(l, c, move, time.Duration(1000+100*i))
			l.Turn(ecs.Tick(i))
		}
		r := l.Report()
		row := r.Row("simulate", "move")
		for _, q := range [][2]time.Duration{{row.P50, 51000}, {row.P99, 100000}, {r.P50, 51000}, {r.P99, 100000}} {
			if d := float64(q[0]) / float64(q[1]); d < 1-off || d > 1+off {
				t.Errorf("%d digits: quantile %v, want %v", digits, q[0], q[1])
			}
		}
		if row.Max != 100900 || r.Max != 100900 {
			t.Errorf("the largest is %v, of turns %v", row.Max, r.Max)
		}
	}
}

// A page reads a report while the match runs. The report is complete, never newer than the finished turns, and reading it
// blocks no turn.
func TestLatestIsSafeFromAnyGoroutine(t *testing.T) {
	l, c := newLedger(t, nil)
	if r := l.Latest(); r.Turns != 0 || len(r.Rows) != 0 {
		t.Errorf("before the first turn: %+v", r)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for last := uint64(0); ; {
				r := l.Latest()
				if r.Turns < last {
					t.Errorf("%d turns after %d", r.Turns, last)
				}
				if last = r.Turns; last == 0 {
					continue
				}
				if calls := r.Row("simulate", "move").Calls; calls != last {
					t.Errorf("%d turns and %d calls in one report", last, calls)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for f := range ecs.Tick(20000) {
		rollbackTurn(l, c, f)
	}
	for seen := uint64(0); seen == 0; seen = l.Latest().Turns {
		rollbackTurn(l, c, 1)
	}
	close(stop)
	readers.Wait()
	for f := range ecs.Tick(100) { // one row a turn is updated, then the page is published
		rollbackTurn(l, c, f)
	}
	if r := l.Latest(); r.Turns < 20000 || r.Rows[0].P50 == 0 {
		t.Errorf("published last: %d turns, %+v", r.Turns, r.Rows)
	}
}

// The ledger runs in every tick of every match.
func TestAccountingATurnAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	defer LabelSamples()()
	l, c := newLedger(t, nil)
	other, oc := newLedger(t, nil)
	rollbackTurn(l, c, 1)
	rollbackTurn(other, oc, 1)
	if n := testing.AllocsPerRun(200, func() { rollbackTurn(l, c, 2) }); n != 0 {
		t.Errorf("%v allocations a turn", n)
	}
	if n := testing.AllocsPerRun(20, func() { l.Merge(other) }); n != 0 {
		t.Errorf("%v allocations to merge", n)
	}
	if n := testing.AllocsPerRun(20, func() { l.Reset(); rollbackTurn(l, c, 3) }); n != 0 {
		t.Errorf("%v allocations after a Reset", n)
	}
	if l.Report().Turns == 0 {
		t.Error("nothing was accounted: the test proves nothing")
	}
}

// A merged report equals that of one ledger for all.
func TestMergedLedgersAreAsOne(t *testing.T) {
	all, ca := newLedger(t, nil)
	one, co := newLedger(t, nil)
	two, ct := newLedger(t, nil)
	for i := range 100 {
		l, c := one, co
		if i%2 > 0 {
			l, c = two, ct
		}
		for _, x := range []struct {
			*Ledger
			*clock
		}{{all, ca}, {l, c}} {
			in(x.Ledger, x.clock, rockets, time.Duration(100*i))
			x.Turn(ecs.Tick(i))
		}
	}
	one.Merge(two)
	if a, b := all.Report(), one.Report(); !reflect.DeepEqual(a, b) {
		t.Errorf("merged %+v, want %+v", b, a)
	}
	three, c3 := newLedger(t, nil)
	in(three, c3, rockets, 70)
	three.Turn(1)
	three.Cut()
	two.Reset()
	two.Merge(three) // it has no slices yet
	two.Merge(three)
	sliced := two.Report()
	if got := sliced.Row("simulate", "rockets").Slices; !reflect.DeepEqual(got, []float64{70}) {
		t.Errorf("merged slices %v, want one of 70 ns a turn", got)
	}
	one.Reset()
	if r := one.Report(); r.Turns != 0 || len(r.Rows) != 0 || r.Largest.Cost != 0 {
		t.Errorf("after Reset: %+v", r)
	}
}

// A slice holds the cost per turn in its part of the run, also where a row was not called.
func TestSlicesHoldTheCostOfEachPartOfARun(t *testing.T) {
	l, c := newLedger(t, nil)
	for slice := range 3 {
		for range 10 {
			in(l, c, move, 100*time.Duration(1+slice))
			if slice == 1 {
				in(l, c, rockets, 7)
			}
			l.Turn(1)
		}
		l.Cut()
		l.Cut() // without a turn in it there is no slice
	}
	r := l.Report()
	if got := r.Row("simulate", "move").Slices; !reflect.DeepEqual(got, []float64{100, 200, 300}) {
		t.Error(got)
	}
	if got := r.Row("simulate", "rockets").Slices; !reflect.DeepEqual(got, []float64{0, 7, 0}) {
		t.Error(got)
	}
}

// Reports are kept as JSON and compared later.
func TestAReportSurvivesJSON(t *testing.T) {
	l, c := newLedger(t, nil)
	rollbackTurn(l, c, 7)
	l.Cut()
	rollbackTurn(l, c, 8)
	r := l.Report()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if string(again) != string(text) || back.Row("resimulate", "rockets").Self != r.Row("resimulate", "rockets").Self || back.Text() != r.Text() {
		t.Errorf("%s\n%s", text, again)
	}
}

// The line names the most expensive rows.
func TestTheLineNamesTheMostExpensiveRows(t *testing.T) {
	l, c := newLedger(t, nil)
	rollbackTurn(l, c, 7)
	r := l.Report()
	if line := r.Line(); !strings.Contains(line, "rockets") {
		t.Error(line)
	}
}

// A system of a strategy has a row of its own, also where it runs between resimulated ticks.
func TestAStrategysSystemsHaveRowsOfTheirOwn(t *testing.T) {
	l, c := newLedger(t, nil)
	l.Name(rockets+1, "receive", "inputs")
	l.Name(rockets+2, "send", "views")
	in(l, c, image.SectionReceive, 10, func() { in(l, c, rockets+1, 70) })
	in(l, c, image.SectionFrame, 5, func() {
		in(l, c, image.SectionResimulate, 0, func() { in(l, c, rockets+2, 300) })
	})
	l.Turn(1)
	l.Name(rockets+1, "send", "views") // of the next strategy, which has other systems in these places
	l.Name(rockets+2, "receive", "moves")
	in(l, c, image.SectionFrame, 5, func() { in(l, c, rockets+1, 4); in(l, c, rockets+2, 9) })
	l.Turn(2)
	r := l.Report()
	inputs, views := r.Row("receive", "inputs"), r.Row("send", "views")
	if inputs == nil || views == nil || inputs.Self != 70 || views.Self != 304 || r.Row("receive", "moves").Self != 9 || views.Label() != "send/views" {
		t.Fatalf("%+v", r.Rows)
	}
	defer func() {
		if recover() == nil {
			t.Error("a system beyond the limit has a row")
		}
	}()
	other, clock := newLedger(t, nil)
	other.Name(rockets+1, "send", "more")
	in(other, clock, image.SectionFrame, 5, func() { in(other, clock, rockets+1, 21) })
	other.Turn(1)
	l.Merge(other)
	if r := l.Report(); r.Row("send", "more").Self != 21 || r.Row("receive", "inputs").Self != 70 {
		t.Errorf("after Merge: %+v", r.Rows)
	}
	for i := range strategySystems - 3 {
		l.Name(rockets+1, "send", strconv.Itoa(i))
	}
}

// A section that is left out of order would be charged for the time of another.
func TestSectionsThatAreNotLeftInOrderPanic(t *testing.T) {
	for name, wrong := range map[string]func(l *Ledger){
		"another": func(l *Ledger) { l.Enter(move); l.Leave(rockets) },
		"none":    func(l *Ledger) { l.Leave(move) },
		"a turn":  func(l *Ledger) { l.Enter(move); l.Turn(1) },
	} {
		l, _ := newLedger(t, nil)
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "cost: ") {
					t.Errorf("%s: no panic with a sentence", name)
				}
			}()
			wrong(l)
		}()
	}
}

// Allocations are counted exactly, and where they happen: what is nested in a section is not its own. The counter is that of
// the process, in which the runtime may allocate at any time: a run may count more, but one of many runs is exact.
func TestAllocationsAreCountedWhereTheyHappen(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for try := 0; ; try++ {
		more := false
		for i, row := range allocating(t) {
			want := [...]uint64{5, 15, 0}[i]
			if row.Allocs < want || row.AllocBytes < want*100 || try == 100 {
				t.Fatalf("%s %s: %d allocations of %d bytes, want %d", row.Phase, row.System, row.Allocs, row.AllocBytes, want)
			}
			more = more || row.Allocs > want
		}
		if !more {
			return
		}
	}
}

// allocating returns the rows of a section, of a section in it and of a third, after five turns. In each turn the first allocates
// one object and the second three.
func allocating(t *testing.T) (rows []Row) {
	l, c := newLedger(t, func(c *Config) { c.Allocs = true })
	var kept [8]*[100]byte
	for f := range ecs.Tick(10) {
		l.Enter(image.SectionSimulate)
		kept[0] = new([100]byte)
		l.Enter(rockets)
		for i := range 3 {
			kept[1+i] = new([100]byte)
		}
		l.Leave(rockets)
		l.Leave(image.SectionSimulate)
		in(l, c, move, 1)
		l.Turn(f)
		if f == 4 { // the first turn makes histograms
			l.Reset()
		}
	}
	if kept[3] == nil {
		t.Error("nothing was allocated: the test proves nothing")
	}
	r := l.Report()
	for _, system := range []string{"", "rockets", "move"} {
		rows = append(rows, *r.Row("simulate", system))
	}
	return rows
}

// A Config that cannot work is refused with the name of the field.
func TestABadConfigNamesTheField(t *testing.T) {
	for field, c := range map[string]Config{
		"Game is nil": {},
		"TickRate":    {Game: &ecs.Game{}},
		"Digits":      {Game: someGame(), Digits: 3},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// BenchmarkTurn is a heavy turn of a client of relay: twelve ticks computed again, two systems each. The metric is the
// share of a tick's budget of 1/60 s that accounting takes; the requirement is 1 %.
func BenchmarkTurn(b *testing.B) {
	l, err := New(Config{Game: someGame()})
	if err != nil {
		b.Fatal(err)
	}
	sections := 0
	both := func(s image.Section, nested ...func()) {
		sections++
		l.Enter(s)
		for _, f := range nested {
			f()
		}
		l.Leave(s)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sections = 0
		both(image.SectionFrame, func() {
			for range 12 {
				l.Enter(image.SectionResimulate)
				both(image.SectionSimulate, func() {
					for s := range image.Section(20) {
						both(image.SectionSystems + s%2)
					}
				})
				l.Leave(image.SectionResimulate)
				both(image.SectionSave)
			}
		})
		l.Turn(ecs.Tick(i))
	}
	perTurn := float64(b.Elapsed()) / float64(b.N)
	b.ReportMetric(perTurn/float64(sections), "ns/section")
	b.ReportMetric(100*perTurn/(1e9/60), "%budget")
}
