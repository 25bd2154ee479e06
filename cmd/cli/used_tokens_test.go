package cli

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/server"
)

// tokenFor runs token and returns its output.
func tokenFor(t *testing.T, address, key string, flags ...string) string {
	t.Helper()
	r := do(t, crumbs.Game(), append([]string{"token", address, "--key-file", key}, flags...)...)
	if r.code != app.ExitFine {
		t.Fatal(r.note)
	}
	return strings.TrimSpace(r.out)
}

// mintedAt returns a token that was minted at a time. file is the key file of the server.
func mintedAt(t *testing.T, minted time.Time, address, file string) string {
	t.Helper()
	key, err := server.LoadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(crumbs.Game().Name), Key: key,
		Addresses: []netip.AddrPort{netip.MustParseAddrPort(address)}, Pass: server.Pass{Room: "main", Seat: server.AnySeat}, Lifetime: time.Hour}, minted)
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Text(token)
}

// The limits of joinWith.
const (
	toPlay   = "20s"
	toRefuse = "3s" // of a token that the server refuses
)

// joinWith joins a server, leaves as soon as the client plays or after a time, and returns the exit code.
func joinWith(t *testing.T, address, token, limit string) int {
	t.Helper()
	r := background(t, crumbs.Game(), "join", address, "--headless", "--json", "--token", token, "--for", limit)
	for {
		select {
		case code := <-r.ended:
			return code
		case <-time.After(20 * time.Millisecond):
			if strings.Contains(r.out.String(), `"state":"live"`) {
				r.stop()
			}
		}
	}
}

// After one connection a token is refused, also by the next process. That process accepts an unused token.
func TestAServerWithJournalsRefusesTokensThatWereUsedBeforeItsStart(t *testing.T) {
	slow(t)
	key, journals := newKey(t), filepath.Join(t.TempDir(), "journals")
	before := time.Now()
	s := serveCrumbs(t, "127.0.0.1:0", journals, "--key-file", key)
	address := s.at.String()
	used, unused := tokenFor(t, address, key), tokenFor(t, address, key, "--room", "other")
	if code := joinWith(t, address, mintedAt(t, before, address, key), toRefuse); code == app.ExitFine {
		t.Error("a token from before the first start is good: another server may have used it")
	}
	if code := joinWith(t, address, used, toPlay); code != app.ExitFine {
		t.Errorf("a new token: exit code %d", code)
	}
	s.end(t, os.Kill)
	s = serveCrumbs(t, address, journals, "--key-file", key)
	if code := joinWith(t, address, used, toRefuse); code == app.ExitFine {
		t.Error("a used token is good after a restart")
	}
	if code := joinWith(t, address, unused, toPlay); code != app.ExitFine {
		t.Errorf("an unused token: exit code %d", code)
	}
	if why := awaitEvent(t, s.out, s.ended, "token_refused").text("reason"); !strings.Contains(why, "was used before this server began") {
		t.Errorf("the server reports %q", why)
	}
}

// A server without journals has no record of the tokens that were used before its start. It refuses them and reports that.
func TestAServerWithoutJournalsRefusesTokensFromBeforeItsStart(t *testing.T) {
	slow(t)
	key := newKey(t)
	before := time.Now()
	r := background(t, crumbs.Game(), "serve", "--json", "--listen", "127.0.0.1:0", "--key-file", key)
	address := awaitEvent(t, r.out, r.ended, "listening").text("public")
	if code := joinWith(t, address, mintedAt(t, before, address, key), toRefuse); code == app.ExitFine {
		t.Error("a token from before the start is good")
	}
	if code := joinWith(t, address, tokenFor(t, address, key), toPlay); code != app.ExitFine {
		t.Errorf("a new token: exit code %d", code)
	}
	if why := awaitEvent(t, r.out, r.ended, "token_refused").text("reason"); !strings.Contains(why, "mint a new one") || !strings.Contains(why, "--journal") {
		t.Errorf("the server reports %q", why)
	}
}
