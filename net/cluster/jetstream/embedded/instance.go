package embedded

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// instance is a NATS server from its start to its end.
type instance struct {
	*server.Server
	log errorLog
}

// start starts NATS, and waits until it is ready.
func start(o server.Options) (*instance, error) {
	s, err := server.NewServer(&o)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	n := &instance{Server: s}
	s.SetLogger(&n.log, false, false)
	started := make(chan struct{})
	go func() {
		s.Start() // it returns at its first error, too
		close(started)
	}()
	select {
	case <-started:
	case <-time.After(startLimit):
	}
	if !s.ReadyForConnections(time.Millisecond) || !s.JetStreamEnabled() {
		n.stop()
		return nil, fmt.Errorf("embedded: NATS cannot use the directory %s", o.StoreDir)
	}
	return n, nil
}

func (n *instance) stop() {
	n.Shutdown()
	n.WaitForShutdown()
}

// usable reports whether JetStream is enabled and no write has failed.
func (n *instance) usable() bool { return n.JetStreamEnabled() && !n.log.failed.Load() }

// errorLog is a server.Logger that records failed writes. A stream whose write has failed refuses all further ones, without a reply.
// JetStream stays enabled then, and a server without a cluster reports the error nowhere but in its log.
type errorLog struct{ failed atomic.Bool }

// Errorf receives "JetStream stream '…' critical write error: …" from a stream, and "Critical write error: …" from its files.
func (l *errorLog) Errorf(format string, v ...any) {
	if strings.Contains(fmt.Sprintf(format, v...), "ritical write error") {
		l.failed.Store(true)
	}
}

func (*errorLog) Noticef(string, ...any) {}
func (*errorLog) Warnf(string, ...any)   {}
func (*errorLog) Fatalf(string, ...any)  {}
func (*errorLog) Debugf(string, ...any)  {}
func (*errorLog) Tracef(string, ...any)  {}
