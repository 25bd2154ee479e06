package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// newKey writes a key file for servers.
func newKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.key")
	if r := do(t, crumbs.Game(), "token", "127.0.0.1:7777", "--key-file", file, "--new-key"); r.code != app.ExitFine {
		t.Fatal(r.note)
	}
	return file
}

// Two bots that queue at a backend play in the two seats of one room. A third one waits, and leaves the queue.
func TestTwoBotsQueueAndPlay(t *testing.T) {
	slow(t)
	key, operators := newKey(t), filepath.Join(t.TempDir(), "admin.token")
	if err := os.WriteFile(operators, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := background(t, crumbs.Game(), "serve", "--json", "--listen", "127.0.0.1:0", "--key-file", key, "--admin", "127.0.0.1:0", "--admin-token-file", operators)
	address := awaitEvent(t, server.out, server.ended, "listening").text("public")
	at := awaitEvent(t, server.out, server.ended, "admin").text("url")
	b := background(t, crumbs.Game(), "backend", "--json", "--listen", "127.0.0.1:0", "--key-file", key, "--server", address, "--queue", "duel=2", "--dir", t.TempDir())
	url := awaitEvent(t, b.out, b.ended, "backend").text("url")
	queues := func(args ...string) *running {
		return background(t, crumbs.Game(), append([]string{"join", "--backend", url, "--queue", "duel", "--bot", "--json"}, args...)...)
	}
	one := queues("--player", "ann")
	awaitEvent(t, one.out, one.ended, "queue")
	two := queues()
	awaitEvent(t, one.out, one.ended, "matched")
	awaitEvent(t, two.out, two.ended, "matched")
	c := admin.Client{Addr: at, Token: "0123456789abcdef"}
	for seats := map[int]string{}; len(seats) < 2; {
		var list admin.Players
		if err := c.Do(t.Context(), "/players", nil, &list); err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Players {
			if p.Evidence.Seat >= 0 {
				seats[p.Evidence.Seat] = p.Evidence.Room
			}
		}
		if len(seats) == 2 && (seats[0] != seats[1] || seats[0] == "") {
			t.Fatal(seats)
		}
		time.Sleep(10 * time.Millisecond)
	}
	third := queues("--player", "eve")
	id := awaitEvent(t, third.out, third.ended, "queue").text("id")
	third.stop()
	if code := <-third.ended; code != app.ExitFine {
		t.Errorf("exit code %d: %s", code, third.note)
	}
	third.ended <- 0
	got, err := (&api.Client{URL: url}).Get(t.Context(), id, 0)
	if err != nil || got.State != "cancelled" {
		t.Errorf("%+v, %v", got, err)
	}
	refused(t, do(t, crumbs.Game(), "join", "--backend", url, "--queue", "none", "--bot"), "there is no such queue")
}

// A backend that is killed between the match and the reply with the token gives the tokens of the same seats after its restart.
func TestABackendIsKilledBetweenMatchAndToken(t *testing.T) {
	slow(t)
	dir, key := t.TempDir(), newKey(t)
	environment := append(os.Environ(), asCrumbs+"=1")
	run := func() (*process, *api.Client) {
		p := startProgram(t, os.Args[0], environment, "backend", "--listen", "127.0.0.1:0", "--key-file", key, "--server", "127.0.0.1:7777", "--queue", "duel=2", "--dir", dir)
		url, _ := p.until(is("backend"))["url"].(string)
		return p, &api.Client{URL: url}
	}
	p, c := run()
	var ids []string
	for _, player := range []string{"ann", "bob", "eve"} {
		ticket := submit(t, c, player)
		ids = append(ids, ticket)
	}
	log := filepath.Join(dir, "tickets.log")
	for content := ""; !strings.Contains(content, `"kind":"pass"`); {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		content = string(text)
		time.Sleep(time.Millisecond)
	}
	p.end(syscall.SIGKILL)
	if r := do(t, crumbs.Game(), "backend", "--check", log, "--queue", "duel=2"); r.code != app.ExitFine || !strings.Contains(r.out, "1 pass checked") {
		t.Errorf("%+v", r)
	}
	if r := do(t, crumbs.Game(), "backend", "--check", log, "--queue", "duel=3"); r.code != app.ExitFailed {
		t.Errorf("%+v", r)
	}
	_, c = run()
	seats := map[int]string{}
	for _, id := range ids[:2] {
		got := ticketOf(t, c, id)
		if got.Match == nil || seats[got.Match.Seat] != "" {
			t.Fatalf("%+v has no seat of its own: %v", got, seats)
		}
		seats[got.Match.Seat] = got.Match.Room
	}
	if seats[0] == "" || seats[0] != seats[1] {
		t.Errorf("%v: want the seats of one room", seats)
	}
	if got := ticketOf(t, c, ids[2]); got.State != "queued" {
		t.Errorf("%+v", got)
	}
}

// submit makes a ticket, as soon as the backend is ready.
func submit(t *testing.T, c *api.Client, player string) string {
	t.Helper()
	for {
		ticket, err := c.Submit(t.Context(), api.TicketRequest{Player: player, Queue: "duel"}, player)
		if err == nil {
			return ticket.ID
		}
		if !errors.Is(err, api.ErrUnavailable) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// ticketOf reads a ticket, as soon as the backend is ready.
func ticketOf(t *testing.T, c *api.Client, id string) api.Ticket {
	t.Helper()
	for {
		ticket, err := c.Get(t.Context(), id, 0)
		if err == nil {
			return ticket
		}
		if !errors.Is(err, api.ErrUnavailable) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// Wrong flags are a sentence.
func TestTheBackendChecksItsFlags(t *testing.T) {
	key := newKey(t)
	refused(t, do(t, crumbs.Game(), "backend", "--server", "127.0.0.1:7777"), "--key-file is missing")
	base := []string{"backend", "--key-file", key, "--listen", "127.0.0.1:0", "--dir", t.TempDir()}
	for want, args := range map[string]string{
		"no server is known": "", "--queue": "--server 127.0.0.1:7777 --queue duel", "--jwt-audience is missing": "--server 127.0.0.1:7777 --jwt-issuer http://127.0.0.1:1",
		"other machines can reach it": "--server 127.0.0.1:7777 --listen :0", "--origin": "--server 127.0.0.1:7777 --origin example.com",
		"leave them out with --cluster": "--server 127.0.0.1:7777 --cluster nats://127.0.0.1:1", "--keys": "--server 127.0.0.1:7777 --keys " + filepath.Join(t.TempDir(), "none"),
		"cannot be used": "--server 127.0.0.1:7777 --jwt-issuer http://127.0.0.1:1 --jwt-audience me", "--server-rooms": "--server 127.0.0.1:7777 --server-rooms=0",
	} {
		refused(t, do(t, crumbs.Game(), append(base, strings.Fields(args)...)...), want)
	}
	for want, args := range map[string]string{"--queue is missing": "--backend http://127.0.0.1:1", "go with --backend": "--queue duel", "not the address of a backend": "--backend ftp://x --queue duel",
		"leave them out": "127.0.0.1:7777 --backend http://127.0.0.1:1 --queue duel"} {
		refused(t, do(t, crumbs.Game(), append([]string{"join", "--bot"}, strings.Fields(args)...)...), want)
	}
	refusedLater(t, do(t, crumbs.Game(), "join", "--bot", "--backend", "http://127.0.0.1:1", "--queue", "duel", "--for", "50ms"), "did not accept the ticket")
}

// The line with which players queue has --backend-key if the backend authenticates requests.
func TestTheBackendPrintsHowToJoin(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	keys, public := filepath.Join(dir, "keys.txt"), filepath.Join(dir, "public.pem")
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err == nil {
		err = os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600)
	}
	if err = errors.Join(err, os.WriteFile(keys, []byte("game 0123456789abcdef\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) result {
		return do(t, crumbs.Game(), append([]string{"backend", "--key-file", key, "--listen", "127.0.0.1:0", "--dir", filepath.Join(dir, "tickets"),
			"--server", "127.0.0.1:7777", "--for", "50ms"}, args...)...)
	}
	for _, c := range []struct {
		args []string
		key  bool
	}{{nil, false}, {[]string{"--keys", keys}, true}, {[]string{"--jwt-key", public, "--jwt-audience", "me"}, true}} {
		if r := run(c.args...); r.code != app.ExitFine || !strings.Contains(r.note, "--queue main") || strings.Contains(r.note, "--queue main --backend-key FILE\n") != c.key {
			t.Errorf("%q: exit code %d: %s", c.args, r.code, r.note)
		}
	}
	if runtime.GOOS == "windows" {
		return // files have no modes
	}
	if err := os.Chmod(keys, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, run("--keys", keys), "--keys: other users may read", "replace the tokens or keys in it")
}

// A running backend serves its description and its metrics.
func TestABackendServesItsDescription(t *testing.T) {
	b := background(t, crumbs.Game(), "backend", "--json", "--listen", "127.0.0.1:0", "--key-file", newKey(t), "--server", "127.0.0.1:7777", "--dir", t.TempDir())
	url := awaitEvent(t, b.out, b.ended, "backend").text("url")
	status, text := fetch(t, url+"/v1/openapi.json", "")
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status != http.StatusOK || doc["paths"] == nil {
		t.Errorf("%d, %v: %s", status, err, text)
	}
	if status, text := fetch(t, url+"/metrics", ""); status != http.StatusOK || !strings.Contains(text, `tendon_backend_waiting_tickets{queue="main"} 0`) {
		t.Errorf("%d: %s", status, text)
	}
	b.stop()
	if code := <-b.ended; code != app.ExitFine {
		t.Errorf("exit code %d: %s", code, b.note)
	}
	b.ended <- 0
}
