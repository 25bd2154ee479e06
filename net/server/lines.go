package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// lines writes the server's log, at most linesAtOnce lines at once and linesPerSecond for long. What is above that is
// counted, and the next line says how many there were. Nothing is ever logged for a packet.
type lines struct {
	mu      sync.Mutex
	logger  *slog.Logger // nil: none
	free    time.Time    // when the bucket would be empty again
	skipped int
}

const (
	linesPerSecond = 5
	linesAtOnce    = 50
)

func (l *lines) info(text string, attrs ...slog.Attr)  { l.write(slog.LevelInfo, text, attrs) }
func (l *lines) error(text string, attrs ...slog.Attr) { l.write(slog.LevelError, text, attrs) }

func (l *lines) write(level slog.Level, text string, attrs []slog.Attr) {
	if l.logger == nil {
		return
	}
	const interval = time.Second / linesPerSecond
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	if l.free.Add(interval).Sub(now) > linesAtOnce*interval {
		l.skipped++
		return
	}
	l.free = l.free.Add(interval)
	if l.skipped > 0 {
		attrs = append(attrs, slog.Int("lines_left_out_before", l.skipped))
		l.skipped = 0
	}
	l.logger.LogAttrs(context.Background(), level, text, attrs...)
}
