// Package embedded runs a NATS server in this process, for a cluster on one machine. It opens no port and stores its files in a
// directory. It adds about 25 MB to a program.
//
// For several machines, run nats-server processes instead.
package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a NATS server in this process. After a failed write, NATS stores no further entries until it is restarted. If the disk
// was full, Server restarts it as soon as the directory has space again, and Connection reconnects.
type Server struct {
	Connection *nats.Conn
	options    server.Options
	present    atomic.Pointer[instance]
	endWatch   context.CancelFunc
	watched    chan struct{} // closed when watch has returned
}

const (
	// startLimit is the maximum time that the server needs to read its files.
	startLimit = 30 * time.Second
	// watchInterval is the time between two checks for a failed write.
	watchInterval = time.Second
	// spaceToRestart is the space in bytes that the directory must have before NATS is restarted.
	spaceToRestart = 1 << 20
	// maxStore is the limit for the files of NATS, in bytes: only the disk limits them. The default is 75 % of the space that is free at the
	// start. A server that starts on a full disk would refuse entries later, too.
	maxStore = 1 << 50
)

// Start starts a server whose files are in a directory, which no other process may use. If always is true, each acknowledged
// entry survives a power failure.
func Start(dir string, always bool) (*Server, error) {
	s := &Server{watched: make(chan struct{}),
		options: server.Options{ServerName: "tendon", DontListen: true, JetStream: true, JetStreamMaxStore: maxStore, StoreDir: dir, SyncAlways: always,
			NoSigs: true, NoLog: true, DisableJetStreamBanner: true}}
	n, err := start(s.options)
	if err != nil {
		return nil, err
	}
	s.present.Store(n)
	s.Connection, err = nats.Connect("", nats.InProcessServer(provider{s}), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1))
	if err != nil {
		n.stop()
		return nil, fmt.Errorf("embedded: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.endWatch = cancel
	go s.watch(ctx)
	return s, nil
}

// watch restarts NATS after the disk was full, until ctx is done.
func (s *Server) watch(ctx context.Context) {
	defer close(s.watched)
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		n := s.present.Load()
		if n.usable() || !hasSpace(s.options.StoreDir) {
			continue
		}
		n.stop()
		if n, err := start(s.options); err == nil {
			s.present.Store(n)
		}
	}
}

// Close writes everything to the disk and stops the server.
func (s *Server) Close() error {
	s.endWatch()
	<-s.watched
	err := s.Connection.Drain()
	for deadline := time.Now().Add(time.Second); !s.Connection.IsClosed() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	s.Connection.Close()
	s.present.Load().stop()
	if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrConnectionReconnecting) {
		return nil
	}
	return err
}

// hasSpace reports whether a file of spaceToRestart bytes can be written in a directory.
func hasSpace(dir string) bool {
	f, err := os.CreateTemp(dir, "space-*")
	if err != nil {
		return false
	}
	random := make([]byte, spaceToRestart) // a file system that compresses would store zeros without space
	_, _ = rand.Read(random)
	_, err = f.Write(random)
	return errors.Join(err, f.Close(), os.Remove(f.Name())) == nil
}

// provider connects to the present NATS server of s. It implements nats.InProcessConnProvider.
type provider struct{ s *Server }

func (p provider) InProcessConn() (net.Conn, error) { return p.s.present.Load().InProcessConn() }
