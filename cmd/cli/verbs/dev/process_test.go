package dev

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/durable"
)

// deaf is set in a process that ignores the end of its standard input.
const deaf = "TENDON_TEST_IGNORES_STOP"

func TestMain(m *testing.M) {
	if os.Getenv(deaf) != "" {
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// All processes that do not end in order are killed, and not only the first.
func TestStopKillsEveryProcessThatDoesNotEnd(t *testing.T) {
	var list []*process
	for range 2 {
		p := &process{cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
		p.cmd.Env = append(os.Environ(), deaf+"=1")
		var err error
		if p.stdin, err = p.cmd.StdinPipe(); err == nil {
			err = p.cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			p.failed = p.cmd.Wait()
			close(p.ended)
		}()
		list = append(list, p)
	}
	over := make(chan time.Time, 1)
	over <- time.Time{}
	(&session{}).stopBy(over, list)
	for _, p := range list {
		if p.failed == nil {
			t.Error("a process ended in order")
		}
	}
}

// Two of the verb in one directory would remove each other's journals.
func TestASecondDevInADirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	release, err := durable.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	s := &session{verb: &Verb{Dir: dir}}
	if err := s.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("the second one begins: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "journals")); err == nil {
		t.Error("it has changed the directory")
	}
}

// The build that runs stays, however many were made after it and are not used.
func TestTheRunningBuildIsKept(t *testing.T) {
	s := &session{builds: t.TempDir(), current: &build{path: "running"}}
	begin := time.Now().Add(-time.Hour)
	names := []string{"running"}
	for i := range maxBuilds + 3 {
		names = append(names, fmt.Sprint("build", i))
	}
	for i, name := range names {
		path := filepath.Join(s.builds, name)
		at := begin.Add(time.Duration(i) * time.Second)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	s.prune()
	if left, err := os.ReadDir(s.builds); err != nil || len(left) != maxBuilds+1 {
		t.Errorf("%d builds are left (%v)", len(left), err)
	}
	if _, err := os.Stat(filepath.Join(s.builds, "running")); err != nil {
		t.Error(err)
	}
}
