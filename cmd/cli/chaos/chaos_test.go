//go:build linux

package chaos

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs/race"
	"tendon/net/cluster/jetstream"
)

var (
	runTime = flag.Duration("chaos.time", 0, "length of TestChaos with 40 rooms and 160 clients; 0: the short form")
	seed    = flag.Uint64("chaos.seed", 0, "seed of the faults; 0: a random one")
	only    = flag.String("chaos.only", "", "play only the faults whose names match this regular expression")
)

// outcome is the outcome of the faults of one kind.
type outcome struct {
	kind   kind
	number int
	gaps
	usual []time.Duration // gaps of the other rooms at the same times; for planned moves only
}

// backLimit is the time after a fault in which all clients must play again. After electionLimit, NATS servers that have not elected a
// leader are started again, as an operator would.
const (
	backLimit     = time.Minute
	electionLimit = 30 * time.Second
)

// planned reports whether the rooms move in order, so that no player notices it.
func (k kind) planned() bool { return k == restart || k == rolling || k == drain }

// ofClock reports whether the fault needs a clock that can be stepped.
func (k kind) ofClock() bool { return k == stepServer || k == stepNATS }

// Limits of the run with -chaos.time, in which nothing else should run on the machine.
const (
	killLimit = 3 * time.Second
	moveLimit = 7 * time.Second / 60 // between two messages: six ticks are missing
	// usualLimit is added to the gap of the other rooms at the same time. The larger of the sum and moveLimit is the limit.
	usualLimit = 3 * time.Second / 60
)

// check compares the times of a kind of fault with their limits.
func (o *outcome) check(t *testing.T) {
	p99, usual := spreadOf(o.list).P99, spreadOf(o.usual).P99
	switch limit := max(moveLimit, usual+usualLimit); {
	case o.kind == kill && p99 > killLimit:
		t.Errorf("%s: 99 %% within %v, want at most %v", o.kind, p99, killLimit)
	case (o.kind.planned() || o.kind == stepServer) && o.noticed > 0:
		t.Errorf("%s: %d players noticed it", o.kind, o.noticed)
	case o.kind.planned() && o.loaded > 0:
		t.Errorf("%s: %d players loaded a state, want none", o.kind, o.loaded)
	case o.kind.planned() && p99 > limit:
		t.Errorf("%s: 99 %% within %v, want at most %v; other rooms %v", o.kind, p99, limit, usual)
	}
}

// Faults of all kinds lose and change no confirmed tick, and all clients play on in their seats.
func TestChaos(t *testing.T) {
	short := *runTime == 0
	if short && !race.Long {
		t.Skip("plays for a minute: set TENDON_LONG, or give -chaos.time")
	}
	if *seed == 0 {
		*seed = rand.Uint64()>>1 | 1
	}
	t.Logf("repeat with -chaos.seed=%d", *seed)
	z := size{nodes: 3, servers: 3, rooms: 40, seats: 4, disk: 2 << 10, flags: []string{"--fsync", "always"}}
	if short {
		z.rooms, z.disk = 6, 256
	}
	w := newWorld(t, z)
	chosen, err := regexp.Compile(*only)
	if err != nil {
		t.Fatalf("-chaos.only: %v", err)
	}
	began, played, unelected := time.Now(), map[kind]*outcome{}, 0
	for i, f := range schedule(*seed, short) {
		if !chosen.MatchString(string(f.kind)) || !short && time.Since(began) > *runTime {
			continue
		}
		if f.kind.ofClock() && w.servers[0].clock == nil { // launch has logged the reason
			continue
		}
		o := played[f.kind]
		if o == nil {
			o = &outcome{kind: f.kind}
			played[f.kind] = o
		}
		w.mark()
		at := time.Now()
		rooms := w.apply(f)
		missing := w.await(electionLimit)
		if missing != nil && leader(t, w.nodes) < 0 {
			unelected++
			t.Logf("NATS has no leader for the stream of the rooms %v after the fault: its servers are started again", time.Since(at).Round(time.Second))
			w.restartNATS()
		}
		if missing != nil {
			missing = w.await(backLimit)
		}
		g := w.gaps(rooms)
		if f.kind.planned() {
			g = w.moved
			o.usual = append(o.usual, w.usual...)
			w.moved, w.usual = gaps{}, nil
		}
		t.Logf("%7.1fs %2d %v: %v", time.Since(began).Seconds(), i, f, &g)
		if missing != nil {
			w.checker.fail("%d clients are not back %v after fault %d, %v:\n  %s\n%s", len(missing), time.Since(at).Round(time.Second), i, f, summary(missing), w.texts())
			break
		}
		for until := time.Now().Add(electionLimit); !whole(t, w.nodes) && time.Now().Before(until); { // the fault is over then
			time.Sleep(100 * time.Millisecond)
		}
		o.number++
		o.add(g)
		if text := w.checker.text(); text != "" {
			break
		}
	}
	w.close()
	t.Logf("%d faults after which NATS elected no leader within %v", unelected, electionLimit)
	for _, c := range counts {
		o := cmp.Or(played[c.kind], &outcome{})
		if !short && *only == "" && o.number < c.number && (!c.kind.ofClock() || w.servers[0].clock != nil) {
			t.Errorf("%s: %d of %d faults were played: increase -chaos.time", c.kind, o.number, c.number)
		}
		if o.number > 0 {
			t.Logf("%3d × %-52s no new tick for %v", o.number, o.kind, &o.gaps)
			if o.kind.planned() {
				t.Logf("      usually for %+v", spreadOf(o.usual))
			}
			if !short {
				o.check(t)
			}
			if o.kind == killTwo && o.notified == 0 {
				t.Errorf("%s: no player was notified that the match waits", o.kind)
			}
		}
	}
	ticks := w.logged()
	c := w.checker
	t.Logf("%d ticks were received, %d of them again by another client; %d states compared; the logs have %d ticks; %d takeovers", c.ticks, c.repeated, c.states, ticks, w.taken)
	if text := c.text(); text != "" {
		t.Error(text)
	}
}

// logged compares the logs with the confirmed ticks, after all servers have ended.
func (w *world) logged() (ticks int) {
	for _, s := range w.servers {
		s.kill()
	}
	for _, n := range w.nodes {
		c, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", n.config.Port), nats.Timeout(time.Second))
		if err != nil {
			continue
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
		defer cancel()
		s, err := jetstream.Open(ctx, jetstream.Config{Connection: c, Replicas: len(w.nodes)})
		if err != nil {
			w.checker.fail("the logs cannot be read: %v", err)
			return 0
		}
		return w.checker.logs(ctx, s, crumbs.Game())
	}
	w.checker.fail("no NATS server answers")
	return 0
}
