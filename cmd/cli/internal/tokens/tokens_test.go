package tokens

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tendon/net/netcode"
	"tendon/net/server"
)

// A token file that other users may read is refused, like a key file. A written one is not.
func TestATokenFileIsPrivate(t *testing.T) {
	token, err := Mint("crumbs", netcode.Key{1}, netip.MustParseAddrPort("127.0.0.1:7777"), server.Pass{Room: "main", Seat: server.AnySeat}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	for range 2 { // the second one replaces the first
		if err := Write(file, token); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, err := Parse("@" + file); err != nil || string(got) != string(token) {
		t.Errorf("a written file: %v", err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func() error{
			"token": func() error { _, err := Parse("@" + file); return err },
			"admin": func() error { _, err := AdminFile(file); return err },
		} {
			if err := read(); err == nil || !strings.Contains(err.Error(), "other users may read "+file) || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("%s, mode %v: %v", name, mode, err)
			}
		}
	}
	if err := Write(filepath.Join(file, "below"), token); err == nil {
		t.Error("written below a file")
	}
}

// A token is read from the command line, from a file and from standard input, whatever follows it.
func TestATokenIsReadFromTextFileAndStandardInput(t *testing.T) {
	token, err := Mint("crumbs", netcode.Key{1}, netip.MustParseAddrPort("127.0.0.1:7777"), server.Pass{Room: "main", Seat: server.AnySeat, Issued: time.Unix(1, 0)}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token.txt")
	if err := os.WriteFile(file, []byte(Text(token)+"\nmore words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{Text(token), "@" + file, "-"} {
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		before := os.Stdin
		os.Stdin = in
		got, err := Parse(text)
		os.Stdin = before
		in.Close()
		if err != nil || string(got) != string(token) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
