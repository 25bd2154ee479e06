package travel_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/travel"
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
	t.Fatal("nobody fired: the test shows nothing")
	return
}

// A person types what a tool printed, or the part of it that they know.
func TestAnEntityIsFoundByTheNameThatIsPrinted(t *testing.T) {
	m := played{ticks: 300, seed: 21}.play(t)
	tr := m.traveller(t)
	if err := tr.Seek(200); err != nil {
		t.Fatal(err)
	}
	n := 0
	tr.Entities(func(e ecs.Entity) bool {
		n++
		name := travel.EntityName(e)
		short, _, _ := strings.Cut(name, "@")
		for _, text := range []string{name, short} {
			ref, err := travel.ParseEntity(text)
			if err != nil || ref.String() != text {
				t.Fatalf("%s reads as %v: %v", text, ref, err)
			}
			if got, ok := tr.Find(ref); !ok || got != e {
				t.Errorf("%s finds %v, %v, want %v", text, got, ok, e)
			}
		}
		shown, ok := tr.Entity(e)
		if !ok || shown.ID != name || len(shown.Components) == 0 || shown.Born != e.Born {
			t.Errorf("%s is shown as %+v, %v", name, shown, ok)
		}
		return true
	})
	if n < 4 {
		t.Fatalf("only %d entities: the test shows nothing", n)
	}
	if ref, err := travel.ParseEntity("1048576@3"); err != nil || ref.String() != "p0:0@3" {
		t.Errorf("a plain row reads as %v: %v", ref, err)
	}
	for _, text := range []string{"", "0", "w:0", "p64:1", "p0:1048576", "q0:1", "p0:1@", "p0:1@x", "p0", "p-1:3", "99999999999"} {
		if ref, err := travel.ParseEntity(text); err == nil {
			t.Errorf("%q reads as %v", text, ref)
		}
	}
}

// "No such entity" helps nobody: whoever asks wants to know when it was there.
func TestALifeIsFromBirthToTheLastTickInWhichItIsThere(t *testing.T) {
	m := played{ticks: 900, seed: 22, every: 200}.play(t)
	tr := m.traveller(t)
	e, born, gone := shotOf(t, m)
	if err := tr.Seek(777); err != nil {
		t.Fatal(err)
	}
	life, ok, err := tr.Life(e)
	if err != nil || !ok || life.From != born || life.To != gone || life.Alive {
		t.Errorf("it lived %+v, %v, %v; want %d to %d", life, ok, err, born, gone)
	}
	if tr.Tick() != 777 {
		t.Errorf("asking for a life moved the traveller to %d", tr.Tick())
	}
	if _, ok, err := tr.Life(ecs.Entity{Row: e.Row, Born: e.Born + 1}); ok || err != nil {
		t.Errorf("an entity that never was lived: %v %v", ok, err)
	}
	lives, err := tr.Lives(e.Row, nil)
	if err != nil || len(lives) < 2 {
		t.Fatalf("the row had %d tenants: %v", len(lives), err)
	}
	seen := false
	for i, l := range lives {
		seen = seen || l == life
		if i > 0 && l.From <= lives[i-1].To {
			t.Errorf("%+v and %+v had the row at once", lives[i-1], l)
		}
	}
	if !seen {
		t.Errorf("%+v is not among the tenants of its row: %+v", life, lives)
	}
}

// A plot shows what the field was in each tick, and a gap where it was not.
func TestASeriesIsTheFieldInEachTickInWhichItIsThere(t *testing.T) {
	m := played{ticks: 900, seed: 23, every: 200}.play(t)
	tr := m.traveller(t)
	e, born, gone := shotOf(t, m)
	ref, _ := travel.ParseEntity(travel.EntityName(e))
	s, err := tr.Series(travel.SeriesConfig{Entity: ref, Field: "body.X", From: born - 5, To: gone + 5})
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
	if s, err = tr.Series(travel.SeriesConfig{Field: "tally.Shots", From: 0, To: 1 << 40, Every: 100}); err != nil || len(s.Points) != 10 || s.Entity != "" {
		t.Errorf("the resource's series has %d points, entity %q: %v", len(s.Points), s.Entity, err)
	}
	calls := 0
	s, err = tr.Series(travel.SeriesConfig{Field: "tally.Shots", To: 900, Progress: func(ecs.Tick) bool { calls++; return calls < 3 }})
	if err != nil || calls != 3 || len(s.Points) > 200 {
		t.Errorf("a series that was to end went on: %d points, %d calls, %v", len(s.Points), calls, err)
	}
	for _, wrong := range []travel.SeriesConfig{{Field: "body.X", To: 5}, {Field: "tally.Shots", Entity: ref, To: 5}, {Field: "tally.Misses", To: 5},
		{Field: "tally.Shots", From: 901, To: 902}, {Field: "tally.Shots", From: 5, To: 4}} {
		if _, err := tr.Series(wrong); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}

// Two runs that should be equal are compared to find the first wrong field, not the thousand that follow from it.
func TestTwoMatchesPartWhereTheFirstFieldDiffers(t *testing.T) {
	same := played{ticks: 700, seed: 24, every: 200}
	spoiled := same
	spoiled.change = func(w *ecs.World) {
		if w.Tick() == 432 {
			tallies.Write(w).Hits += 3
		}
	}
	a, b := same.play(t), spoiled.play(t)
	c, err := travel.Compare(a.traveller(t), a.traveller(t), 8, nil)
	if err != nil || c.Divergence != nil || c.From != 0 || c.To != 700 {
		t.Fatalf("a match differs from itself: %+v, %v", c, err)
	}
	here, there := a.traveller(t), b.traveller(t)
	if c, err = travel.Compare(here, there, 8, nil); err != nil || c.Divergence == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	// The recorded checksums differ from tick 433 on. The rules know nothing of the spoiling, so played they are alike,
	// which is what a peer with another build or a bug of memory looks like; the next images know.
	if d := c.Divergence; d.Tick != 433 || d.StateTick != 600 || len(d.Differences) != 1 || d.Differences[0].Component != "tally" || d.Differences[0].Field != "Hits" || d.Here == d.There || here.Tick() != 433 || there.Tick() != 433 {
		t.Errorf("they part at %+v", d)
	}
	late := same
	late.seed, late.start = 24, 250
	if c, err = travel.Compare(here, late.play(t).traveller(t), 8, nil); err != nil || c.Divergence != nil || c.From != 250 {
		t.Errorf("a part of a match differs from the whole: %+v, %v", c, err)
	}
	other := same
	other.seed = 25
	if _, err = travel.Compare(here, other.play(t).traveller(t), 8, nil); !errors.Is(err, travel.ErrIncomparable) {
		t.Errorf("matches of two seeds are compared: %v", err)
	}
	short := same
	short.ticks = 100
	if _, err = travel.Compare(short.play(t).traveller(t), late.play(t).traveller(t), 8, nil); !errors.Is(err, travel.ErrIncomparable) {
		t.Errorf("matches without a common tick are compared: %v", err)
	}
}

// What differs is named where both sides can be played: here by another start, which an image carries.
func TestWhatDiffersIsNamedByComponentEntityAndField(t *testing.T) {
	p := played{ticks: 400, seed: 26, start: 200}
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
	c, err := travel.Compare(a.traveller(t), b.traveller(t), 1, nil)
	if err != nil || c.Divergence == nil || c.Divergence.Tick != 200 {
		t.Fatalf("%+v, %v", c, err)
	}
	d := c.Divergence.Differences
	if len(d) != 1 || d[0].Component != "body" || d[0].Field != "X" || d[0].Entity != "p0:0@1" || d[0].Here == d[0].There || d[0].Sentence == "" {
		t.Errorf("what differs is %+v", d)
	}
}

// The page, the command line and other programs read the same JSON.
func TestAFrameIsWrittenAsTheTagsSay(t *testing.T) {
	m := played{ticks: 300, seed: 27, views: 4}.play(t)
	tr, err := travel.New(travel.Config{Game: walk, Source: m.open(t), Meter: new(meter)})
	if err != nil {
		t.Fatal(err)
	}
	f := ecs.Tick(100)
	for ; m.events[f] == 0; f++ {
	}
	if err := tr.Seek(f); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tr.Frame())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"match":"yes"`, `"name":"fired"`, `"kind":"view"`, `"seen":`, `"path":"DX"`, `"path":"From"`, `"section":"steer"`, `"system":true`, `"ns":`, `"players":[{"player":0,"in":true`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
	if err := tr.Seek(1); err != nil {
		t.Fatal(err)
	}
	text, _ = json.Marshal(tr.Frame())
	if !strings.Contains(string(text), `"orders":[{"kind":"join","player":0}]`) {
		t.Errorf("the first join is missing in %s", text)
	}
	if err := tr.Seek(0); err != nil {
		t.Fatal(err)
	}
	if text, _ = json.Marshal(tr.Frame()); !strings.Contains(string(text), `"match":"unknown","players":[],"orders":[],"events":[]`) {
		t.Errorf("before the first tick there is %s", text)
	}
}

// meter counts instead of measuring: a section costs the number of sections before it.
type meter struct {
	entered int64
	costs   []travel.Cost
}

func (m *meter) Enter(image.Section) { m.entered++ }
func (m *meter) Turn(ecs.Tick)       {}

func (m *meter) Name(image.Section, string, string) {}

func (m *meter) Leave(s image.Section) {
	m.costs = append(m.costs, travel.Cost{Section: s, Nanoseconds: m.entered})
}
func (m *meter) AppendCosts(dst []travel.Cost) []travel.Cost {
	dst = append(dst, m.costs...)
	m.costs = m.costs[:0]
	return dst
}
