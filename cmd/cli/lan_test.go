package cli

import (
	"testing"

	"tendon/cmd/cli/internal/app"
)

// A client without address and token finds a server that runs with --lan, and both sides print the same code words. Without such a
// server it ends with exit code 1.
func TestJoinFindsAServerOfTheNetwork(t *testing.T) {
	slow(t)
	s := start(t, "serve", "--lan", "--listen", "127.0.0.1:0", "--lan-address", "127.0.0.1:0")
	at := s.until(func(event string, _ map[string]any) bool { return event == "lan" })["address"].(string)
	c := start(t, "join", "--lan-address", at, "--bot", "--for", "3s")
	listed := c.until(func(event string, _ map[string]any) bool { return event == "lan_server" })
	if listed["same_rules"] != true || listed["places"].(float64) < 2 {
		t.Errorf("the server is listed as %v", listed)
	}
	words := c.until(func(event string, _ map[string]any) bool { return event == "lan_joining" })["words"]
	if got := s.until(func(event string, _ map[string]any) bool { return event == "lan_admitted" })["words"]; got != words || words == "" {
		t.Errorf("the words are %v and %v", words, got)
	}
	left := c.until(func(event string, _ map[string]any) bool { return event == "left" })
	if err := c.cmd.Wait(); err != nil || left["client"].(map[string]any)["tick"].(float64) == 0 {
		t.Errorf("%v, %v", err, left)
	}
	none := start(t, "join", "--lan-address", "127.0.0.1:9", "--bot")
	none.until(func(event string, _ map[string]any) bool { return event == "error" })
	_ = none.cmd.Wait()
	if code := none.cmd.ProcessState.ExitCode(); code != app.ExitFailed {
		t.Errorf("without a server the exit code is %d", code)
	}
}
