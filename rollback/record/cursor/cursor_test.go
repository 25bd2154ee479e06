package cursor_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// recipes are recordings that are easy or hard for a cursor.
var recipes = map[string]recipe{
	"images every ten seconds":       {ticks: 900, seed: 1, every: 10 * rate},
	"no images at all":               {ticks: 1100, seed: 2},
	"views that look back":           {ticks: 900, seed: 3, every: 10 * rate, views: 7},
	"views and no images":            {ticks: 1100, seed: 4, views: 7},
	"images denser than views reach": {ticks: 300, seed: 5, every: 10, views: 15},
	"a start in the middle":          {ticks: 900, seed: 6, every: 10 * rate, start: 250},
	"a start with the states before": {ticks: 600, seed: 10, every: 10 * rate, start: 250, views: 7, past: 7},
	"one tick":                       {ticks: 1, seed: 7},
	"nothing but a start":            {ticks: 0, seed: 8},
}

// A record with an image of every tick shows these states. Other rules may have computed them.
func TestARecordWithAllStatesIsNotSimulated(t *testing.T) {
	m := recipe{ticks: 40, seed: 6, every: 1}.play(t)
	c := m.cursor(t)
	var to bytes.Buffer
	g := c.World().Game()
	w, err := record.NewWriter(&to, g, record.HeaderOf(g, 99, ""))
	if err != nil {
		t.Fatal(err)
	}
	for f := range ecs.Tick(len(m.states)) { // without the inputs and orders that led there
		if f > 0 {
			err = w.Tick(record.Tick{Tick: f, Inputs: inputsOf(m.states[f], g)})
		}
		if err = errors.Join(err, w.Image(m.states[f])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(to.Bytes(), g)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = cursor.New(r, nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range []ecs.Tick{0, 7, 8, 40, 3, 0, 39} {
		if err := c.Seek(f); err != nil || c.State().Checksum() != m.states[f].Checksum() || c.StateBefore() == nil || c.Frame().Tick != f {
			t.Fatalf("tick %d: %v", f, err)
		}
	}
}

// inputsOf returns the inputs of the tick that led to a state.
func inputsOf(s *image.Snapshot, g *ecs.Game) (list []ecs.InputBytes) {
	w, err := ecs.NewWorld(g, 0)
	if err != nil {
		panic(err)
	}
	if err := w.Image().Copy(s); err != nil {
		panic(err)
	}
	for p := range g.MaxPlayers {
		list = append(list, w.Image().Input(ecs.Player(p)))
	}
	return list
}

// After seeks forward, backward and at random, the state of a tick is the match's, and so are its events and checksum.
func TestEveryTickIsTheSameAfterAnySeeks(t *testing.T) {
	for name, recipe := range recipes {
		t.Run(name, func(t *testing.T) {
			m := recipe.play(t)
			c := m.cursor(t)
			r := rand.New(rand.NewPCG(9, recipe.seed))
			check := func(f ecs.Tick) {
				t.Helper()
				if err := c.Seek(f); err != nil {
					t.Fatal(err)
				}
				if c.Tick() != f || c.State().Tick() != f || c.World().Tick() != f {
					t.Fatalf("asked for %d: Tick is %d, State is of %d, World in %d", f, c.Tick(), c.State().Tick(), c.World().Tick())
				}
				if got, want := c.State().Checksum(), m.states[f].Checksum(); got != want {
					d, _ := image.FirstDifference(c.State(), m.states[f])
					t.Fatalf("tick %d differs: %v", f, d)
				}
				frame := c.Frame()
				if f > c.First() && (frame.Match != cursor.Matches || len(frame.Events) != m.events[f]) {
					t.Fatalf("tick %d: matches %q, %d events of %d", f, frame.Match, len(frame.Events), m.events[f])
				}
				if before := c.StateBefore(); f > c.First() && before.Checksum() != m.states[f-1].Checksum() {
					t.Fatalf("the state before tick %d is another one, of %d", f, before.Tick())
				}
			}
			for range 150 {
				check(c.First() + ecs.Tick(r.Uint64N(uint64(c.Last()-c.First())+1)))
			}
			for f := c.First(); f <= c.Last(); f += 1 + ecs.Tick(r.Uint64N(4)) {
				check(f)
			}
			for f := c.Last(); f > c.First()+5; f -= 1 + ecs.Tick(r.Uint64N(4)) {
				check(f)
			}
			at := c.Tick()
			for _, f := range []ecs.Tick{c.Last() + 1, c.First() - 1} { // −1 is beyond the end too
				if err := c.Seek(f); !errors.Is(err, record.ErrRange) || c.Tick() != at {
					t.Errorf("to tick %d of [%d, %d]: %v, it is at tick %d", f, c.First(), c.Last(), err, c.Tick())
				}
			}
		})
	}
}

// A record that was torn before the image of its start was whole has no state to show.
func TestARecordWithoutItsFirstStateHasNoCursor(t *testing.T) {
	var file bytes.Buffer
	header := record.HeaderOf(walk, 6, "test")
	header.Start.Tick = 250
	w, err := record.NewWriter(&file, walk, header)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cursor.New(match{file: file.Bytes()}.open(t), nil); !errors.Is(err, record.ErrNoState) {
		t.Errorf("%v", err)
	}
}

// A seek simulates at most the ticks between two images. A step back simulates few: of the states between, one in 16 is kept.
func TestASeekSimulatesAtMostTheTicksBetweenTwoImages(t *testing.T) {
	m := recipe{ticks: 10 * 60 * rate, seed: 11, every: 10 * rate}.play(t)
	c := m.cursor(t)
	r := rand.New(rand.NewPCG(1, 2))
	seek := func(f ecs.Tick) uint64 {
		before := computed
		if err := c.Seek(f); err != nil {
			t.Fatal(err)
		}
		return computed - before
	}
	most := uint64(0)
	for range 300 {
		most = max(most, seek(ecs.Tick(r.Uint64N(uint64(c.Last())))))
	}
	if most > 10*rate || most < rate {
		t.Errorf("a seek simulated up to %d ticks, want at most %d, and more than %d in 300 seeks", most, 10*rate, rate)
	}
	seek(1234)
	again := uint64(0)
	for f := ecs.Tick(1233); f > 1201; f-- {
		n := seek(f)
		if again += n; n > 16 {
			t.Fatalf("a step back to %d simulated %d ticks", f, n)
		}
	}
	if again > 48 {
		t.Errorf("32 steps back simulated %d ticks", again)
	}
	if seek(1199); seek(1205) > 16 || seek(1198) > 16 || seek(1205) != 0 {
		t.Error("seeks back and forth across an image simulate again")
	}
}

// In a record without images, the first seek to its end simulates everything, and further seeks do not.
func TestWithoutImagesTheCursorMakesKeyframes(t *testing.T) {
	m := recipe{ticks: 4000, seed: 12, views: 5}.play(t)
	c := m.cursor(t)
	begun := computed
	if err := c.Seek(3999); err != nil {
		t.Fatal(err)
	}
	if n := computed - begun; n < 3999 || n > 4100 {
		t.Errorf("the first seek simulated %d ticks of 3999", n)
	}
	for _, f := range []ecs.Tick{100, 2000, 3500, 700} {
		before := computed
		if err := c.Seek(f); err != nil {
			t.Fatal(err)
		}
		if n := computed - before; n > 15*rate {
			t.Errorf("a seek to tick %d simulated %d ticks more", f, n)
		}
	}
}

// Ticks that differ from the recorded ones are shown and marked, until the next image corrects the state.
func TestTicksThatDifferFromTheRecordedOnesAreMarked(t *testing.T) {
	m := recipe{ticks: 900, seed: 13, every: 10 * rate, change: func(w *ecs.World) {
		if w.Tick() == 449 {
			scores.Write(w).Shots += 1000 // no rule of the game does this
		}
	}}.play(t)
	c := m.cursor(t)
	for f, want := range map[ecs.Tick]cursor.Match{449: cursor.Matches, 450: cursor.Differs, 600: cursor.Differs, 601: cursor.Matches, 899: cursor.Matches} {
		if err := c.Seek(f); err != nil {
			t.Fatal(err)
		}
		if got := c.Frame(); got.Match != want || (got.Checksum == got.Recorded) != (want == cursor.Matches) {
			t.Errorf("tick %d: match is %q, want %q; checksum %s, recorded %s", f, got.Match, want, got.Checksum, got.Recorded)
		}
	}
}

// A view of the first ticks of a segment looks back to the one before, whose image is damaged. After the failed seek the
// cursor is at First, and its methods work.
func TestAFailedSeekGoesToTheFirstTick(t *testing.T) {
	c := recipe{ticks: 700, seed: 2, every: 10 * rate, views: 15, broken: 200}.play(t).cursor(t)
	failed, first := 0, c.First()
	for f := ecs.Tick(401); f <= 450; f++ {
		err := c.Seek(f)
		if err == nil {
			continue
		}
		if failed++; !errors.Is(err, record.ErrCorrupt) {
			t.Fatalf("tick %d: %v", f, err)
		}
		if c.Tick() != first || c.Frame().Tick != first || c.State().Tick() != first || c.StateBefore().Tick() != first || c.World().Tick() != first {
			t.Fatalf("after a failed seek to %d: at %d, state %d, world %d", f, c.Tick(), c.State().Tick(), c.World().Tick())
		}
		if _, ok := c.Find(cursor.EntityRef{Entity: ecs.Entity{Row: 1}}); ok {
			t.Errorf("tick %d has an entity", first)
		}
	}
	if failed == 0 || failed == 50 {
		t.Errorf("%d seeks of 50 failed, want those that look back", failed)
	}
}

// The names of the players come from the cards of their joins, up to the tick of the cursor.
func TestTheRosterIsThatOfTheTick(t *testing.T) {
	m := recipe{ticks: 10, seed: 3}.play(t)
	c := m.cursor(t)
	for _, at := range []ecs.Tick{2, 9, 0} {
		if err := c.Seek(at); err != nil {
			t.Fatal(err)
		}
		got := c.Roster(nil)
		for p, s := range got {
			want := ecs.Seated{}
			if ecs.Tick(p) < at {
				want = ecs.Seated{Name: fmt.Sprint("player ", p), Connected: true}
			}
			if s != want || len(got) != 3 {
				t.Errorf("tick %d: %+v", at, got)
			}
		}
	}
	if err := c.Seek(1); err != nil {
		t.Fatal(err)
	}
	if o := c.Frame().Orders[0]; o.Joined != "player 0" || string(o.Payload) != "\x07" {
		t.Errorf("the order is %+v", o)
	}
}
