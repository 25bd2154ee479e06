package cli

import (
	"os"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
)

// crashingGame has the same fingerprint as crumbs.Game, and a rule that panics in tick 40.
func crashingGame() *ecs.Game {
	g := crumbs.Game()
	walk := g.Systems[0].Run
	g.Systems[0].Run = func(w *ecs.World) {
		if w.Tick() == 40 {
			panic("no crumbs are left")
		}
		walk(w)
	}
	return g
}

// A server whose only room crashes closes the journal and ends with exit code 1 and a report. The client receives the reason.
// The next server does not resume the match.
func TestAServerWhoseOnlyRoomCrashesEndsWithAReport(t *testing.T) {
	dir := t.TempDir()
	server, address, pass := serving(t, crashingGame(), "--journal", dir)
	r := do(t, crumbs.Game(), "join", address, "--token", pass, "--bot")
	if r.code == app.ExitFine || !strings.Contains(r.note, "the rules of the game failed in tick 40") {
		t.Errorf("the client: %+v", r)
	}
	crash := awaitEvent(t, server.out, server.ended, "crash")
	if code := <-server.ended; code != app.ExitFailed {
		t.Errorf("the server ends with %d", code)
	}
	server.ended <- app.ExitFailed
	if crash["tick"] != 40.0 || crash.text("room") != "main" || crash.text("panic") != "no crumbs are left" || !strings.Contains(crash.text("stack"), "crashingGame") || len(crash.text("match")) != 16 {
		t.Errorf("%v", crash)
	}
	if _, err := os.Stat(crash.text("journal")); err != nil || !strings.HasSuffix(crash.text("journal"), ".ended.journal") {
		t.Errorf("the journal: %v", err)
	}
	if out := do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--json", "--for", "1ms", "--journal", dir); !strings.Contains(out.out, `"matches":0`) {
		t.Errorf("the next server: %+v", out)
	}
}

// A client whose rules panic ends with exit code 1, the tick and the stack.
func TestAClientWhoseRulesPanicReportsTheTick(t *testing.T) {
	_, address, pass := serving(t, crumbs.Game())
	r := do(t, crashingGame(), "join", address, "--token", pass, "--bot")
	if r.code != app.ExitFailed || !strings.Contains(r.note, "panic in tick 40: no crumbs are left") || !strings.Contains(r.note, "crashingGame") {
		t.Errorf("%+v", r)
	}
}
