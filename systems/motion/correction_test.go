package motion

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
)

func configured(t testing.TB, c RemoteConfig) *RemoteConfig {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return &c
}

// behind returns a remote entity that is shown at 0, while a record of time 0 has it at 10, moving at 5.
func behind(c *RemoteConfig) *Remote {
	g := &Remote{}
	g.Receive(c, Record{Stamp: -1}, 0, 0)
	g.Receive(c, Record{Stamp: 0, Pos: vec("10", "0", "0"), Vel: vec("5", "0", "0")}, 0, 0)
	return g
}

// CW-CONV-1 and DR-01: shown at 0; the record has position 10 now and speed 5; horizon 1 s. The entity moves at 15
// and is at 3.75, 7.5, 11.25 and 15 after each quarter of a second. The error is 7.5, 5, 2.5 and 0. At 1.5 s it is at
// 17.5 without error.
func TestCWCONV1DR01AStraightLineToTheDeadline(t *testing.T) {
	c := configured(t, RemoteConfig{})
	g := behind(c)
	for _, v := range []struct {
		at           systems.Time
		shown, wrong string
	}{{0, "0", "10"}, {250 * ms, "3.75", "7.5"}, {500 * ms, "7.5", "5"}, {750 * ms, "11.25", "2.5"}, {sec, "15", "0"}, {1500 * ms, "17.5", "0"}} {
		m, ok := g.Shown(c, v.at)
		truth := 10*fixed.One + Seconds(v.at)*5
		if !ok || m.Pos.X != num(v.shown) || truth-m.Pos.X != num(v.wrong) {
			t.Errorf("at %d ms: shown %v, off by %v", v.at/ms, m.Pos.X, truth-m.Pos.X)
		}
	}
}

// residual returns the rest, after a second, of an error of 10, with equal records every h.
func residual(c *RemoteConfig, h systems.Time) fixed.Num {
	g := behind(c)
	for now := h; now <= sec; now += h {
		if now < sec { // the record at 1 s comes when the residual is taken
			g.Receive(c, Record{Stamp: StampOf(now), Pos: fixed.Vec3{X: 10*fixed.One + Seconds(now)*5}, Vel: vec("5", "0", "0")}, 0, now)
		}
	}
	m, _ := g.Shown(c, sec)
	return 15*fixed.One - m.Pos.X
}

// CW-CONV-2 and DR-02: consistent records every h. If each restarts the horizon, (1 − h)^(1/h) of the error remains
// after a second. If the deadline is kept, no error remains at any rate.
func TestCWCONV2DR02TheResidualAfterASecond(t *testing.T) {
	always, kept := configured(t, RemoteConfig{Deadline: RestartAlways}), configured(t, RemoteConfig{})
	for h, want := range map[systems.Time]string{1000: "0", 500: "2.5", 250: "3.16", 200: "3.28", 100: "3.49", 50: "3.59"} {
		if got := residual(always, h*ms); !near(got, num(want), fixed.One/100) {
			t.Errorf("RestartAlways every %d ms: %v left, want %s", h, got, want)
		}
		if got := residual(kept, h*ms); got.Abs() > tiny {
			t.Errorf("DeadlineKept every %d ms: %v left", h, got)
		}
	}
}

// A record that disagrees starts a new correction from the shown point, with the whole horizon, without a jump.
func TestADisagreementBeginsANewPlanWithoutAJump(t *testing.T) {
	c := configured(t, RemoteConfig{})
	g := behind(c)
	before, _ := g.Shown(c, 500*ms)
	g.Receive(c, Record{Stamp: 50, Pos: vec("12.5", "0", "0"), Vel: vec("0", "5", "0")}, 0, 500*ms) // turned
	after, _ := g.Shown(c, 500*ms)
	if before.Pos != after.Pos {
		t.Errorf("jumped from %v to %v", before.Pos, after.Pos)
	}
	if m, _ := g.Shown(c, 1500*ms); m.Pos != vec("12.5", "5", "0") {
		t.Errorf("at the new deadline %v", m.Pos)
	}
	if m, _ := g.Shown(c, sec); m.Pos == vec("12.5", "2.5", "0") {
		t.Error("the old deadline was kept")
	}
}

// A record that differs by less than 0.1 keeps the deadline without a jump. Shortly before the deadline, a small rest
// is dropped.
func TestAnAgreementKeepsTheDeadline(t *testing.T) {
	c := configured(t, RemoteConfig{})
	g := behind(c)
	before, _ := g.Shown(c, 500*ms)
	g.Receive(c, Record{Stamp: 50, Pos: vec("12.59", "0", "0"), Vel: vec("5", "0", "0")}, 0, 500*ms)
	if after, _ := g.Shown(c, 500*ms); after.Pos != before.Pos {
		t.Errorf("jumped from %v to %v", before.Pos, after.Pos)
	}
	if m, _ := g.Shown(c, sec); !near(m.Pos.X, num("15.09"), tiny) {
		t.Errorf("at the deadline %v", m.Pos.X)
	}
	g.Receive(c, Record{Stamp: 160, Pos: vec("18", "0", "0"), Vel: vec("5", "0", "0")}, 0, 1600*ms)
	g.Receive(c, Record{Stamp: 257, Pos: vec("22.85", "0", "0"), Vel: vec("5", "0", "0")}, 0, 2570*ms)
	if m, _ := g.Shown(c, 2570*ms); m.Pos.X != num("22.85") {
		t.Errorf("30 ms before the deadline %v is shown", m.Pos.X)
	}
}

// The age of a record, including its own Age, is taken off the horizon, down to 0.3 s.
func TestAnOldRecordIsCorrectedSooner(t *testing.T) {
	for _, v := range []struct {
		horizon, age, own, takes systems.Time
	}{{0, 0, 0, 1000}, {0, 200, 0, 800}, {0, 200, 320, 480}, {0, 900, 0, 300}, {0, -50, 0, 1000}, {200, 900, 0, 200}} {
		c := configured(t, RemoteConfig{Horizon: v.horizon * ms})
		var g Remote
		g.Receive(c, Record{Stamp: -1}, 0, 0)
		g.Receive(c, Record{Pos: vec("10", "0", "0"), Age: v.own * ms}, v.age*ms, 0)
		before, _ := g.Shown(c, (v.takes-1)*ms)
		if at, _ := g.Shown(c, v.takes*ms); before.Pos.X >= 10*fixed.One || at.Pos.X != 10*fixed.One {
			t.Errorf("%+v: at %v and then %v", v, before.Pos.X, at.Pos.X)
		}
	}
}

// Where the straight line is blocked, the entity jumps, which counts as a snap. A teleport jumps too.
func TestABlockedCorrectionJumps(t *testing.T) {
	wall := func(from, to fixed.Vec3) bool { return from.X < num("5") && to.X > num("5") }
	c := configured(t, RemoteConfig{Blocked: wall})
	g := behind(c)
	if m, _ := g.Shown(c, 0); m.Pos.X != 10*fixed.One || g.Stats.Snaps != 1 {
		t.Errorf("shown at %v, %d snaps", m.Pos.X, g.Stats.Snaps)
	}
	g.Receive(c, Record{Stamp: 10, Pos: vec("12", "0", "0")}, 0, 100*ms)
	if m, _ := g.Shown(c, 100*ms); m.Pos.X == 12*fixed.One || g.Stats.Snaps != 1 {
		t.Error("a free way was jumped")
	}
	g.Receive(c, Record{Stamp: 20, Flags: FlagTeleport, Pos: vec("-900", "0", "0")}, 0, 200*ms)
	if m, _ := g.Shown(c, 200*ms); m.Pos.X != num("-900") || g.Stats.Snaps != 1 {
		t.Errorf("a teleport is drawn from %v, %d snaps", m.Pos.X, g.Stats.Snaps)
	}
}

// Overtaken, duplicate and relative records are ignored.
func TestAnOlderStampIsIgnored(t *testing.T) {
	c := configured(t, RemoteConfig{})
	var g Remote
	if _, ok := g.Shown(c, 0); ok {
		t.Error("an entity without a record is shown")
	}
	used := g.Receive(c, Record{Stamp: 100, Pos: vec("1", "0", "0")}, 0, sec)
	for _, s := range []Stamp{100, 99, -5000} {
		used = used && !g.Receive(c, Record{Stamp: s, Pos: vec("7", "0", "0")}, 0, 2*sec)
	}
	if m, _ := g.Shown(c, 2*sec); !used || m.Pos.X != fixed.One || g.Stats.Stale != 3 || g.Stats.Records != 1 {
		t.Errorf("%v, %+v", m.Pos, g.Stats)
	}
	if g.Receive(c, Record{Stamp: 101, Anchor: 1}, 0, 2*sec) {
		t.Error("a relative record was used")
	}
	if !g.known || g.record.Stamp != 100 {
		t.Errorf("%+v", g.record)
	}
}

// An invalid RemoteConfig is an error.
func TestARemoteConfigIsChecked(t *testing.T) {
	for i, c := range []RemoteConfig{{Horizon: 1}, {Horizon: 11 * sec}, {Deadline: 2}, {Rules: Rules{Gravity: -1}}} {
		if c.Validate() == nil {
			t.Errorf("config %d was accepted", i)
		}
	}
}
