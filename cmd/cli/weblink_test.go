package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/playpage"
	"tendon/net/web"
)

// The verb token prints a link of a browser for each token, as the command says that serve --web prints.
func TestATokenHasALinkForABrowser(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	key := filepath.Join(t.TempDir(), "server.key")
	mint := func(args ...string) result {
		return do(t, crumbs.Game(), append([]string{"token", "127.0.0.1:7777", "--key-file", key}, args...)...)
	}
	refused(t, mint("--new-key", "--web", "nowhere"), "--web", "host:port")
	refused(t, mint("--new-key", "--web-page", "https://example.com/"), "--web-page", "go with --web")
	refused(t, mint("--new-key", "--web", "127.0.0.1:7778", "--web-certificates", t.TempDir()), "start the server")
	if r := mint("--new-key", "--web", "play.example.net:7778", "--web-page", "https://example.com/game/"); r.code != 0 {
		t.Fatal(r)
	} else if at, i := linkIn(t, r.out); at != "https://example.com/game/" || i.URLs[1] != "wss://play.example.net:7778"+web.Path || len(i.Hashes) != 0 {
		t.Errorf("%s, %+v", at, i)
	}
	s := background(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--key-file", key, "--web", "127.0.0.1:0")
	_, flags, ok := strings.Cut(s.out.wait(t, s.ended, func(line string) bool { return strings.Contains(line, " token ") }), " --web ")
	if !ok {
		t.Fatal(s.out)
	}
	r := mint(append([]string{"--web"}, strings.Fields(flags)...)...)
	if at, i := linkIn(t, r.out); !strings.HasPrefix(at, "http://127.0.0.1:") || len(i.Hashes) != 2 || !strings.HasPrefix(i.URLs[1], "ws://") {
		t.Errorf("%s, %+v", at, i)
	}
}

// linkIn returns the link in the output of the verb token.
func linkIn(t *testing.T, out string) (at string, i playpage.Invitation) {
	t.Helper()
	words := strings.Fields(out)
	at, text, _ := strings.Cut(words[len(words)-1], "#join=")
	i, err := playpage.ParseInvitation(text)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return at, i
}
