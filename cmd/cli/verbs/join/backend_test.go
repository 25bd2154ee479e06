package join

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/window"
	"tendon/net/client"
)

// A window that ends, here because there is no screen, ends the wait for a match. The wait itself would never end.
func TestTheEndOfTheWindowLeavesTheQueue(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a window opens without DISPLAY")
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	var out, note strings.Builder
	a := app.New(t.Context(), crumbs.Game(), &out, &note)
	v := &Verb{ledger: host.NewLedger(a.Game, "client", nil)}
	err := v.inLobby(t.Context(), a, &client.Config{Game: a.Game}, &ticket{}, func(ctx context.Context) (client.DialConfig, error) {
		<-ctx.Done()
		return client.DialConfig{}, ctx.Err()
	})
	if !errors.Is(err, window.ErrUnavailable) || !strings.Contains(note.String(), "the queue was left") {
		t.Errorf("%v, printed %q", err, note.String())
	}
}
