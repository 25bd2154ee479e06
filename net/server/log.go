package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tendon/net/limit"
)

// limitedLog writes the log of the server at a bounded rate. The next line contains the number of skipped lines.
type limitedLog struct {
	mu      sync.Mutex
	logger  *slog.Logger // optional
	start   time.Time
	limit   limit.Limiter[time.Duration]
	skipped int
}

const linesPerSecond, linesAtOnce = 5, 50

func newLog(logger *slog.Logger) *limitedLog {
	return &limitedLog{logger: logger, start: time.Now(), limit: limit.New(time.Second/linesPerSecond, linesAtOnce)}
}

func (l *limitedLog) info(text string, attrs ...slog.Attr)  { l.write(slog.LevelInfo, text, attrs) }
func (l *limitedLog) error(text string, attrs ...slog.Attr) { l.write(slog.LevelError, text, attrs) }

func (l *limitedLog) write(level slog.Level, text string, attrs []slog.Attr) {
	if l.logger == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limit.Allow(time.Since(l.start)) {
		l.skipped++
		return
	}
	if l.skipped > 0 {
		attrs = append(attrs, slog.Int("lines_skipped_before", l.skipped))
		l.skipped = 0
	}
	l.logger.LogAttrs(context.Background(), level, text, attrs...)
}
