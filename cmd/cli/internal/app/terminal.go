package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// IsTerminal reports whether a writer is a terminal that shows colours. With NO_COLOR, or on a dumb terminal, it is not.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Live reports whether a person sees the output and can press keys.
func (a *App) Live() bool { return IsTerminal(a.Note) && IsTerminal(os.Stdin) }

// Watch shows a text repeatedly until the context is done: in place on a terminal, else every few seconds. The keys q and
// Ctrl-C call stop.
func Watch(ctx context.Context, a *App, stop func(), text func() string) {
	if a.Live() {
		// The only error is that the context is done.
		_, _ = tea.NewProgram(&screen{text: text, stop: stop}, tea.WithContext(ctx), tea.WithOutput(a.Note), tea.WithoutSignalHandler()).Run()
		<-ctx.Done()
		return
	}
	Every(ctx, 5*time.Second, func() { a.Write(a.Note, text()) })
}

// screen is the live text as a bubbletea model.
type screen struct {
	text func() string
	stop func()
}

type refresh struct{}

// Init starts the refresh timer.
func (s *screen) Init() tea.Cmd {
	return tea.Tick(time.Second/4, func(time.Time) tea.Msg { return refresh{} })
}

// Update handles keys and the refresh timer.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.KeyPressMsg:
		if k := m.String(); k == "q" || k == "ctrl+c" || k == "esc" {
			s.stop()
			return s, tea.Quit
		}
	case refresh:
		return s, s.Init()
	}
	return s, nil
}

// View returns the current text.
func (s *screen) View() tea.View { return tea.NewView(s.text() + "q ends it\n") }

// progress is a progress bar. It is shown on a terminal only.
type progress struct {
	a     *App
	total int
	unit  string // after the total
	live  bool   // the output is a terminal
	shown bool   // there is a bar to remove
	next  time.Time
}

// NewProgress returns a progress bar for total units of work. It is not shown with --json, or without a terminal.
func NewProgress(a *App, total int, unit string) *progress {
	return &progress{a: a, total: max(total, 1), unit: unit, live: !a.Common.JSON && IsTerminal(a.Note)}
}

const progressWidth = 40

// At shows that n of the total are done.
func (p *progress) At(n int) {
	if !p.live {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(time.Second/10), true
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
