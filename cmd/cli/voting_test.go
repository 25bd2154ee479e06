package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// pendingRounds plays lockstep up to a tick after two rounds in which one of two players does not vote, so neither is decided.
// They end at first and second. The records of the server are in file.
func pendingRounds(t *testing.T, flags ...string) (c *group, file string, first, second float64) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "matches.db")
	flags = append(flags, "--sync", "lockstep", "--matches", file)
	c = &group{t: t, served: served{"lockstep", flags, true}, game: crumbs.Game(), dir: filepath.Join(dir, "journals")}
	c.crumbsServer = serveCrumbs(t, "127.0.0.1:0", c.dir, flags...)
	c.enter("main", 0)
	c.enter("main", 1)
	playOn(t, []*group{c}, 60)
	end := (c.all[1].last/120 + 1) * 120 // of the round in which the second player stops
	speaks := *c
	speaks.all = c.all[:1]
	playOn(t, []*group{&speaks}, end+130)
	return c, file, float64(end), float64(end + 120)
}

// listed returns the records of a file by tick, once there are those of all these ticks.
func listed(t *testing.T, file string, ticks ...float64) map[float64][]event {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	found := map[float64][]event{}
	for range 500 {
		clear(found)
		for line := range strings.Lines(do(t, crumbs.Game(), "matches", "--json", "--file", file).out) {
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			tick, _ := e["tick"].(float64)
			found[tick] = append(found[tick], e)
		}
		if !slices.ContainsFunc(ticks, func(f float64) bool { return len(found[f]) == 0 }) {
			return found
		}
		<-ticker.C
	}
	t.Fatalf("of ticks %v, there are records of %v", ticks, found)
	return nil
}

// onceEach returns the records of a file by tick. It demands that each of these ticks has one record, in which both players stand.
func onceEach(t *testing.T, file string, ticks ...float64) map[float64][]event {
	t.Helper()
	found := listed(t, file, ticks...)
	for _, tick := range ticks {
		records := found[tick]
		if players, _ := records[0]["players"].([]any); len(records) != 1 || len(players) != 2 || records[0]["verdict"] != "replay" {
			t.Errorf("tick %v: %v", tick, records)
		}
	}
	return found
}

// A server that is killed between the end of a match and its decision loses no result. Neither does a server that is stopped and
// keeps its matches. The next server finds the result in the journal, and records it once, even after several restarts.
func TestAResultOutlivesTheServerThatHeldTheVote(t *testing.T) {
	for _, flags := range [][]string{nil, {"--relay-only"}} {
		for signal, code := range map[syscall.Signal]int{syscall.SIGKILL: -1, syscall.SIGTERM: app.ExitFine} {
			t.Run(strings.Join(append([]string{"lockstep", signal.String()}, flags...), " "), func(t *testing.T) {
				slow(t)
				c, file, first, second := pendingRounds(t, flags...)
				for range 2 {
					if got := c.end(t, signal); got != code {
						t.Errorf("the server exits with %d, want %d", got, code)
					}
					c.crumbsServer = serveCrumbs(t, c.at.String(), c.dir, c.flags...)
					if last := c.recovered(t)["main"]; float64(last) < second {
						t.Fatalf("recovered up to tick %d: no round was pending", last)
					}
					onceEach(t, file, first, second)
				}
				if code := c.end(t, os.Interrupt); code != app.ExitFine {
					t.Errorf("the server exits with %d", code)
				}
				onceEach(t, file, first, second)
			})
		}
	}
}

// A server that is stopped and ends its matches loses no result either: it decides with the votes that it has.
func TestAServerThatStopsDecidesPendingVotes(t *testing.T) {
	for _, flags := range [][]string{nil, {"--relay-only"}} {
		t.Run(strings.Join(append([]string{"lockstep"}, flags...), " "), func(t *testing.T) {
			slow(t)
			c, file, first, second := pendingRounds(t, append(flags, "--on-stop", "end")...)
			if code := c.end(t, syscall.SIGINT); code != app.ExitFine {
				t.Errorf("the server exits with %d", code)
			}
			found := onceEach(t, file, first, second)
			players := found[second][0]["players"].([]any)
			if silent := players[1].(map[string]any)["silent"]; silent != true {
				t.Errorf("the player without a vote: %v", players[1])
			}
		})
	}
}
