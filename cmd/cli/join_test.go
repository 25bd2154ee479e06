package cli

import (
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// Another tick rate is a more likely mistake than another version of the game.
func TestTheErrorOfAClientWithAnotherTickRateNamesTheFlag(t *testing.T) {
	slow(t)
	_, address, token := serving(t, crumbs.Game())
	refusedLater(t, do(t, crumbs.Game(), "join", address, "--token", token, "--bot", "--tick-rate", "30"), "--tick-rate")
}

// refusedLater fails unless the last line is an error with that text.
func refusedLater(t *testing.T, r result, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.note, "\n"), "\n")
	if last := lines[len(lines)-1]; r.code != app.ExitUsage || !strings.Contains(last, want) {
		t.Errorf("exit code %d, the last line %q does not say %q", r.code, last, want)
	}
}
