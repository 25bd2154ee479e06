//go:build unix

package cli

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/tokens"
)

// A named pipe without a writer is refused at once in place of a file.
func TestAPipeInPlaceOfAFileIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	token := tokens.Text(testTokens(t, time.Now(), 1)[0])
	for _, args := range [][]string{
		{"join", "127.0.0.1:7777", "--bot", "--token", "@" + pipe},
		{"join", "127.0.0.1:7777", "--bot", "--token", token, "--log", pipe},
		{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-token-file", pipe},
		{"players", "127.0.0.1:9090", "--admin-token-file", pipe},
		{"replay", pipe},
		{"profile", "--compare", pipe, pipe},
	} {
		refused(t, do(t, crumbs.Game(), args...), pipe, "a pipe")
	}
}
