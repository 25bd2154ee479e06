package lab

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/lab"
)

// An existing file stays unchanged until there are results to write.
func TestPreparingTheFilesChangesNothing(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "lab.md")
	if err := os.WriteFile(page, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := (&Verb{Markdown: page, Out: filepath.Join(dir, "new", "one")}).prepare(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != "before" || !empty(t, filepath.Join(dir, "new", "one")) {
		t.Errorf("%v: %q", err, text)
	}
}

// empty reports whether a directory is empty.
func empty(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) == 0
}

// A gate that is missed without a known reason is logged, and fails the run with --gates.
func TestMissedGateIsLogged(t *testing.T) {
	missed := lab.Verdict{Gate: lab.Gate{Strategy: "relay", Profile: "P3", Measure: lab.StallPercent, Most: 1}, Value: 7.25}
	known, met, empty, short := missed, missed, missed, missed
	known.Known, met.Met = &lab.Miss{Best: 6, Reason: "the moon"}, true
	empty.Unjudged, short.Unjudged = lab.NoValue, lab.TooShort
	report := lab.Report{Game: "crumbs", Players: 4, Script: "script", Snap: 2, Cap: 250, Results: []lab.Result{{Case: lab.Case{Strategy: "relay", Profile: "P3"}}}}
	for _, c := range []struct {
		verdict     lab.Verdict
		gates, fail bool
		text        string // in the table
	}{
		{missed, true, true, "MISSED"}, {missed, false, false, "MISSED"}, {known, true, false, "missed, best 6: the moon"}, {met, true, false, "met"},
		{empty, true, false, "stalled, %: no value was measured"}, {short, true, false, "stalled, %: too short to judge: 60 s needed"},
	} {
		var note bytes.Buffer
		a := app.New(t.Context(), crumbs.Game(), io.Discard, &note)
		err := (&Verb{Gates: c.gates}).verdict(a, &report, []lab.Verdict{c.verdict}, 1, time.Second)
		if errors.Is(err, app.ErrFailed) != c.fail || err != nil && !c.fail {
			t.Errorf("%+v: %v", c, err)
		}
		if logged := strings.Contains(note.String(), "MISSED: relay on P3, stalled, %: 7.25, at most 1"); logged != c.verdict.Missed() {
			t.Errorf("%+v: note %q", c, &note)
		}
		if text := gateTable([]lab.Verdict{c.verdict}).Text(false); !strings.Contains(text, c.text) {
			t.Errorf("%+v:\n%s", c, text)
		}
	}
}

func TestNetworksAndStrategiesAreSelectedByName(t *testing.T) {
	for names, want := range map[string]string{"P3,P3": "P3", "P2..P4,typical,P1": "P2 P3 P4 P1", "P3": "P3", "p3,bad": "P3 P5", "P2..P4": "P2 P3 P4", "LAN..P2, P9": "P1 P2 P9", "P0..P12": "P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12",
		"all": "P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12"} {
		list, err := chosenProfiles(names)
		got := make([]string, len(list))
		for i := range list {
			got[i] = list[i].Name
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q is %q (%v), want %q", names, got, err, want)
		}
	}
	if list, err := chosenStrategies("verify, relay"); err != nil || len(list) != 2 || list[0].Name != "verify" || list[1].Name != "relay" {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := chosenStrategies("all"); err != nil || len(list) != len(syncflags.All) {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := chosenStrategies("relay,verify,relay"); err != nil || len(list) != 2 || list[1].Name != "verify" {
		t.Errorf("%v, %v", list, err)
	}
}

// A machine with more than 64 cores plays 64 matches at once.
func TestTheDefaultOfJobsIsAllowed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(100))
	v := Verb{Sync: "relay", NetFlags: netflags.NetFlags{Net: "P3"}, For: time.Minute, Snap: 2}
	if c, err := v.config(app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)); err != nil || c.Jobs != 64 {
		t.Errorf("%d jobs: %v", c.Jobs, err)
	}
}

// The table of the gates of every network fits a terminal, with the widest value and word.
func TestTheGatesOfEveryNetworkFitATerminal(t *testing.T) {
	var verdicts []lab.Verdict
	for _, g := range lab.Gates {
		verdicts = append(verdicts, lab.Verdict{Gate: g, Value: -1.234e-100}, lab.Verdict{Gate: g, Unjudged: lab.NoValue})
	}
	for line := range strings.Lines(gateTable(verdicts).Text(false)) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > app.Columns {
			t.Fatalf("%d characters: %s", n, line)
		}
	}
}
