package lab

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/systems"
	"tendon/systems/predict"
)

// shotsOf measures shots with lag compensation of views up to that age.
func shotsOf(t *testing.T, back systems.Time, on ...string) []Result {
	c := Config{Game: testGame(), Strategies: []systems.Strategy{predict.New(predict.Config{MaxView: back})}, Profiles: profiles(t, on...), For: 15 * time.Second,
		script: turns(40), Seed: 1, Jobs: 2}
	return mustRun(t, c).Results
}

// If the server looks back as far as the picture does, it hits what the picture shows, on every network. These are the gates
// of lag compensation. With the default cap nearly all views are too old on P3, and all of them on P5, whose round trip
// alone is the cap.
func TestTheServerHitsWhatThePictureShows(t *testing.T) {
	on := []string{"P0", "P3", "P5"}
	if race.Enabled {
		on = on[1:2]
	}
	most := map[string]float64{"P0": 1, "P3": 1, "P5": 5}
	for _, r := range shotsOf(t, systems.Second, on...) {
		s := r.Shots
		if s.N < 500 || 100-s.Agree > most[r.Profile] {
			t.Errorf("%s: picture and server agree on %.2f %% of %d rays, want at least %v %% of 500: %+v", r.Profile, s.Agree, s.N, 100-most[r.Profile], s)
		}
		if all := s.Age.Max <= milliseconds(usualCap); all && (s.InCap != s.N || s.AgreeInCap != s.Agree) || r.Profile == "P5" && s.InCap != 0 {
			t.Errorf("%s: of %d rays %d are within the cap: %+v", r.Profile, s.N, s.InCap, s)
		}
		if s.Past.N < s.N/5 || math.Abs(s.Past.P50-s.Age.P50) > 20 {
			t.Errorf("%s: hits are %.0f ms in the past, with views that are %.0f ms old", r.Profile, s.Past.P50, s.Age.P50)
		}
	}
}

// A runner at 6 units per second leaves its radius of 0.4 units long before the shot reaches the server.
func TestWithoutLagCompensationPictureAndServerDisagree(t *testing.T) {
	for _, r := range shotsOf(t, -1, "P3") {
		if s := r.Shots; s.N < 500 || s.Agree > 60 || s.Past.Max != 0 {
			t.Errorf("picture and server agree on %.2f %% of %d rays, and look %.0f ms back", s.Agree, s.N, s.Past.Max)
		}
	}
}

// For a view older than the cap, the server looks back by the cap. No player is hit after a longer time behind cover, however
// slow the shooter's network is.
func TestTheServerLooksBackNoFurtherThanTheCap(t *testing.T) {
	for _, r := range shotsOf(t, 0, "P5") {
		if s := r.Shots; s.Past.N == 0 || s.Past.Max > 250 || s.Past.P50 < 249 || s.Age.P50 < 400 || s.Agree > 80 {
			t.Errorf("%+v", s)
		}
	}
}

// A ray hits the first target within its radius, and none behind the shooter.
func TestARayHitsTheFirstTarget(t *testing.T) {
	at := func(row uint32, x, y float64) target {
		return target{entity: ecs.Entity{Row: row}, pos: vec{x, y, 0}, radius: 1}
	}
	s := sight{targets: []target{at(1, 10, 0), at(2, 5, 0.9), at(3, -3, 0), at(4, 5, -1.1)}}
	for dir, want := range map[vec]uint32{{1, 0, 0}: 2, {0, 1, 0}: 0, {-1, 0, 0}: 3, {0, 0, 1}: 0} {
		if hit := s.hit(dir); hit.Row != want {
			t.Errorf("towards %v is entity %d, want %d", dir, hit.Row, want)
		}
	}
	s.targets = s.targets[:1]
	hit := ""
	for _, a := range s.rays() {
		hit += fmt.Sprint(a.client.Row, " ")
		if math.Abs(a.dir.len()-1) > 1e-12 || a.at.Row != 1 {
			t.Errorf("%+v", a)
		}
	}
	if hit != "1 1 1 0 0 " {
		t.Errorf("the rays through the target and beside it hit %s", hit)
	}
	s.from = vec{9, 0, 0}
	if n := len(s.rays()); n != 0 {
		t.Errorf("%d rays at a target that contains the shooter", n)
	}
}

// A shot belongs to the change of input that the server used, not to one that a later change replaced.
func TestAShotBelongsToTheInputThatTheServerUsed(t *testing.T) {
	lost, used := &shot{}, &shot{}
	var p latency
	for i, s := range []*shot{lost, used, nil} {
		p.give(steers.Pack(steer{DX: int8(i + 1)}), 0, true)
		p.list[i].shot = s
	}
	if s := p.use(steers.Pack(steer{DX: 2}), 7); s != used {
		t.Error("the shot of another change")
	}
	if p.use(steers.Pack(steer{DX: 2}), 8) != nil || p.use(steers.Pack(steer{DX: 3}), 9) != nil || p.use(steers.Pack(steer{DX: 1}), 10) != nil {
		t.Error("a shot where there was none")
	}
}
