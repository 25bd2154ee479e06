package cli

import (
	"fmt"
	"strings"
	"time"
)

// progress is a progress bar. It is shown on a terminal only.
type progress struct {
	a     *app
	total int
	unit  string // after the total
	live  bool   // the output is a terminal
	shown bool   // there is a bar to remove
	next  time.Time
}

func newProgress(a *app, total int, unit string) *progress {
	return &progress{a: a, total: max(total, 1), unit: unit, live: !a.common.JSON && isTerminal(a.note)}
}

const (
	progressWidth = 40
	progressEvery = 100 * time.Millisecond
)

// at shows that n of the total are done.
func (p *progress) at(n int) {
	if !p.live {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(progressEvery), true
		full := strings.Repeat("#", progressWidth*min(n, p.total)/p.total)
		p.a.print(p.a.note, fmt.Sprintf("\r[%-*s] %d of %d %s ", progressWidth, full, n, p.total, p.unit))
	}
}

// done removes the bar.
func (p *progress) done() {
	if p.shown {
		p.shown = false
		p.a.print(p.a.note, fmt.Sprintf("\r%*s\r", progressWidth+40, ""))
	}
}
