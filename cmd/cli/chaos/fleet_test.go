//go:build linux

package chaos

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/net/agones/sdktest"
	"tendon/net/server"
)

// A server that the verb drain has emptied exits, and asks Agones to remove it. The Fleet then starts another server.
func TestADrainedServerIsReplaced(t *testing.T) {
	if !race.Long {
		t.Skip("starts three processes: set TENDON_LONG")
	}
	nodes, _ := startNATS(t, 1, 0)
	sdk := sdktest.Start(t, 4, 8)
	key := filepath.Join(t.TempDir(), "server.key")
	if _, err := server.GenerateKey(key); err != nil {
		t.Fatal(err)
	}
	store, address := fmt.Sprintf("nats://127.0.0.1:%d", nodes[0].config.Port), fmt.Sprintf("127.0.0.1:%d", ports(t, 1)[0])
	s := launch(t, "server", serverRole, nil, "serve", "--json", "--listen", address, "--public", address, "--key-file", key, "--cluster", store,
		"--agones", sdk.Address())
	until(t, "the server is ready", s, func() bool { return sdk.Snapshot().State == "Ready" && s.last("listening") != nil })
	launch(t, "drain", serverRole, nil, "drain", address, "--json", "--cluster", store)
	select {
	case <-s.ended:
	case <-time.After(backLimit):
		t.Fatalf("the server did not exit within %v\n%s", backLimit, s.text())
	}
	if state, code := sdk.Snapshot().State, s.command.ProcessState.ExitCode(); state != "Shutdown" || code != 0 {
		t.Errorf("state %s, exit code %d; want Shutdown and 0", state, code)
	}
}
