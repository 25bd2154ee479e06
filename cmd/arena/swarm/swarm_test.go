package swarm

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/ecs/race"
)

var (
	seedsFlag = flag.Int("swarm.seeds", 0, "number of seeds; 0: 10, or 6 with the race detector")
	firstFlag = flag.Uint64("swarm.first", 1, "the first seed")
	seedFlag  = flag.Uint64("swarm.seed", 0, "the one seed to play; 0: many")
)

// seeds returns the number of seeds. Each is a match of 30 to 50 s.
func seeds() int {
	switch {
	case *seedsFlag > 0:
		return *seedsFlag
	case race.Enabled:
		return 6
	}
	return 10
}

// longest bounds a match: the race detector makes it ten times as slow.
func longest() time.Duration {
	if race.Enabled {
		return 35 * time.Second
	}
	return time.Minute
}

// check plays a seed and fails the test with everything that is needed to play it again.
func check(t *testing.T, o options) counts {
	t.Helper()
	t.Log(o)
	got, err := play(o)
	if err != nil {
		t.Fatalf("seed %d: %v", o.seed, err)
	}
	t.Logf("%+v", got.counts)
	if len(got.wrong) > 0 {
		t.Errorf("%s\n%v\nplay it again: go test ./cmd/arena/swarm -run 'TestSwarm$' -swarm.seed=%d -v", strings.Join(got.wrong, "\n"), o, o.seed)
	}
	return got.counts
}

// For every seed, each confirmed tick is the server's on each peer. After the links are good again all clients keep up.
func TestSwarm(t *testing.T) {
	if *seedFlag != 0 {
		check(t, draw(*seedFlag, longest()))
		return
	}
	var all counts
	var lock sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(seeds()) {
			seed += *firstFlag
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				got := check(t, draw(seed, longest()))
				lock.Lock()
				defer lock.Unlock()
				all.add(got)
			})
		}
	})
	t.Logf("%d seeds: %+v", seeds(), all)
	if all.Checked == 0 {
		t.Errorf("no tick was checked: %+v", all)
	}
	if seeds() < 20 && *seedsFlag > 0 { // a few seeds may all have a strategy without rollbacks
		return
	}
	if all.Rollbacks == 0 || all.Corrections == 0 || all.Lost == 0 || all.Reconnects == 0 {
		t.Errorf("the swarm proves nothing: %+v", all)
	}
	if seeds() < 100 { // fewer seeds need not have had all
		return
	}
	if all.TakenBack == 0 || all.Cut == 0 || all.Scripted == 0 || all.Duplicated == 0 || all.Late == 0 || all.Discarded == 0 || all.Substituted == 0 {
		t.Errorf("the swarm proves too little: %+v", all)
	}
	for k, name := range syncs {
		if all.Syncs[k] == 0 {
			t.Errorf("no seed played %s", name)
		}
	}
	if d := all.Replication; d.Whole == 0 || d.Events == 0 || d.Cancelled == 0 || d.Withdrawn == 0 || d.Corrections == 0 || d.Substituted == 0 || d.Images == 0 || d.Resyncs == 0 {
		t.Errorf("the matches of clients that receive states prove too little: %+v", d)
	}
	if all.Adopted == 0 {
		t.Error("no lost tick was sent by clients after a power cut")
	}
	if all.ArenaTakenBack == 0 {
		t.Errorf("no change of structure was taken back in %d matches of the arena", all.Arenas)
	}
	for k, n := range all.Kinds {
		if n == 0 {
			t.Errorf("no seed had a %v", kind(k))
		}
	}
	if all.Desyncs < uint64(all.Planted) || all.Resyncs < uint64(all.Planted) || all.Planted == 0 {
		t.Errorf("%d wrong bits, %d reports, %d resyncs", all.Planted, all.Desyncs, all.Resyncs)
	}
}

// A seed is a bug report: it produces the same match every time, to the last packet.
func TestASeedIsTheSameMatchEveryTime(t *testing.T) {
	last, most := uint64(1002), 30*time.Second
	if !race.Long {
		last, most = 1000, 20*time.Second
	}
	for seed := uint64(1000); seed <= last; seed++ {
		o := draw(seed, most)
		a, err := play(o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := play(o)
		if err != nil {
			t.Fatal(err)
		}
		if a.trace != b.trace || a.sum != b.sum || a.counts != b.counts {
			t.Errorf("seed %d: trace %x and %x, checksum %x and %x\n%+v\n%+v", seed, a.trace, b.trace, a.sum, b.sum, a.counts, b.counts)
		}
	}
}
