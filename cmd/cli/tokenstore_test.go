package cli

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/netcode"
	"tendon/net/server"
)

// joining matches the first line of a run that begins to use its tokens.
func joining(event string, _ map[string]any) bool { return event == "joining" }

// A client whose process dies right after each of three starts comes back to its seat with the fourth. It may be started with
// the log alone, or with the command that began it.
func TestAClientThatDiesRightAfterItsStartComesBackToItsSeat(t *testing.T) {
	for _, again := range []string{"with the log alone", "with the same command"} {
		t.Run(again, func(t *testing.T) {
			slow(t)
			s := startLogServer(t, "relay")
			first := []string{"join", s.address, "--bot", "--log", s.log, "--token", s.token}
			args := first
			if again == "with the log alone" {
				args = first[:5]
			}
			bot := crumbsAt(t, first...)
			bot.until(ticksIn(60))
			bot.end(syscall.SIGKILL)
			before := s.opened()
			for range 3 {
				bot = crumbsAt(t, args...)
				bot.until(joining)
				bot.end(syscall.SIGKILL)
			}
			bot = crumbsAt(t, args...)
			bot.until(ticksIn(float64(before.Last().Tick) + 60))
			if code := bot.end(os.Interrupt); code != app.ExitFine {
				t.Errorf("the last bot exits with %d", code)
			}
			if after := s.opened(); after.Start() != before.Start() || after.Header().Match != before.Header().Match {
				t.Errorf("the log begins at tick %d of match %x, before it began at %d of %x", after.Start(), after.Header().Match, before.Start(), before.Header().Match)
			}
			s.compare()
		})
	}
}

// testTokens returns tokens for 127.0.0.1:7777 and crumbs, made at a moment and good for a minute.
func testTokens(t *testing.T, at time.Time, n int) (tokens [][]byte) {
	t.Helper()
	for range n {
		token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID("crumbs"), Key: netcode.Key{1}, Lifetime: time.Minute,
			Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7777")}, Pass: server.Pass{Room: "main", Seat: server.AnySeat}}, at)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// A run that cannot come back names the file and says what to do.
func TestALogWithoutAGoodTokenNamesItsFile(t *testing.T) {
	k := testTokens(t, time.Now(), 1)
	given := tokens.Text(k[0])
	for _, c := range []struct {
		name, content, given string
		want                 []string
	}{
		{"none", "", "", []string{"no reconnect token", "--token"}},
		{"torn", tokens.Text(k[0])[:100], "", []string{"damaged", "give one with --token"}},
		{"not a token", "this is a shopping list\n", "", []string{"damaged"}},
		{"all used", given + "\n", "", []string{"no reconnect token left", "give one with --token"}},
		{"given again", given + "\n", given, []string{"used before", "give a new one"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "match.log")
			if c.content != "" {
				write(t, log+".token", []byte(c.content), 0o600)
			}
			args := []string{"join", "127.0.0.1:7777", "--bot", "--log", log}
			if c.given != "" {
				args = append(args, "--token", c.given)
			}
			refused(t, do(t, crumbs.Game(), args...), append(c.want, log+".token")...)
		})
	}
}

// The tokens of a log may have expired by the clock of this computer. The client presents them.
func TestTheExpiredTokensOfALogArePresented(t *testing.T) {
	log := filepath.Join(t.TempDir(), "match.log")
	k := testTokens(t, time.Now().Add(-time.Hour), 2)
	write(t, log+".token", []byte(tokens.Text(k[0])+"\n"+tokens.Text(k[1])+"\n"), 0o600)
	r := do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--log", log, "--for", "10ms")
	refusedLater(t, r, "they were used before or have expired: give a new one with --token")
	if !strings.Contains(r.note, "expired at") || !strings.Contains(r.note, "joining") {
		t.Errorf("got %q", r.note)
	}
}
