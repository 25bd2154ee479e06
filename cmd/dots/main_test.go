package main

import (
	"os"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/rollback"
)

// The README shows this file, whole, as its first code block: what a reader copies is what is tested.
func TestTheReadmeOpensWithThisFile(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(readme), "```go\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed || block != string(source) {
		t.Error("the first go block of README.md is not cmd/dots/main.go: copy the file into it")
	}
	if lines := strings.Count(string(source), "\n"); lines >= 100 {
		t.Errorf("main.go has %d lines: a whole game is promised in under 100", lines)
	}
}

func TestDotsSurvivesEveryRewind(t *testing.T) {
	if err := ecs.Portable(&game); err != nil {
		t.Error(err)
	}
	report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: &game, Seed: 1, Ticks: 1200, MaxDepth: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
