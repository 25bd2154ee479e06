package cli

import (
	"strings"
	"testing"
	"time"
)

func TestANoticeWithoutACountdownNamesNoSeconds(t *testing.T) {
	for seconds, want := range map[int]string{0: "the match waits", 5: "in 5 s: the match waits"} {
		if text := noticeText(seconds, "the match waits"); text != want {
			t.Errorf("%d seconds: %q, want %q", seconds, text, want)
		}
	}
}

// Another tick rate is a more likely mistake than another version of the game.
func TestTheErrorOfAClientWithAnotherTickRateNamesTheFlag(t *testing.T) {
	slow(t)
	_, address, token := serving(t, testGame())
	refusedLater(t, do(t, testGame(), "join", address, "--token", token, "--bot", "--tick-rate", "30"), "--tick-rate")
}

// refusedLater fails unless the last line is an error with that text.
func refusedLater(t *testing.T, r result, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.note, "\n"), "\n")
	if last := lines[len(lines)-1]; r.code != exitUsage || !strings.Contains(last, want) {
		t.Errorf("exit code %d, the last line %q does not say %q", r.code, last, want)
	}
}

// A progress bar names its unit and is removed before the next line.
func TestAProgressBarNamesItsUnitAndIsRemoved(t *testing.T) {
	note := newPipe()
	p := newProgress(&app{note: note}, 100, "% of the match loaded")
	p.live = true
	p.at(37)
	if shown := note.String(); !strings.Contains(shown, "37 of 100 % of the match loaded") {
		t.Errorf("%q", shown)
	}
	p.next = time.Time{}
	p.at(100)
	p.done()
	bar, rest, _ := strings.Cut(note.String()[strings.LastIndex(note.String(), "["):], "\r")
	if blank := strings.Trim(rest, "\r"); strings.TrimSpace(blank) != "" || len(blank) < len(bar) || !strings.HasSuffix(rest, "\r") {
		t.Errorf("%q is left of %q", rest, bar)
	}
}
