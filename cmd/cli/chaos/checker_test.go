//go:build linux

package chaos

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cluster"
	"tendon/rollback/record"
)

// checker has every tick that clients received as confirmed. It is never reset.
type checker struct {
	mu       sync.Mutex
	rooms    map[string]*confirmed
	wrong    []string
	more     int // further failures
	ticks    int // that were received, by all clients
	states   int // states that were compared
	repeated int // ticks with a value that another client had received before
}

// confirmed are the confirmed ticks of a room.
type confirmed struct {
	match  uint64
	last   ecs.Tick
	chains []record.Chain   // by tick; 0: not confirmed to any client
	states []image.Checksum // by tick; 0: not compared
}

func newChecker() *checker { return &checker{rooms: map[string]*confirmed{}} }

func (c *checker) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed(format, args...)
}

func (c *checker) failed(format string, args ...any) {
	if len(c.wrong) == 30 {
		c.more++
		return
	}
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// room returns the ticks of a match of a room. A room has one match.
func (c *checker) room(who, room string, match uint64) *confirmed {
	r := c.rooms[room]
	if r == nil {
		r = &confirmed{match: match}
		c.rooms[room] = r
	}
	if r.match != match {
		c.failed("%s: room %s has match %016x, and another client had match %016x", who, room, match, r.match)
		return nil
	}
	return r
}

// put stores the value of a tick, or returns the different one that is stored.
func put[V comparable](list *[]V, f ecs.Tick, v V) (old V, known bool) {
	for ecs.Tick(len(*list)) <= f {
		*list = append(*list, make([]V, 1024)...)
	}
	var none V
	if old = (*list)[f]; old == none {
		(*list)[f] = v
		return v, false
	}
	return old, true
}

// tick receives a confirmed tick of a client, with the hash chain of all inputs and orders of the match up to it.
func (c *checker) tick(who, room string, match uint64, f ecs.Tick, chain record.Chain) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.room(who, room, match)
	if r == nil {
		return
	}
	c.ticks++
	r.last = max(r.last, f)
	old, known := put(&r.chains, f, chain)
	if known {
		c.repeated++
	}
	if old != chain {
		c.failed("%s: tick %d of room %s is confirmed with inputs %016x, and was confirmed with %016x", who, f, room, chain, old)
	}
}

// state receives the state of a client after a confirmed tick.
func (c *checker) state(who, room string, match uint64, f ecs.Tick, sum image.Checksum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.room(who, room, match)
	if r == nil {
		return
	}
	c.states++
	if old, _ := put(&r.states, f, sum); old != sum {
		c.failed("%s: the state of tick %d of room %s is %016x, and was %016x", who, f, room, sum, old)
	}
}

// text returns the failures.
func (c *checker) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.wrong, "\n")
	if c.more > 0 {
		text += fmt.Sprintf("\nand %d more", c.more)
	}
	return text
}

// newest returns the newest confirmed tick of a room.
func (c *checker) newest(room string) ecs.Tick {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rooms[room]; r != nil {
		return r.last
	}
	return 0
}

// logs compares the logs of all rooms with the confirmed ticks. It returns the number of ticks in them.
func (c *checker) logs(ctx context.Context, s cluster.Store, g *ecs.Game) (ticks int) {
	for name, r := range c.rooms {
		var log []cluster.Stored
		for e, err := range s.Read(ctx, name, 1, math.MaxUint64) {
			if err != nil {
				c.fail("the log of room %s cannot be read: %v", name, err)
				return ticks
			}
			e.Body = append([]byte(nil), e.Body...)
			log = append(log, e)
		}
		ticks += c.log(name, r, log, g)
	}
	return ticks
}

// log compares the log of a room with the ticks that its clients confirmed.
func (c *checker) log(name string, r *confirmed, log []cluster.Stored, g *ecs.Game) (ticks int) {
	var before, fence uint64
	owner := ""
	for _, e := range log {
		switch {
		case e.Before != before:
			c.fail("the log of room %s: entry %d follows entry %d, not %d", name, e.Sequence, e.Before, before)
		case e.Kind == cluster.KindClaim:
			owner, fence = e.Owner, e.Sequence
		case e.Fence != fence || e.Owner != owner:
			c.fail("the log of room %s: entry %d has fence %d and owner %s, want %d and %s", name, e.Sequence, e.Fence, e.Owner, fence, owner)
		case e.Kind == cluster.KindMove:
			owner, fence = e.Next, e.Sequence
		case e.Kind == cluster.KindRelease || e.Kind == cluster.KindEnd:
			owner = "" // a claim follows
		}
		before = e.Sequence
	}
	logged := make([]record.Chain, r.last+1)
	for _, journal := range journalsOf(log) {
		j, err := record.Open(journal, g)
		if err != nil {
			c.fail("a journal of room %s: %v", name, err)
			continue
		}
		if torn := j.Torn(); torn != nil {
			c.fail("a journal of room %s: %v", name, torn)
			continue
		}
		if j.Header().Match != r.match {
			c.fail("a journal of room %s is of match %016x, not %016x", name, j.Header().Match, r.match)
			continue
		}
		tail := record.NewTail(g, 64, 64<<10)
		tail.Start(j.Header().Start)
		add := func() {
			f, chain, _ := tail.Newest()
			if f > r.last {
				return
			}
			if old := logged[f]; old != 0 && old != chain {
				c.fail("tick %d of room %s is logged with inputs %016x and %016x", f, name, old, chain)
			}
			logged[f] = chain
		}
		add()
		for t := range j.Ticks(0, math.MaxInt64) {
			if !tail.Append(t) {
				c.fail("the log of room %s: tick %d cannot be appended", name, t.Tick)
				break
			}
			ticks++
			add()
		}
	}
	lost := 0
	for f, chain := range r.chains[:min(len(r.chains), len(logged))] {
		if chain != 0 && logged[f] != chain {
			if lost++; lost <= 3 {
				c.fail("tick %d of room %s was confirmed with inputs %016x, and its log has %016x", f, name, chain, logged[f])
			}
		}
	}
	if lost > 3 {
		c.fail("room %s: %d confirmed ticks differ from its log", name, lost)
	}
	return ticks
}

// journalsOf returns the journals in a log: each begins with an entry that restarts it.
func journalsOf(log []cluster.Stored) (list [][]byte) {
	const itself = math.MaxUint64 // Entry.From of the entry with which a journal begins
	var parts []cluster.Stored    // of a beginning that may not be complete
	for _, e := range log {
		switch {
		case e.Kind == cluster.KindPart:
			if e.From == itself || len(parts) > 0 && parts[0].From != e.From {
				parts = nil
			}
			parts = append(parts, e)
		case (e.Kind == cluster.KindRelease || e.Kind == cluster.KindMove) && len(list) > 0: // with the last ticks
			list[len(list)-1], parts = append(list[len(list)-1], e.Body...), nil
		case e.Kind != cluster.KindData:
			parts = nil
		case e.From == itself:
			list, parts = append(list, e.Body), nil
		case len(parts) > 0 && e.From == parts[0].Sequence:
			var whole []byte
			for _, p := range parts {
				whole = append(whole, p.Body...)
			}
			list, parts = append(list, append(whole, e.Body...)), nil
		case len(list) > 0:
			list[len(list)-1] = append(list[len(list)-1], e.Body...)
		}
	}
	return list
}

// Each kind of failure is found in a planted history.
func TestTheCheckerFails(t *testing.T) {
	for _, test := range []struct {
		want string
		play func(c *checker)
	}{
		{"", func(c *checker) {
			for _, who := range []string{"a", "b"} {
				c.tick(who, "r", 1, 5, 50)
				c.state(who, "r", 1, 5, 51)
			}
			c.tick("a", "s", 2, 5, 60)
		}},
		{"is confirmed with inputs", func(c *checker) { c.tick("a", "r", 1, 5, 50); c.tick("b", "r", 1, 5, 51) }},
		{"is confirmed with inputs", func(c *checker) { c.tick("a", "r", 1, 5, 50); c.tick("a", "r", 1, 5, 51) }},
		{"the state of tick 5", func(c *checker) { c.state("a", "r", 1, 5, 50); c.state("b", "r", 1, 5, 51) }},
		{"has match", func(c *checker) { c.tick("a", "r", 1, 5, 50); c.tick("b", "r", 2, 6, 51) }},
	} {
		c := newChecker()
		if test.play(c); (test.want == "") != (c.text() == "") || !strings.Contains(c.text(), test.want) {
			t.Errorf("want %q, got %q", test.want, c.text())
		}
	}
}

// A confirmed tick that the log lacks, or has with other inputs, is found, and so is an entry of a replaced owner.
func TestTheCheckerFailsForALog(t *testing.T) {
	g := crumbs.Game()
	play := func(seed uint64) (journal []byte, chains map[ecs.Tick]record.Chain) {
		var out strings.Builder
		h := record.HeaderOf(g, seed, "test")
		h.Match = 1
		w, err := record.NewWriter(&out, g, h)
		if err != nil {
			t.Fatal(err)
		}
		chains = map[ecs.Tick]record.Chain{0: w.Chain()}
		for f := ecs.Tick(1); f <= 40; f++ {
			inputs := make([]ecs.InputBytes, g.MaxPlayers)
			inputs[0][0] = byte(seed) & 1
			if err := w.Tick(record.Tick{Tick: f, Inputs: inputs}); err != nil {
				t.Fatal(err)
			}
			chains[f] = w.Chain()
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return []byte(out.String()), chains
	}
	journal, chains := play(2)
	other, _ := play(3)
	entry := func(at, before, fence uint64, k cluster.Kind, from uint64, body []byte) cluster.Stored {
		return cluster.Stored{Sequence: at, Entry: cluster.Entry{Kind: k, Owner: "o", Fence: fence, Before: before, From: from, Body: body}}
	}
	moved := entry(4, 1, 1, cluster.KindMove, 0, nil)
	moved.Next = "p"
	next := entry(5, 4, 4, cluster.KindData, math.MaxUint64, journal)
	next.Owner = moved.Next
	for _, test := range []struct {
		want string
		log  []cluster.Stored
	}{
		{"", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), entry(4, 1, 1, cluster.KindData, math.MaxUint64, journal)}},
		{"", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), moved, next}},
		{"has fence", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), moved, entry(5, 4, 4, cluster.KindData, math.MaxUint64, journal)}},
		{"has fence", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), entry(3, 1, 1, cluster.KindRelease, 0, nil), entry(4, 3, 1, cluster.KindData, math.MaxUint64, journal)}},
		{"has fence", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), moved, entry(5, 4, 1, cluster.KindData, math.MaxUint64, journal)}},
		{"was confirmed with inputs", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil)}},
		{"was confirmed with inputs", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), entry(4, 1, 1, cluster.KindData, math.MaxUint64, other)}},
		{"follows entry", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), entry(4, 3, 1, cluster.KindData, math.MaxUint64, journal)}},
		{"has fence", []cluster.Stored{entry(1, 0, 0, cluster.KindClaim, 0, nil), entry(3, 1, 0, cluster.KindClaim, 0, nil), entry(4, 3, 1, cluster.KindData, math.MaxUint64, journal)}},
	} {
		c := newChecker()
		for f, chain := range chains {
			c.tick("a", "r", 1, f, chain)
		}
		c.log("r", c.rooms["r"], test.log, g)
		if (test.want == "") != (c.text() == "") || !strings.Contains(c.text(), test.want) {
			t.Errorf("want %q, got %q", test.want, c.text())
		}
	}
}
