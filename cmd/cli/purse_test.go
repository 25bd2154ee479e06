package cli

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tendon/net/netcode"
	"tendon/net/server"
)

// soon fits the first line of a run that says that it begins to use its tokens, or waits to.
func soon(event string, _ map[string]any) bool { return event == "joining" || event == "waiting" }

// A player whose process dies right after each start, as under a supervisor that starts it again, is let in as soon as
// one lives: with the log alone, and with the command that began it.
func TestACrashLoopEndsAtThePlayersSeat(t *testing.T) {
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
			for range 8 {
				bot = crumbsAt(t, args...)
				bot.until(soon)
				bot.end(syscall.SIGKILL)
			}
			bot = crumbsAt(t, args...)
			bot.until(ticksIn(float64(before.Last().Tick) + 60))
			if code := bot.end(os.Interrupt); code != exitFine {
				t.Errorf("the last bot exits with %d", code)
			}
			if after := s.opened(); after.Start() != before.Start() || after.Header().Match != before.Header().Match {
				t.Errorf("the log begins at tick %d of match %x, before it began at %d of %x", after.Start(), after.Header().Match, before.Start(), before.Header().Match)
			}
			s.judge()
		})
	}
}

// testTokens returns tokens for 127.0.0.1:7777 and testGame, made at a moment and good for a minute.
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

// What a process leaves is what the next one presents: first what was never presented, the newest first.
func TestAPurseLeavesTheOrderInWhichTokensArePresented(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.token")
	all := func([]byte) error { return nil }
	open := func() *purse {
		p := &purse{path: path, failed: func(err error) { t.Error(err) }}
		if err := p.load(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	k := testTokens(t, time.Now(), 8)
	p := open()
	if _, err := p.usable(all); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an empty purse: %v", err)
	}
	p.begin(k[0])
	p.Presented(k[0])
	p.Spent(k[0])
	for _, token := range k[1:5] {
		p.Handed(token)
	}
	for i, step := range []struct {
		what  func(*purse, []byte)
		token int
		want  []int
		pause time.Duration
	}{
		{nil, 0, []int{4, 3, 2, 1}, 0},
		{(*purse).Presented, 4, []int{3, 2, 1, 4}, time.Second},
		{(*purse).Spent, 4, []int{3, 2, 1}, time.Second},
		{(*purse).Presented, 3, []int{2, 1, 3}, 2 * time.Second},
		{(*purse).Presented, 2, []int{1, 3, 2}, 4 * time.Second},
		{(*purse).Presented, 1, []int{3, 2, 1}, 4 * time.Second},
		{(*purse).Handed, 5, []int{5, 3, 2, 1}, 0},
		{(*purse).Handed, 6, []int{6, 5, 3, 2, 1}, 0},
		{(*purse).Handed, 7, []int{7, 6, 5, 3, 2}, 0},
	} {
		if p = open(); step.what != nil {
			step.what(p, k[step.token])
		}
		p = open()
		tokens, err := p.usable(all)
		if err != nil || len(tokens) != len(step.want) || p.pause() != step.pause {
			t.Fatalf("step %d: %d tokens, %v, a pause of %v; want %d and %v", i, len(tokens), err, p.pause(), len(step.want), step.pause)
		}
		for j, token := range tokens {
			if !bytes.Equal(token, k[step.want[j]]) {
				t.Errorf("step %d: token %d is another than %d", i, j, step.want[j])
			}
		}
	}
	if !p.descends(k[0]) || p.descends(k[1]) {
		t.Error("the token that all began with is not known")
	}
	if _, err := p.usable(func([]byte) error { return errors.New("the token expired") }); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("no usable token: %v", err)
	}
}

// Who cannot come back is told which file it was about, and what to do.
func TestALogWithoutAGoodTokenNamesItsFile(t *testing.T) {
	k := testTokens(t, time.Now(), 1)
	old := testTokens(t, time.Now().Add(-time.Hour), 1)
	given := tokenText(k[0])
	for _, c := range []struct {
		name, content, given string
		want                 []string
	}{
		{"none", "", "", []string{"no token to come back with", "--token"}},
		{"torn", tokenText(k[0])[:100], "", []string{"damaged", "give one with --token"}},
		{"not a token", "this is a shopping list\n", "", []string{"damaged"}},
		{"all spent", "presented 3\nfrom 0\n", "", []string{"no token left", "give one with --token"}},
		{"expired", tokenText(old[0]) + "\npresented 0\nfrom 0\n", "", []string{"expired", "give one with --token"}},
		{"given again", spentFile(t, k[0]), given, []string{"used before", "give a new one"}},
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
			refused(t, do(t, testGame(), args...), append(c.want, log+".token")...)
		})
	}
}

// spentFile is the file of a player whose only token was used.
func spentFile(t *testing.T, token []byte) string {
	path := filepath.Join(t.TempDir(), "log.token")
	p := &purse{path: path, failed: func(err error) { t.Error(err) }}
	p.begin(token)
	p.Presented(token)
	p.Spent(token)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
