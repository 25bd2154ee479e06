package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// renderLines writes the live table of a match.
func renderLines(title string, lines []line) string {
	t := newTable(title)
	t.AppendHeader(table.Row{"", "tick", "RTT ms", "rollbacks/s", "depth (max)", "corrections", "stalls", "up B/s", "down B/s", "frame µs (p99)", "checksums"})
	for _, l := range lines {
		sums := fmt.Sprintf("%d equal", l.Agreed)
		if l.Differed > 0 {
			sums = fmt.Sprintf("%d DIFFER of %d", l.Differed, l.Agreed+l.Differed)
		}
		t.AppendRow(table.Row{l.Name, l.Tick, fmt.Sprintf("%.0f", l.RTTMs), fmt.Sprintf("%.1f", l.PerSecond),
			fmt.Sprintf("%.1f (%d)", l.Depth, l.Deepest), l.Corrected, l.Stalls, fmt.Sprintf("%.0f", l.UpBps),
			fmt.Sprintf("%.0f", l.DownBps), fmt.Sprintf("%.0f (%.0f)", l.FrameP50Us, l.FrameP99Us), sums})
	}
	t.SetCaption("frame: what one Frame of the client takes, with all ticks that it computes and computes again")
	return t.Render() + "\n"
}

// newTable returns a table in the style of all of them. Titles and headers stand as they are written.
func newTable(title string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	if title != "" {
		t.SetTitle("%s", title)
	}
	return t
}

// isTerminal reports whether a person reads the writer live. NO_COLOR and a dumb terminal get plain lines.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// watch shows a picture again and again until the context is done: in place on a terminal, else once every few seconds.
// A person may end it with q or Ctrl-C, which calls stop.
func watch(ctx context.Context, a *app, stop func(), picture func() string) {
	if isTerminal(a.note) && isTerminal(os.Stdin) {
		// The program ends with the context; its error says only that.
		_, _ = tea.NewProgram(&screen{picture: picture, stop: stop}, tea.WithContext(ctx), tea.WithOutput(a.note), tea.WithoutSignalHandler()).Run()
		<-ctx.Done()
		return
	}
	every(ctx, 5*time.Second, func() { a.print(a.note, picture()) })
}

// screen is the live table as bubbletea runs it.
type screen struct {
	picture func() string
	stop    func()
}

type refresh struct{}

const refreshEvery = 250 * time.Millisecond

func (s *screen) next() tea.Cmd {
	return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return refresh{} })
}

// Init starts the refreshing.
func (s *screen) Init() tea.Cmd { return s.next() }

// Update takes keys and refreshes.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.KeyPressMsg:
		if k := m.String(); k == "q" || k == "ctrl+c" || k == "esc" {
			s.stop()
			return s, tea.Quit
		}
	case refresh:
		return s, s.next()
	}
	return s, nil
}

// View is the picture of now.
func (s *screen) View() tea.View { return tea.NewView(s.picture() + "q ends it\n") }
