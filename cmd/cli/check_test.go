package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/tokens"
	"tendon/rollback"
	"tendon/rollback/record"
)

func TestSyncTestNamesComponentAndFieldOfADesync(t *testing.T) {
	r := do(t, desyncingGame(), "synctest", "--ticks", "80")
	if r.code != app.ExitFailed || !strings.Contains(r.out, "body") || !strings.Contains(r.out, "Vel.X") {
		t.Errorf("%+v", r)
	}
}

// RB-11: under every save policy, each saved state equals that of the straight run. The report has the costs: rewinds, ticks
// computed again, and states saved.
func TestSyncTestReportsTheCostsOfEverySavePolicy(t *testing.T) {
	before := rollback.SyncReport{Ticks: 300}
	before.Saved = 1 << 20
	for _, policy := range []string{"every", "sparse", "speculative", "confirmed"} {
		r := do(t, crumbs.Game(), "synctest", "--ticks", "300", "--seed", "3", "--quick", "--policy", policy, "--json")
		var result struct{ Report rollback.SyncReport }
		lines := strings.Split(strings.TrimSpace(r.out), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil || r.code != app.ExitFine {
			t.Fatalf("%s: %v, %+v", policy, err, r)
		}
		if now := result.Report; now.Ticks < 100 || now.Rewinds < 100 || now.Resimulated < now.Rewinds || now.Saved >= before.Saved ||
			policy == "every" && (now.Ticks != 300 || now.Saved != 300+now.Resimulated) {
			t.Errorf("%s: %v\nafter %v", policy, now, before)
		}
		before = result.Report
	}
}

func TestDemoOfADeterministicGameSucceeds(t *testing.T) {
	slow(t)
	if r := do(t, crumbs.Game(), "demo", "--for", "5s", "--bots", "2"); r.code != app.ExitFine || !strings.Contains(r.note, "equal the server's, across ") {
		t.Errorf("%+v", r)
	}
}

// The last line depends on the strategy: without prediction there are no rollbacks to report.
func TestTheDemoReportsTheCostOfItsStrategy(t *testing.T) {
	line := regexp.MustCompile(`confirmed states of 2 clients equal the server's, with (\d+ stalls and )?a display (\d+) ms behind the server\n`)
	for _, sync := range []string{"lockstep", "verify"} {
		t.Run(sync, func(t *testing.T) {
			slow(t)
			r := do(t, crumbs.Game(), "demo", "--for", "4s", "--bots", "2", "--rtt", "100ms", "--jitter", "0s", "--sync", sync)
			said := line.FindStringSubmatch(r.note)
			if r.code != app.ExitFine || said == nil || (said[1] != "") != (sync == "lockstep") || strings.Contains(r.note, "rollback") {
				t.Fatalf("%+v", r)
			}
			if lag, err := strconv.Atoi(said[2]); err != nil || lag < 40 { // the way here takes 50 ms
				t.Errorf("%d ms, %v: %s", lag, err, r.note)
			}
		})
	}
}

func TestReplayPlaysASoundRecordingAndTheRestOfATornOne(t *testing.T) {
	sound := recorded(t, crumbs.Game(), 300)
	path := filepath.Join(t.TempDir(), "file")
	if r := do(t, crumbs.Game(), "replay", write(t, path, sound, 0o600)); r.code != app.ExitFine || !strings.Contains(r.out, "ticks 0 to 300") && !strings.Contains(r.out, "ticks 1 to 300") {
		t.Errorf("%+v", r)
	}
	if r := do(t, crumbs.Game(), "replay", write(t, path, sound[:len(sound)-5], 0o600)); r.code != app.ExitFine || !strings.Contains(r.note, "the rest is replayed") || !strings.Contains(r.out, "come out as recorded") {
		t.Errorf("torn: %+v", r)
	}
	whole, err := record.Open(sound[:len(sound)-5], crumbs.Game())
	if err != nil {
		t.Fatal(err)
	}
	if r := do(t, crumbs.Game(), "replay", write(t, path, whole.Bytes(), 0o600)); r.code != app.ExitFine || !strings.Contains(r.note, "no end mark") || !strings.Contains(r.out, "come out as recorded") {
		t.Errorf("cut between two blocks: %+v", r)
	}
}

func TestReplayWithAChangedRuleReportsTheTick(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "file"), recorded(t, crumbs.Game(), 300), 0o600)
	if r := do(t, fasterGame(), "replay", path); r.code != app.ExitFailed || !strings.Contains(r.note, "tick 3 differs from the recorded one") || r.out == "" {
		t.Errorf("%+v", r)
	}
}

func TestTokensAreDecodedAndTheirKeyFileIsPrivateAndStays(t *testing.T) {
	key := filepath.Join(t.TempDir(), "server.key")
	mint := []string{"token", "127.0.0.1:7777", "--key-file", key}
	r := do(t, crumbs.Game(), append(mint, "--new-key")...)
	if _, err := tokens.Parse(r.out); r.code != app.ExitFine || err != nil || !strings.Contains(r.note, "the key is new") {
		t.Fatalf("%+v, %v", r, err)
	}
	before, _ := os.ReadFile(key)
	refused(t, do(t, crumbs.Game(), append(mint, "--new-key")...), "exists", "name another file")
	after, err := os.ReadFile(key)
	if info, statErr := os.Stat(key); err != nil || statErr != nil || string(before) != string(after) || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file changed or is not private: %v %v", err, statErr)
	}
	if r := do(t, crumbs.Game(), mint...); r.code != app.ExitFine {
		t.Errorf("%+v", r)
	}
	card := write(t, filepath.Join(t.TempDir(), "card"), make([]byte, 161), 0o600)
	refused(t, do(t, crumbs.Game(), append(mint, "--card", "@"+card)...), "data for the player's card", "at most 160")
	refused(t, do(t, crumbs.Game(), append(mint, "--card", "@"+card+".none")...), "--card @")
	if r := do(t, crumbs.Game(), append(mint, "--card", strings.Repeat("c", 160), "--name", strings.Repeat("n", 32), "--room", strings.Repeat("r", 32))...); r.code != app.ExitFine {
		t.Errorf("the largest card: %+v", r)
	}
}
