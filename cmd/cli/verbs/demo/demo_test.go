package demo

import (
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/player"
	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
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

// A game of orders alone needs no rollback: its empty inputs are always predicted right.
func TestAGameOfOrdersAloneNeedsNoRollback(t *testing.T) {
	v := Verb{Bots: 2, network: simnet.Profile{Up: simnet.Path{Delay: time.Millisecond}}}
	inputs, orders := &ecs.Game{Input: ecs.NewInput[uint8]()}, &ecs.Game{Input: ecs.NewInput[struct{}]()}
	if !v.needsRollbacks(relay.Strategy, inputs) || v.needsRollbacks(relay.Strategy, orders) || v.needsRollbacks(lockstep.Strategy, inputs) {
		t.Error("the wrong games need a rollback")
	}
}
