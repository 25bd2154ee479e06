package travelpage

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// A page sees every tick of a match as it was recorded: its picture, its entities, and each field of the one it chose.
func TestAPageGoesToAnyTick(t *testing.T) {
	r := record(t, 700, 0)
	c := dial(t, serve(t, Match{"one", r}))
	a := c.ask(1, `"open":""`)
	if len(a.Matches) != 1 || a.Matches[0].Name != "one" || a.Matches[0].First != 0 || a.Matches[0].Last != 700 || a.Matches[0].Rate != arena.TickRate || !a.Matches[0].Drawn {
		t.Fatalf("%+v", a)
	}
	seen := map[any]bool{}
	for i, f := range []ecs.Tick{0, 700, 650, 651, 3, 12345} {
		a := c.ask(2+i, `"go":{"tick":%d,"aspect":1.6,"entity":["p1:0",""]}`, f)
		if a.Error != "" || len(a.At) != 1 {
			t.Fatalf("%+v", a)
		}
		s := a.At[0]
		if s.Frame.Tick != float64(min(f, 700)) || len(s.Picture) == 0 || s.Count != len(s.Entities) || f > 0 && s.Frame.Match != "yes" {
			t.Errorf("tick %d: %+v, %d commands, %d of %d entities", f, s.Frame, len(s.Picture), len(s.Entities), s.Count)
		}
		if seen[s.Frame.Checksum] = true; f == 0 {
			continue
		}
		if s.Entity == nil || !strings.HasPrefix(s.Entity.ID, "p1:0@") || len(s.Entity.Components) < 3 {
			t.Fatalf("tick %d: the chosen entity is %+v", f, s.Entity)
		}
		if !slices.ContainsFunc(s.Entities, func(l listed) bool {
			return l.ID == s.Entity.ID && l.At != nil && len(l.Components) == len(s.Entity.Components)
		}) {
			t.Errorf("tick %d: it is not in the list with its place", f)
		}
	}
	if len(seen) != 5 { // two of the six are the last tick
		t.Errorf("%d different states", len(seen))
	}
	if a := c.ask(20, `"go":{"tick":9,"aspect":1.6,"find":"player 2"}`); len(a.At[0].Entities) == 0 || len(a.At[0].Entities) >= a.At[0].Count {
		t.Errorf("%d of %d entities were found", len(a.At[0].Entities), a.At[0].Count)
	}
}

// A field over time has as many points as asked for at most, and the values that the ticks show.
func TestAFieldOverTimeIsWhatTheTicksShow(t *testing.T) {
	c := dial(t, serve(t, Match{"one", record(t, 400, 0)}))
	c.ask(1, `"open":""`)
	at := c.ask(2, `"go":{"tick":300,"aspect":1,"entity":["p0:0",""]}`).At[0].Entity
	if at == nil {
		t.Fatal("player 0 has no entity")
	}
	component, field, text := "", "", ""
	for _, k := range at.Components {
		for _, f := range k.Fields {
			if strings.HasSuffix(f.Path, "X") && component == "" {
				component, field, text = k.Name, f.Path, f.Text
			}
		}
	}
	a := c.ask(3, `"series":{"match":0,"entity":%q,"field":%q,"from":290,"to":310,"points":100}`, at.ID, component+"."+field)
	if a.Error != "" || a.Series == nil || len(a.Series.Points) != 21 || a.Series.Points[10].Text != text {
		t.Errorf("%s.%s is %s at tick 300: %+v", component, field, text, a)
	}
	a = c.ask(4, `"series":{"match":0,"entity":%q,"field":%q,"from":2,"to":400,"points":50}`, at.ID, component+"."+field)
	if a.Error != "" || len(a.Series.Points) < 40 || len(a.Series.Points) > 50 {
		t.Errorf("%s: %d points", a.Error, len(a.Series.Points))
	}
	if a = c.ask(5, `"life":%q`, at.ID); a.Life == nil || a.Life.From != 1 || a.Life.To != 400 {
		t.Errorf("%+v", a.Life)
	}
}

// Two matches part in the tick in which one was changed, and the place is named. Who compares may look around meanwhile.
func TestTwoMatchesPartWhereTheyDiffer(t *testing.T) {
	c := dial(t, serve(t, Match{"left", record(t, 300, 0)}, Match{"right", record(t, 300, 200)}))
	c.ask(1, `"open":""`)
	c.say(`{"id":2,"compare":true}`)
	c.say(`{"id":3,"go":{"tick":100,"aspect":1}}`)
	c.say(`{"id":4,"life":"p0:0@1"}`)
	a := c.hear(2)
	if a.Compare == nil || a.Compare.Divergence == nil {
		t.Fatalf("%+v", a)
	}
	d := a.Compare.Divergence
	if d.Tick < 200 || d.Tick > 210 || len(d.Differences) == 0 || d.Differences[0].Field == "" || d.Differences[0].Here == d.Differences[0].There {
		t.Errorf("%+v", d)
	}
	left := c.ask(5, `"go":{"tick":%d,"aspect":1}`, d.Tick-1).At
	parted := c.ask(6, `"go":{"tick":%d,"aspect":1}`, d.Tick).At
	if left[0].Frame.Checksum != left[1].Frame.Checksum || parted[0].Frame.Checksum == parted[1].Frame.Checksum {
		t.Error("the tick before is not equal, or the tick is")
	}
}

// Of several ticks that wait, the newest is shown, and the last wish is never lost.
func TestScrubbingShowsTheNewestTick(t *testing.T) {
	c := dial(t, serve(t, Match{"one", record(t, 650, 0)}))
	c.ask(1, `"open":""`)
	for f := 1; f <= 600; f++ {
		c.say(`{"id":%d,"go":{"tick":%d,"aspect":1}}`, 1+f, f)
	}
	if a := c.hear(601); a.At[0].Frame.Tick != 600.0 {
		t.Errorf("%+v", a.At[0].Frame)
	}
}

// counted is a source that counts who reads its entries at once, and holds them up while gate is open.
type counted struct {
	travel.Source
	gate            chan struct{} // closed: nobody is held up
	calls, now, top atomic.Int32
}

func (c *counted) Entries(from, to ecs.Tick) iter.Seq[*recording.Entry] {
	c.calls.Add(1)
	c.top.Store(max(c.top.Load(), c.now.Add(1)))
	defer c.now.Add(-1)
	<-c.gate
	return c.Source.Entries(from, to)
}

// Work of one kind is never done twice at once, however fast a page asks: who clicks through a hundred entities does not
// keep a hundred goroutines playing. What was replaced before it began is not done at all.
func TestNewerWorkBeginsWhenOlderHasEnded(t *testing.T) {
	source := &counted{Source: record(t, 100, 0), gate: make(chan struct{})}
	close(source.gate)
	c := dial(t, serve(t, Match{"one", source}))
	c.ask(1, `"open":""`)
	source.gate = make(chan struct{})
	source.calls.Store(0)
	const asked = 20
	for i := range asked {
		c.say(`{"id":%d,"life":"p0:0@1"}`, 2+i)
		for i == 0 && source.calls.Load() == 0 { // the first is at work
			runtime.Gosched()
		}
	}
	if a := c.ask(50, `"compare":true`); a.Error == "" { // by now all were taken
		t.Fatalf("%+v", a)
	}
	close(source.gate)
	if a := c.hear(1 + asked); a.Life == nil && a.Error == "" {
		t.Errorf("%+v", a)
	}
	if calls, top := source.calls.Load(), source.top.Load(); top != 1 || calls >= asked {
		t.Errorf("%d at once, %d in all", top, calls)
	}
}

// What a page may not ask ends its connection or is answered by a sentence; it never harms the server or another page.
func TestWrongQuestionsAreRefused(t *testing.T) {
	s := serve(t, Match{"one", record(t, 20, 0)})
	for _, q := range []string{
		`nonsense`, `{"id":1,"go":{"tick":1,"aspect":0}}`, `{"id":1,"go":{"tick":1,"aspect":1e300}}`, `{"id":1,"go":{"tick":-1,"aspect":1}}`,
		`{"id":1,"go":{"tick":1,"aspect":1,"find":"` + strings.Repeat("x", 101) + `"}}`,
		`{"id":1,"series":{"match":2,"points":1}}`, `{"id":1,"series":{"match":-1,"points":1}}`, `{"id":1,"series":{"match":0,"points":0}}`,
		`{"id":1,"series":{"match":0,"points":1000000000}}`, `{"id":1,"series":{"match":0,"points":5,"from":9,"to":2}}`,
	} {
		c := dial(t, s)
		c.say("%s", q)
		if _, _, err := c.conn.Read(context.Background()); err == nil {
			t.Errorf("%s is answered", q)
		}
	}
	c := dial(t, s)
	for i, q := range []string{`"go":{"tick":1,"aspect":1}`, `"compare":true`, `"open":"../../etc/passwd"`, `"series":{"match":0,"points":5,"field":"x"}`} {
		if a := c.ask(10+i, q); a.Error == "" {
			t.Errorf("%s before anything is open: %+v", q, a)
		}
	}
	c.ask(20, `"open":""`)
	for i, q := range []string{
		`"compare":true`, `"series":{"match":1,"points":5,"field":"x"}`, `"series":{"match":0,"points":5,"field":"no.such","entity":"p0:0"}`,
		`"series":{"match":0,"points":5,"field":"body.X","entity":"???"}`, `"life":"p0:0"`, `"life":"p0:77@3"`, `"life":"?"`,
	} {
		if a := c.ask(30+i, q); a.Error == "" {
			t.Errorf("%s: %+v", q, a)
		}
	}
	if a := c.ask(50, `"go":{"tick":18446744073709551615,"aspect":1,"entity":["nonsense","p0:0@5"]}`); len(a.At) != 1 || a.At[0].Frame.Tick != 20.0 || a.At[0].Entity != nil {
		t.Errorf("%+v", a)
	}
}

func TestRegisterNamesWhatIsMissing(t *testing.T) {
	s, err := page.New(page.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for field, c := range map[string]Config{"Game": {}, "Open": {Game: arena}} {
		if err := Register(s, "/", c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("without %s: %v", field, err)
		}
	}
}
