package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// standstill detects that the process stood still. Then no packet may be sent until Config.Resumed has returned.
type standstill struct {
	limit   time.Duration
	resumed func(ctx context.Context)

	origin time.Time
	last   atomic.Int64 // nanoseconds after origin at which a goroutine last ran
	silent atomic.Bool  // no packet may be sent

	mu     sync.Mutex
	ctx    context.Context // of Run; nil before it. No packet is sent then
	number int             // of standstills
	calls  sync.WaitGroup
}

func newStandstill(c *Config) *standstill {
	return &standstill{limit: c.MaxStandstill, resumed: c.Resumed, origin: time.Now()}
}

// start begins the observation. Resumed is called with ctx.
func (s *standstill) start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	s.last.Store(int64(time.Since(s.origin)))
}

// sends reports whether packets may be sent. All goroutines that send call it right before, and one calls it several times in limit.
func (s *standstill) sends() bool {
	if s.resumed == nil {
		return true
	}
	now := time.Since(s.origin)
	last := time.Duration(s.last.Load())
	if now-last > s.limit {
		s.noticed(now)
	} else if now > last {
		s.last.CompareAndSwap(int64(last), int64(now))
	}
	return !s.silent.Load()
}

// noticed begins the silence after a standstill.
func (s *standstill) noticed(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || now-time.Duration(s.last.Load()) <= s.limit { // another goroutine has noticed it
		return
	}
	s.number++
	begins := !s.silent.Swap(true)
	s.last.Store(int64(now)) // after silent, so that no goroutine sends meanwhile
	if begins {
		s.calls.Go(s.call)
	}
}

// call calls Resumed once more for each standstill during a call, and ends the silence.
func (s *standstill) call() {
	for {
		s.mu.Lock()
		ctx, number := s.ctx, s.number
		s.mu.Unlock()
		s.resumed(ctx)
		s.mu.Lock()
		over := s.number == number || ctx.Err() != nil
		if over {
			s.silent.Store(false)
		}
		s.mu.Unlock()
		if over {
			return
		}
	}
}
