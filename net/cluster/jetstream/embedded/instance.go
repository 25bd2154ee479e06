package embedded

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
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
	if !s.ReadyForConnections(time.Second) || !s.JetStreamEnabled() {
		n.stop()
		why := ""
		if text := n.log.newest.Load(); text != nil {
			why = ": " + *text
		}
		return nil, fmt.Errorf("embedded: NATS cannot use the directory %s%s", o.StoreDir, why)
	}
	return n, nil
}

func (n *instance) stop() {
	n.Shutdown()
	n.WaitForShutdown()
}

// usable reports whether JetStream is enabled and the disk was not full.
func (n *instance) usable() bool { return n.JetStreamEnabled() && !n.log.full.Load() }

// errorLog is a server.Logger that records that the disk was full. A stream whose write has failed refuses all further ones, without a reply.
// JetStream stays enabled then, and a server without a cluster reports the error nowhere but in its log. After other errors, such as those of a
// sync, the content of the disk is not known, so NATS continues to refuse writes.
type errorLog struct {
	full   atomic.Bool
	newest atomic.Pointer[string] // the newest error; nil before the first
}

// Errorf receives "JetStream stream '…' critical write error: …" from a stream, and "Critical write error: …" from its files.
func (l *errorLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.newest.Store(&text)
	if strings.Contains(text, "ritical write error") && !strings.Contains(text, "sync ") &&
		(strings.Contains(text, syscall.ENOSPC.Error()) || strings.Contains(text, syscall.EDQUOT.Error())) {
		l.full.Store(true)
	}
}

// Fatalf receives the error that ends a start.
func (l *errorLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }

func (*errorLog) Noticef(string, ...any) {}
func (*errorLog) Warnf(string, ...any)   {}
func (*errorLog) Debugf(string, ...any)  {}
func (*errorLog) Tracef(string, ...any)  {}
