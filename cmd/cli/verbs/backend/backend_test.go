package backend

import (
	"io"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/clusterflags"
	"tendon/cmd/cli/internal/crumbs"
)

// No server can join a cluster inside the backend.
func TestAnEmbeddedClusterIsRefused(t *testing.T) {
	dir := t.TempDir()
	v := Verb{KeyFile: dir + "/server.key", ServerRooms: 1, Flags: clusterflags.Flags{Cluster: "embedded", ClusterDir: dir + "/cluster", ClusterName: "tendon"}}
	if err := v.Run(app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)); err == nil || !strings.Contains(err.Error(), "no server can join") {
		t.Errorf("%v", err)
	}
}
