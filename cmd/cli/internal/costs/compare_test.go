package costs

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tendon/net/cost"
)

// synthetic is a report of one system over slices: what the match asks for in each, times a factor, times noise.
func synthetic(seed uint64, n int, factor, noise float64) *cost.Report {
	dice := rand.New(rand.NewPCG(seed, 1))
	row := cost.Row{RowName: cost.RowName{Phase: "simulate", System: "rockets"}, Calls: 1200}
	for i := range n {
		match := 1000 * (1 + float64(i%5)) // some parts of a match cost five times others
		v := match * factor * (1 + noise*(2*dice.Float64()-1))
		row.Slices = append(row.Slices, v)
		row.Self += time.Duration(v * 60)
	}
	return &cost.Report{Turns: 60 * uint64(n), Rows: []cost.Row{row}}
}

// compared compares two files of one side. The new machine takes speed times as long for constant work. The other rows
// make the confidence of each 99.9 %.
func compared(old, new *cost.Report, speed, limit float64) ([]comparedRow, error) {
	a, b := &File{Sides: Sides{Server: *old}, Reference: []float64{1}}, &File{Sides: Sides{Server: *new}, Reference: []float64{speed}}
	for range 49 {
		b.Client.Rows = append(b.Client.Rows, cost.Row{})
	}
	rows, _, err := Compare(a, b, limit)
	return slices.DeleteFunc(rows, func(r comparedRow) bool { return r.Side == "client" }), err
}

func ratioOf(t *testing.T, old, new *cost.Report, speed, limit float64) comparedRow {
	t.Helper()
	list, err := compared(old, new, speed, limit)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

// Equal rows are not worse, clearly slower rows are, and rows within the noise are not.
func TestOnlyAClearSlowdownIsWorse(t *testing.T) {
	for _, c := range []struct {
		name                 string
		factor, noise, speed float64
		verdict              string
	}{
		{"equal", 1, 0.03, 1, ""},
		{"slightly worse", 1.05, 0.03, 1, ""},
		{"clearly worse", 1.3, 0.03, 1, "worse"},
		{"clearly better", 0.7, 0.03, 1, "better"},
		{"worse within noise", 1.12, 0.8, 1, ""},
		{"on a slower machine", 1.5, 0.03, 1.5, ""},
		{"worse on a faster machine", 1, 0.03, 0.7, "worse"},
	} {
		for seed := range uint64(50) {
			r := ratioOf(t, synthetic(2*seed, 100, 1, c.noise), synthetic(2*seed+1, 100, c.factor, c.noise), c.speed, 0.1)
			if r.Verdict != c.verdict || r.Uncertain {
				t.Errorf("%s, seed %d: %+v", c.name, seed, r)
			}
			if want := c.factor / c.speed; c.noise < 0.1 && (r.Median < want*0.97 || r.Median > want*1.03 || r.Low > r.Median || r.High < r.Median) {
				t.Errorf("%s, seed %d: %+v, want %v", c.name, seed, r, want)
			}
		}
	}
}

// With a few slices nothing is sure, however bad it looks.
func TestAFewSlicesProveNothing(t *testing.T) {
	for slices := range 50 {
		if r := ratioOf(t, synthetic(1, slices, 1, 0), synthetic(2, slices, 9, 0), 1, 0.1); r.Verdict != "" || !r.Uncertain {
			t.Errorf("%d slices: %+v", slices, r)
		}
	}
	if _, err := compared(synthetic(1, 10, 1, 0), synthetic(1, 20, 1, 0), 1, 0.1); err == nil {
		t.Error("runs of different length were compared")
	}
}

// A new system and a removed one have no ratio; both are listed.
func TestASystemOfOneReportOnlyHasNoRatio(t *testing.T) {
	old, new := synthetic(1, 100, 1, 0), synthetic(1, 100, 1, 0)
	new.Rows[0].System = "lasers"
	list, err := compared(old, new, 1, 0)
	if err != nil || len(list) != 2 || list[0].System != "lasers" || list[0].Old != 0 || list[0].New == 0 || list[1].System != "rockets" || list[1].New != 0 || list[1].Old == 0 {
		t.Fatal(list, err)
	}
	for _, r := range list {
		if r.Median != 0 || r.Verdict == "worse" || r.Verdict == "better" {
			t.Errorf("%+v", r)
		}
	}
}

// A pause of the machine disturbs one or two slices. It does not change the comparison, and least takes the undisturbed
// parts of two runs.
func TestAPauseOfTheMachineIsNotASlowdown(t *testing.T) {
	old, new, again := synthetic(1, 100, 1, 0.02), synthetic(2, 100, 1, 0.02), synthetic(3, 100, 1, 0.02)
	for i := range new.Rows[0].Slices {
		if i%5 < 2 { // twice in each sample
			new.Rows[0].Slices[i] *= 30
		}
	}
	if r := ratioOf(t, old, new, 1, 0.1); r.Verdict != "" || r.Median > 1.05 {
		t.Errorf("with hitches: %+v", r)
	}
	for i := range new.Rows[0].Slices {
		new.Rows[0].Slices[i] *= 10
	}
	if r := ratioOf(t, old, new, 1, 0.1); r.Verdict != "worse" {
		t.Errorf("disturbed throughout: %+v", r)
	}
	least(new, again)
	if sum := new.Rows[0].Self; sum > 6000*3100 || new.Busy != sum {
		t.Errorf("its self time is still %v, busy %v", sum, new.Busy)
	}
	if r := ratioOf(t, old, new, 1, 0.02); r.Verdict != "" {
		t.Errorf("with another run: %+v", r)
	}
}

// The most expensive systems of the game are listed with their costs in both directions. Those of a strategy are not among
// them.
func TestTheMostExpensiveSystemsCountForwardAndAgain(t *testing.T) {
	r := &cost.Report{}
	for _, row := range []cost.Row{{RowName: cost.RowName{Phase: "frame"}, Self: 9000}, {RowName: cost.RowName{Phase: "simulate", System: "move"}, Self: 1600},
		{RowName: cost.RowName{Phase: "simulate", System: "rockets"}, Self: 1700}, {RowName: cost.RowName{Phase: "resimulate", System: "move"}, Self: 1200},
		{RowName: cost.RowName{Phase: "resimulate", System: "rockets"}, Self: 1400}, {RowName: cost.RowName{Phase: "send", System: "rockets"}, Self: 5000}} {
		r.Rows = append(r.Rows, row)
	}
	list := Dearest(r)
	if len(list) != 2 || list[0].System != "rockets" || list[0].Self != 3100 || list[1].Self != 2800 || list[0].Again != 1400./3100 {
		t.Errorf("%+v", list)
	}
}
