package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
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

// After one connection a token is refused, also by the next process. That process accepts an unused token.
func TestAServerWithJournalsRefusesTokensThatWereUsedBeforeItsStart(t *testing.T) {
	slow(t)
	dir := t.TempDir()
	key, journals := filepath.Join(dir, "server.key"), filepath.Join(dir, "journals")
	const address = "127.0.0.1:47316"
	early := tokenFor(t, address, key, "--new-key")
	join := func(token string) int {
		return do(t, crumbs.Game(), "join", address, "--headless", "--token", token, "--for", "3s").code
	}
	s := serveCrumbs(t, address, journals, "--key-file", key)
	used, unused := tokenFor(t, address, key), tokenFor(t, address, key, "--room", "other")
	if code := join(early); code == app.ExitFine {
		t.Error("a token from before the first start is good: another server may have used it")
	}
	if code := join(used); code != app.ExitFine {
		t.Errorf("a new token: exit code %d", code)
	}
	s.end(t, os.Kill)
	s = serveCrumbs(t, address, journals, "--key-file", key)
	if code := join(used); code == app.ExitFine {
		t.Error("a used token is good after a restart")
	}
	if code := join(unused); code != app.ExitFine {
		t.Errorf("an unused token: exit code %d", code)
	}
	if why := awaitEvent(t, s.out, s.ended, "token_refused").text("reason"); !strings.Contains(why, "was used before this server began") {
		t.Errorf("the server reports %q", why)
	}
}

// A server without journals has no record of the tokens that were used before its start. It refuses them and reports that.
func TestAServerWithoutJournalsRefusesTokensFromBeforeItsStart(t *testing.T) {
	slow(t)
	key := filepath.Join(t.TempDir(), "server.key")
	const address = "127.0.0.1:47317"
	early := tokenFor(t, address, key, "--new-key")
	r := background(t, crumbs.Game(), "serve", "--json", "--listen", address, "--key-file", key)
	awaitEvent(t, r.out, r.ended, "listening")
	if code := do(t, crumbs.Game(), "join", address, "--headless", "--token", early, "--for", "3s").code; code == app.ExitFine {
		t.Error("a token from before the start is good")
	}
	if code := do(t, crumbs.Game(), "join", address, "--headless", "--token", tokenFor(t, address, key), "--for", "1s").code; code != app.ExitFine {
		t.Errorf("a new token: exit code %d", code)
	}
	if why := awaitEvent(t, r.out, r.ended, "token_refused").text("reason"); !strings.Contains(why, "mint a new one") || !strings.Contains(why, "--journal") {
		t.Errorf("the server reports %q", why)
	}
}
