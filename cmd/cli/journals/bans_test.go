package journals

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/net/server"
)

func someBans(n int) (list []server.Ban) {
	for i := range n {
		list = append(list, server.Ban{ClientID: 1<<63 + uint64(i), Until: time.Unix(1e9+int64(i), 0).UTC(), Cause: room.CauseLying, Reason: "its checksums differed",
			Evidence: server.Evidence{At: time.Unix(1e9, 0).UTC(), Room: "duel-17", Name: "Ann", Seat: 1, Seconds: 12.5, Kbits: 40, Desyncs: 3, DesyncTick: 600, Claim: 1<<64 - 1, Own: 7}})
	}
	return list
}

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(Config{Dir: dir, Game: halves.Dots(), Build: "this build", Strategy: "relay"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// The next server reads the bans that this one saved, and replaces the whole file.
func TestBansAreKeptBesideTheJournals(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	if list, err := s.Bans(); len(list) != 0 || err != nil {
		t.Fatalf("in a new directory: %v, %v", list, err)
	}
	for _, want := range [][]server.Ban{someBans(3), someBans(1), someBans(server.MaxBans)} {
		if err := s.SaveBans(want); err != nil {
			t.Fatal(err)
		}
		got, err := s.Bans()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d bans became %d: %v", len(want), len(got), err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "bans.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bans.json.new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a temporary file is left: %v", err)
	}
}

// A file that no server wrote is refused in a sentence with the remedy, and is not changed.
func TestADamagedFileOfBansIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	path := filepath.Join(dir, bansFile)
	sound, err := json.Marshal(banFile{Version: 1, Bans: someBans(2)})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text []byte
		want string
	}{
		"empty":        {nil, "unexpected end"},
		"torn":         {sound[:len(sound)/2], "unexpected end"},
		"a diary":      {[]byte("a diary of many years"), "invalid character"},
		"bytes follow": {append(bytes.Clone(sound), "{}"...), "after top-level value"},
		"newer":        {bytes.Replace(sound, []byte(`"version":1`), []byte(`"version":2`), 1), "version 2, this build reads 1"},
		"a time":       {bytes.Replace(sound, []byte(`"until":"2`), []byte(`"until":"x`), 1), "parsing time"},
	} {
		put(t, dir, bansFile, test.text)
		list, err := s.Bans()
		if !errors.Is(err, ErrBans) || len(list) != 0 || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), "move the file away") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, test.text) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bans(); !errors.Is(err, ErrBans) {
		t.Errorf("a directory: %v", err)
	}
}

// FuzzParseBans reads any file. A file that is read is read again as the same after it was written.
func FuzzParseBans(f *testing.F) {
	for _, list := range [][]server.Ban{nil, someBans(1), someBans(3)} {
		text, err := json.Marshal(banFile{Version: bansVersion, Bans: list})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseBans(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(banFile{Version: bansVersion, Bans: list})
		if err != nil {
			t.Fatal(err)
		}
		if second, err := parseBans(again); err != nil || len(second) != len(list) {
			t.Fatalf("%q is read as %d bans, then as %d: %v", text, len(list), len(second), err)
		}
	})
}
