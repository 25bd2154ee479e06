package serve

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/netcode"
)

// The page of a printed link loads, with and without a host in --web. The link has the scheme that the server uses.
func TestThePageOfALinkLoads(t *testing.T) {
	pages := t.TempDir()
	if err := os.WriteFile(filepath.Join(pages, "index.html"), []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for address, scheme := range map[string]string{":0": "https://localhost:", "127.0.0.1:0": "http://127.0.0.1:"} {
		f := webFlags{Web: address, WebPages: pages}
		if err := f.startWeb(app.New(t.Context(), crumbs.Game(), os.Stderr, os.Stderr), t.TempDir(), ""); err != nil {
			t.Fatal(err)
		}
		defer f.listener.Close()
		link := f.invitation(make([]byte, netcode.TokenSize))
		if warns := strings.Contains(f.advice(), "self-signed"); warns != (scheme == "https://localhost:") {
			t.Errorf("--web %s: the advice is %q", address, f.advice())
		}
		if !strings.HasPrefix(link, scheme) {
			t.Errorf("--web %s: the link is %s, want %s", address, link, scheme)
		}
		answer, err := client.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("--web %s: the page of the link: %s", address, answer.Status)
		}
	}
}
