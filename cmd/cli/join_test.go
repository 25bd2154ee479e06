package cli

import (
	"strings"
	"testing"
	"time"
)

// What is so already is not announced for later.
func TestANoticeOfNowNamesNoSeconds(t *testing.T) {
	for seconds, want := range map[int]string{0: "the match waits", 5: "in 5 s: the match waits"} {
		if said := noticeText(seconds, "the match waits"); said != want {
			t.Errorf("%d seconds: %q, want %q", seconds, said, want)
		}
	}
}

// Another rate makes another game, and is the likelier mistake than another version.
func TestAClientWithAnotherTickRateHearsOfIt(t *testing.T) {
	slow(t)
	_, address, token := serving(t, testGame())
	refusedLater(t, do(t, testGame(), "join", address, "--token", token, "--bot", "--tick-rate", "30"), "--tick-rate")
}

// refusedLater demands an error after some lines of a client at work.
func refusedLater(t *testing.T, r result, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.note, "\n"), "\n")
	if last := lines[len(lines)-1]; r.code != exitUsage || !strings.Contains(last, want) {
		t.Errorf("exit code %d, the last line %q does not say %q", r.code, last, want)
	}
}

// A bar without a word for what it counts says nothing, and one that is left stands before the next line.
func TestAProgressBarSaysWhatItCountsAndGoesAway(t *testing.T) {
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
