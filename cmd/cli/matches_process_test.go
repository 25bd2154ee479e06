//go:build unix

package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tendon/cmd/cli/internal/app"
)

// With real processes: the list is complete while the server runs, while it is stopped, and after it was killed.
func TestMatchesWithARunningAStoppedAndAKilledServer(t *testing.T) {
	slow(t)
	path := filepath.Join(t.TempDir(), "matches.db")
	recordedIn(t, path)
	list := func() (string, string) {
		var note strings.Builder
		cmd := exec.Command(dotsBinary, "matches", "--file", path)
		cmd.Stderr = &note
		out, err := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != app.ExitFine && code != app.ExitUsage {
			t.Errorf("exit code %d, %v", code, err)
		}
		return string(out), note.String()
	}
	want, _ := list()
	if strings.Count(want, "\n") < 5 {
		t.Fatalf("three matches are listed as %q", want)
	}
	for round := range 2 {
		server := start(t, "serve", "--listen", "127.0.0.1:0", "--matches", path)
		server.until(is("listening"))
		if round > 0 {
			if err := server.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		if got, note := list(); got != want || note != "" {
			t.Errorf("beside a server, stopped %v: %q\n%s", round > 0, note, got)
		}
		if code := server.end(syscall.SIGKILL); code != -1 {
			t.Fatalf("the killed server exits with %d", code)
		}
		if got, note := list(); got != want || note != "" {
			t.Errorf("after a killed server: %q\n%s", note, got)
		}
	}
}
