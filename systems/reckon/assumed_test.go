package reckon

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

// Without a clock exchange every record counts as Assumed old. The shown position is off by the speed times the
// difference to the real delay. An even delay gives a constant error; jitter adds the speed times the jitter.
func TestNoClockIsWrongBySpeedTimesJitter(t *testing.T) {
	c := configured(t, motion.RemoteConfig{})
	const speed, base, assumed = 5, 200 * ms, 200 * ms
	for _, jitter := range []systems.Time{0, 40 * ms, 100 * ms} {
		for _, d := range []Config{{}, {Assumed: assumed}} {
			worst := fixed.Num(0)
			for i, late := range []systems.Time{0, jitter, 0, jitter / 2, jitter} {
				sent := systems.Time(i) * sec
				arrives := sent + base + late
				var g motion.Remote
				r := motion.Record{Stamp: motion.StampOf(sent), Pos: fixed.Vec3{X: motion.Seconds(sent) * speed}, Vel: vec("5", "0", "0")}
				g.Receive(c, r, d.age(r.Stamp, arrives), arrives)
				m, _ := g.Shown(c, arrives+sec/2)
				worst = max(worst, (motion.Seconds(arrives+sec/2)*speed - m.Pos.X).Abs())
			}
			want := fixed.Num(0)
			if d.Assumed > 0 {
				want = motion.Seconds(jitter) * speed
			}
			if (worst - want).Abs() > fixed.One/1000 {
				t.Errorf("assumed %d ms, jitter %d ms: off by %v, want %v", d.Assumed/ms, jitter/ms, worst, want)
			}
		}
	}
}
