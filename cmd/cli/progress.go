package cli

import (
	"fmt"
	"strings"
	"time"
)

// progress shows how far long work is, on a terminal only.
type progress struct {
	a     *app
	total int
	unit  string // what is counted, behind the total
	live  bool   // somebody reads along
	shown bool   // there is something to remove
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

// done removes what was shown.
func (p *progress) done() {
	if p.shown {
		p.shown = false
		p.a.print(p.a.note, fmt.Sprintf("\r%*s\r", progressWidth+40, ""))
	}
}
