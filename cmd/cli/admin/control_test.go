package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
	"tendon/net/room"
	"tendon/net/server"
)

// fakeControl records the calls of its methods. Client 7 is connected.
type fakeControl struct {
	mu    sync.Mutex
	calls []string
	bans  map[uint64]server.Ban
	fails error
}

func (c *fakeControl) Kick(id uint64, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, "kick "+text)
	if id != 7 {
		return server.ErrNoRoom
	}
	return c.fails
}

func (c *fakeControl) Ban(id uint64, d time.Duration, cause room.Cause, reason string) (server.Ban, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := "ban " + d.String() + " " + reason
	if cause != server.CauseOperator {
		call += " by " + string(cause)
	}
	c.calls = append(c.calls, call)
	_, banned := c.bans[id]
	if d == 0 && !banned {
		return server.Ban{}, server.ErrNotBanned
	}
	b := server.Ban{ClientID: id, Until: time.Unix(1e9, 0).UTC(), Cause: cause, Reason: reason}
	c.bans[id] = b
	return b, c.fails
}

func (c *fakeControl) Bans() (list []server.Ban) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.bans {
		list = append(list, b)
	}
	return list
}

func (c *fakeControl) Switch(_ context.Context, name, strategy string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, "switch "+name+" "+strategy)
	if name != "main" {
		return server.ErrNoRoom
	}
	return c.fails
}

func (c *fakeControl) Pause(_ context.Context, name string, on bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf("pause %s %v", name, on))
	if name != "main" {
		return server.ErrNoRoom
	}
	return c.fails
}

// called returns the calls since the last one of called.
func (c *fakeControl) called() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := strings.Join(c.calls, ", ")
	c.calls = nil
	return calls
}

const (
	rightToken = "operators-token-1234"
	barrier    = `{"client_id": "18446744073709551615", "seconds": 600, "reason": "speed hack"}`
)

func controlled(t *testing.T, token string) (*Server, *fakeControl) {
	s, p, c := start(t, page.Config{Token: token}), newFakeServer(), &fakeControl{bans: map[uint64]server.Ban{}}
	p.add("main", 2)
	p.peers["main"][1].Identity.ClientID = 1<<64 - 1
	p.peers["main"][1].Floods = 12
	from := p.source()
	from.Control = c
	s.Ready(from)
	return s, c
}

// send sends a request with a body. headers are names and values alternately.
func send(t *testing.T, s *Server, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(s.URL(), "/")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

var bearing = []string{"Authorization", "Bearer " + rightToken}

// A server without a token cannot be controlled, also from this machine. The sentence names the flag.
func TestWithoutATokenTheServerCannotBeControlled(t *testing.T) {
	s, c := controlled(t, "")
	for _, headers := range [][]string{nil, bearing, {"Origin", strings.TrimSuffix(s.URL(), "/")}} {
		for _, path := range []string{"/kick", "/ban", "/switch", "/pause", "/players"} {
			for _, method := range []string{"GET", "POST"} {
				if status, text := send(t, s, method, path, barrier, headers...); status != 403 || !strings.Contains(text, "--admin-token-file") {
					t.Errorf("%s %s: %d %s", method, path, status, text)
				}
			}
		}
	}
	if calls := c.called(); calls != "" {
		t.Errorf("the server was called: %s", calls)
	}
}

// A request needs the token in the header, POST, and no other site. No other request has an effect.
func TestAControlRequestNeedsTheTokenAndPost(t *testing.T) {
	s, c := controlled(t, rightToken)
	cookie := []string{}
	q, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"token", strings.NewReader(rightToken))
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSuffix(s.URL(), "/")
	q.Header.Set("Origin", own)
	exchanged, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	exchanged.Body.Close()
	for _, k := range exchanged.Cookies() {
		cookie = append(cookie, "Cookie", k.Name+"="+k.Value, "Origin", own)
	}
	if len(cookie) == 0 {
		t.Fatalf("no cookie: %v", exchanged.Status)
	}
	for name, headers := range map[string][]string{
		"nothing": nil, "another token": {"Authorization", "Bearer operators-token-1235"}, "a cookie": cookie,
		"a foreign origin": append([]string{"Origin", "https://evil.example"}, bearing...),
		"another site":     append([]string{"Sec-Fetch-Site", "cross-site"}, bearing...),
	} {
		for _, path := range []string{"/kick", "/ban", "/switch", "/pause"} {
			if status, text := send(t, s, "POST", path, barrier, headers...); status != 401 && (status != 403 || name == "nothing") {
				t.Errorf("POST %s with %s: %d %s", path, name, status, text)
			}
		}
		for _, path := range []string{"/players"} {
			if status, text := send(t, s, "GET", path, "", headers...); status != 401 && status != 403 || strings.Contains(text, "main") {
				t.Errorf("GET %s with %s: %d %s", path, name, status, text)
			}
		}
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
		for _, path := range []string{"/kick", "/switch", "/pause", "/ban?client_id=7&seconds=60"} {
			if status, _ := send(t, s, method, path, barrier, bearing...); status != 405 && status != 404 {
				t.Errorf("%s %s: %d", method, path, status)
			}
		}
	}
	if calls := c.called(); calls != "" {
		t.Errorf("the server was called: %s", calls)
	}
}

// Each request calls the server once. Numbers of clients are strings and keep their digits. Errors are sentences.
func TestControlRequestsAndTheirErrors(t *testing.T) {
	s, c := controlled(t, rightToken)
	const most = "18446744073709551615"
	for _, test := range []struct {
		path, body string
		status     int
		calls      string
		contains   string
	}{
		{"/kick", `{"client_id": "7", "reason": "language"}`, 200, "kick language", `"client_id":"7"`},
		{"/kick", `{"client_id": "8"}`, 404, "kick ", "client 8 is not connected"},
		{"/ban", `{"client_id": "8", "seconds": 0}`, 404, "ban 0s ", "client 8 is not banned"},
		{"/ban", `{"client_id": "8"}`, 400, "", "seconds is missing"},
		{"/ban", `{"client_id": "8", "seconds": null}`, 400, "", "seconds is missing"},
		{"/ban", barrier + barrier, 400, "", "it continues after the object"},
		{"/kick", `{"client_id": "7"} x`, 400, "", "it continues after the object"},
		{"/kick", `[]`, 400, "", "it is not a JSON object"},
		{"/ban", barrier, 200, "ban 10m0s speed hack", `"client_id":"` + most + `"`},
		{"/ban", `{"client_id": "` + most + `", "seconds": 0}`, 200, "ban 0s ", most},
		{"/ban", `{"client_id": "9", "seconds": 60, "backend": true}`, 200, "ban 1m0s  by backend", `"backend":true`},
		{"/kick", `{"client_id": "7", "backend": true}`, 400, "", "are for /ban"},
		{"/ban", `{"client_id": "8", "seconds": -1}`, 400, "", "seconds is -1"},
		{"/ban", `{"client_id": "8", "seconds": 315360001}`, 400, "", "send 0 to 315360000"},
		{"/ban", `{"client_id": "8", "seconds": 9223372036854775807}`, 400, "", "seconds is"},
		{"/ban", `{"client_id": 8, "seconds": 60}`, 400, "", "client_id is not a number in quotes"},
		{"/ban", `{"client_id": "-8", "seconds": 60}`, 400, "", "the body is not valid: client_id"},
		{"/ban", `{"client_id": "8", "seconds": "60"}`, 400, "", "seconds has a wrong type"},
		{"/ban", `{"seconds": 60}`, 400, "", "client_id is missing"},
		{"/ban", `{"client_id": "0", "seconds": 60}`, 400, "", "client_id is missing or 0"},
		{"/ban", `{"client_id": "8", "seconds": 60, "for": 7}`, 400, "", `for\" is not a field`},
		{"/switch", `{"room": "main", "strategy": "verify"}`, 200, "switch main verify", `"strategy":"verify"`},
		{"/switch", `{"room": "other", "strategy": "verify"}`, 404, "switch other verify", "there is no room"},
		{"/switch", `{"room": "main"}`, 400, "", "no room or no strategy"},
		{"/switch", `{"room": "main", "strategy": "verify", "tick": 7}`, 400, "", `tick\" is not a field`},
		{"/pause", `{"room": "main", "on": true}`, 200, "pause main true", `"on":true`},
		{"/pause", `{"room": "main", "on": false}`, 200, "pause main false", `"on":false`},
		{"/pause", `{"room": "other", "on": true}`, 404, "pause other true", "there is no room"},
		{"/pause", `{"room": "main"}`, 400, "", "no room or no"},
		{"/kick", `{"client_id": "7", "seconds": 0}`, 400, "", "are for /ban"},
		{"/kick", `{"client_id": "7", "reason": "two\nlines"}`, 400, "", "without control"},
		{"/kick", ``, 400, "", "the body is not valid"},
		{"/kick", strings.Repeat(" ", 1<<17), 400, "", "too large"},
	} {
		status, text := send(t, s, "POST", test.path, test.body, bearing...)
		if status != test.status || !strings.Contains(text, test.contains) || !json.Valid([]byte(text)) || strings.Contains(text, "Go ") || strings.Contains(text, "admin.") {
			t.Errorf("%s %.80s: %d %s", test.path, test.body, status, text)
		}
		if calls := c.called(); calls != test.calls {
			t.Errorf("%s %.80s: called %q", test.path, test.body, calls)
		}
	}
	c.fails = fmt.Errorf("%w: not now", room.ErrSwitch)
	if status, text := send(t, s, "POST", "/switch", `{"room": "main", "strategy": "verify"}`, bearing...); status != 409 || !strings.Contains(text, "not now") {
		t.Errorf("a change that is refused: %d %s", status, text)
	}
	c.fails = nil
	paused := newFakeServer()
	paused.add("main", 1)
	paused.peers["main"][0].State = room.StatePaused
	from := paused.source()
	from.Control = c
	s.Ready(from)
	if status, text := send(t, s, "POST", "/switch", `{"room": "main", "strategy": "verify"}`, bearing...); status != 200 || !strings.Contains(text, `"paused":true`) {
		t.Errorf("a change during a pause: %d %s", status, text)
	}
	c.fails = fmt.Errorf("%w: not now", room.ErrPause)
	if status, text := send(t, s, "POST", "/pause", `{"room": "main", "on": true}`, bearing...); status != 409 || !strings.Contains(text, "not now") {
		t.Errorf("a pause that is refused: %d %s", status, text)
	}
	c.called()
	c.fails = errors.New("disk full")
	if status, text := send(t, s, "POST", "/ban", barrier, bearing...); status != 507 || !strings.Contains(text, "is banned, at most until the server ends: the ban is not saved, because disk full") {
		t.Errorf("a ban that cannot be saved: %d %s", status, text)
	}
	if status, text := send(t, s, "POST", "/ban", strings.Replace(barrier, "600", "0", 1), bearing...); status != 507 || !strings.Contains(text, "has ended, but that is not saved") {
		t.Errorf("the end of a ban that cannot be saved: %d %s", status, text)
	}
}

// The lists have a line for each player and each ban, with evidence.
func TestPlayersAndBansHaveEvidence(t *testing.T) {
	s, c := controlled(t, rightToken)
	if _, err := c.Ban(5, time.Hour, server.CauseOperator, "x"); err != nil {
		t.Fatal(err)
	}
	var players Players
	status, text := send(t, s, "GET", "/players?room=main", "", bearing...)
	pagetest.CheckJSON(t, []byte(text))
	if err := json.Unmarshal([]byte(text), &players); err != nil || status != 200 || len(players.Players) != 2 {
		t.Fatalf("%d %s", status, text)
	}
	p := players.Players[1]
	if p.ClientID != 1<<64-1 || p.Evidence.Floods != 12 || p.Evidence.Room != "main" || p.Evidence.Name != "main 1" || p.RTT != 50 || !strings.Contains(text, `"client_id":"18446744073709551615"`) || !strings.Contains(text, `"rtt_ms":50`) {
		t.Errorf("%s", text)
	}
	if _, all := send(t, s, "GET", "/players", "", bearing...); strings.Count(all, "client_id") != 3 {
		t.Errorf("all rooms: %s", all)
	}
	if status, text := send(t, s, "GET", "/players?room=none", "", bearing...); status != 404 || !strings.Contains(text, "no room") {
		t.Errorf("an unknown room: %d %s", status, text)
	}
	if b := players.Bans; len(b) != 1 || b[0].ClientID != 5 || b[0].Reason != "x" {
		t.Errorf("bans: %+v", b)
	}
}

// Before the server is ready, and without a Control, a request is refused.
func TestAControlRequestBeforeTheServerIsReady(t *testing.T) {
	s := start(t, page.Config{Token: rightToken})
	if status, text := send(t, s, "POST", "/kick", `{"client_id": "7"}`, bearing...); status != 503 || !strings.Contains(text, "not ready") {
		t.Errorf("%d %s", status, text)
	}
	s.Ready(newFakeServer().source())
	if status, text := send(t, s, "GET", "/players", "", bearing...); status != 501 {
		t.Errorf("%d %s", status, text)
	}
}
