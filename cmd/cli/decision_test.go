package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// A server that only relays records every match that its players have voted on, and answers queries while it runs. A server
// that simulates decides by itself, unless players vote in its strategy.
func TestDecidedMatchesAreRecordedWithVerdictAndVotes(t *testing.T) {
	for _, c := range []struct {
		flags   string
		verdict string
		votes   bool
	}{
		{"--sync lockstep --relay-only --audits 0", "majority", true},
		{"--sync lockstep", "majority", true},
		{"--sync relay", "server", false},
		{"--sync verify", "server", false},
	} {
		t.Run(c.flags, func(t *testing.T) {
			slow(t)
			dir := t.TempDir()
			key, file := filepath.Join(dir, "key"), filepath.Join(dir, "matches.db")
			write(t, key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600)
			server := crumbsAt(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--key-file", key, "--matches", file}, strings.Fields(c.flags)...)...)
			address := server.until(is("listening"))["public"].(string)
			bots := crumbsAt(t, "bots", address, "--key-file", key, "--rooms", "2", "--players", "3", "--for", "9s")
			if f := bots.until(is("result")); f["live"] != 6.0 || f["resyncs"] != 0.0 {
				t.Errorf("the bots end with %v", f)
			}
			list := crumbsAt(t, "matches", "--file", file) // the server has it open
			rooms := map[string]bool{}
			for range 2 {
				m := list.until(is("match"))
				rooms[m["room"].(string)] = true
				players := m["players"].([]any)
				if m["verdict"] != c.verdict || len(players) != 3 || m["replays"] != 0.0 || !strings.HasPrefix(m["result"].(string), "round ") {
					t.Errorf("recorded: %v", m)
				}
				votes := map[any]bool{}
				for _, p := range players {
					vote := p.(map[string]any)["vote"]
					votes[vote] = true
					if (vote != "") != c.votes {
						t.Errorf("a vote of %q", vote)
					}
				}
				if len(votes) != 1 {
					t.Errorf("the votes differ: %v", votes)
				}
			}
			if len(rooms) == 0 {
				t.Error("no room")
			}
			if code := server.end(os.Interrupt); code != app.ExitFine {
				t.Errorf("the server exits with %d", code)
			}
		})
	}
}

// Too few live bots at the end, as without a server, are a failed check.
func TestBotsWithoutAServerFail(t *testing.T) {
	slow(t)
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	write(t, key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600)
	r := do(t, crumbs.Game(), "bots", "127.0.0.1:9", "--key-file", key, "--for", (2 * time.Second).String())
	if r.code != app.ExitFailed || !strings.Contains(r.note, "no server responds") {
		t.Errorf("exit code %d: %s", r.code, r.note)
	}
}
