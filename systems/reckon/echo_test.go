package reckon

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

func newEchoCheck(speed int) *echoCheck {
	return &echoCheck{maxSpeed: fixed.FromInt(speed), rules: &motion.Rules{}}
}

// CW-OWN: with a limit of 14, an echo that differs by 2 corrects nothing. One that differs by 20 makes the entity
// jump, and counts one snap.
func TestCWOWNOnlyAnExtremeEchoMakesTheEntityJump(t *testing.T) {
	o := newEchoCheck(5)
	if o.check(vec("3", "4", "0"), vec("5", "4", "0"), 200*ms, sec) || o.check(vec("0", "0", "0"), vec("14", "0", "0"), 200*ms, sec) || o.snaps != 0 {
		t.Error("a difference that prediction explains was corrected")
	}
	if !o.check(vec("0", "0", "0"), vec("12", "16", "0"), 200*ms, sec) || o.snaps != 1 {
		t.Error("a difference of 20 was not corrected")
	}
}

// The limit grows with the round trip: max(14, v_max × (RTT + 0.5 s)).
func TestTheLimitGrowsWithTheRoundTrip(t *testing.T) {
	o := newEchoCheck(10)
	for rtt, want := range map[systems.Time]string{0: "14", 900 * ms: "14", sec: "15", 2 * sec: "25", -sec: "14"} {
		if got := o.limit(rtt); got != num(want) {
			t.Errorf("at a round trip of %d ms: %v", rtt/ms, got)
		}
	}
	if o.check(fixed.Vec3{}, vec("20", "0", "0"), 2*sec, 0) || !o.check(fixed.Vec3{}, vec("20", "0", "0"), 0, 0) {
		t.Error("a difference beyond the limit was not corrected")
	}
}

// Echoes that were in flight during a jump still have the old position. They cause no second jump.
func TestAJumpIsNotMadeTwice(t *testing.T) {
	o := newEchoCheck(5)
	far := vec("100", "0", "0")
	for now := systems.Time(0); now < 2*sec; now += 100 * ms {
		jumped := o.check(fixed.Vec3{}, far, sec, now)
		if want := now == 0 || now == 1500*ms; jumped != want {
			t.Errorf("at %d ms a jump: %v", now/ms, jumped)
		}
	}
	o.jump(sec, 10*sec)
	if o.snaps != 3 || o.check(fixed.Vec3{}, far, sec, 11*sec) {
		t.Error("a snap that the server sent is not counted")
	}
}

// The server extrapolates the last record that arrived. If a turn was lost, the echo may differ by more than the
// limit, but lies where that record leads. A place that no recent record leads to is a correction.
func TestALostTurnExplainsADifference(t *testing.T) {
	o := newEchoCheck(5)
	east, west := motion.Record{Vel: vec("5", "0", "0")}, motion.Record{Vel: vec("-5", "0", "0")}
	o.add(&east, 0)
	o.add(&west, 0) // lost
	own, echo := vec("-12.5", "0", "0"), vec("12.5", "0", "0")
	if o.check(own, echo, sec, 2500*ms) || o.check(own, vec("20", "0", "0"), sec, 2500*ms) {
		t.Error("corrected for a turn that did not reach the server")
	}
	if own = vec("-15.25", "0", "0"); !o.check(own, vec("15.25", "0", "0"), sec, 3050*ms) {
		t.Error("a record of 3 s ago explains where the server sees the entity")
	}
	o = newEchoCheck(5)
	o.add(&east, 0)
	if !o.check(vec("5", "0", "0"), vec("5", "30", "0"), 0, sec) {
		t.Error("a place that no record leads to was not corrected")
	}
	if !o.check(vec("7.5", "30", "0"), vec("7.5", "0", "0"), 0, 1500*ms) {
		t.Error("a record from before a jump explains where the server sees the entity")
	}
}
