package page_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tendon/cmd/cli/page"
)

// wrongTokens are near misses of the right one, in other lengths too.
var wrongTokens = []string{"", " ", token[:len(token)-1], token + "x", token[:len(token)-1] + "Y", strings.ToUpper(token), strings.Repeat("a", 511), token + "\x00"}

// The token is the only protection of a page on a public address.
func TestOnlyTheRightTokenOpensAPage(t *testing.T) {
	s, changes := counter(t, page.Config{Token: token})
	for _, wrong := range wrongTokens[:len(wrongTokens)-1] {
		h := map[string]string{"Authorization": "Bearer " + wrong}
		if answer, body := (request{headers: h}).do(t, s); answer.StatusCode != 401 || strings.Contains(body, "the secret") {
			t.Errorf("GET with token %q: %s", wrong, answer.Status)
		}
		if answer, _ := (request{method: "POST", path: "change", origin: own(s), headers: h}).do(t, s); answer.StatusCode != 401 {
			t.Errorf("POST with token %q: %s", wrong, answer.Status)
		}
		if _, answer, err := dial(t, s, map[string]string{"Origin": own(s), "Authorization": "Bearer " + wrong}); err == nil || answer.StatusCode != 401 {
			t.Errorf("stream with token %q: %v", wrong, err)
		}
	}
	if answer, _ := (request{headers: map[string]string{"Authorization": "Basic " + token}}).do(t, s); answer.StatusCode != 401 {
		t.Errorf("the token under another scheme: %s", answer.Status)
	}
	if answer, _ := (request{path: "?token=" + token}).do(t, s); answer.StatusCode != 401 {
		t.Errorf("the token in the query, which is logged and remembered: %s", answer.Status)
	}
	if changes.Load() != 0 {
		t.Errorf("%d changes were made", changes.Load())
	}
	h := map[string]string{"Authorization": "bearer " + token}
	if answer, body := (request{headers: h}).do(t, s); answer.StatusCode != 200 || !strings.Contains(body, "the secret") {
		t.Errorf("the right token: %s", answer.Status)
	}
	if answer, _ := (request{method: "POST", path: "change", headers: h}).do(t, s); answer.StatusCode != 200 || changes.Load() != 1 {
		t.Errorf("a program's POST with the right token: %s", answer.Status)
	}
	if _, _, err := dial(t, s, h); err != nil {
		t.Errorf("a program's stream with the right token: %v", err)
	}
}

// A browser cannot send a header with a link or a WebSocket, so it stores a cookie, which scripts and other sites cannot read.
func TestTokenIsExchangedForACookieOfThisSiteOnly(t *testing.T) {
	s, _ := counter(t, page.Config{Token: token})
	for _, wrong := range wrongTokens {
		if answer, _ := (request{method: "POST", path: "token", origin: own(s), body: wrong}).do(t, s); answer.StatusCode != 403 || len(answer.Cookies()) != 0 {
			t.Errorf("token %q: %s, %v", wrong, answer.Status, answer.Cookies())
		}
	}
	if answer, _ := (request{method: "POST", path: "token", origin: "https://evil.example", body: token}).do(t, s); answer.StatusCode != 403 || len(answer.Cookies()) != 0 {
		t.Errorf("the right token from another site: %s", answer.Status)
	}
	answer, _ := request{method: "POST", path: "token", origin: own(s), body: token}.do(t, s)
	if answer.StatusCode != 204 || len(answer.Cookies()) != 1 {
		t.Fatalf("the right token: %s, %v", answer.Status, answer.Cookies())
	}
	c := answer.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" || strings.Contains(c.Value, token) {
		t.Errorf("the cookie is %v", c)
	}
	if answer, body := (request{headers: map[string]string{"Cookie": c.Name + "=" + c.Value}}).do(t, s); answer.StatusCode != 200 || !strings.Contains(body, "the secret") {
		t.Errorf("with the cookie: %s", answer.Status)
	}
	stream, _, err := dial(t, s, map[string]string{"Origin": own(s), "Cookie": c.Name + "=" + c.Value})
	if err != nil {
		t.Fatalf("a stream with the cookie: %v", err)
	}
	stream.Close(websocket.StatusNormalClosure, "")
	for _, wrong := range []string{c.Name + "=", c.Name + "=" + c.Value[1:], c.Name + "=" + token, "other=" + c.Value} {
		if answer, _ := (request{headers: map[string]string{"Cookie": wrong}}).do(t, s); answer.StatusCode != 401 {
			t.Errorf("with the cookie %s: %s", wrong, answer.Status)
		}
	}
}

// An address that other machines can reach always requires a token.
func TestAddressThatIsNotLoopbackDemandsAToken(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		_, err := page.New(page.Config{Addr: addr})
		if !errors.Is(err, page.ErrConfig) || !strings.Contains(err.Error(), "Token") {
			t.Errorf("New at %s without a token: %v", addr, err)
		}
	}
	s, err := page.New(page.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Addr().Addr().IsLoopback() {
		t.Errorf("without an address it listens on %v", s.Addr())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	counter(t, page.Config{Addr: "0.0.0.0:0", Token: token})
}

// A server on all interfaces accepts the address of the connection, and no other.
func TestOutsideLoopbackOnlyTheOwnAddressIsAHost(t *testing.T) {
	outside := ""
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Skipf("the addresses of the machine are unknown: %v", err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			outside = n.IP.String()
		}
	}
	if outside == "" {
		t.Skip("the machine has no address but loopback")
	}
	s, err := page.New(page.Config{Addr: outside + ":0", Token: token})
	if err != nil {
		t.Skipf("%s cannot be listened on: %v", outside, err)
	}
	go s.Serve(t.Context())
	h := map[string]string{"Authorization": "Bearer " + token}
	for host, want := range map[string]int{"": 404, fmt.Sprintf("localhost:%d", s.Addr().Port()): 421, fmt.Sprintf("127.0.0.1:%d", s.Addr().Port()): 421, outside + ":1": 421, outside: 421} {
		if answer, _ := (request{host: host, headers: h}).do(t, s); answer.StatusCode != want {
			t.Errorf("Host %q: %s, want %d", host, answer.Status, want)
		}
	}
}

// Every field is checked, and the error names it.
func TestConfigErrorsNameTheField(t *testing.T) {
	for field, c := range map[string]page.Config{
		"Addr":        {Addr: "nowhere"},
		"Token has":   {Token: "short"},
		"Token has a": {Token: "sixteen chars and spaces"},
		"Hosts":       {Hosts: []string{""}},
		"Streams":     {Streams: -1},
	} {
		if _, err := page.New(c); !errors.Is(err, page.ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
