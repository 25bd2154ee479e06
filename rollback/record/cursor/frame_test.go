package cursor_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record/cursor"
)

// shotOf returns an entity that a player fired, in the first tick that has one in the middle of its life.
func shotOf(t *testing.T, m match) (e ecs.Entity, born, gone ecs.Tick) {
	t.Helper()
	for f := 50; f < len(m.states); f++ {
		var found ecs.Entity
		m.states[f].Entities(func(e ecs.Entity) bool {
			if e.Born == ecs.Tick(f) && f > 50 {
				found = e
			}
			return found.IsZero()
		})
		if found.IsZero() {
			continue
		}
		for g := f; g < len(m.states); g++ {
			if !image.ExistsAt(m.states[g], found) {
				return found, ecs.Tick(f), ecs.Tick(g - 1)
			}
		}
	}
	t.Fatal("no shot was fired: the test proves nothing")
	return
}

// A person types a name as a tool printed it, or the part of it that they know.
func TestAnEntityIsFoundByTheNameThatIsPrinted(t *testing.T) {
	m := recipe{ticks: 300, seed: 21}.play(t)
	c := m.cursor(t)
	if err := c.Seek(200); err != nil {
		t.Fatal(err)
	}
	n := 0
	c.State().Entities(func(e ecs.Entity) bool {
		n++
		name := cursor.EntityName(e)
		short, _, _ := strings.Cut(name, "@")
		for _, text := range []string{name, short} {
			ref, err := cursor.ParseEntity(text)
			if err != nil || ref.String() != text {
				t.Fatalf("%s reads as %v: %v", text, ref, err)
			}
			if got, ok := c.Find(ref); !ok || got != e {
				t.Errorf("%s finds %v, %v, want %v", text, got, ok, e)
			}
		}
		shown, ok := c.Entity(e)
		if !ok || shown.ID != name || len(shown.Components) == 0 || shown.Born != e.Born {
			t.Errorf("%s is shown as %+v, %v", name, shown, ok)
		}
		return true
	})
	if n < 4 {
		t.Fatalf("only %d entities: the test proves nothing", n)
	}
	if ref, err := cursor.ParseEntity("p0:0@3"); err != nil || ref.Row != 1<<20 || ref.Born != 3 {
		t.Errorf("row 0 of player 0 reads as %v: %v", ref, err)
	}
	if ref, err := cursor.ParseEntity("1048576@3"); err != nil || ref.String() != "p0:0@3" {
		t.Errorf("a plain row reads as %v: %v", ref, err)
	}
	for _, text := range []string{"", "0", "w:0", "p64:1", "p0:1048576", "q0:1", "p0:1@", "p0:1@x", "p0", "p-1:3", "99999999999", "68157440@3", "p0:+1", "w:1@2 ", "w:18446744073709551617"} {
		if ref, err := cursor.ParseEntity(text); err == nil {
			t.Errorf("%q reads as %v", text, ref)
		}
	}
}

func TestALifetimeIsFromBirthToTheLastTickInWhichTheEntityExists(t *testing.T) {
	m := recipe{ticks: 900, seed: 22, every: 200}.play(t)
	c := m.cursor(t)
	e, born, gone := shotOf(t, m)
	life, ok, err := c.Lifetime(e)
	if err != nil || !ok || life.From != born || life.To != gone || life.Alive {
		t.Errorf("its lifetime is %+v, %v, %v; want %d to %d", life, ok, err, born, gone)
	}
	if _, ok, err := c.Lifetime(ecs.Entity{Row: e.Row, Born: e.Born + 1}); ok || err != nil {
		t.Errorf("an entity that never existed has a lifetime: %v %v", ok, err)
	}
}

func TestASeriesIsTheFieldInEachTickInWhichItExists(t *testing.T) {
	m := recipe{ticks: 900, seed: 23, every: 200}.play(t)
	c := m.cursor(t)
	e, born, gone := shotOf(t, m)
	ref, _ := cursor.ParseEntity(cursor.EntityName(e))
	s, err := c.Series(cursor.SeriesConfig{Entity: ref, Field: "body.X", From: born - 5, To: gone + 5})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Points); n != int(gone-born)+1 || s.Points[0].Tick != born || s.Points[n-1].Tick != gone {
		t.Fatalf("%d points from %+v, want %d to %d", n, s.Points[0], born, gone)
	}
	for _, p := range s.Points {
		b, _ := bodies.ReadAt(m.states[p.Tick], e)
		if p.Text != b.X.String() || *p.Number != b.X.Float() {
			t.Errorf("tick %d: %s, %v, want %v", p.Tick, p.Text, *p.Number, b.X)
		}
	}
	if s, err = c.Series(cursor.SeriesConfig{Field: "score.Shots", From: 0, To: 1 << 40, Every: 100}); err != nil || len(s.Points) != 10 || s.Entity != "" {
		t.Errorf("the resource's series has %d points, entity %q: %v", len(s.Points), s.Entity, err)
	}
	calls := 0
	s, err = c.Series(cursor.SeriesConfig{Field: "score.Shots", To: 900, Progress: func(ecs.Tick) bool { calls++; return calls < 3 }})
	if err != nil || calls != 3 || len(s.Points) > 200 {
		t.Errorf("a series continued after its Progress returned false: %d points, %d calls, %v", len(s.Points), calls, err)
	}
	for _, wrong := range []cursor.SeriesConfig{{Field: "body.X", To: 5}, {Field: "score.Shots", Entity: ref, To: 5}, {Field: "score.Misses", To: 5},
		{Field: "score.Shots", From: 901, To: 902}, {Field: "score.Shots", From: 5, To: 4}} {
		if _, err := c.Series(wrong); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}

// The comparison finds the first wrong field, not the thousand that follow from it.
func TestTwoMatchesDivergeWhereTheFirstFieldDiffers(t *testing.T) {
	same := recipe{ticks: 700, seed: 24, every: 200}
	spoiled := same
	spoiled.change = func(w *ecs.World) {
		if w.Tick() == 432 {
			scores.Write(w).Hits += 3
		}
	}
	a, b := same.play(t), spoiled.play(t)
	c, err := cursor.Compare(a.cursor(t), a.cursor(t), 8, nil)
	if err != nil || c.Divergence != nil || c.From != 0 || c.To != 700 {
		t.Fatalf("a match differs from itself: %+v, %v", c, err)
	}
	here, there := a.cursor(t), b.cursor(t)
	if c, err = cursor.Compare(here, there, 8, nil); err != nil || c.Divergence == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	// The recorded checksums differ from tick 433 on. The rules do not contain the change, so both lead to the same state,
	// as with a peer of another build or a memory bug. The next images differ.
	if d := c.Divergence; d.Tick != 433 || d.StateTick != 600 || len(d.Differences) != 1 || d.Differences[0].Component != "score" || d.Differences[0].Field != "Hits" || d.Here == d.There || here.Tick() != 433 || there.Tick() != 433 {
		t.Errorf("they diverge at %+v", d)
	}
	late := same
	late.seed, late.start = 24, 250
	if c, err = cursor.Compare(here, late.play(t).cursor(t), 8, nil); err != nil || c.Divergence != nil || c.From != 250 {
		t.Errorf("a part of a match differs from the whole: %+v, %v", c, err)
	}
	second := same
	second.seed = 25
	if _, err = cursor.Compare(here, second.play(t).cursor(t), 8, nil); !errors.Is(err, cursor.ErrIncomparable) {
		t.Errorf("matches of two seeds are compared: %v", err)
	}
	short := same
	short.ticks = 100
	if _, err = cursor.Compare(short.play(t).cursor(t), late.play(t).cursor(t), 8, nil); !errors.Is(err, cursor.ErrIncomparable) {
		t.Errorf("matches without a common tick are compared: %v", err)
	}
}

// Here the two starts differ, which are images.
func TestADifferenceIsNamedByComponentEntityAndField(t *testing.T) {
	p := recipe{ticks: 400, seed: 26, start: 200}
	a := p.play(t)
	p.change = func(w *ecs.World) {
		if w.Tick() == 199 { // the image of tick 200 has it
			for e := range steered.All(w) {
				e.A.X++
				break
			}
		}
	}
	b := p.play(t)
	c, err := cursor.Compare(a.cursor(t), b.cursor(t), 1, nil)
	if err != nil || c.Divergence == nil || c.Divergence.Tick != 200 {
		t.Fatalf("%+v, %v", c, err)
	}
	d := c.Divergence.Differences
	if len(d) != 1 || d[0].Component != "body" || d[0].Field != "X" || d[0].Entity != "p0:0@1" || d[0].Here == d[0].There || d[0].Sentence == "" {
		t.Errorf("the differences are %+v", d)
	}
}

// The page, the command line and other programs read the same JSON.
func TestAFrameIsWrittenAsTheTagsSay(t *testing.T) {
	m := recipe{ticks: 300, seed: 27, views: 4}.play(t)
	c, err := cursor.New(m.open(t), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	f := ecs.Tick(100)
	for ; m.events[f] == 0; f++ {
	}
	if err := c.Seek(f); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Frame())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"match":"yes"`, `"name":"fired"`, `"kind":"view"`, `"seen":`, `"path":"DX"`, `"path":"From"`, `"section":"steer"`, `"system":true`, `"ns":`, `"players":[{"player":0,"in":true`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
	if err := c.Seek(1); err != nil {
		t.Fatal(err)
	}
	text, _ = json.Marshal(c.Frame())
	if !strings.Contains(string(text), `"orders":[{"kind":"join","player":0,"payload":"Bw==","joined":"player 0"}]`) {
		t.Errorf("the first join is missing in %s", text)
	}
	if err := c.Seek(0); err != nil {
		t.Fatal(err)
	}
	if text, _ = json.Marshal(c.Frame()); !strings.Contains(string(text), `"match":"unknown","players":[],"orders":[],"events":[]`) {
		t.Errorf("before the first tick there is %s", text)
	}
}
