package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/room"
	"tendon/net/server"
)

func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "admin.token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An operator bans a client of a running server. The ban survives a restart with a journal.
func TestAnOperatorBansAClientOfARunningServer(t *testing.T) {
	file, journal := tokenFile(t, "operators-token-1234"), filepath.Join(t.TempDir(), "journals")
	begin := func() (*running, string) {
		server := background(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-token-file", file, "--journal", journal, "--json")
		url := awaitEvent(t, server.out, server.ended, "admin").text("url")
		awaitEvent(t, server.out, server.ended, "listening")
		return server, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	}
	end := func(server *running) {
		server.stop()
		if code := <-server.ended; code != app.ExitFine {
			t.Errorf("the server ends with %d: %s", code, server.note.String())
		}
		server.ended <- app.ExitFine
	}
	server, at := begin()
	order := func(code int, want string, args ...string) {
		t.Helper()
		args = append([]string{args[0], at, "--admin-token-file", file}, args[1:]...)
		r := do(t, crumbs.Game(), args...)
		if r.code != code || !strings.Contains(r.out+r.note, want) {
			t.Errorf("%q: exit code %d, %s%s", args, r.code, r.out, r.note)
		}
	}
	waitReady(t, at)
	order(0, "no players", "players")
	order(0, "no client is banned", "players")
	order(1, "client 7 is not connected: "+app.Program()+" players lists the connected clients; its present tokens are refused from now on", "kick", "--client-id", "7")
	order(1, "there is no room", "players", "--room", "none")
	order(0, "client 7 is banned for 10m0s", "ban", "--client-id", "7", "--for", "10m", "--reason", "speed hack")
	order(0, "speed hack", "players")
	order(0, "client 8 is banned for 1s", "ban", "--client-id", "8", "--for", "500ms")
	end(server)
	server, at = begin()
	waitReady(t, at)
	order(0, `"client_id":"7"`, "players", "--json")
	order(0, "client 7 is not banned any more", "ban", "--client-id", "7", "--for", "0")
	order(1, "client 7 is not banned", "ban", "--client-id", "7", "--for", "0")
	file = tokenFile(t, "operators-token-1235")
	order(2, "refuses the token", "players")
	end(server)
}

// waitReady waits until an admin server has a server.
func waitReady(t *testing.T, at string) {
	t.Helper()
	for {
		if status, _ := fetch(t, "http://"+at+"/readyz", ""); status == 200 {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the server is not ready")
		}
	}
}

// An operator sees a player with evidence and removes it.
func TestAnOperatorRemovesAPlayer(t *testing.T) {
	slow(t)
	file := tokenFile(t, "operators-token-1234")
	server, address, pass := serving(t, crumbs.Game(), "--admin", "127.0.0.1:0", "--admin-token-file", file)
	at := strings.TrimPrefix(awaitEvent(t, server.out, server.ended, "admin").text("url"), "http://")
	player := background(t, crumbs.Game(), "join", address, "--token", pass, "--bot", "--json")
	var line struct {
		ClientID string `json:"client_id"`
		State    string
		Evidence struct{ Kbits float64 }
	}
	for line.State != "playing" || line.Evidence.Kbits == 0 {
		r := do(t, crumbs.Game(), "players", at, "--admin-token-file", file, "--json")
		if t.Context().Err() != nil {
			t.Fatalf("no player: %+v", r)
		}
		_ = json.Unmarshal([]byte(r.out), &line)
	}
	r := do(t, crumbs.Game(), "ban", at, "--admin-token-file", file, "--client-id", line.ClientID, "--for", "1m", "--reason", "speed hack")
	if r.code != app.ExitFine {
		t.Fatalf("%+v", r)
	}
	if code := <-player.ended; code == app.ExitFine || !strings.Contains(player.out.String(), "banned for another 1m0s: speed hack") {
		t.Errorf("the player ends with %d: %s%s", code, player.out.String(), player.note.String())
	}
	player.ended <- 0
	if r := do(t, crumbs.Game(), "players", at, "--admin-token-file", file, "--json"); !strings.Contains(r.out, `"client_id":"`+line.ClientID+`"`) || !strings.Contains(r.out, `"room":"main"`) {
		t.Errorf("%+v", r)
	}
}

// An operator pauses a running match and continues it. The player stays in the match.
func TestAnOperatorPausesAMatch(t *testing.T) {
	slow(t)
	file := tokenFile(t, "operators-token-1234")
	server, address, pass := serving(t, crumbs.Game(), "--admin", "127.0.0.1:0", "--admin-token-file", file, "--pause-time", "10m")
	at := strings.TrimPrefix(awaitEvent(t, server.out, server.ended, "admin").text("url"), "http://")
	player := background(t, crumbs.Game(), "join", address, "--token", pass, "--bot", "--json")
	order := func(verb string) result { return do(t, crumbs.Game(), verb, at, "--admin-token-file", file, "--json") }
	for r := order("pause"); r.code != app.ExitFine; r = order("pause") { // until the room is open
		if t.Context().Err() != nil || r.code != app.ExitFailed {
			t.Fatalf("%+v", r)
		}
	}
	if r := order("pause"); r.code == app.ExitFine || !strings.Contains(r.out+r.note, "cannot be paused or continued: the match is already paused") {
		t.Errorf("the same again: %+v", r)
	}
	awaitEvent(t, player.out, player.ended, "paused")
	for r := order("resume"); r.code != app.ExitFine; r = order("resume") { // until the pause has begun
		if t.Context().Err() != nil {
			t.Fatalf("%+v", r)
		}
	}
	awaitEvent(t, player.out, player.ended, "resumed")
	if e := awaitEvent(t, player.out, player.ended, "verdict"); e.text("verdict") != "server" || !strings.HasPrefix(e.text("result"), "round ") {
		t.Errorf("the player receives the verdict %v", e)
	}
	player.stop()
	if code := <-player.ended; code != app.ExitFine {
		t.Errorf("the player ends with %d: %s", code, player.note.String())
	}
	player.ended <- 0
}

// An operator changes the strategy of a running match. The player stays in the match, and the recording contains the change.
func TestAnOperatorChangesTheStrategy(t *testing.T) {
	slow(t)
	file, recordings := tokenFile(t, "operators-token-1234"), filepath.Join(t.TempDir(), "recordings")
	server, address, pass := serving(t, crumbs.Game(), "--admin", "127.0.0.1:0", "--admin-token-file", file, "--record", recordings)
	at := strings.TrimPrefix(awaitEvent(t, server.out, server.ended, "admin").text("url"), "http://")
	player := background(t, crumbs.Game(), "join", address, "--token", pass, "--bot", "--json")
	change := func(to string) result {
		return do(t, crumbs.Game(), "switch", at, "--admin-token-file", file, "--sync", to, "--json")
	}
	for r := change("lockstep"); r.code != app.ExitFine; r = change("lockstep") { // until the room is open and has computed a tick
		if t.Context().Err() != nil || r.code != app.ExitFailed {
			t.Fatalf("%+v", r)
		}
	}
	if r := change("lockstep"); r.code != app.ExitFailed || !strings.Contains(r.note+r.out, "sync strategy cannot change") {
		t.Errorf("the same again: %+v", r)
	}
	if got := awaitEvent(t, player.out, player.ended, "switched").text("strategy"); got != "lockstep" {
		t.Errorf("the player's match continues with %s", got)
	}
	player.stop()
	if code := <-player.ended; code != app.ExitFine {
		t.Errorf("the player ends with %d: %s", code, player.note.String())
	}
	player.ended <- 0
	server.stop()
	<-server.ended
	server.ended <- 0
	list := files(t, recordings)
	if len(list) != 1 {
		t.Fatalf("recordings: %v", list)
	}
	if r := do(t, crumbs.Game(), "replay", filepath.Join(recordings, list[0])); r.code != app.ExitFine {
		t.Errorf("the recording is not replayed: %+v", r)
	}
	if r := do(t, crumbs.Game(), "replay", filepath.Join(recordings, list[0]), "--dump"); r.code != app.ExitFine || !strings.Contains(r.out, "switch to lockstep") || !strings.Contains(r.out+r.note, "relay") {
		t.Errorf("%d %.2000s%.500s", r.code, r.out, r.note)
	}
}

// A wrong use gives one sentence and exit code 2. A redirect does not receive the token.
func TestWrongUseOfTheAdminServerIsOneSentence(t *testing.T) {
	file := tokenFile(t, "operators-token-1234")
	sent := 0
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent++ }))
	defer target.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	defer redirecting.Close()
	nonsense := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("\x1b[31mhello")) }))
	defer nonsense.Close()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[31mno\nway", 500) }))
	defer bad.Close()
	without := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the server has no token: start it", http.StatusForbidden)
	}))
	defer without.Close()
	for _, test := range []struct{ at, want string }{
		{redirecting.URL, "refuses the request (307)"}, {nonsense.URL, "is not an admin server"}, {bad.URL, "refuses the request (500): Internal"},
		{without.URL, "refuses the request (403): the server has no token: start it"},
		{"127.0.0.1:1", "does not respond"}, {"nonsense", "is not the address"}, {"ftp://127.0.0.1:9090", "is not the address"},
		{"http://user@127.0.0.1:9090", "is not the address"}, {"http://127.0.0.1:9090/metrics", "is not the address"},
	} {
		r := do(t, crumbs.Game(), "players", test.at, "--admin-token-file", file)
		refused(t, r, test.want)
		if strings.Contains(r.note, "\x1b") {
			t.Errorf("%s: %q", test.at, r.note)
		}
	}
	if sent != 0 {
		t.Error("the token was sent to another server")
	}
	paused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(admin.Change{Room: "main", Strategy: "lockstep", Paused: true})
	}))
	defer paused.Close()
	if r := do(t, crumbs.Game(), "switch", paused.URL, "--admin-token-file", file, "--sync", "lockstep"); r.out != "room main continues with lockstep when it is resumed\n" {
		t.Errorf("a change during a pause: %+v", r)
	}
	refused(t, do(t, crumbs.Game(), "switch", "127.0.0.1:1", "--admin-token-file", file, "--sync", "nope"), "--sync nope is not a strategy")
	refused(t, do(t, crumbs.Game(), "players", "127.0.0.1:1"), "--admin-token-file")
	refused(t, do(t, crumbs.Game(), "kick", "127.0.0.1:1", "--admin-token-file", file), "--client-id")
	refused(t, do(t, crumbs.Game(), "ban", "127.0.0.1:1", "--admin-token-file", file, "--client-id", "7"), "--for")
	refused(t, do(t, crumbs.Game(), "ban", "127.0.0.1:1", "--admin-token-file", file, "--client-id", "7", "--for", "-1ms"), "--for")
	refused(t, do(t, crumbs.Game(), "ban", "127.0.0.1:1", "--admin-token-file", file, "--client-id", "0", "--for", "1m"), "--client-id 0")
	refused(t, do(t, crumbs.Game(), "players", "127.0.0.1:1", "--admin-token-file", filepath.Join(t.TempDir(), "missing")), "missing")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--ban-time=-1s"), "--ban-time -1s")
}

// The tables fit into 80 columns, also with the longest names, and print no control characters.
func TestTablesOfPlayersAndBansFitIntoATerminal(t *testing.T) {
	e := server.Evidence{Room: strings.Repeat("r", 32), Name: "\x1b[31m" + strings.Repeat("n", 28), Seat: 253, Kbits: 123456.7, RefusedInputs: 1 << 60, Malformed: 1 << 60,
		Limited: 1 << 60, Floods: 1 << 60, Desyncs: 1 << 60, DesyncTick: 1 << 30, Claim: 1<<64 - 1, Own: 1<<64 - 2}
	answers := map[string]any{
		"/players": admin.Players{Players: []admin.Player{{ClientID: 1<<64 - 1, State: "connecting", RTT: 99999, Evidence: e}},
			Bans: []server.Ban{{ClientID: 1<<64 - 1, Until: time.Now().Add(87599*time.Hour - time.Minute), Cause: room.CauseFlooding, Reason: strings.Repeat("long ", 40), Evidence: e},
				{ClientID: 7, Until: time.Now().Add(-time.Hour), Cause: server.CauseOperator}}},
	}
	port := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(answers[r.URL.Path]) }))
	defer port.Close()
	r := do(t, crumbs.Game(), "players", port.URL, "--admin-token-file", tokenFile(t, "operators-token-1234"))
	if r.code != app.ExitFine || strings.Count(r.out, "18446744073709551615") != 2 || strings.Count(r.out, "last in tick 1073741824") != 2 || strings.Contains(r.out, "-1h") || strings.Contains(r.out, "\x1b") {
		t.Errorf("%+v", r)
	}
	widths := map[int]bool{}
	for line := range strings.Lines(r.out) {
		n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
		if widths[n] = true; n > 80 || len(widths) > 2 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, verb := range []string{"players", "kick", "ban"} {
		for line := range strings.Lines(do(t, crumbs.Game(), verb, "--help").out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s --help: %d columns: %s", verb, n, line)
			}
		}
	}
}

// A damaged list of bans stops the start in a sentence.
func TestADamagedListOfBansStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bans.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--journal", dir), "bans.json", "move the file away")
}
