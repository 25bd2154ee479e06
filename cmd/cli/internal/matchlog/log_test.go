package matchlog

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/tokens"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/rollback/record"
)

// The error about a log that cannot be written has its own name, not that of the file that was to replace it.
func TestALogThatCannotBeWrittenIsNamed(t *testing.T) {
	var note strings.Builder
	l := &Log{app: app.New(t.Context(), crumbs.Game(), io.Discard, &note), path: filepath.Join(t.TempDir(), "match.log")}
	if err := os.Mkdir(l.path+newSuffix, 0o700); err != nil {
		t.Fatal(err)
	}
	l.TokenStore().failed(writeWhole(l.path, nil))
	l.check(errors.New("only the first is reported"))
	if text := note.String(); strings.Contains(text, newSuffix) || !strings.Contains(text, l.path) || !strings.Contains(text, "the match continues without it") || strings.Contains(text, "only") {
		t.Errorf("%q", text)
	}
}

// A client that joins in tick 0 receives the state and not its seed, so the log must have the state.
func TestALogThatBeginsWithTheMatchHasItsState(t *testing.T) {
	game := crumbs.Game()
	world, err := ecs.NewWorld(game, 7)
	if err != nil {
		t.Fatal(err)
	}
	var want, got image.Snapshot
	world.Image().Save(&want)
	l := &Log{app: app.New(t.Context(), game, io.Discard, io.Discard), path: filepath.Join(t.TempDir(), "match.log")}
	if err := l.begin(client.Match{Number: 1, Strategy: "relay"}, record.PositionOf(world, 0), &want); err != nil {
		t.Fatal(err)
	}
	defer l.file.Close()
	world.Step(ecs.TickInputs{})
	if err := errors.Join(l.writer.Tick(record.Tick{Tick: 1}), l.writer.Flush()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	j, err := record.Open(data, game)
	if err != nil {
		t.Fatal(err)
	}
	back, err := j.WorldAt(j.Last().Tick)
	if err != nil {
		t.Fatal(err)
	}
	world.Image().Save(&want)
	if back.Image().Save(&got); got.Checksum() != want.Checksum() {
		t.Errorf("the log leads to checksum %x in tick %d, the match to %x in tick %d", got.Checksum(), back.Tick(), want.Checksum(), world.Tick())
	}
}

// A log that is replaced says why. With a strategy that adds no ticks, the state in the log is soon too old.
func TestALogThatIsReplacedSaysWhy(t *testing.T) {
	game := crumbs.Game()
	for _, c := range []struct {
		name  string
		ticks int
		next  client.Match
		want  []string
	}{
		{"a state", 0, client.Match{Number: 5, Strategy: "predict"}, []string{"only the state of tick 0", "too old"}},
		{"ticks", 3, client.Match{Number: 5, Strategy: "predict"}, []string{"up to tick 3", "too old", "lost in a restart"}},
		{"another match", 3, client.Match{Number: 6, Strategy: "predict"}, []string{"match 0000000000000005", "match 0000000000000006"}},
		{"another strategy", 3, client.Match{Number: 5, Strategy: "relay"}, []string{"by predict", "by relay"}},
	} {
		world, err := ecs.NewWorld(game, 7)
		if err != nil {
			t.Fatal(err)
		}
		var state image.Snapshot
		world.Image().Save(&state)
		var note strings.Builder
		l := &Log{app: app.New(t.Context(), game, io.Discard, &note), path: filepath.Join(t.TempDir(), "match.log"), unlock: func() error { return nil }}
		l.Begin(client.Match{Number: 5, Strategy: "predict"}, record.PositionOf(world, 0), &state)
		for n := range c.ticks {
			l.Tick(record.Tick{Tick: ecs.Tick(n + 1)})
		}
		l.Close()
		if _, err := l.Open(); err != nil {
			t.Fatal(err)
		}
		l.Begin(c.next, record.PositionOf(world, 0), &state)
		l.Close()
		_, text, replaced := strings.Cut(note.String(), "is replaced: ")
		for _, want := range c.want {
			if !replaced || !strings.Contains(text, want) {
				t.Errorf("%s: %q does not say %q", c.name, note.String(), want)
			}
		}
		if same := c.next.Number == 5 && c.next.Strategy == "predict"; same == strings.Contains(text, "does not continue") {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

// someTokens returns n connect tokens.
func someTokens(t testing.TB, n int) (tokens [][]byte) {
	t.Helper()
	for range n {
		token, err := server.Mint(server.Ticket{ProtocolID: 1, Key: netcode.Key{1}, Lifetime: time.Minute,
			Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7777")}, Pass: server.Pass{Room: "main", Seat: server.AnySeat}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// A line that is damaged or cut does not take the tokens of the other lines with it.
func TestATokenStoreSkipsDamagedLines(t *testing.T) {
	k := someTokens(t, 3)
	text := make([]string, len(k))
	for i, token := range k {
		text[i] = tokens.Text(token)
	}
	for _, c := range []struct {
		name, content string
		given         []byte
		want          [][]byte
	}{
		{"whole", strings.Join(text, "\n") + "\n", k[0], k[1:]},
		{"without the given token", "\n" + text[1] + "\n" + text[2] + "\n", nil, k[1:]},
		{"a damaged given token", "x" + text[0] + "\n" + text[1] + "\n" + text[2] + "\n", nil, k[1:]},
		{"a damaged token", text[0] + "\n" + text[1][:50] + "\x00" + text[1][51:] + "\n" + text[2] + "\n", k[0], k[2:]},
		{"a cut end", text[0] + "\n" + text[1] + "\n" + text[2][:100], k[0], k[1:2]},
		{"only the given token", text[0] + "\n" + text[1][:100], k[0], nil},
	} {
		s := &TokenStore{Path: filepath.Join(t.TempDir(), "log.token")}
		if err := os.WriteFile(s.Path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Load(); (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !bytes.Equal(s.Given, c.given) || !slices.EqualFunc(s.tokens, c.want, bytes.Equal) {
			t.Errorf("%s: %d tokens, want %d", c.name, len(s.tokens), len(c.want))
		}
	}
}

// The next process loads what the last one stored, in the same order.
func TestATokenStoreLoadsWhatItStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.token")
	all := func([]byte) error { return nil }
	open := func() *TokenStore {
		s := &TokenStore{Path: path, failed: func(err error) { t.Error(err) }}
		if err := s.Load(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	k := someTokens(t, 5)
	s := open()
	if _, err := s.Usable(all); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an empty store: %v", err)
	}
	s.Given = k[0]
	for _, want := range [][][]byte{k[1:], k[2:], {k[4], k[2]}, {k[3]}} {
		s.Store(want)
		s = open()
		if tokens, err := s.Usable(all); err != nil || !slices.EqualFunc(tokens, want, bytes.Equal) {
			t.Errorf("%d tokens, %v; want %d", len(tokens), err, len(want))
		}
	}
	if !s.StartedWith(k[0]) || s.StartedWith(k[1]) {
		t.Error("the token of the command line is not known")
	}
	if _, err := s.Usable(func([]byte) error { return errors.New("the token expired") }); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("no usable token: %v", err)
	}
}
