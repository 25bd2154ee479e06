package server

import (
	"log/slog"
	"sync"
	"time"

	"tendon/systems"
)

// serverClock is the clock of the rooms and connections. It skips the time in which the server stood still, because its process
// was stopped. So no seat, session or room has a timeout in that time. Tokens use wallClock.
type serverClock struct {
	epoch time.Time

	mu      sync.Mutex
	last    systems.Time // newest time that was read, since epoch
	skipped systems.Time
}

// maxGap is the longest time between two readings of the clock that counts in full. The server reads it every pollRest at least.
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
	for _, h := range w.rooms {
		h.room.Skipped(lost - w.skipped)
	}
	w.skipped = lost
}

// Lag describes time that matches gave up, so that their players saw a pause or slow motion.
type Lag struct {
	Stood time.Duration // how long the server stood still; 0: it was too slow
	Rooms int           // that gave up time
	Ticks uint64        // by which they are late for good, in total
}

// lagReport reports the time that matches gave up.
type lagReport struct {
	at      time.Time               // of the next look
	found   bool                    // the last look found time to report. Each worker publishes its rooms within a second
	stood   systems.Time            // the time that the clock had skipped at the last report
	givenUp map[string]systems.Time // of each room, at the last report
}

const (
	lagReportEvery = 10 * time.Second   // shortest time between two reports
	leastLag       = systems.Second / 2 // that one room gives up between two reports
)

func (r *lagReport) update(s *Server, now time.Time) {
	if now.Before(r.at) {
		return
	}
	r.at = now.Add(time.Second)
	var l Lag
	worst, givenUp, stood := systems.Time(0), map[string]systems.Time{}, s.conns.clock.lost()
	rooms := s.Stats().Table
	if len(rooms) == 0 {
		r.stood = stood
	}
	for _, h := range rooms {
		givenUp[h.Name] = h.GivenUp
		more := h.GivenUp - r.givenUp[h.Name]
		if more < 0 {
			more = h.GivenUp // another match in the room
		}
		if more > 0 {
			l.Rooms++
		}
		l.Ticks += uint64(more * systems.Time(s.config.Room.Game.TickRate) / systems.Second)
		worst = max(worst, more)
	}
	if was := r.found; worst < leastLag || !was {
		r.found = worst >= leastLag
		return
	}
	l.Stood = time.Duration(stood - r.stood)
	*r = lagReport{at: now.Add(lagReportEvery), stood: stood, givenUp: givenUp}
	s.log.error("matches paused: the server stood still or is too slow", slog.Duration("stood", l.Stood), slog.Int("rooms", l.Rooms), slog.Uint64("ticks", l.Ticks))
	if s.config.Lagged != nil {
		s.config.Lagged(l)
	}
}
