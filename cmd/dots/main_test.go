package main

import (
	"os"
	"strings"
	"testing"

	"tendon/net/matchtest"
)

// README shows this file as its first code block, without the lessons. A reader copies tested code.
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
	if !found || !closed || block != withoutLessons(string(source)) {
		t.Errorf("the first go block of README.md is not cmd/dots/main.go without its lines of comment: copy this into it\n%s", withoutLessons(string(source)))
	}
	if lines := strings.Count(block, "\n"); lines >= 120 {
		t.Errorf("the game has %d lines: README promises a whole game in under 120 lines", lines)
	}
}

// withoutLessons returns a program without the lines that are nothing but a comment, and the blank lines around them.
func withoutLessons(source string) string {
	var kept []string
	for line := range strings.Lines(source) {
		blank := strings.TrimSpace(line) == ""
		if !strings.HasPrefix(strings.TrimSpace(line), "//") && !(blank && (len(kept) == 0 || kept[len(kept)-1] == "\n")) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// README recommends these two lines as the first tests of a game.
func TestDots(t *testing.T) {
	matchtest.SyncTest(t, &game)    // wrong inputs first, at random depth, every tick compared
	matchtest.Match(t, &game, "P5") // four bots, 250 ms RTT plus 40 ms mean jitter, 5 % loss
}
