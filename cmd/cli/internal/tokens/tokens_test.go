package tokens

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tendon/net/netcode"
	"tendon/net/server"
)

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
