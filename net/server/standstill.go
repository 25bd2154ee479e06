package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// standstill blocks all packets after the process stood still, until Config.StoodStill has returned.
type standstill struct {
	clock      *serverClock
	stoodStill func(ctx context.Context)
	checked    atomic.Int64 // serverClock.lost before the last call of StoodStill that has returned

	mu      sync.Mutex
	ctx     context.Context // argument of StoodStill
	calling bool
	calls   sync.WaitGroup
}

// start starts the detection. ctx is the argument of StoodStill.
func (s *standstill) start(ctx context.Context) {
	s.ctx = ctx
	s.clock.at(time.Now())
	s.checked.Store(int64(s.clock.lost()))
}

// sends reports whether packets may be sent. Every goroutine calls it before it sends.
func (s *standstill) sends() bool {
	if s.stoodStill == nil {
		return true
	}
	s.clock.at(time.Now())
	if int64(s.clock.lost()) == s.checked.Load() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.calling {
		s.calling = true
		s.calls.Go(s.call)
	}
	return false
}

// call calls StoodStill until the process does not stand still during the call, or ctx is done. Then packets may be sent again.
func (s *standstill) call() {
	for {
		lost := s.clock.lost()
		if s.stoodStill(s.ctx); s.clock.lost() == lost || s.ctx.Err() != nil {
			s.mu.Lock()
			s.checked.Store(int64(lost))
			s.calling = false
			s.mu.Unlock()
			return
		}
	}
}
