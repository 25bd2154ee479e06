package host

import (
	"io"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/rollback/record/bundle"
	"tendon/systems/relay"
)

// A client that differs repeatedly must not fill the disk.
func TestTheNumberOfBundlesIsBounded(t *testing.T) {
	flags := DiagnosticFlags{DesyncDir: t.TempDir()}
	d, err := flags.Diagnostics(app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard), relay.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 3 * mostBundles {
		clear(d.last) // as after ten seconds
		if d.due(bundle.Client, "a desync") {
			n++
		}
		if d.due(bundle.Client, "a desync") {
			t.Fatal("two bundles within ten seconds")
		}
	}
	if n != mostBundles {
		t.Errorf("%d bundles, want %d", n, mostBundles)
	}
}
