package server

import (
	"log/slog"
	"sync"
	"time"

	"tendon/systems"
)

// serverClock is the clock of the rooms and connections. It skips the time in which the server stood still, because its process
// was stopped or its host slept. So no seat, session or room has a timeout in that time. Bans, tokens and their expiry are on the
// clock of the host.
type serverClock struct {
	epoch time.Time

	mu      sync.Mutex
	last    systems.Time // newest time that was read, since epoch
	skipped systems.Time
}

// maxGap is the longest time between two readings of the clock that counts in full. The server reads it every updateInterval.
const maxGap = systems.Second / 2

// at returns the time of the server at now. It never goes back.
func (c *serverClock) at(now time.Time) systems.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := max(now.Sub(c.epoch), c.last)
	c.skipped += max(since-c.last-maxGap, 0)
	c.last = since
	return since - c.skipped
}

// lost returns the time that was skipped since epoch.
func (c *serverClock) lost() systems.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipped
}

// noteSkipped reports time that the clock skipped to the rooms.
func (w *worker) noteSkipped() {
	lost := w.table.clock.lost()
	if lost == w.skipped {
		return
	}
	for _, rooms := range w.rooms {
		for _, h := range rooms {
			h.room.Skipped(lost - w.skipped)
		}
	}
	w.skipped = lost
}

// lagReport logs the time that matches gave up.
type lagReport struct {
	at      time.Time    // of the next look
	givenUp systems.Time // of all rooms, as it was logged last
}

const lagReportEvery = 10 * time.Second // shortest time between two lines

func (r *lagReport) update(s *Server, now time.Time) {
	if now.Before(r.at) {
		return
	}
	r.at = now.Add(time.Second)
	st := s.Stats()
	all := st.Total().GivenUp
	if all <= r.givenUp {
		return
	}
	s.log.error("matches paused: the server stood still or is too slow", slog.Duration("given_up", all-r.givenUp), slog.Int("rooms", st.Rooms))
	r.at, r.givenUp = now.Add(lagReportEvery), all
}
