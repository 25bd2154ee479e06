// Package embedded runs a NATS server in this process, for a cluster on one machine. It opens no port and stores its files in a
// directory. It adds about 25 MB to a program.
//
// For several machines, run nats-server processes instead.
package embedded

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a NATS server in this process.
type Server struct {
	Connection *nats.Conn
	server     *server.Server
}

// startLimit is the maximum time that the server needs to read its files.
const startLimit = 30 * time.Second

// Start starts a server whose files are in a directory, which no other process may use. If always is true, each acknowledged
// entry survives a power failure.
func Start(dir string, always bool) (*Server, error) {
	s, err := server.NewServer(&server.Options{ServerName: "tendon", DontListen: true, JetStream: true, StoreDir: dir, SyncAlways: always,
		NoSigs: true, NoLog: true, DisableJetStreamBanner: true})
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	go s.Start()
	if !s.ReadyForConnections(startLimit) || !s.JetStreamEnabled() {
		s.Shutdown()
		return nil, fmt.Errorf("embedded: NATS cannot use the directory %s", dir)
	}
	c, err := nats.Connect("", nats.InProcessServer(s), nats.MaxReconnects(-1))
	if err != nil {
		s.Shutdown()
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return &Server{c, s}, nil
}

// Close writes everything to the disk and stops the server.
func (s *Server) Close() error {
	err := s.Connection.Drain()
	for deadline := time.Now().Add(time.Second); !s.Connection.IsClosed() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	s.Connection.Close()
	s.server.Shutdown()
	s.server.WaitForShutdown()
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}
