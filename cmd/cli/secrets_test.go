package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// The command that serve prints names a private file, and no token: other users of the machine can read arguments. The file
// is removed at the end.
func TestTheCommandThatJoinsHasNoTokenInItsArguments(t *testing.T) {
	r, address, token := serving(t, crumbs.Game())
	line := awaitEvent(t, r.out, r.ended, "join").text("join")
	_, file, ok := strings.Cut(line, " join "+address+" --token @")
	if !ok || strings.Contains(line, token) {
		t.Fatalf("serve prints %q", line)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the token file: %v, %v", info, err)
	}
	if content, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(content)) != token {
		t.Errorf("%v: the file has another token", err)
	}
	r.stop()
	if code := <-r.ended; code != app.ExitFine {
		t.Errorf("exit code %d: %s", code, r.note)
	}
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("the token file is left: %v", err)
	}
}

// token --out writes a private file, prints no token and replaces nothing.
func TestATokenIsWrittenToAPrivateFile(t *testing.T) {
	dir := t.TempDir()
	key, out := filepath.Join(dir, "server.key"), filepath.Join(dir, "ann.token")
	args := []string{"token", "127.0.0.1:7777", "--key-file", key, "--out", out}
	r := do(t, crumbs.Game(), append(args, "--new-key")...)
	content, err := os.ReadFile(out)
	if err != nil || r.code != app.ExitFine {
		t.Fatalf("%v, %+v", err, r)
	}
	text := strings.TrimSpace(string(content))
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if strings.Contains(r.out+r.note, text) || !strings.Contains(r.out, "join 127.0.0.1:7777 --token @"+out) {
		t.Errorf("it prints %q", r.out)
	}
	refused(t, do(t, crumbs.Game(), args...), "--out", "exists")
	refused(t, do(t, crumbs.Game(), "token", "127.0.0.1:7777", "--key-file", key, "--out", filepath.Join(dir, "none", "x")), "cannot be written", "--out")
	if err := os.Chmod(out, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--token", "@"+out), "other users may read", "chmod 600")
	if err := os.Rename(out, out+".log.token"); err != nil {
		t.Fatal(err)
	}
	refused(t, do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--log", out+".log"), "other users may read", "chmod 600")
}

// token prints the client id, which kick and ban need, and never in the line of the token.
func TestATokenIsPrintedWithItsClientID(t *testing.T) {
	key := filepath.Join(t.TempDir(), "server.key")
	tokenFor(t, "127.0.0.1:7777", key, "--new-key")
	mint := func(flags ...string) result {
		return do(t, crumbs.Game(), append([]string{"token", "127.0.0.1:7777", "--key-file", key}, flags...)...)
	}
	if r := mint("--client-id", "7"); !strings.Contains(r.note, "a token of client 7 for room main") || strings.Count(r.out, "\n") != 1 {
		t.Errorf("%+v", r)
	}
	if r := mint("--client-id", "7", "--json"); !strings.Contains(r.out, `"client_id":"7"`) {
		t.Errorf("%+v", r)
	}
	seen := map[string]bool{"0": true}
	for _, flags := range [][]string{{"--json"}, {"--json"}, {"--json", "--client-id", "0"}} {
		var line struct {
			ClientID string `json:"client_id"`
		}
		if r := mint(flags...); json.Unmarshal([]byte(r.out), &line) != nil || line.ClientID == "" || seen[line.ClientID] {
			t.Errorf("%q: %+v", flags, r)
		}
		seen[line.ClientID] = true
	}
	for _, seat := range []string{"-2", "99"} {
		refused(t, mint("--seat="+seat), "--seat "+seat+": give 0 to ", "or -1 for any free seat")
	}
}
