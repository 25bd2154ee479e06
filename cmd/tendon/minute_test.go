//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/ecs/race"
)

// Two commands lead from an empty folder to two windows that play over a typical network. The test prints how long they take with a
// warm cache. It needs a screen.
func TestTwoCommandsOpenTwoWindows(t *testing.T) {
	if !race.Long {
		t.Skip("it compiles another program")
	}
	if os.Getenv("DISPLAY") == "" {
		t.Skip("there is no screen: run it under Xvfb")
	}
	if _, err := exec.LookPath("xdotool"); err != nil {
		t.Skip("xdotool is not installed, so no window can be found")
	}
	build(t, newVerb{}.make(t, "warm"), filepath.Join(t.TempDir(), "warm"), ".") // the cache
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "mygame")

	begun := time.Now()
	if output, err := in(clone, "go", "run", "./cmd/tendon", "new", dir); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	play := exec.CommandContext(ctx, "go", "run", ".", "play", "--net", "P3", "--windows", "2")
	play.Dir = dir
	play.Cancel = func() error { // go run ignores the signal, and ends with the game that it started
		game, err := exec.Command("pgrep", "-P", strconv.Itoa(play.Process.Pid)).Output()
		if err != nil {
			return play.Process.Kill()
		}
		return exec.Command("kill", "-INT", strings.TrimSpace(string(game))).Run()
	}
	play.WaitDelay = 20 * time.Second
	var output safe
	play.Stdout, play.Stderr = &output, &output
	if err := play.Start(); err != nil {
		t.Fatal(err)
	}
	windows := 0
	for windows < 2 && ctx.Err() == nil {
		found, _ := exec.CommandContext(ctx, "xdotool", "search", "--name", "^mygame").Output()
		windows = strings.Count(string(found), "\n")
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%.1f s from the empty folder to %d windows", time.Since(begun).Seconds(), windows)
	time.Sleep(10 * time.Second) // no output shows that both clients have joined
	cancel()
	_ = play.Wait()
	if n := strings.Count(output.String(), "costs of the client"); windows < 2 || n < 2 {
		t.Errorf("%d windows, %d clients played:\n%s", windows, n, output.String())
	}
}

// safe is a buffer for the output of several programs.
type safe struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *safe) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
