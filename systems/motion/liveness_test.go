package motion

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Without records for 3 s, an entity slows down evenly and stands after another half second. It is lost after 12 s.
func TestAnEntityWithoutRecordsComesToAStop(t *testing.T) {
	c := configured(t, RemoteConfig{})
	var g Remote
	g.Receive(c, Record{Vel: vec("4", "0", "0")}, 0, 0)
	for _, v := range []struct {
		at       systems.Time
		pos, vel string
		liveness Liveness
	}{
		{sec, "4", "4", Alive}, {3 * sec, "12", "4", Alive}, {3250 * ms, "12.75", "2", Fading}, {3500 * ms, "13", "0", Fading},
		{9 * sec, "13", "0", Fading}, {12 * sec, "13", "0", Fading}, {12*sec + ms, "13", "0", Lost}, {999 * sec, "13", "0", Lost},
	} {
		m, _ := g.Shown(c, v.at)
		if m.Pos.X != num(v.pos) || m.Vel.X != num(v.vel) || g.Liveness(v.at) != v.liveness {
			t.Errorf("after %d ms: at %v, speed %v, liveness %d", v.at/ms, m.Pos.X, m.Vel.X, g.Liveness(v.at))
		}
	}
	last := fixed.Num(-1)
	for now := systems.Time(0); now < 3500*ms; now += ms {
		m, _ := g.Shown(c, now)
		if m.Pos.X <= last || m.Pos.X-last > fixed.One/200 && last >= 0 {
			t.Fatalf("at %d ms from %v to %v", now/ms, last, m.Pos.X)
		}
		last = m.Pos.X
	}
}

// A record older than 3 s on arrival, its own Age included, is a position only. A younger one is extrapolated over a
// second of its age at most.
func TestAnOldRecordIsAPositionOnly(t *testing.T) {
	c := configured(t, RemoteConfig{})
	for _, v := range []struct {
		age, own systems.Time
		atOnce   string
		later    string // a second later
	}{
		{500 * ms, 0, "2", "6"}, {sec, 0, "4", "8"}, {2 * sec, 0, "4", "8"}, {3 * sec, 0, "4", "8"}, {3*sec + ms, 0, "0", "0"}, {1500 * ms, 1600 * ms, "0", "0"}, {0, 2400 * ms, "0", "4"},
	} {
		var g Remote
		g.Receive(c, Record{Vel: vec("4", "0", "0"), Age: v.own}, v.age, 100*sec)
		now, _ := g.Shown(c, 100*sec)
		later, _ := g.Shown(c, 101*sec)
		if now.Pos.X != num(v.atOnce) || later.Pos.X != num(v.later) {
			t.Errorf("age %d + %d ms: at %v, a second later at %v", v.age/ms, v.own/ms, now.Pos.X, later.Pos.X)
		}
	}
	if r, _ := LimitAge(Record{Mode: Ballistic, Speed: fixed.One}, 4*sec); r.Mode != Ground || r.Speed != 0 {
		t.Errorf("an old record still falls: %+v", r)
	}
}
