package lab

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/predict"
)

// shotsOf measures what becomes of shots where views are believed that far back.
func shotsOf(t *testing.T, back systems.Time, on ...string) []Result {
	c := Config{Game: testGame(), Strategies: []systems.Strategy{predict.New(predict.Config{MaxView: back})}, Profiles: profiles(t, on...), For: 15 * time.Second,
		Script: turns(40), Seed: 1, Jobs: 2, Cap: time.Second}
	return mustRun(t, c).Results
}

// A network may be as bad as it likes: where the server looks back as far as the player does, it finds whom he aimed at, and
// misses whom he missed. These are the gates of lag compensation; with the usual cap nearly all views are too old on
// P3, and all of them on P5, whose round trip alone is the cap.
func TestTheServerFindsWhomTheScreenShowed(t *testing.T) {
	on := []string{"P0", "P3", "P5"}
	if raceEnabled {
		on = on[1:2]
	}
	most := map[string]float64{"P0": 1, "P3": 1, "P5": 5}
	for _, r := range shotsOf(t, systems.Second, on...) {
		s := r.Shots
		if s.InCap < 500 || s.InCap != s.N || 100-s.AgreeInCap > most[r.Profile] || s.Agree != s.AgreeInCap {
			t.Errorf("%s: screen and server agree on %.2f %% of %d lines, want at least %v %% of 500: %+v", r.Profile, s.AgreeInCap, s.InCap, 100-most[r.Profile], s)
		}
		if s.Past.N < s.N/5 || math.Abs(s.Past.P50-s.Age.P50) > 20 {
			t.Errorf("%s: who was hit had been there %.0f ms before, in views that were %.0f ms old", r.Profile, s.Past.P50, s.Age.P50)
		}
	}
}

// The measure must be able to fail: whoever runs at 6 units a second has left his place, 0.4 units around, long before the
// server hears of the shot.
func TestWithoutLagCompensationScreenAndServerDisagree(t *testing.T) {
	for _, r := range shotsOf(t, -1, "P3") {
		if s := r.Shots; s.N < 500 || s.Agree > 60 || s.Past.Max != 0 {
			t.Errorf("screen and server agree on %.2f %% of %d lines, and look %.0f ms back", s.Agree, s.N, s.Past.Max)
		}
	}
}

// Whom a view shows that is older than the cap, the server finds where he was a cap ago: he cannot have been behind cover for
// longer, however slow the shooter's network is.
func TestNobodyIsHitWhereHeWasLongerAgoThanTheCap(t *testing.T) {
	for _, r := range shotsOf(t, 0, "P5") {
		if s := r.Shots; s.Past.N == 0 || s.Past.Max > 250 || s.Past.P50 < 249 || s.Age.P50 < 400 || s.Agree > 80 {
			t.Errorf("%+v", s)
		}
	}
}

// A line meets the first that it passes within the radius of, and nobody behind the shooter.
func TestALineMeetsTheFirstOnItsWay(t *testing.T) {
	at := func(row uint32, x, y float64) target {
		return target{entity: ecs.Entity{Row: row}, pos: vec{x, y, 0}, radius: 1}
	}
	s := sight{targets: []target{at(1, 10, 0), at(2, 5, 0.9), at(3, -3, 0), at(4, 5, -1.1)}}
	for dir, want := range map[vec]uint32{{1, 0, 0}: 2, {0, 1, 0}: 0, {-1, 0, 0}: 3, {0, 0, 1}: 0} {
		if met := s.meets(dir); met.Row != want {
			t.Errorf("towards %v is entity %d, want %d", dir, met.Row, want)
		}
	}
	s.targets = s.targets[:1]
	said := ""
	for _, a := range s.lines() {
		said += fmt.Sprint(a.screen.Row, " ")
		if math.Abs(a.dir.len()-1) > 1e-12 || a.at.Row != 1 {
			t.Errorf("%+v", a)
		}
	}
	if said != "1 1 1 0 0 " {
		t.Errorf("the lines through it and beside it meet %s", said)
	}
	s.from = vec{9, 0, 0}
	if n := len(s.lines()); n != 0 {
		t.Errorf("%d lines at somebody in whom the shooter stands", n)
	}
}

// A shot counts with the press that the server took, not with one that it never saw because a later one took its place.
func TestAShotIsOfThePressThatTheServerTook(t *testing.T) {
	lost, taken := &shot{}, &shot{}
	var p presses
	for i, s := range []*shot{lost, taken, nil} {
		p.give(steers.Pack(steer{DX: int8(i + 1)}), 0)
		p.list[i].shot = s
	}
	if s := p.use(steers.Pack(steer{DX: 2}), 7); s != taken {
		t.Error("the shot of another press")
	}
	if p.use(steers.Pack(steer{DX: 2}), 8) != nil || p.use(steers.Pack(steer{DX: 3}), 9) != nil || p.use(steers.Pack(steer{DX: 1}), 10) != nil {
		t.Error("a shot where there was none")
	}
}
