package swarm

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/matchsim/halves"
	"tendon/net/session"
)

var (
	firstFlag  = flag.Uint64("swarm.first", 1, "the first seed")
	seedsFlag  = flag.Int("swarm.seeds", 0, "how many seeds to play; 0: a few")
	fileFlag   = flag.String("swarm.file", "", "play the schedule of this file instead")
	shrinkFlag = flag.Bool("swarm.shrink", false, "print the smallest schedule that fails")
)

// play plays a schedule and returns the judge. edit changes the world after its start; optional.
func play(t *testing.T, s Schedule, edit func(*world)) (j *judge) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		if edit != nil {
			edit(w)
		}
		w.run(s.end())
		w.judge.check()
		w.close()
		j = &w.judge
		if len(j.wrong) > 0 {
			t.Logf("the server's log:\n%s", &w.log)
		}
	})
	return j
}

// verdict fails the test with all that repeats the run.
func verdict(t *testing.T, s Schedule) *judge {
	t.Helper()
	j := play(t, s, nil)
	if len(j.wrong) == 0 {
		return j
	}
	for _, text := range j.wrong {
		t.Error(text)
	}
	if *shrinkFlag {
		s = shrink(s, func(s Schedule) bool { return len(play(t, s, nil).wrong) > 0 })
	}
	t.Errorf("schedule, for a file of -swarm.file:\n%v", s)
	return j
}

func TestSwarm(t *testing.T) {
	if *fileFlag != "" {
		verdict(t, load(t, *fileFlag))
		return
	}
	n := *seedsFlag
	switch {
	case n > 0:
	case race.Long:
		n = 40
	default:
		n = 3
	}
	kindsSeen, agreed, shared := map[Kind]int{}, 0, 0
	for seed := range uint64(n) {
		s := draw(*firstFlag + seed)
		t.Run("", func(t *testing.T) {
			t.Logf("seed %d: %s, %d rooms, %d clients, --fsync %s, %v", s.Seed, s.Sync, s.Rooms, len(s.Clients), s.Fsync, s.Faults)
			j := verdict(t, s)
			agreed += j.agreed
			if j.shared {
				shared++
			}
		})
		for _, f := range s.Faults {
			kindsSeen[f.Kind]++
		}
	}
	t.Logf("%d confirmed states were confirmed again; in %d runs, rooms shared a worker; faults: %v", agreed, shared, kindsSeen)
	if n >= 40 {
		for _, k := range kinds {
			if kindsSeen[k] == 0 {
				t.Errorf("no schedule had a %s", k)
			}
		}
		if agreed == 0 || shared == 0 {
			t.Errorf("%d states were confirmed twice; in %d runs, rooms shared a worker", agreed, shared)
		}
	}
}

// Schedules that failed once.
func TestStoredSchedules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) { verdict(t, load(t, path)) })
	}
}

func load(t *testing.T, path string) (s Schedule) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shrink removes faults and clients, and halves faults, as long as the schedule fails.
func shrink(s Schedule, fails func(Schedule) bool) Schedule {
	for i := 0; ; {
		list := s.smaller()
		if i >= len(list) {
			return s
		}
		if c := list[i]; c.check() == nil && fails(c) {
			s = c
		} else {
			i++
		}
	}
}

// smaller returns the schedules with one fault or client less, or with one fault half as long.
func (s *Schedule) smaller() (list []Schedule) {
	for i := range s.Faults {
		c := *s
		c.Faults = slices.Delete(slices.Clone(s.Faults), i, i+1)
		list = append(list, c)
	}
	for i := range s.Clients {
		c := *s
		c.Clients = slices.Delete(slices.Clone(s.Clients), i, i+1)
		c.Faults = slices.DeleteFunc(slices.Clone(s.Faults), func(f Fault) bool { return f.Client == i })
		for k := range c.Faults {
			if c.Faults[k].Client > i {
				c.Faults[k].Client--
			}
		}
		list = append(list, c)
	}
	for i, f := range s.Faults {
		if f.For >= Span(1e9) {
			c := *s
			c.Faults = slices.Clone(s.Faults)
			c.Faults[i].For /= 2
			list = append(list, c)
		}
	}
	return list
}

// The smallest schedule that fails is found, whatever the first one has besides.
func TestShrink(t *testing.T) {
	s := draw(7)
	s.Journal = true
	s.Faults = append(s.Faults, Fault{Kind: kill, Client: -1, At: Span(60e9), For: Span(9e9)}, Fault{Kind: rebind, Client: 0, At: Span(80e9)})
	got := shrink(s, func(s Schedule) bool {
		return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == kill && f.For > Span(2e9) })
	})
	if len(got.Faults) != 1 || got.Faults[0].Kind != kill || got.Faults[0].For > Span(4e9) || len(got.Clients) != 1 {
		t.Errorf("%v", got)
	}
}

// The judge finds each kind of failure.
func TestTheJudgeFails(t *testing.T) {
	if race.Enabled {
		t.Skip("the same code as in TestSwarm")
	}
	base := Schedule{Seed: 3, Sync: "relay", Rooms: 1, Workers: 1, Clients: []Client{{0, "P1", 60, 0}, {0, "P1", 60, 0}}}
	cut := base
	cut.Faults = []Fault{{Kind: both, Client: 1, At: Span(4 * time.Second), For: Span(time.Second)}}
	down := base
	down.Journal, down.Fsync = true, "always"
	down.Faults = []Fault{{Kind: kill, Client: -1, At: Span(4 * time.Second), For: Span(2 * time.Second)}}
	failing := down
	failing.Rooms, failing.Clients = 2, []Client{{0, "P1", 60, 0}, {1, "P1", 60, 0}}
	failing.Faults = []Fault{{Kind: ioError, Client: 0, At: Span(4 * time.Second), For: Span(5 * time.Second)}}
	for _, c := range []struct {
		want     string
		schedule Schedule
		edit     func(*world)
	}{
		{"", cut, nil},
		{"", down, nil},
		{"is not back", down, func(w *world) { w.later = func() { w.wrong.Store(int64(7 * time.Hour)) } }}, // like hours without a server
		{"", failing, nil},
		{"is not back", cut, func(w *world) { w.stuck = true }},
		{"which was", base, func(w *world) {
			w.judge.facts = map[fact]image.Checksum{}
			for f := range ecs.Tick(6) {
				w.judge.facts[fact{0, 0, 100 + f}] = 1
			}
		}},
		{"has seat", base, func(w *world) { w.later = func() { w.judge.seats[w.clients[0]] = 5 } }},
		{"is in another match", down, func(w *world) {
			w.later = func() { must(os.Remove(journalOf(w))) }
		}},
		{"confirmed ticks by a kill", down, func(w *world) {
			w.later = func() {
				content, err := os.ReadFile(journalOf(w))
				must(err)
				must(os.Truncate(journalOf(w), int64(len(content)*9/10)))
			}
		}},
		{"does not notice", failing, func(w *world) { w.later = func() { w.disk.set("", "") } }},
		{"of another journal", failing, func(w *world) { w.later = func() { w.disk.set(ioError, "") } }},
		{"ended", base, func(w *world) { w.later = func() { w.clients[0].Close() } }},
	} {
		j := play(t, c.schedule, c.edit)
		if text := strings.Join(j.wrong, "\n"); (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
			t.Errorf("want %q, got %q", c.want, text)
		}
	}
}

// journalOf returns the path of the first journal.
func journalOf(w *world) string {
	files, err := filepath.Glob(filepath.Join(w.dir, "*.journal"))
	must(err)
	return files[0]
}

// refused reports whether both rooms could not write their journals for this reason, and continued.
func refused(w *world, why string) bool {
	text := w.log.String()
	for _, room := range []string{"room0", "room1"} {
		_, text, _ := strings.Cut(text, "the journal of room "+room+" cannot be written: ")
		if reason, text, _ := strings.Cut(text, "\n"); !strings.Contains(reason, why) || !strings.Contains(text, "the journal of room "+room+" can be written again") {
			return false
		}
	}
	return true
}

// Each kind of fault of the server has an effect, so the seeds do test it.
func TestFaultsHaveAnEffect(t *testing.T) {
	if race.Enabled {
		t.Skip("the same code as in TestSwarm")
	}
	base := Schedule{Seed: 3, Sync: "relay", Rooms: 2, Workers: 1, Journal: true, Clients: []Client{{0, "P1", 60, 0}, {0, "P1", 60, 0}, {1, "P1", 60, 0}}}
	for kind, effect := range map[Kind]func(w *world) bool{
		freeze:   func(w *world) bool { return w.judge.given > 0 },
		overload: func(w *world) bool { return w.judge.given > 0 },
		flip:     func(w *world) bool { return w.clients[0].match+w.clients[2].match == 1 },
		remove:   func(w *world) bool { return strings.Contains(w.log.String(), "was removed") },
		update:   func(w *world) bool { return w.build != "" && strings.Contains(w.log.String(), "2 matches recovered") },
		stop:     func(w *world) bool { return strings.Contains(w.log.String(), "2 matches recovered") },
		stall: func(w *world) bool {
			return strings.Contains(w.log.String(), "a write to the journal of room room")
		},
		ioError: func(w *world) bool { return refused(w, "input/output error") },
		full:    func(w *world) bool { return refused(w, "no space left on device") },
		power:   func(w *world) bool { return strings.Contains(w.log.String(), "2 matches recovered") },
		kill:    func(w *world) bool { return strings.Contains(w.log.String(), "2 matches recovered") },
	} {
		s := base
		s.Faults = []Fault{{Kind: kind, Client: -1, At: Span(4 * time.Second), For: Span(3 * time.Second)}}
		j := play(t, s, nil)
		if len(j.wrong) > 0 || !effect(j.world) {
			t.Errorf("%s: %s\n%s", kind, strings.Join(j.wrong, "\n"), &j.world.log)
		}
		if !j.shared {
			t.Error("no two rooms shared a worker")
		}
	}
}

// A server with other rules cannot continue a match. It refuses the clients with a reason. The match continues on a server with the
// earlier rules.
func TestAServerWithOtherRulesRefusesTheClients(t *testing.T) {
	s := Schedule{Seed: 3, Sync: "relay", Rooms: 1, Workers: 1, Journal: true, Clients: []Client{{0, "P1", 60, 0}, {0, "P1", 60, 0}}}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		w.run(6 * time.Second)
		rules := w.app.Game
		w.app.Game, w.build = otherRules(), "another build"
		w.end(update)
		for len(w.process.ended) == 0 {
			w.run(time.Since(w.began) + 100*time.Millisecond)
		}
		w.start()
		w.run(time.Since(w.began) + 3*time.Second)
		for _, p := range w.clients {
			var why *session.Error
			if !errors.As(p.Err(), &why) || why.Code != session.CodeOtherBuild {
				t.Errorf("client %s: %v, want the code of another build", p.host, p.Err())
			}
		}
		w.app.Game, w.build = rules, ""
		w.end(update)
		for len(w.process.ended) == 0 {
			w.run(time.Since(w.began) + 100*time.Millisecond)
		}
		w.log.Reset()
		w.start()
		if !strings.Contains(w.log.String(), "1 match recovered") {
			t.Errorf("the match is not kept:\n%s", &w.log)
		}
		w.close()
	})
}

// otherRules returns the game of the swarm with one other rule and the same schema.
func otherRules() *ecs.Game {
	g := halves.Dots()
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {}
	return g
}
