package app

import (
	"fmt"
	"strings"
	"time"
)

// progress is a progress bar. It is shown on a terminal only.
type progress struct {
	a     *App
	total int
	unit  string // after the total
	live  bool   // the output is a terminal
	shown bool   // there is a bar to remove
	next  time.Time
}

func NewProgress(a *App, total int, unit string) *progress {
	return &progress{a: a, total: max(total, 1), unit: unit, live: !a.Common.JSON && IsTerminal(a.Note)}
}

const (
	progressWidth = 40
	progressEvery = 100 * time.Millisecond
)

// At shows that n of the total are done.
func (p *progress) At(n int) {
	if !p.live {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(progressEvery), true
		full := strings.Repeat("#", progressWidth*min(n, p.total)/p.total)
		p.a.Write(p.a.Note, fmt.Sprintf("\r[%-*s] %d of %d %s ", progressWidth, full, n, p.total, p.unit))
	}
}

// Done removes the bar.
func (p *progress) Done() {
	if p.shown {
		p.shown = false
		p.a.Write(p.a.Note, fmt.Sprintf("\r%*s\r", progressWidth+40, ""))
	}
}
