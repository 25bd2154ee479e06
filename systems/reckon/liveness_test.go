package reckon

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Of who is silent for 3 s nothing is known any more: the ghost slows down evenly, stands after another half second, and
// is marked after 12 s.
func TestASilentGhostComesToAStop(t *testing.T) {
	c := configured(t, RemoteConfig{})
	var g remoteMotion
	g.receive(c, Record{Vel: vec("4", "0", "0")}, 0, 0)
	for _, v := range []struct {
		at       systems.Time
		pos, vel string
		presence Liveness
	}{
		{sec, "4", "4", Alive}, {3 * sec, "12", "4", Alive}, {3250 * ms, "12.75", "2", Fading}, {3500 * ms, "13", "0", Fading},
		{9 * sec, "13", "0", Fading}, {12 * sec, "13", "0", Fading}, {12*sec + ms, "13", "0", Lost}, {999 * sec, "13", "0", Lost},
	} {
		m, _ := g.shown(c, v.at)
		if m.Pos.X != num(v.pos) || m.Vel.X != num(v.vel) || g.liveness(v.at) != v.presence {
			t.Errorf("after %d ms: at %v, speed %v, presence %d", v.at/ms, m.Pos.X, m.Vel.X, g.liveness(v.at))
		}
	}
	last := fixed.Num(-1)
	for now := systems.Time(0); now < 3500*ms; now += ms {
		m, _ := g.shown(c, now)
		if m.Pos.X <= last || m.Pos.X-last > fixed.One/200 && last >= 0 {
			t.Fatalf("at %d ms from %v to %v", now/ms, last, m.Pos.X)
		}
		last = m.Pos.X
	}
}

// A record that is older than 3 s when it arrives, by its own account too, tells only a place; of a younger one the
// velocity is believed for a second of its age and no more.
func TestAnOldRecordTellsOnlyAPlace(t *testing.T) {
	c := configured(t, RemoteConfig{})
	for _, v := range []struct {
		age, said systems.Time
		atOnce    string
		later     string // a second on
	}{
		{500 * ms, 0, "2", "6"}, {sec, 0, "4", "8"}, {2 * sec, 0, "4", "8"}, {3 * sec, 0, "4", "8"}, {3*sec + ms, 0, "0", "0"}, {1500 * ms, 1600 * ms, "0", "0"}, {0, 2400 * ms, "0", "4"},
	} {
		var g remoteMotion
		g.receive(c, Record{Vel: vec("4", "0", "0"), Age: v.said}, v.age, 100*sec)
		now, _ := g.shown(c, 100*sec)
		later, _ := g.shown(c, 101*sec)
		if now.Pos.X != num(v.atOnce) || later.Pos.X != num(v.later) {
			t.Errorf("age %d + %d ms: at %v, a second on at %v", v.age/ms, v.said/ms, now.Pos.X, later.Pos.X)
		}
	}
	if r, _ := limitAge(Record{Mode: Ballistic, Speed: fixed.One}, 4*sec); r.Mode != Ground || r.Speed != 0 {
		t.Errorf("an old record still falls: %+v", r)
	}
}

// Without clocks every record counts as old as is assumed. What is shown is then off by the speed times the difference to
// the real delay: for an even delay by a constant, with jitter by the speed times the jitter.
func TestNoClockIsWrongBySpeedTimesJitter(t *testing.T) {
	c := configured(t, RemoteConfig{})
	const speed, base, assumed = 5, 200 * ms, 200 * ms
	for _, jitter := range []systems.Time{0, 40 * ms, 100 * ms} {
		for _, d := range []Config{{}, {Assumed: assumed}} {
			worst := fixed.Num(0)
			for i, late := range []systems.Time{0, jitter, 0, jitter / 2, jitter} {
				sent := systems.Time(i) * sec
				arrives := sent + base + late
				var g remoteMotion
				r := Record{Stamp: stampOf(sent), Pos: fixed.Vec3{X: seconds(sent) * speed}, Vel: vec("5", "0", "0")}
				g.receive(c, r, d.age(r.Stamp, arrives), arrives)
				m, _ := g.shown(c, arrives+sec/2)
				worst = max(worst, (seconds(arrives+sec/2)*speed - m.Pos.X).Abs())
			}
			want := fixed.Num(0)
			if d.Assumed > 0 {
				want = seconds(jitter) * speed
			}
			if !near(worst, want, tiny) {
				t.Errorf("assumed %d ms, jitter %d ms: off by %v, want %v", d.Assumed/ms, jitter/ms, worst, want)
			}
		}
	}
}
