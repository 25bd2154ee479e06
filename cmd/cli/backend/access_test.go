package backend

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
)

const testKey = "0123456789abcdef"

func keysOf(t *testing.T) []Key {
	t.Helper()
	keys, err := LoadKeys([]byte("game " + testKey + "\nother fedcba9876543210\n"))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// status returns the status of a request, or 0 if the backend did not refuse it.
func status(err error) int {
	if refused := (*api.RefusedError)(nil); errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

func publicPEM(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func claims(sub string) jwt.MapClaims {
	return jwt.MapClaims{"iss": "https://id.example", "aud": "game", "sub": sub, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
}

// A valid JWT gives access to the tickets of its player alone. Tokens that are expired, unsigned, for others, or signed with another
// key or method are refused.
func TestAPlayerHasAccessToOwnTickets(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	verify, err := PublicKey(publicPEM(t, public), "https://id.example", "game")
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, &memory{}, Config{Directory: directory(4, "one"), Access: &Access{Keys: keysOf(t), Verify: verify}})
	sign := func(method jwt.SigningMethod, key any, change string, value any) *api.Client {
		c := claims("ann")
		if c[change] = value; value == nil {
			delete(c, change)
		}
		text, err := jwt.NewWithClaims(method, c).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return r.withKey(text)
	}
	ann, bob := sign(jwt.SigningMethodEdDSA, private, "sub", "ann"), sign(jwt.SigningMethodEdDSA, private, "sub", "bob")
	ticket, err := ann.Submit(t.Context(), api.TicketRequest{Queue: "duel"}, "")
	if err != nil || ticket.Player != "ann" {
		t.Fatal(ticket, err)
	}
	if _, err := bob.Get(t.Context(), ticket.ID, 0); status(err) != http.StatusNotFound {
		t.Error(err)
	}
	if _, err := bob.Cancel(t.Context(), ticket.ID); status(err) != http.StatusNotFound {
		t.Error(err)
	}
	for _, body := range []api.TicketRequest{{Player: "eve", Queue: "duel"}, {Queue: "duel", Card: []byte("red")}} {
		if _, err := bob.Submit(t.Context(), body, ""); status(err) != http.StatusForbidden {
			t.Errorf("%+v: %v", body, err)
		}
	}
	_, other, _ := ed25519.GenerateKey(rand.Reader)
	for name, c := range map[string]*api.Client{
		"expired": sign(jwt.SigningMethodEdDSA, private, "exp", time.Now().Add(-time.Minute).Unix()), "without end": sign(jwt.SigningMethodEdDSA, private, "exp", nil),
		"audience": sign(jwt.SigningMethodEdDSA, private, "aud", "other"), "issuer": sign(jwt.SigningMethodEdDSA, private, "iss", "https://other.example"),
		"player": sign(jwt.SigningMethodEdDSA, private, "sub", nil), "control": sign(jwt.SigningMethodEdDSA, private, "sub", "ann\x00"),
		"replaced": sign(jwt.SigningMethodEdDSA, private, "sub", "ann\xff"), "other key": sign(jwt.SigningMethodEdDSA, other, "sub", "ann"),
		"unsigned": sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "sub", "ann"), "method": sign(jwt.SigningMethodHS256, []byte(public), "sub", "ann"),
		"no key": r.withKey(""), "wrong key": r.withKey("0123456789abcdeg"), "short": r.withKey("a.b.c"),
	} {
		if _, err := c.Get(t.Context(), ticket.ID, 0); status(err) != http.StatusUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.withKey(testKey).Get(t.Context(), ticket.ID, 0); err != nil {
		t.Error(err)
	}
}

// Only a key gives access to rooms, sanctions and backfill.
func TestOtherRequestsNeedAKey(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	verify, err := PublicKey(publicPEM(t, &private.PublicKey), "", "game")
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, &memory{}, Config{Directory: directory(4, "one"), Access: &Access{Keys: keysOf(t), Verify: verify}})
	text, err := jwt.NewWithClaims(jwt.SigningMethodES256, claims("ann")).SignedString(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range routes {
		if !route.full {
			continue
		}
		request, _ := http.NewRequestWithContext(t.Context(), route.method, r.URL+strings.ReplaceAll(route.path, "{room}", "old"), strings.NewReader("{}"))
		request.Header.Set("Authorization", "Bearer "+text)
		response, err := r.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %d", route.method, route.path, response.StatusCode)
		}
	}
}

// An issuer is found by its discovery document. Its keys are read from the address there.
func TestAnIssuerIsDiscovered(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var answer any = map[string]any{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys", "authorization_endpoint": issuer.URL, "id_token_signing_alg_values_supported": []string{"ES256"}}
		if q.URL.Path == "/keys" {
			point, err := private.PublicKey.Bytes()
			if err != nil {
				t.Error(err)
			}
			b64 := base64.RawURLEncoding.EncodeToString
			answer = map[string]any{"keys": []any{map[string]string{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1", "x": b64(point[1:33]), "y": b64(point[33:])}}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer issuer.Close()
	verify, err := Issuer(t.Context(), issuer.URL, "game")
	if err != nil {
		t.Fatal(err)
	}
	a := Access{Verify: verify, Claim: "account"}
	for _, c := range []struct {
		audience, account string
		good              bool
	}{{"game", "ann", true}, {"other", "ann", false}, {"game", "", false}} {
		token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": issuer.URL, "aud": c.audience, "sub": "1", "account": c.account, "exp": time.Now().Add(time.Hour).Unix()})
		token.Header["kid"] = "1"
		text, err := token.SignedString(private)
		if err != nil {
			t.Fatal(err)
		}
		by, err := a.caller(t.Context(), "Bearer "+text)
		if (err == nil) != c.good || c.good && (by.player != "ann" || by.full) {
			t.Errorf("%+v: %+v, %v", c, by, err)
		}
	}
	if _, err := Issuer(t.Context(), issuer.URL+"/other", "game"); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Error(err)
	}
}

// roundTrip is an http.RoundTripper.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The keys of an issuer are requested at most once in an interval. While the issuer does not answer, the status is 503 for tokens that
// need its keys. Otherwise it is 401 for tokens that are not valid. A redirect is followed.
func TestTheKeysOfAnIssuerAreRequestedRarely(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const issuer = "http://id.example"
	sign := func(kid string, life time.Duration) string {
		token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": issuer, "aud": "game", "sub": "ann", "exp": time.Now().Add(life).Unix()})
		token.Header["kid"] = kid
		text, err := token.SignedString(private)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	keys := fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"1","x":%q,"y":%q}]}`, b64(point[1:33]), b64(point[33:]))
	reply := func(status int, body, location string) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "Location": {location}}, Body: io.NopCloser(strings.NewReader(body))}
	}
	synctest.Test(t, func(t *testing.T) {
		old, requests, answer := http.DefaultTransport, 0, (func(ctx context.Context) (*http.Response, error))(nil)
		defer func() { http.DefaultTransport = old }()
		http.DefaultTransport = roundTrip(func(r *http.Request) (*http.Response, error) {
			switch r.URL.Path {
			case "/keys":
				requests++
				return reply(http.StatusFound, "", issuer+"/moved"), nil
			case "/moved":
				return answer(r.Context())
			}
			return reply(http.StatusOK, `{"issuer":"`+issuer+`","jwks_uri":"`+issuer+`/keys","id_token_signing_alg_values_supported":["ES256"]}`, ""), nil
		})
		verify, err := Issuer(t.Context(), issuer, "game")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{Game: "crumbs", Queues: pair(), Directory: directory(4, "one"), Access: &Access{Verify: verify}})
		if err != nil {
			t.Fatal(err)
		}
		// A token with access reaches a request that players may not send.
		want := func(token string, status, total int) {
			t.Helper()
			r, w := httptest.NewRequest(http.MethodGet, "/v1/rooms", nil), httptest.NewRecorder()
			r.Header.Set("Authorization", "Bearer "+token)
			synctest.Wait() // otherwise the library may return the result of the previous request
			s.Handler().ServeHTTP(w, r)
			if w.Code != status || requests != total {
				t.Errorf("%d %s after %d requests for keys, want %d after %d", w.Code, w.Body, requests, status, total)
			}
			if status == http.StatusServiceUnavailable && !strings.Contains(w.Body.String(), `"`+errIssuer.Error()+`"`) {
				t.Errorf("the text is %s", w.Body)
			}
		}
		answer = func(ctx context.Context) (*http.Response, error) { <-ctx.Done(); return nil, ctx.Err() }
		want(sign("1", time.Hour), http.StatusServiceUnavailable, 1) // after the timeout
		answer = func(context.Context) (*http.Response, error) { return reply(http.StatusBadGateway, "", ""), nil }
		want(sign("1", time.Hour), http.StatusServiceUnavailable, 2)
		answer = func(context.Context) (*http.Response, error) { return reply(http.StatusOK, "<html>", ""), nil }
		want(sign("1", time.Hour), http.StatusServiceUnavailable, 2)
		time.Sleep(keyInterval)
		want(sign("1", time.Hour), http.StatusServiceUnavailable, 3)
		answer = func(context.Context) (*http.Response, error) { return reply(http.StatusOK, keys, ""), nil }
		time.Sleep(keyInterval)
		want(sign("1", time.Hour), http.StatusForbidden, 4)
		for range 3 {
			want(sign("2", time.Hour), http.StatusUnauthorized, 4)
		}
		want(sign("1", -time.Hour), http.StatusUnauthorized, 4)
		answer = func(context.Context) (*http.Response, error) { return nil, errors.New("no server answers") }
		time.Sleep(keyInterval)
		want(sign("2", time.Hour), http.StatusServiceUnavailable, 5)
		want(sign("1", -time.Hour), http.StatusUnauthorized, 5)
		want(sign("1", time.Hour), http.StatusForbidden, 5)
	})
}

// A file of keys with a mistake is refused, with the line.
func TestAFileOfKeysIsChecked(t *testing.T) {
	for text, want := range map[string]string{"": "empty", "# a\n": "empty", "name\n": "line 1", "a " + testKey + "\nb short\n": "line 2", "a b " + testKey: "line 1",
		"a " + testKey + "\nb " + testKey: "a has the same key"} {
		if _, err := LoadKeys([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := PublicKey([]byte("text"), "", "game"); err == nil || !strings.Contains(err.Error(), "BEGIN PUBLIC KEY") {
		t.Error(err)
	}
}

// A page has access if its origin is listed. Without keys, the host must be this machine.
func TestPagesNeedTheirOrigin(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: directory(4, "one"), Origins: []string{"https://play.example"}})
	send := func(method, origin, host string) *http.Response {
		request, _ := http.NewRequestWithContext(t.Context(), method, r.URL+"/healthz", nil)
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		request.Host = host
		response, err := r.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response
	}
	host := strings.TrimPrefix(r.URL, "http://")
	for _, c := range []struct {
		method, origin, host string
		status               int
	}{{"GET", "", host, 200}, {"GET", "https://play.example", host, 200}, {"OPTIONS", "https://play.example", host, 204}, {"GET", "https://evil.example", host, 403},
		{"OPTIONS", "https://evil.example", host, 403}, {"GET", "", "evil.example:80", 403}} {
		response := send(c.method, c.origin, c.host)
		allowed := response.Header.Get("Access-Control-Allow-Origin")
		if response.StatusCode != c.status || (allowed != "") != (c.origin != "" && c.status < 300) {
			t.Errorf("%+v: %d, %q", c, response.StatusCode, allowed)
		}
	}
}

// A player who sends too many requests is refused for a while, and others are not. The number of limits is bounded.
func TestRateLimits(t *testing.T) {
	l := newLimits()
	slow := rate{time.Hour, 3}
	for i := range 5 {
		if got := l.allow("player ann", slow); got != (i < 3) {
			t.Errorf("request %d: %v", i, got)
		}
	}
	if !l.allow("player bob", slow) {
		t.Error("another player is refused")
	}
	for i := range maxOwners + 10 {
		l.allow(fmt.Sprint(i), slow)
	}
	if len(l.owners) > maxOwners || l.allow("player eve", slow) {
		t.Error(len(l.owners))
	}
	// A new owner removes few idle ones, however many there are.
	for i := range 2 * sweepOwner {
		l.owners[fmt.Sprint("more ", i)] = &owner{}
	}
	before := len(l.owners)
	if l.sweep(ownerIdle * 2); len(l.owners) != before-sweepOwner {
		t.Errorf("%d owners, %d after a sweep", before, len(l.owners))
	}
}

// Rooms, kicks and bans go to the admin servers. A server without the client is no failure.
func TestSanctionsGoToTheServers(t *testing.T) {
	var kicked atomic.Int64
	stub := func(client uint64) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			var o admin.Sanction
			switch {
			case q.Header.Get("Authorization") != "Bearer admin":
				w.WriteHeader(http.StatusUnauthorized)
			case q.URL.Path == "/players":
				p := admin.Player{ClientID: client}
				p.Evidence.Room = "duel"
				_ = json.NewEncoder(w).Encode(admin.Players{Players: []admin.Player{p}})
			case json.NewDecoder(q.Body).Decode(&o) != nil || o.ClientID != client:
				http.Error(w, "no such client", http.StatusNotFound)
			case (q.URL.Path == "/ban") != o.Backend:
				w.WriteHeader(http.StatusBadRequest)
			default:
				kicked.Add(1)
				_ = json.NewEncoder(w).Encode(o)
			}
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	d := directory(4, "one", "two")
	d.list[0].Admin, d.list[1].Admin = stub(ClientID("ann")), stub(ClientID("bob"))
	r := start(t, &memory{}, Config{Directory: d, Admin: "admin"})
	var done api.Sanctioned
	if code := r.post("/v1/kick", `{"player":"bob","reason":"rude"}`, &done); code != http.StatusOK || len(done.Servers) != 1 || done.Servers[0] != "two" || kicked.Load() != 1 {
		t.Errorf("%d %+v %d", code, done, kicked.Load())
	}
	if code := r.post("/v1/kick", `{"player":"eve"}`, &api.Error{}); code != http.StatusNotFound {
		t.Error(code)
	}
	if code := r.post("/v1/ban", `{"player":"bob","seconds":60}`, &done); code != http.StatusOK || !slices.Equal(done.Servers, []string{"two"}) {
		t.Errorf("%d %+v", code, done)
	}
	// The backend stores the ban of a client that no server has.
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusNotFound} {
		if code := r.post("/v1/ban", `{"player":"eve","seconds":`+[]string{"60", "0", "0"}[i]+`}`, &done); code != want {
			t.Errorf("%d: %d, want %d", i, code, want)
		}
	}
	response, err := r.HTTP.Get(r.URL + "/v1/rooms")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var rooms api.Rooms
	if err := json.NewDecoder(response.Body).Decode(&rooms); err != nil || len(rooms.Rooms) != 2 || rooms.Rooms[1].Server != "two" || rooms.Servers[0].Error != "" {
		t.Errorf("%+v, %v", rooms, err)
	}
}

// Servers outside of a cluster receive no kick and no ban. The errors name --cluster.
func TestSanctionsNeedACluster(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: NewStatic([]string{"127.0.0.1:7001"}, 4, "", nil), Admin: "admin"})
	var kicked, banned api.Sanctioned
	if code := r.post("/v1/kick", `{"player":"ann"}`, &kicked); code != http.StatusBadGateway || len(kicked.Failed) != 1 || !strings.Contains(kicked.Failed[0], "with --cluster") {
		t.Errorf("kick: %d %+v", code, kicked)
	}
	if code := r.post("/v1/ban", `{"player":"ann","seconds":60}`, &banned); code != http.StatusOK || !banned.Stored || len(banned.Failed) != 1 || !strings.Contains(banned.Failed[0], "with --cluster") {
		t.Errorf("ban: %d %+v", code, banned)
	}
}

// Every request without access has the status 401, also after many of them.
func TestRequestsWithoutAccessAreRefused(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: directory(4, "one"), Access: &Access{Keys: keysOf(t)}})
	for i := range 2 * playerRate.burst {
		if code := r.post("/v1/kick", `{}`, &api.Error{}); code != http.StatusUnauthorized {
			t.Fatalf("request %d: %d", i, code)
		}
	}
}

// A banned player gets neither a ticket nor a token until the ban ends. This also holds for the next backend with the same log.
func TestABannedPlayerGetsNoTicket(t *testing.T) {
	log := &memory{}
	r := start(t, log, Config{Directory: directory(4, "one")})
	post := func(path, body string) int { return r.post(path, body, &api.Error{}) }
	get := func(id string) int {
		t.Helper()
		response, err := r.HTTP.Get(r.URL + "/v1/tickets/" + id)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	ann := r.queue("ann")
	r.queue("bob")
	r.until(ann, matched)
	eve := r.queue("eve")
	for _, player := range []string{"ann", "eve"} {
		if code := post("/v1/ban", `{"player":"`+player+`","seconds":60,"reason":"rude"}`); code != http.StatusOK {
			t.Error(code)
		}
	}
	if code := get(ann); code != http.StatusForbidden {
		t.Errorf("%d for a matched ticket of a banned player", code)
	}
	if got := r.until(eve, func(api.Ticket) bool { return true }); got.State != queue.Cancelled || !strings.HasSuffix(got.Reason, ": rude") {
		t.Errorf("%+v", got)
	}
	_ = r.kill()
	r = start(t, log, Config{Directory: directory(4, "one")})
	if code := post("/v1/tickets", `{"player":"eve","queue":"duel"}`); code != http.StatusForbidden {
		t.Errorf("%d for a new ticket of a banned player", code)
	}
	post("/v1/ban", `{"player":"eve","seconds":0}`)
	if code := post("/v1/tickets", `{"player":"eve","queue":"duel"}`); code != http.StatusCreated {
		t.Errorf("%d after the end of the ban", code)
	}
}

// sendBans updates a server that starts later, one that failed, one that was not reached for a time, and one that has an ended ban.
func TestFurtherServersReceiveTheBans(t *testing.T) {
	var mu sync.Mutex
	var failures atomic.Int64
	broken, has := true, map[string]map[uint64]int64{"one": {}, "two": {}}
	stub := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			var o admin.Sanction
			mu.Lock()
			defer mu.Unlock()
			if broken || q.URL.Path != "/ban" || json.NewDecoder(q.Body).Decode(&o) != nil || !o.Backend {
				failures.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			if has[name][o.ClientID] = *o.Seconds; *o.Seconds == 0 {
				delete(has[name], o.ClientID)
			}
			_ = json.NewEncoder(w).Encode(o)
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	d := directory(4, "one", "two")
	two := d.list[1]
	d.list = d.list[:1]
	d.list[0].Admin, two.Admin = stub("one"), stub("two")
	log := &memory{}
	r := start(t, log, Config{Directory: d, Admin: "admin"})
	ban := func(player, seconds string) {
		t.Helper()
		var done api.Sanctioned
		if code := r.post("/v1/ban", `{"player":"`+player+`","seconds":`+seconds+`}`, &done); code != http.StatusOK || !done.Stored {
			t.Errorf("%d %+v", code, done)
		}
	}
	until := func(want string) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			mu.Lock()
			got := fmt.Sprint(len(has["one"]), len(has["two"]))
			mu.Unlock()
			if got == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the servers have %s bans, want %s", got, want)
			}
		}
	}
	// fail ends after an attempt of sendBans that failed: the requests of ban have ended.
	fail := func(is bool) {
		for before := failures.Load(); !is && failures.Load() == before; {
			time.Sleep(time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		broken = is
	}
	ban("ann", "600")
	ban("bob", "600")
	fail(false)
	until("2 0")
	d.set(func() { d.list = append(d.list, two) })
	until("2 2")
	mu.Lock()
	if left := has["two"][ClientID("ann")]; left < 1 || left > 600 {
		t.Errorf("%d seconds are left", left)
	}
	mu.Unlock()
	// The next backend with this log sends the end of a ban to a server that was not in the directory when it ended.
	d.set(func() { d.list = d.list[:1] })
	ban("ann", "0")
	until("1 2")
	if err := r.kill(); err != nil {
		t.Fatal(err)
	}
	d.set(func() { d.list = append(d.list, two) })
	r = start(t, log, Config{Directory: d, Admin: "admin"})
	until("1 1")
	fail(true)
	ban("bob", "0")
	fail(false)
	until("0 0")
}
