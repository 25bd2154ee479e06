package motion

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// near reports whether two numbers differ by no more than most.
func near(a, b, most fixed.Num) bool { return (a - b).Abs() <= most }

var tiny = fixed.One / 1000

// CW-FALL: g = 9.8, 1 s without an update. A straight line is off by 4.9, a ballistic record by at most 0.01.
func TestCWFALLASecondOfFalling(t *testing.T) {
	rules := Rules{Gravity: num("9.8")}
	truth := num("100") - num("4.9")
	for mode, wrong := range map[Mode]fixed.Num{Ground: num("4.9"), Ballistic: 0} {
		m, ok := rules.Predict(&Record{Mode: mode, Pos: vec("0", "0", "100")}, sec)
		if got := (m.Pos.Z - truth).Abs(); !ok || !near(got, wrong, fixed.One/100) {
			t.Errorf("mode %d is off by %v, want %v", mode, got, wrong)
		}
	}
}

// DR-09: a fall of 2 s with a record a second. The shown position is off by at most 0.1 m in ballistic mode, and by
// ½g·t² of the time since the record in linear mode. The ground stops the fall.
func TestDR09AFallOfTwoSeconds(t *testing.T) {
	rules := Rules{Gravity: num("9.8"), Floor: func(_, _ fixed.Num) fixed.Num { return 0 }}
	config := RemoteConfig{Rules: rules}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	start := Record{Mode: Ballistic, Pos: vec("0", "0", "15"), Vel: vec("3", "0", "0")}
	for _, mode := range []Mode{Ballistic, Ground} {
		var g Remote
		worst := fixed.Num(0)
		for now := systems.Time(0); now <= 2*sec; now += 10 * ms {
			truth, _ := rules.Predict(&start, now)
			if now == 0 || now == sec {
				g.Receive(&config, Record{Stamp: StampOf(now), Mode: mode, Pos: truth.Pos, Vel: truth.Vel}, 0, now)
			}
			m, ok := g.Shown(&config, now)
			if !ok {
				t.Fatal("not shown")
			}
			wrong := m.Pos.Sub(truth.Pos).Len()
			if now < sec {
				worst = max(worst, wrong)
				since := Seconds(now)
				if law := num("4.9").Mul(since).Mul(since); mode == Ground && now < sec && !near(wrong, law, fixed.One/100) {
					t.Fatalf("linear mode after %d ms is off by %v, want %v", now/ms, wrong, law)
				}
			} else if mode == Ballistic {
				worst = max(worst, wrong)
			}
		}
		if mode == Ballistic && worst > fixed.One/10 || mode == Ground && worst < num("4.7") {
			t.Errorf("mode %d is off by up to %v", mode, worst)
		}
	}
	if m, _ := rules.Predict(&start, 5*sec); m.Pos.Z != 0 || m.Vel.Z != 0 || m.Pos.X != 15*fixed.One {
		t.Errorf("fell through the ground: %v", m)
	}
	up := Record{Mode: Ballistic, Vel: vec("0", "0", "5")}
	for _, age := range []systems.Time{0, 100 * ms} {
		if m, _ := rules.Predict(&up, age); m.Pos.Z < 0 || m.Vel.Z < 4*fixed.One {
			t.Error("the ground stops a jump", m)
		}
	}
}

// An entity on a platform moves with it, from its offset and with its own speed. Without the platform its motion is
// unknown.
func TestAnAttachedEntityMovesWithItsParent(t *testing.T) {
	ship := ecs.Entity{Row: 4, Born: 4}
	rules := Rules{Parent: func(e ecs.Entity) (ecs.Motion, bool) {
		return ecs.Motion{Pos: vec("100", "0", "5"), Vel: vec("2", "0", "0")}, e == ship
	}}
	r := Record{Mode: Attached, Parent: ship, Pos: vec("1", "2", "0"), Vel: vec("0", "1", "0")}
	m, ok := rules.Predict(&r, 2*sec)
	if !ok || m.Pos != vec("101", "4", "5") || m.Vel != vec("2", "1", "0") {
		t.Error(m, ok)
	}
	r.Parent.Born++
	if _, ok := rules.Predict(&r, 0); ok {
		t.Error("an unknown parent")
	}
	if _, ok := new(Rules).Predict(&r, 0); ok {
		t.Error("no parents at all")
	}
}

// A scripted entity follows its path at its speed.
func TestAScriptedEntityFollowsItsPath(t *testing.T) {
	rules := Rules{Path: func(path uint32, along fixed.Num) (pos, direction fixed.Vec3, ok bool) {
		if along < 10*fixed.One { // east, then north
			return fixed.Vec3{X: along}, vec("1", "0", "0"), path == 7
		}
		return fixed.Vec3{X: 10 * fixed.One, Y: along - 10*fixed.One}, vec("0", "1", "0"), path == 7
	}}
	r := Record{Mode: Scripted, Path: 7, Along: num("8"), Speed: num("4")}
	if m, ok := rules.Predict(&r, sec); !ok || m.Pos != vec("10", "2", "0") || m.Vel != vec("0", "4", "0") {
		t.Error(m, ok)
	}
	r.Path = 8
	if _, ok := rules.Predict(&r, sec); ok {
		t.Error("an unknown path")
	}
	if _, ok := new(Rules).Predict(&r, sec); ok {
		t.Error("no paths at all")
	}
}

// Extrapolating a forwarded record equals extrapolating the original, in every mode. The ages add up.
func TestAForwardedRecordLeadsToTheSamePlace(t *testing.T) {
	rules := Rules{
		Gravity: num("9.8"),
		Parent:  func(ecs.Entity) (ecs.Motion, bool) { return ecs.Motion{Pos: vec("50", "0", "0")}, true },
		Path: func(_ uint32, along fixed.Num) (pos, direction fixed.Vec3, ok bool) {
			return fixed.Vec3{X: along}, vec("1", "0", "0"), true
		},
	}
	for mode := Ground; mode < modes; mode++ {
		r := Record{Stamp: 100, Mode: mode, Age: 10 * ms, Pos: vec("1", "2", "3"), Vel: vec("4", "-5", "6"), Along: num("7"), Speed: num("2")}
		f := rules.Forward(r, 300*ms, 5000)
		if f.Stamp != 5000 || f.Age != 310*ms || f.Mode != mode {
			t.Errorf("mode %d: %+v", mode, f)
		}
		once, ok1 := rules.Predict(&r, 700*ms)
		twice, ok2 := rules.Predict(&f, 400*ms)
		if !ok1 || !ok2 || once.Pos.Sub(twice.Pos).Len() > tiny || once.Vel.Sub(twice.Vel).Len() > tiny {
			t.Errorf("mode %d: %v, in two steps %v", mode, once, twice)
		}
	}
}

// No age overflows. A negative age counts back to a second at most.
func TestAnAgeIsBounded(t *testing.T) {
	var rules Rules
	r := Record{Vel: vec("1", "0", "0")}
	for age, want := range map[systems.Time]string{-sec / 2: "-0.5", -1 << 62: "-1", 1 << 62: "60"} {
		if m, _ := rules.Predict(&r, age); m.Pos.X != num(want) {
			t.Errorf("age %d leads to %v", age, m.Pos.X)
		}
	}
}
