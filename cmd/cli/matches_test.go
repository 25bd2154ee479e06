package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/matches"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/systems/relay"
)

// decided returns a record of a room.
func decided(room string, n uint64) matches.Record {
	began := time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC)
	return matches.Record{
		Room: room, Match: n, Game: "crumbs", Strategy: "relay", Strategies: []string{"relay", "lockstep"}, Started: began, Ended: began.Add(95 * time.Second), Tick: 5700,
		Result: `{"winner":1}`, Verdict: "majority", Recording: "recordings/r.tendonrec",
		Players: []matches.Player{
			{Seat: 0, Client: 1<<64 - 1, Name: "ann", Vote: "00ff"}, {Seat: 1, Client: 7, Name: "bob", Vote: "00fe", Dissented: true, Doubled: true}, {Seat: 2, Silent: true},
		},
	}
}

// recordedIn writes a file of matches: two of room a, then one of room b.
func recordedIn(t *testing.T, path string) {
	t.Helper()
	store, err := matches.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i, room := range []string{"a", "a", "b"} {
		if _, err := store.Add(decided(room, uint64(i+1))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMatchesListsPlayersResultsAndVotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	recordedIn(t, path)
	r := do(t, crumbs.Game(), "matches", "--file", path, "--wide")
	for _, want := range []string{"2026-11-21 10:16:35", "1m35s", `{"winner":1}`, "majority", "relay, then lockstep", "ann, bob (dissented, voted twice), seat 2 (silent)", "recordings/r.tendonrec"} {
		if strings.Count(r.out, want) != 3 {
			t.Errorf("%q is there %d times, want 3", want, strings.Count(r.out, want))
		}
	}
	if r.code != app.ExitFine || r.note != "" || strings.Contains(r.out, "\x1b") || strings.Index(r.out, "│ b ") > strings.Index(r.out, "│ a ") {
		t.Errorf("exit code %d, note %q:\n%s", r.code, r.note, r.out)
	}
}

func TestMatchesSelectsARoomAndTheNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	recordedIn(t, path)
	for _, test := range []struct {
		args []string
		want []any
	}{
		{nil, []any{"3", "2", "1"}}, {[]string{"--last", "2"}, []any{"3", "2"}}, {[]string{"--room", "a"}, []any{"2", "1"}},
		{[]string{"--room", "a", "--last", "1"}, []any{"2"}}, {[]string{"--last", "9"}, []any{"3", "2", "1"}}, {[]string{"--room", "c"}, nil},
	} {
		r := do(t, crumbs.Game(), append([]string{"matches", "--json", "--file", path}, test.args...)...)
		var got []any
		for line := range strings.Lines(r.out) {
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil || e["event"] != "match" {
				t.Fatalf("%q: %v", line, err)
			}
			got = append(got, e["id"])
		}
		if r.code != app.ExitFine || r.note != "" || !slices.Equal(got, test.want) {
			t.Errorf("%q: exit code %d, note %q, matches %v, want %v", test.args, r.code, r.note, got, test.want)
		}
	}
}

// Other programs read this JSON, so names and types must not change.
func TestAMatchAsJSONKeepsItsFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	recordedIn(t, path)
	want := `{"ended":"2026-11-21T10:16:35Z","event":"match","game":"crumbs","id":"3","journal":"","match":"3","players":[` +
		`{"seat":0,"client":"18446744073709551615","name":"ann","vote":"00ff","dissented":false,"silent":false,"doubled":false},` +
		`{"seat":1,"client":"7","name":"bob","vote":"00fe","dissented":true,"silent":false,"doubled":true},` +
		`{"seat":2,"client":"0","name":"","vote":"","dissented":false,"silent":true,"doubled":false}],` +
		`"recording":"recordings/r.tendonrec","replays":0,"result":"{\"winner\":1}","room":"b","started":"2026-11-21T10:15:00Z","strategies":["relay","lockstep"],"strategy":"relay","tick":5700,"verdict":"majority"}` + "\n"
	if r := do(t, crumbs.Game(), "matches", "--json", "--last", "1", "--file", path); r.code != app.ExitFine || r.out != want {
		t.Errorf("exit code %d\ngot  %swant %s", r.code, r.out, want)
	}
}

// Players and games choose names and results, so escape sequences in them must not reach a terminal.
func TestMatchesPrintsNoEscapeSequencesOfPlayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	store, err := matches.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(matches.Record{Room: "r\x1b[2J", Result: "a\x1b]0;b\x07\r\nc", Verdict: "\x1b", Recording: "\u202e", Players: []matches.Player{{Name: "\x1b[31m\nred"}}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := do(t, crumbs.Game(), "matches", "--file", path); r.code != app.ExitFine || strings.ContainsAny(r.out, "\x1b\x07\r\u202e") || !strings.Contains(r.out, " c ") {
		t.Errorf("%q", r.out)
	}
}

func TestMatchesRefusesForeignFilesWithAdvice(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "matches.db")
	refused(t, do(t, crumbs.Game(), "matches", "--file", missing), missing, "does not exist", "serve --matches "+missing, "--file")
	t.Chdir(dir)
	refused(t, do(t, crumbs.Game(), "matches"), missing, "does not exist")
	untouched(t, dir)
	diary := write(t, filepath.Join(dir, "diary"), []byte("a diary"), 0o600)
	refused(t, do(t, crumbs.Game(), "matches", "--file", diary), diary, "is not a file of matches", "name a file that serve --matches")
	refused(t, do(t, crumbs.Game(), "matches", "--file", dir), dir, "is not a file of matches")
	refused(t, do(t, crumbs.Game(), "matches", "--file", diary, "--last=-1"), "--last -1", "give at least 1")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--matches", dir), dir, "is not a file of matches", "choose another --matches")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--matches", filepath.Join(dir, "no", "m.db")), "recorded: open ", "no such file or directory", "choose another --matches")
	untouched(t, dir, "diary")
	cut := filepath.Join(dir, "cut")
	recordedIn(t, cut)
	if err := os.Truncate(cut, int64(2*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	refused(t, do(t, crumbs.Game(), "matches", "--file", cut), cut, "damaged", "take another copy")
}

// A server starts beside a damaged file, reports that, leaves the file as it is and prints each result.
func TestAServerStartsBesideADamagedFileOfMatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	whole := filepath.Join(t.TempDir(), "whole")
	recordedIn(t, whole)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{"text": []byte("a diary"), "garbage": bytes.Repeat([]byte("a diary\n"), 10_000), "cut": content[:2*os.Getpagesize()]}
	for name, content := range damaged {
		path := write(t, path+name, content, 0o600)
		note := newPipe()
		a := app.New(t.Context(), crumbs.Game(), newPipe(), note)
		h, err := host.Start(a, host.Config{Flags: &host.Flags{}, Strategy: relay.Strategy, Matches: path,
			Config: server.Config{Address: "127.0.0.1:0", Keys: []netcode.Key{{1}}, MaxRooms: 1}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		h.Results.Add(decided("main", 1))
		if err := h.Stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range []string{"damaged", path + " is left as it is and not used any more", "the matches continue", "not recorded: {"} {
			if !strings.Contains(note.String(), want) {
				t.Errorf("%s: %q does not say %q", name, note, want)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
}

// Records of a host are listed at once, and after it has stopped. A host without a file records nothing.
func TestRecordsOfAHostAreListedWhileItRunsAndAfterwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	a := app.New(t.Context(), crumbs.Game(), newPipe(), newPipe())
	c := host.Config{Flags: &host.Flags{}, Strategy: relay.Strategy, Matches: path,
		Config: server.Config{Address: "127.0.0.1:0", Keys: []netcode.Key{{1}}, MaxRooms: 1}}
	h, err := host.Start(a, c)
	if err != nil {
		t.Fatal(err)
	}
	if r := do(t, crumbs.Game(), "matches", "--file", path); r.code != app.ExitFine || r.out != "" || r.note != "no matches yet\n" {
		t.Errorf("beside a new server: %+v", r)
	}
	if r := do(t, crumbs.Game(), "matches", "--file", path, "--room", "x\x1b"); r.code != app.ExitFine || r.out != "" || r.note != "no matches of room x  yet\n" {
		t.Errorf("of a room, beside a new server: %+v", r)
	}
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--matches", path), "another process has the file open", "choose another --matches")
	for n := range uint64(20) { // more than the disk stores until the host stops
		h.Results.Add(decided("main", n))
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
	if r := do(t, crumbs.Game(), "matches", "--file", path); r.code != app.ExitFine || strings.Count(r.out, "│ main ") != 20 {
		t.Errorf("after it: %+v", r)
	}
	c.Matches = ""
	if h, err = host.Start(a, c); err != nil {
		t.Fatal(err)
	}
	if h.Results != nil {
		t.Error("a host without a file records matches")
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
}
