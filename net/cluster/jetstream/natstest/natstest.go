// Package natstest runs NATS servers for tests.
package natstest

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Start runs a NATS server with JetStream on a free port of this machine until the test ends. It replaces the name, address, storage, signal
// and log options in o.
func Start(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.ServerName = "test"
	s := start(t, o)
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not ready after a minute")
	}
	return s
}

// StartThree runs a cluster of three NATS servers.
func StartThree(t *testing.T) (list [3]*server.Server) {
	t.Helper()
	route := &url.URL{Scheme: "nats", Host: "127.0.0.1:1"} // NATS needs one at the start of each server: that of the first leads nowhere
	for i := range list {
		list[i] = start(t, server.Options{ServerName: fmt.Sprint("test", i), Routes: []*url.URL{route},
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT}})
		for list[i].ClusterAddr() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if i == 0 {
			route = &url.URL{Scheme: "nats", Host: list[i].ClusterAddr().String()}
		}
	}
	for _, s := range list {
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("NATS is not ready after a minute")
		}
	}
	return list
}

func start(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port = "127.0.0.1", server.RANDOM_PORT
	o.JetStream, o.StoreDir, o.NoSigs, o.NoLog = true, t.TempDir(), true, true
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}
