package main

import (
	"strings"
	"testing"
)

// The output of go vet becomes a list in the order of files and lines.
func TestTheOutputOfGoVetIsRead(t *testing.T) {
	list, err := parse([]byte(`{"b": {"determinism": [{"category": "maps", "posn": "/b/b.go:7:2", "message": "second"}]}}
{"a": {"determinism": [{"category": "time", "posn": "/a.go:3:1", "message": "first"}]}, "c": {}}
{"b [b.test]": {"determinism": [{"category": "maps", "posn": "/b/b.go:7:2", "message": "second"}]}}
`))
	want := []finding{{"/a.go", 3, 1, "time", "first"}, {"/b/b.go", 7, 2, "maps", "second"}}
	if err != nil || len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
	for _, output := range []string{"no JSON", `{"a": {"determinism": {"error": "it failed"}}}`} {
		if _, err := parse([]byte(output)); err == nil {
			t.Errorf("%q is read", output)
		}
	}
}

// Help exits with 0, and an unknown flag with 2.
func TestUse(t *testing.T) {
	for args, want := range map[string]struct {
		code      int
		out, errs string
	}{
		"--help":   {exitFine, "Examples:", ""},
		"--nobody": {exitUsage, "", "--help"},
	} {
		var out, errs strings.Builder
		if code := run([]string{args}, &out, &errs); code != want.code || !strings.Contains(out.String(), want.out) || !strings.Contains(errs.String(), want.errs) {
			t.Errorf("%s exits with %d and prints %q, %q", args, code, out.String(), errs.String())
		}
	}
}
