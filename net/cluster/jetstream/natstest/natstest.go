// Package natstest runs NATS servers for tests.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Start runs a NATS server with JetStream on a free port of this machine until the test ends. It replaces the name, address, storage, signal
// and log options in o.
func Start(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.ServerName, o.Host, o.Port = "test", "127.0.0.1", server.RANDOM_PORT
	o.JetStream, o.StoreDir, o.NoSigs, o.NoLog = true, t.TempDir(), true, true
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not ready after a minute")
	}
	return s
}
