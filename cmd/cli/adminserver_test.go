package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// fetch returns the status and the text of a page of the admin server, status 0 without an answer.
func fetch(t *testing.T, url string, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// The metrics of a running server count the players and the costs of the game's systems.
func TestAnOperatorSeesPlayersAndCostsOfARunningServer(t *testing.T) {
	slow(t)
	file := filepath.Join(t.TempDir(), "admin.token")
	const secret = "the secret of the operator"
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(secret, " ", "-")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := strings.ReplaceAll(secret, " ", "-")
	server, address, pass := serving(t, crumbs.Game(), "--admin", "127.0.0.1:0", "--admin-token-file", file)
	url := awaitEvent(t, server.out, server.ended, "admin").text("url")
	if strings.Contains(server.out.String()+server.note.String(), token) {
		t.Error("the token was printed")
	}
	if status, text := fetch(t, url+"readyz", ""); status != 200 || text != "ready\n" {
		t.Fatalf("/readyz: %d %s", status, text)
	}
	if status, _ := fetch(t, url+"metrics", ""); status != 401 {
		t.Errorf("/metrics without the token: %d", status)
	}
	background(t, crumbs.Game(), "join", address, "--token", pass, "--bot", "--json")
	wanted := []string{"\ntendon_players 1\n", "\ntendon_rooms 1\n", `tendon_cost_calls_total{phase="simulate",system="wear"} `, "\ntendon_ready 1\n"}
	for {
		status, text := fetch(t, url+"metrics", token)
		missing := ""
		for _, w := range wanted {
			if !strings.Contains(text, w) {
				missing = w
			}
		}
		if status == 200 && missing == "" {
			break
		}
		select {
		case code := <-server.ended:
			t.Fatalf("the server ended with %d: %s", code, server.note.String())
		case <-t.Context().Done():
			t.Fatalf("/metrics has no %q: %d %s", missing, status, text)
		case <-time.After(50 * time.Millisecond):
		}
	}
	server.stop()
	if code := <-server.ended; code != app.ExitFine {
		t.Errorf("the server ends with %d: %s", code, server.note.String())
	}
	server.ended <- app.ExitFine // for a second look
	if status, _ := fetch(t, url+"healthz", ""); status != 0 {
		t.Errorf("the admin server outlives the server: %d", status)
	}
}

// A mistake in the flags must not expose the admin server to a network.
func TestAdminAddressesAreRefusedInASentence(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(args ...string) result {
		return do(t, crumbs.Game(), append([]string{"serve", "--listen", "127.0.0.1:0", "--for", "1ms"}, args...)...)
	}
	refused(t, serve("--admin", ":0"), "--admin :0 can be reached from other machines", "--admin-token-file", "127.0.0.1")
	refused(t, serve("--admin", "0.0.0.0:0"), "can be reached from other machines")
	refused(t, serve("--admin", ":0", "--admin-token", "short"), "Token has 5 characters", "16")
	refused(t, serve("--admin", "nonsense"), "nonsense", "host:port")
	refused(t, serve("--admin", taken.Addr().String()), "is in use", "choose another port")
	refused(t, serve("--admin-token", "0123456789abcdef"), "go with --admin")
	refused(t, serve("--admin-host", "example.net"), "go with --admin")
	refused(t, serve("--admin", ":0", "--admin-token", "0123456789abcdef", "--admin-token-file", empty), "give one of them")
	refused(t, serve("--admin", ":0", "--admin-token-file", empty), "is empty", "16 characters")
	refused(t, serve("--admin", ":0", "--admin-token-file", filepath.Join(dir, "missing")), "--admin-token-file", "missing")
	if err := os.Chmod(empty, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, serve("--admin", ":0", "--admin-token-file", empty), "other users may read", "chmod 600")
}
