package join

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/lan"
)

func found(name, address string, fingerprint uint64) lan.Found {
	return lan.Found{Description: lan.Description{Name: name, Fingerprint: fingerprint, Game: "crumbs", Strategy: "lockstep", Players: 16, Places: 64},
		Address: netip.MustParseAddrPort(address)}
}

// Join takes the only server with the same rules, or the one that --server names. Otherwise it says what to do: the exit code is 1 if there
// is no such server, and 2 if there are several.
func TestTheServerOfTheNetworkIsChosen(t *testing.T) {
	attic, cellar, other := found("attic", "10.0.0.1:47777", 7), found("cellar", "10.0.0.2:47777", 7), found("garage", "10.0.0.3:47777", 8)
	twin := found("attic", "10.0.0.4:47777", 7)
	for _, c := range []struct {
		list []lan.Found
		name string
		want string // name of the server, or part of the error
		code int
	}{
		{[]lan.Found{attic}, "", "attic", 0},
		{[]lan.Found{attic, other}, "", "attic", 0},
		{[]lan.Found{attic, cellar}, "cellar", "cellar", 0},
		{[]lan.Found{attic, twin}, "10.0.0.4", "attic", 0},
		{[]lan.Found{attic, twin}, "10.0.0.4:47777", "attic", 0},
		{[]lan.Found{attic, cellar}, "", "--server: attic, cellar", app.ExitUsage},
		{[]lan.Found{attic, twin}, "attic", "give --server its address", app.ExitUsage},
		{nil, "", "serve --lan", app.ExitFailed},
		{[]lan.Found{other}, "", "run the same version", app.ExitFailed},
		{[]lan.Found{attic, other}, "garage", "garage", app.ExitFailed},
	} {
		got, err := choose(c.list, 7, c.name)
		text, code := got.Name, 0
		if err != nil {
			if text, code = err.Error(), app.ExitUsage; errors.Is(err, app.ErrFailed) {
				code = app.ExitFailed
			}
		}
		if !strings.Contains(text, c.want) || code != c.code {
			t.Errorf("%d servers, --server %q: %q with exit code %d, want %q with %d", len(c.list), c.name, text, code, c.want, c.code)
		}
	}
}

// The list of servers fits a terminal.
func TestTheListOfServersFitsATerminal(t *testing.T) {
	a := &app.App{Game: crumbs.Game()}
	text := serverTable(a, []lan.Found{found(strings.Repeat("n", 32), "192.168.100.200:47777", 1)})
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%s", text)
			break
		}
	}
}
