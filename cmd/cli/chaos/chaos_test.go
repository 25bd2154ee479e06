//go:build linux

package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tendon/cmd/arena/rules"
	"tendon/ecs/race"
	"tendon/net/cluster/jetstream"
)

var (
	runTime = flag.Duration("chaos.time", 0, "length of TestChaos with 40 rooms and 160 clients; 0: the short form")
	seed    = flag.Uint64("chaos.seed", 0, "seed of the faults; 0: a random one")
	only    = flag.String("chaos.only", "", "play only the faults whose names contain this text")
)

// outcome is the outcome of the faults of one kind.
type outcome struct {
	kind    kind
	number  int
	gaps    []time.Duration
	noticed int // players who saw that the server was away
}

// backLimit is the time after a fault in which all clients must play again.
const backLimit = time.Minute

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
	began, played := time.Now(), map[kind]*outcome{}
	for i, f := range schedule(*seed, short) {
		if !strings.Contains(string(f.kind), *only) || !short && time.Since(began) > *runTime {
			continue
		}
		w.mark()
		at := time.Now()
		rooms := w.apply(f)
		missing := w.await(backLimit)
		gaps, noticed := w.gaps(rooms)
		t.Logf("%7.1fs %2d %v: %+v, %d of %d noticed it", time.Since(began).Seconds(), i, f, spreadOf(gaps), noticed, len(gaps))
		if missing != nil {
			w.checker.fail("%d clients are not back %v after fault %d, %v:\n  %s\n%s", len(missing), time.Since(at).Round(time.Second), i, f, summary(missing), w.texts())
			break
		}
		o := played[f.kind]
		if o == nil {
			o = &outcome{kind: f.kind}
			played[f.kind] = o
		}
		o.number++
		o.gaps, o.noticed = append(o.gaps, gaps...), o.noticed+noticed
		if text := w.checker.text(); text != "" {
			break
		}
	}
	w.close()
	for _, c := range counts {
		if o := played[c.kind]; o != nil {
			t.Logf("%3d × %-52s no new tick for %+v; %d of %d players noticed it", o.number, o.kind, spreadOf(o.gaps), o.noticed, len(o.gaps))
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
		return w.checker.logs(ctx, s, rules.Game())
	}
	w.checker.fail("no NATS server answers")
	return 0
}
