package server

import (
	"slices"
	"sync"
	"time"
)

// wallClock is the time by which tokens are issued and expire. The clock of the host may be stepped by hours while the server
// runs. The steady clock counts from the start of the server. At least one of the two is right:
//
//   - A token has expired if it has by both clocks.
//   - A token is of the future if it is by both clocks.
//   - Reconnect tokens are issued by the later clock, so a step does not end them. Their times never decrease.
type wallClock struct {
	host  func() time.Time
	start time.Time // of the server, with a monotonic reading
	begun time.Time // the steady clock at start; at least every time that the previous process recorded

	mu     sync.Mutex
	latest time.Time // the last result of later
}

// both returns the times of both clocks.
func (w *wallClock) both(now time.Time) (host, steady time.Time) {
	return w.host().Round(0), w.begun.Add(now.Sub(w.start))
}

// earlier returns the time of the earlier clock.
func (w *wallClock) earlier(now time.Time) time.Time {
	host, steady := w.both(now)
	return slices.MinFunc([]time.Time{host, steady}, time.Time.Compare)
}

// later returns the time of the later clock, or its last result if that is later.
func (w *wallClock) later(now time.Time) time.Time {
	host, steady := w.both(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = slices.MaxFunc([]time.Time{w.latest, host, steady}, time.Time.Compare)
	return w.latest
}
