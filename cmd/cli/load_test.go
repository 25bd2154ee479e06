package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/load"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs"
	"tendon/net/cost"
	"tendon/net/simnet"
)

// randomGame is placedGame with random wear. Clients that receive states have another random source, so they mispredict it
// and resimulate.
func randomGame() *ecs.Game {
	g := placedGame()
	g.Systems = append(g.Systems, ecs.System{Name: "luck", Run: func(w *ecs.World) {
		for e := range crumbs.Crumbs.All(w) {
			e.A.Left = int32(w.Rand().IntN(100))
		}
	}})
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		crumbs.Seats.Put(w, w.Spawn(ecs.OwnedBy(p), crumbs.Bodies, crumbs.Seats, crumbs.Wears), ecs.Seat{Player: p})
	}
	return g
}

// playedLoad returns the costs of a load of randomGame.
func playedLoad(t *testing.T, sync, net string, d time.Duration) (server, clients cost.Report) {
	t.Helper()
	f := syncFlagsOf(t, "--sync "+sync)
	strategy, err := f.Strategy(randomGame())
	if err != nil {
		t.Fatal(err)
	}
	profile, _ := simnet.ByName(net)
	l, err := load.New(load.Config{Game: randomGame(), Strategy: strategy, Profile: profile, Players: 3, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	step := func(time.Duration) error { return nil }
	if err := l.Prepare(step); err != nil {
		t.Fatal(err)
	}
	if err := l.Play(d, step); err != nil {
		t.Fatal(err)
	}
	return l.Reports()
}

// called returns the labels of the rows.
func called(r *cost.Report) (list []string) {
	for i := range r.Rows {
		list = append(list, r.Rows[i].Label())
	}
	return list
}

// A phase that a strategy never enters has no row, which is easy to overlook in a table. So the test lists the rows of each
// strategy.
func TestEveryPhaseOfEveryStrategyIsAccounted(t *testing.T) {
	const always = "frame receive save encode send "
	rows := map[string][2]string{ // server, client
		"relay":    {always + "simulate checksum", always + "simulate rewind restore resimulate checksum present"},
		"lockstep": {always + "simulate checksum", always + "simulate checksum present"},
		"predict":  {always + "simulate", always + "simulate restore resimulate present"},
		"reckon":   {always + "simulate", always + "simulate restore resimulate present"},
		"verify":   {always + "simulate checksum", always + "restore checksum present"},
	}
	named := map[string][2]string{ // of the strategy: server, client
		"relay": {"receive/inputs, receive/checksums, reconcile/orders, reconcile/inputs, present/codes, present/checksums, send/stamps, send/confirmations",
			"receive/confirmations, reconcile/clock, reconcile/inputs, reconcile/rewind, reconcile/ticks, present/compose, present/error smoothing, send/window, send/checksums"},
		"lockstep": {"receive/operations, receive/checksums, receive/results, reconcile/frame, present/next frame, present/log, present/intervals, present/votes, send/syncs",
			"receive/syncs, reconcile/margin, reconcile/frames, send/operations, send/checksums, send/results"},
		"predict": {"receive/inputs, reconcile/orders, reconcile/inputs, reconcile/views, present/changes, present/replication, present/interest, present/events, send/events, send/snapshots",
			"receive/snapshots, reconcile/clock, reconcile/inputs, reconcile/ticks, send/window, present/compose, present/interpolation, present/switched, present/error smoothing"},
		"reckon": {"receive/moves, receive/clock probes, receive/clock acknowledgements, reconcile/orders, reconcile/inputs, reconcile/avatars, present/changes, present/motion, present/replication, present/avatars, present/interest, present/records, send/events, send/clock, send/updates",
			"receive/state and records, receive/clock answers, reconcile/ticks, present/compose, present/extrapolation, send/clock, send/window"},
		"verify": {"receive/commands, reconcile/orders, reconcile/commands, reconcile/order checks, send/states",
			"receive/states, reconcile/display, reconcile/inputs, send/commands"},
	}
	game := randomGame()
	for _, s := range syncflags.All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			server, clients := playedLoad(t, s.Name, "P5", 20*time.Second)
			for side, r := range []*cost.Report{&server, &clients} {
				want := append(strings.Fields(rows[s.Name][side]), strings.Split(named[s.Name][side], ", ")...)
				for _, system := range game.Systems {
					if slices.Contains(want, "simulate") {
						want = append(want, system.Name)
					}
					if slices.Contains(want, "resimulate") {
						want = append(want, system.Name+" (again)")
					}
				}
				got := called(r)
				for _, row := range want {
					if !slices.Contains(got, row) {
						t.Errorf("%s: %s is not accounted: %q", r.Name, row, got)
					}
				}
				for _, row := range got {
					if !slices.Contains(want, row) {
						t.Errorf("%s: %s is accounted, and should not be", r.Name, row)
					}
				}
				sum := time.Duration(0)
				for i := range r.Rows {
					sum += r.Rows[i].Self
				}
				// A client's last picture belongs to a turn that did not end.
				if sum < r.Busy || side == 0 && sum != r.Busy || r.Turns < 20*60-2 {
					t.Errorf("%s: rows add up to %v of %v in %d turns", r.Name, sum, r.Busy, r.Turns)
				}
			}
		})
	}
}

// The numbers of calls depend on the seed alone, so that two runs can be compared.
func TestTheSameSeedGivesTheSameLoad(t *testing.T) {
	calls := func() (list []string) {
		server, clients := playedLoad(t, "relay", "P5", 5*time.Second)
		for _, r := range []*cost.Report{&server, &clients} {
			for i := range r.Rows {
				list = append(list, fmt.Sprintf("%s %s %d", r.Name, r.Rows[i].Label(), r.Rows[i].Calls))
			}
		}
		return list
	}
	a, b := calls(), calls()
	if !slices.Equal(a, b) {
		t.Errorf("%v\n%v", a, b)
	}
}
