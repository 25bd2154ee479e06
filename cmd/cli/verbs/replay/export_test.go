package replay

import (
	"strings"
	"testing"

	"tendon/cmd/cli/internal/static"
)

// --export writes what the page shows, from the present source. Flags that contradict this are refused.
func TestExportRefusesWhatItCannotWrite(t *testing.T) {
	at, flag := uint64(7), static.Flag{Export: "site", Program: "tendon/cmd/arena"}
	for want, v := range map[string]Verb{
		"the page shows everything": {Flag: flag, At: &at},
		"compiles the present":      {Flag: flag, Builds: "builds"},
	} {
		if err := v.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error about %q", err, want)
		}
	}
	for _, v := range []Verb{{Flag: flag}, {Flag: flag, Second: "other"}, {Flag: flag, Builds: "builds", Redo: true}} {
		if err := v.check(); err != nil {
			t.Error(err)
		}
	}
	if err := flag.Check(t.Context(), true, static.ReplayScript); err == nil || !strings.Contains(err.Error(), "leave --page out") {
		t.Errorf("%v, want an error about --page", err)
	}
	if err := flag.Check(t.Context(), false, static.ReplayScript); err != nil {
		t.Error(err)
	}
}
