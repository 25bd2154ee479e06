package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/motion"
)

// Nothing allocates on the way of a record, from the send policy to the shown position. Clients receive records of
// every relevant entity many times a second.
func TestARecordAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	rules := motion.Rules{Gravity: num("9.8"), Floor: func(_, _ fixed.Num) fixed.Num { return 0 }}
	c := configured(t, motion.RemoteConfig{Rules: rules, Blocked: func(_, _ fixed.Vec3) bool { return false }})
	s := motion.NewSendPolicy(motion.SendConfig{Turn: fixed.Half}, &rules)
	o := &echoCheck{maxSpeed: top * fixed.One, rules: &rules}
	var (
		g        motion.Remote
		check    = guard()
		buf      = make([]byte, 0, motion.MaxRecord)
		now      systems.Time
		accepted int
	)
	anchor := motion.Anchor{Number: 1, Entity: ecs.Entity{Row: 1, Born: 1}}
	r, away := motion.Record{Entity: anchor.Entity, Vel: vec("1", "0", "0")}, vec("99", "0", "0")
	if n := testing.AllocsPerRun(500, func() {
		now += 16 * ms
		r.Stamp, r.Flags, r.Vel = motion.StampOf(now), motion.FlagCast, fixed.Vec3{X: r.Vel.Y, Y: r.Vel.X}
		if s.Update(&r, now, 0) != motion.NotDue {
			o.add(&r, now)
		}
		sent := r
		if relative, ok := sent.Against(anchor); ok {
			sent = relative
		}
		w := wire.NewWriter(buf, motion.MaxRecord)
		sent.Append(&w)
		var got motion.Record
		reader := wire.NewReader(w.Bytes())
		got.Read(&reader, r.Stamp)
		if got.Anchor != 0 {
			got = got.On(anchor)
		}
		if check.Check(&got, 0, now) == motion.Accepted {
			accepted++
			believed, age := motion.LimitAge(got, 40*ms)
			g.Receive(c, rules.Forward(believed, age, motion.StampOf(now)), 50*ms, now)
		}
		g.Shown(c, now)
		o.check(r.Pos, away, 0, now)
	}); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
	if accepted < 400 || o.snaps == 0 {
		t.Errorf("%d records were accepted, %d jumps: the test proves nothing", accepted, o.snaps)
	}
}
