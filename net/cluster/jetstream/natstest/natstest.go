// Package natstest runs NATS servers for tests.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Start starts a server with JetStream on a free port of this machine, until the test ends. It keeps those fields of o that concern the
// accounts and users.
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
		t.Fatal("NATS does not start")
	}
	return s
}
