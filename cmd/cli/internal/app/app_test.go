package app

import (
	"io"
	"strings"
	"testing"
	"time"
)

// A progress bar names its unit and is removed before the next line.
func TestAProgressBarNamesItsUnitAndIsRemoved(t *testing.T) {
	var note strings.Builder
	p := NewProgress(New(t.Context(), nil, io.Discard, &note), 100, "% of the match loaded")
	p.live = true
	p.At(37)
	if shown := note.String(); !strings.Contains(shown, "37 of 100 % of the match loaded") {
		t.Errorf("%q", shown)
	}
	p.next = time.Time{}
	p.At(100)
	p.Done()
	bar, rest, _ := strings.Cut(note.String()[strings.LastIndex(note.String(), "["):], "\r")
	if blank := strings.Trim(rest, "\r"); strings.TrimSpace(blank) != "" || len(blank) < len(bar) || !strings.HasSuffix(rest, "\r") {
		t.Errorf("%q is left of %q", rest, bar)
	}
}

func TestNumbersAreCountedWithTheirNoun(t *testing.T) {
	for n, want := range map[int]string{0: "0 matches", 1: "1 match", 2: "2 matches"} {
		if got := Counted(n, "match", "matches"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
