package replaypage

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tendon/ecs"
)

// A page shows every tick of a match as it was recorded: its picture, its entities, and each field of the selected one.
func TestAPageSeeksToAnyTick(t *testing.T) {
	r := botMatch(t, arena, 700, 0)
	c := dial(t, serve(t, Match{Name: "one", Record: r}))
	a := c.request(1, `"open":""`)
	if len(a.Matches) != 1 || a.Matches[0].Name != "one" || a.Matches[0].First != 0 || a.Matches[0].Last != 700 || a.Matches[0].Rate != arena.TickRate || !a.Matches[0].Drawn {
		t.Fatalf("%+v", a)
	}
	seen := map[any]bool{}
	for i, f := range []ecs.Tick{0, 700, 650, 651, 3, 12345} {
		a := c.request(2+i, `"go":{"tick":%d,"aspect":1.6,"entity":["p1:0",""]}`, f)
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
			t.Fatalf("tick %d: the selected entity is %+v", f, s.Entity)
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
	if a := c.request(20, `"go":{"tick":9,"aspect":1.6,"find":"player 2"}`); len(a.At[0].Entities) == 0 || len(a.At[0].Entities) >= a.At[0].Count {
		t.Errorf("%d of %d entities were found", len(a.At[0].Entities), a.At[0].Count)
	}
}

// A field over time has at most the requested number of points, and the values that the ticks show.
func TestAFieldOverTimeHasTheValuesOfTheTicks(t *testing.T) {
	c := dial(t, serve(t, Match{Name: "one", Record: botMatch(t, arena, 400, 0)}))
	c.request(1, `"open":""`)
	at := c.request(2, `"go":{"tick":300,"aspect":1,"entity":["p0:0",""]}`).At[0].Entity
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
	a := c.request(3, `"series":{"match":0,"entity":%q,"field":%q,"from":290,"to":310,"points":100}`, at.ID, component+"."+field)
	if a.Error != "" || a.Series == nil || len(a.Series.Points) != 21 || a.Series.Points[10].Text != text {
		t.Errorf("%s.%s is %s at tick 300: %+v", component, field, text, a)
	}
	a = c.request(4, `"series":{"match":0,"entity":%q,"field":%q,"from":2,"to":400,"points":50}`, at.ID, component+"."+field)
	if a.Error != "" || len(a.Series.Points) < 40 || len(a.Series.Points) > 50 {
		t.Errorf("%s: %d points", a.Error, len(a.Series.Points))
	}
	if a = c.request(5, `"life":%q`, at.ID); a.Life == nil || a.Life.From != 1 || a.Life.To != 400 {
		t.Errorf("%+v", a.Life)
	}
}

// Two matches diverge in the tick in which one was changed, and the place is named. The page can seek meanwhile.
func TestTwoMatchesDivergeWhereOneWasChanged(t *testing.T) {
	c := dial(t, serve(t, Match{Name: "left", Record: botMatch(t, arena, 300, 0)}, Match{Name: "right", Record: botMatch(t, arena, 300, 200)}))
	c.request(1, `"open":""`)
	c.send(`{"id":2,"compare":true}`)
	c.send(`{"id":3,"go":{"tick":100,"aspect":1}}`)
	c.send(`{"id":4,"life":"p0:0@1"}`)
	a := c.receive(2)
	if a.Compare == nil || a.Compare.Divergence == nil {
		t.Fatalf("%+v", a)
	}
	d := a.Compare.Divergence
	if d.Tick < 200 || d.Tick > 210 || len(d.Differences) == 0 || d.Differences[0].Field == "" || d.Differences[0].Here == d.Differences[0].There {
		t.Errorf("%+v", d)
	}
	left := c.request(5, `"go":{"tick":%d,"aspect":1}`, d.Tick-1).At
	differing := c.request(6, `"go":{"tick":%d,"aspect":1}`, d.Tick).At
	if left[0].Frame.Checksum != left[1].Frame.Checksum || differing[0].Frame.Checksum == differing[1].Frame.Checksum {
		t.Error("the tick before is not equal, or the tick is")
	}
}

// Of several ticks that wait, the newest is shown. The last request is never lost.
func TestScrubbingShowsTheNewestTick(t *testing.T) {
	c := dial(t, serve(t, Match{Name: "one", Record: botMatch(t, arena, 650, 0)}))
	c.request(1, `"open":""`)
	for f := 1; f <= 600; f++ {
		c.send(`{"id":%d,"go":{"tick":%d,"aspect":1}}`, 1+f, f)
	}
	if a := c.receive(601); a.At[0].Frame.Tick != 600.0 {
		t.Errorf("%+v", a.At[0].Frame)
	}
}

// Jobs of one kind never run at the same time, however fast a page sends requests. A job that was replaced before it
// started does not run.
func TestANewerJobStartsAfterTheEndOfTheOlder(t *testing.T) {
	var gate atomic.Pointer[chan struct{}] // nil: open
	var calls, now, top atomic.Int32
	game := *arena
	game.Systems = append(slices.Clone(game.Systems), ecs.System{Name: "gate", Run: func(w *ecs.World) {
		if g := gate.Load(); g != nil && w.Tick() == 1 {
			calls.Add(1)
			top.Store(max(top.Load(), now.Add(1)))
			<-*g
			now.Add(-1)
		}
	}})
	c := dial(t, serve(t, Match{Name: "one", Record: botMatch(t, &game, 100, 0)}))
	c.request(1, `"open":""`)
	closed := make(chan struct{})
	gate.Store(&closed)
	const requests = 20
	for i := range requests {
		c.send(`{"id":%d,"life":"p0:0@1"}`, 2+i)
		for i == 0 && calls.Load() == 0 { // the first job runs
			runtime.Gosched()
		}
	}
	if a := c.request(50, `"compare":true`); a.Error == "" { // by now all requests were read
		t.Fatalf("%+v", a)
	}
	close(closed)
	if a := c.receive(1 + requests); a.Life == nil && a.Error == "" {
		t.Errorf("%+v", a)
	}
	if calls, top := calls.Load(), top.Load(); top != 1 || calls >= requests {
		t.Errorf("%d jobs at the same time, %d in all", top, calls)
	}
}

// A request out of bounds ends its connection or is answered with an error. It never affects the server or another page.
func TestWrongRequestsAreRefused(t *testing.T) {
	s := serve(t, Match{Name: "one", Record: botMatch(t, arena, 20, 0)})
	for _, q := range []string{
		`nonsense`, `{"id":1,"go":{"tick":1,"aspect":0}}`, `{"id":1,"go":{"tick":1,"aspect":1e300}}`, `{"id":1,"go":{"tick":-1,"aspect":1}}`,
		`{"id":1,"go":{"tick":1,"aspect":1,"find":"` + strings.Repeat("x", 101) + `"}}`,
		`{"id":1,"series":{"match":2,"points":1}}`, `{"id":1,"series":{"match":-1,"points":1}}`, `{"id":1,"series":{"match":0,"points":0}}`,
		`{"id":1,"go":{"tick":1,"aspect":1,"seen":-2}}`, `{"id":1,"series":{"match":0,"points":1000000000}}`, `{"id":1,"series":{"match":0,"points":5,"from":9,"to":2}}`,
	} {
		c := dial(t, s)
		c.send("%s", q)
		if _, _, err := c.conn.Read(context.Background()); err == nil {
			t.Errorf("%s is answered", q)
		}
	}
	c := dial(t, s)
	for i, q := range []string{`"go":{"tick":1,"aspect":1}`, `"compare":true`, `"open":"../../etc/passwd"`, `"series":{"match":0,"points":5,"field":"x"}`} {
		if a := c.request(10+i, q); a.Error == "" {
			t.Errorf("%s before anything is open: %+v", q, a)
		}
	}
	c.request(20, `"open":""`)
	for i, q := range []string{
		`"compare":true`, `"series":{"match":1,"points":5,"field":"x"}`, `"series":{"match":0,"points":5,"field":"no.such","entity":"p0:0"}`,
		`"series":{"match":0,"points":5,"field":"body.X","entity":"???"}`, `"life":"p0:0"`, `"life":"p0:77@3"`, `"life":"?"`,
		`"go":{"tick":1,"aspect":1,"seen":63}`, `"marks":{"match":0,"seen":63}`, `"series":{"match":0,"points":5,"field":"body.Pos.X","entity":"p0:0","seen":63}`,
	} {
		if a := c.request(30+i, q); a.Error == "" {
			t.Errorf("%s: %+v", q, a)
		}
	}
	if a := c.request(50, `"go":{"tick":18446744073709551615,"aspect":1,"entity":["nonsense","p0:0@5"]}`); len(a.At) != 1 || a.At[0].Frame.Tick != 20.0 || a.At[0].Entity != nil {
		t.Errorf("%+v", a)
	}
}
