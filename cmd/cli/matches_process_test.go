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

// With real processes: the list is complete while the server runs and after it was killed; a stopped server is an error.
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
		if got, note := list(); got != want || note != "" {
			t.Errorf("beside a server: %q\n%s", note, got)
		}
		if round > 0 { // the query waits for a stopped server for seconds
			if err := server.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		if got, note := list(); round > 0 && (got != "" || !strings.Contains(note, "another process has the file open") || strings.Count(note, "\n") != 1) {
			t.Errorf("beside a stopped server: %q\n%s", note, got)
		}
		if code := server.end(syscall.SIGKILL); code != -1 {
			t.Fatalf("the killed server exits with %d", code)
		}
		if got, note := list(); got != want || note != "" {
			t.Errorf("after a killed server: %q\n%s", note, got)
		}
	}
}
