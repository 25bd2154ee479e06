package server

import (
	"sync"
	"time"
)

// wallClock is the time for tokens, whose times are those of a clock of a host. That clock may be stepped by hours while the
// server runs. The steady clock goes on from the start of the server, so one of the two is right:
//
//   - A token has expired if it has on both clocks.
//   - A token is of the future if it is on both clocks.
//   - Reconnect tokens are issued by the later clock, so a step does not end them. Their time never goes back.
type wallClock struct {
	host  func() time.Time
	start time.Time // of the server, with a monotonic reading
	begun time.Time // the steady clock at start. It is not earlier than the times of an earlier server

	mu     sync.Mutex
	latest time.Time // that later has returned
}

func (w *wallClock) steady(now time.Time) time.Time { return w.begun.Add(now.Sub(w.start)) }

// earlier returns the earlier of both clocks.
func (w *wallClock) earlier(now time.Time) time.Time {
	host, steady := w.host().Round(0), w.steady(now)
	if host.Before(steady) {
		return host
	}
	return steady
}

// later returns the later of both clocks. It never goes back.
func (w *wallClock) later(now time.Time) time.Time {
	host, steady := w.host().Round(0), w.steady(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range []time.Time{host, steady} {
		if at.After(w.latest) {
			w.latest = at
		}
	}
	return w.latest
}
