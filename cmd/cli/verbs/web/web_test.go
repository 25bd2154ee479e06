package web

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tendon/cmd/cli/internal/wasm"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
	"tendon/cmd/cli/playpage"
)

// programs are the files of the pages that tests have made, by the name of the game.
var programs = map[string]map[string][]byte{}

// site writes the page of a game of this repository. It returns its directory, and the bytes that are loaded before the game begins.
func site(t testing.TB, game string) (dir string, size int) {
	t.Helper()
	if programs[game] == nil {
		program, err := wasm.Build(t.Context(), "tendon/cmd/"+game)
		if err != nil {
			t.Fatal(err)
		}
		font, err := wasm.Font(t.Context())
		if err == nil {
			programs[game], err = playpage.Files(game, program, font)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(t.TempDir(), "site")
	size, err := page.Write(dir, programs[game])
	if err != nil {
		t.Fatal(err)
	}
	return dir, size - len(programs[game]["font.ttf.gz"])
}

// A browser joins a room by a link and plays. It loads at most 6 MB before the game begins, as servers send them.
func TestABrowserPlays(t *testing.T) {
	pagetest.Chromium(t)
	dir, size := site(t, "arena")
	if size > 6e6 {
		t.Errorf("the files but the font have %d bytes, want at most 6 MB", size)
	}
	t.Logf("%.2f MB", float64(size)/1e6)
	server := built(t, "arena")
	for _, transport := range []string{"WebTransport", "WebSocket"} {
		t.Run(transport, func(t *testing.T) { play(t, server, dir, transport) })
	}
}

// built compiles a program of this repository.
func built(t *testing.T, game string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), game)
	if output, err := exec.Command("go", "build", "-tags", "headless", "-o", binary, "tendon/cmd/"+game).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return binary
}

// served starts a server with the page in a directory. It returns the address of the page, and an invitation.
func served(t *testing.T, server, dir string, args ...string) (at string, invitation playpage.Invitation) {
	t.Helper()
	cmd := exec.Command(server, append([]string{"--json", "serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--web-pages", dir}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	link := ""
	lines := bufio.NewScanner(out)
	for link == "" && lines.Scan() {
		var line struct{ Link string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		link = line.Link
	}
	go io.Copy(io.Discard, out)
	at, text, _ := strings.Cut(link, "#join=")
	if invitation, err = playpage.ParseInvitation(text); err != nil {
		t.Fatalf("%v: %s", err, link)
	}
	return at, invitation
}

// open opens an empty page. It is small, because a browser without a graphics card paints slowly.
func open(t testing.TB, options ...chromedp.ExecAllocatorOption) *pagetest.Tab {
	t.Helper()
	tab := pagetest.Open(t, "about:blank", options...)
	tab.Resize(240, 150)
	return tab
}

// play serves the page, and lets a bot in a browser join. transport is the only one that the invitation has.
func play(t *testing.T, server, dir, transport string) {
	at, invitation := served(t, server, dir)
	if invitation.Bot = true; transport == "WebSocket" {
		invitation.URLs = invitation.URLs[1:]
	} else {
		invitation.URLs = invitation.URLs[:1]
	}
	tab := open(t)
	tab.Go(at + "#join=" + invitation.Text())
	tab.WaitFor(`window.tendonStats && tendonStats.state === "live" && tendonStats.confirmed > 100`)
	var stats map[string]any
	tab.Eval("tendonStats", &stats)
	t.Log(stats)
	tab.WaitFor(`location.hash === "" && document.querySelector("#start").hidden && document.querySelector("canvas").width > 0`)
	tab.Screenshot("browser-" + transport)
	// A page that is loaded again comes back with a reconnect token.
	tab.Eval(`location.reload()`, nil)
	tab.WaitFor(`window.tendonStats && tendonStats.state === "live" && tendonStats.confirmed > 100`)
}
