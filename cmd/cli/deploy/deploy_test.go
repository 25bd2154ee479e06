// Package deploy_test checks the files for machines without Kubernetes. Those for Kubernetes are checked by the module check.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Without sync_interval always, a power cut loses entries that were acknowledged.
func TestNATSSyncsEachEntry(t *testing.T) {
	o, err := server.ProcessConfigFile("nats/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || !o.JetStream || o.StoreDir != "/data" || o.Cluster.Name == "" || o.Cluster.Port != 6222 || o.Port != 4222 || o.MaxPayload < 1<<20 {
		t.Errorf("sync always %v, JetStream %v in %q, cluster %+v, payload %d", o.SyncAlways, o.JetStream, o.StoreDir, o.Cluster, o.MaxPayload)
	}
}

// The file is whole: a server of this version starts with it. Its ports and its directory are those of the test.
func TestNATSStartsWithTheFile(t *testing.T) {
	o, err := server.ProcessConfigFile("nats/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Port, o.HTTPHost, o.HTTPPort, o.Cluster.Host, o.Cluster.Port = "127.0.0.1", -1, "127.0.0.1", -1, "127.0.0.1", -1
	o.StoreDir, o.NoLog, o.NoSigs, o.ServerName = t.TempDir(), true, true, "nats-0"
	o.Routes = server.RoutesFromStr("nats://127.0.0.1:9") // JetStream in a cluster needs one
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) || !s.JetStreamEnabled() {
		t.Error("the server has no JetStream")
	}
}

// systemd accepts the units. Programs are replaced by one that is on this machine.
func TestTheUnitsAreValid(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	paths, err := filepath.Glob("systemd/*.service")
	if err != nil || len(paths) != 3 {
		t.Fatalf("%q, %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unit := strings.NewReplacer("/usr/local/bin/arena", "/bin/true", "/usr/local/bin/nats-server", "/bin/true").Replace(string(text))
		file := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(verify, "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(path)) {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}
