package broadcast

import (
	"errors"
	"fmt"

	"tendon/ecs"
)

// Stats describes a viewer.
type Stats struct {
	Tick     ecs.Tick // the last simulated tick
	Verified uint64   // ticks whose checksums were compared and are equal
	Jumps    uint64   // number of gaps: ticks that were skipped
	Bytes    uint64   // of all files
	Streamed uint64   // part of Bytes: files of ticks
	Received ecs.Tick // number of ticks in these files
	Buffered ecs.Tick // received ticks that are not simulated yet
	Index    Index    // the newest index; Run is "" before the first one
	Waiting  bool     // no tick is left to simulate
	Over     bool     // the match has ended, and every tick was simulated
	Err      error    // error of the last request, which is repeated; else nil
}

// PerMinute returns the bytes of ticks in a minute of the match.
func (s *Stats) PerMinute(tickRate int) float64 {
	return float64(s.Streamed) * float64(60*tickRate) / float64(max(s.Received, 1))
}

// Status describes a viewer in a line.
func (s *Stats) Status(tickRate int) string {
	switch {
	case s.Verified == 0 && s.Index.Run == "":
		return "loading the broadcast…"
	case s.Verified == 0 && len(s.Index.Fragments) == 0:
		return fmt.Sprintf("waiting for the first fragment, which becomes visible %d s after its end…", s.Index.DelayTicks/tickRate)
	case s.Verified == 0:
		return "loading the match…"
	}
	return fmt.Sprintf("tick %d · %d verified · %.1f KB per minute · %.1f s buffered", s.Tick, s.Verified, s.PerMinute(tickRate)/1000, float64(s.Buffered)/float64(tickRate))
}

// Banner returns why no tick is shown, or "".
func (s *Stats) Banner() string {
	switch {
	case s.Over:
		return "the match is over"
	case s.Verified == 0 || !s.Waiting:
		return ""
	case s.Err != nil && !errors.Is(s.Err, ErrNotFound):
		return "the server does not answer"
	}
	return "waiting for the match"
}
