package main

import (
	"strings"
	"testing"
)

// An engine without the checker's module is named, with what to do.
func TestAnEngineWithoutTheCheckerIsNamed(t *testing.T) {
	dir := t.TempDir()
	if _, err := (engine{folder: dir}).buildChecker(); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "use a clone") {
		t.Error(err)
	}
}
