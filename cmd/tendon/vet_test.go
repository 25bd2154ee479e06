package main

import (
	"strings"
	"testing"
)

// The error names an engine that lacks the checker.
func TestAnEngineWithoutTheCheckerIsNamed(t *testing.T) {
	dir := t.TempDir()
	if _, err := (engine{folder: dir}).buildChecker(); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "use a clone") {
		t.Error(err)
	}
}
