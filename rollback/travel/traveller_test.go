package travel_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// shapes are the ways in which a recording can help or hinder a traveller.
var shapes = map[string]played{
	"images every ten seconds":       {ticks: 900, seed: 1, every: 10 * rate},
	"no images at all":               {ticks: 1100, seed: 2},
	"views that look back":           {ticks: 900, seed: 3, every: 10 * rate, views: 7},
	"views and no images":            {ticks: 1100, seed: 4, views: 7},
	"images denser than views reach": {ticks: 300, seed: 5, every: 10, views: 15},
	"a start in the middle":          {ticks: 900, seed: 6, every: 10 * rate, start: 250},
	"one tick":                       {ticks: 1, seed: 7},
	"nothing but a start":            {ticks: 0, seed: 8},
}

// Whoever looks into a match must see what was there, wherever they come from: forward, backward and at random, the state
// is the one of the match, and so are the number of its events and the verdict of its checksum.
func TestEveryTickIsWhatItWasWhicheverWayOneComes(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			m := shape.play(t)
			tr := m.traveller(t)
			r := rand.New(rand.NewPCG(9, shape.seed))
			check := func(f ecs.Tick) {
				t.Helper()
				if err := tr.Seek(f); err != nil {
					t.Fatal(err)
				}
				if tr.Tick() != f || tr.State().Tick() != f || tr.World().Tick() != f {
					t.Fatalf("asked for %d: Tick is %d, State is of %d, World in %d", f, tr.Tick(), tr.State().Tick(), tr.World().Tick())
				}
				if got, want := tr.State().Checksum(), m.states[f].Checksum(); got != want {
					d, _ := image.FirstDifference(tr.State(), m.states[f])
					t.Fatalf("tick %d is not what it was: %v", f, d)
				}
				frame := tr.Frame()
				if f > tr.First() && (frame.Match != travel.Matches || len(frame.Events) != m.events[f]) {
					t.Fatalf("tick %d: matches %q, %d events of %d", f, frame.Match, len(frame.Events), m.events[f])
				}
				if before := tr.StateBefore(); f > tr.First() && before.Checksum() != m.states[f-1].Checksum() {
					t.Fatalf("the state before tick %d is another one, of %d", f, before.Tick())
				}
			}
			for range 150 {
				check(tr.First() + ecs.Tick(r.Uint64N(uint64(tr.Last()-tr.First())+1)))
			}
			for f := tr.First(); f <= tr.Last(); f += 1 + ecs.Tick(r.Uint64N(4)) {
				check(f)
			}
			for f := tr.Last(); f > tr.First()+5; f -= 1 + ecs.Tick(r.Uint64N(4)) {
				check(f)
			}
			if err := tr.Seek(tr.Last() + 1); !errors.Is(err, travel.ErrRange) {
				t.Errorf("beyond the end: %v", err)
			}
		})
	}
}

// A person drags a slider through ten minutes: what a move simulates is bounded by what lies between two images, and
// steps near by simulate nothing.
func TestAMoveSimulatesAtMostWhatLiesBetweenTwoImages(t *testing.T) {
	m := played{ticks: 10 * 60 * rate, seed: 11, every: 10 * rate}.play(t)
	tr := m.traveller(t)
	r := rand.New(rand.NewPCG(1, 2))
	seek := func(f ecs.Tick) uint64 {
		before := tr.Stats().Simulated
		if err := tr.Seek(f); err != nil {
			t.Fatal(err)
		}
		return tr.Stats().Simulated - before
	}
	most := uint64(0)
	for range 300 {
		most = max(most, seek(ecs.Tick(r.Uint64N(uint64(tr.Last())))))
	}
	if most > 10*rate || most < rate {
		t.Errorf("a move simulated up to %d ticks, want at most %d, and more than %d in 300 moves", most, 10*rate, rate)
	}
	seek(1234)
	for f := ecs.Tick(1233); f > 1201; f-- {
		if n := seek(f); n != 0 {
			t.Fatalf("a step back to %d simulated %d ticks", f, n)
		}
	}
	if seek(1199); seek(1205) != 0 || seek(1198) != 0 {
		t.Error("going to and fro across an image simulates again")
	}
}

// A recording may come without images, from a writer that stored none: the first look at its end plays it all, further
// looks do not.
func TestWithoutImagesTheTravellerMakesItsOwn(t *testing.T) {
	m := played{ticks: 4000, seed: 12, views: 5}.play(t)
	tr := m.traveller(t)
	if err := tr.Seek(3999); err != nil {
		t.Fatal(err)
	}
	if n := tr.Stats().Simulated; n < 3999 || n > 4100 {
		t.Errorf("the first look simulated %d ticks of 3999", n)
	}
	for _, f := range []ecs.Tick{100, 2000, 3500, 700} {
		before := tr.Stats().Simulated
		if err := tr.Seek(f); err != nil {
			t.Fatal(err)
		}
		if n := tr.Stats().Simulated - before; n > 15*rate {
			t.Errorf("going to tick %d simulated %d ticks more", f, n)
		}
	}
}

// Another game's file must not be shown in this game's words.
func TestATravellerRefusesWhatIsNotOfItsGame(t *testing.T) {
	m := played{ticks: 20, seed: 1}.play(t)
	other := *walk
	other.Name = "run"
	if _, err := travel.New(travel.Config{Game: &other, Source: m.open(t)}); !errors.Is(err, recording.ErrOtherGame) {
		t.Error(err)
	}
	other = *walk
	other.Systems = ecs.Systems(fly, steer)
	if _, err := travel.New(travel.Config{Game: &other, Source: m.open(t)}); !errors.Is(err, recording.ErrOtherBuild) {
		t.Error(err)
	}
	if _, err := travel.New(travel.Config{Source: m.open(t)}); !errors.Is(err, travel.ErrConfig) {
		t.Error(err)
	}
}

// A match that comes out otherwise than it was recorded is what people open a replay for: it is shown, and marked from the
// first wrong tick on, until the next image puts it right.
func TestTicksThatComeOutOtherwiseThanRecordedAreMarked(t *testing.T) {
	m := played{ticks: 900, seed: 13, every: 10 * rate, change: func(w *ecs.World) {
		if w.Tick() == 449 {
			tallies.Write(w).Shots += 1000 // no rule of the game does this
		}
	}}.play(t)
	tr := m.traveller(t)
	for f, want := range map[ecs.Tick]travel.Match{449: travel.Matches, 450: travel.Differs, 600: travel.Differs, 601: travel.Matches, 899: travel.Matches} {
		if err := tr.Seek(f); err != nil {
			t.Fatal(err)
		}
		if got := tr.Frame(); got.Match != want || (got.Checksum == got.Recorded) != (want == travel.Matches) {
			t.Errorf("tick %d: match is %q, want %q; checksum %s, recorded %s", f, got.Match, want, got.Checksum, got.Recorded)
		}
	}
}
