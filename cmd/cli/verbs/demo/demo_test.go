package demo

import (
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/player"
)

// The live table fits a terminal, whatever its numbers are, and --wide shows all columns.
func TestTheTableFitsATerminal(t *testing.T) {
	line := player.Line{Name: "bot 16", Tick: 1234567, RTTMs: 12345, UpBps: 1e8, DownBps: 1e8, FrameP50Us: 1e7, FrameP99Us: 1e7}
	title := "arena · relay · 16 bots · 250ms RTT, ±200ms jitter, 25 % loss · seed 18446744073709551615"
	for _, differed := range []uint64{0, 1234} {
		line.Agreed, line.Differed, line.Deepest, line.Stalls, line.Corrected = 1234567, differed, 123, 1<<40, 1<<40
		text := renderLines(title, []player.Line{line}, false)
		for row := range strings.Lines(text) {
			if n := len([]rune(strings.TrimSuffix(row, "\n"))); n > app.Columns {
				t.Errorf("%d characters: %s", n, row)
			}
		}
		if !strings.Contains(text, "checksums") || !strings.Contains(text, "--wide adds: ") {
			t.Errorf("the table lacks a column or the note:\n%s", text)
		}
	}
	if text := renderLines(title, []player.Line{line}, true); !strings.Contains(text, "frame µs (p99)") || strings.Contains(text, "--wide") {
		t.Errorf("--wide:\n%s", text)
	}
}
