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

	"tendon/cmd/cli/internal/wasm"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
	"tendon/cmd/cli/playpage"
)

// A browser joins a room by a link and plays. It loads at most 6 MB before the game begins, as servers send them.
func TestABrowserPlays(t *testing.T) {
	pagetest.Chromium(t)
	program, err := wasm.Build(t.Context(), "tendon/cmd/arena")
	if err != nil {
		t.Fatal(err)
	}
	font, err := wasm.Font(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := playpage.Files("arena", program, font)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	size, err := page.Write(dir, files)
	if err != nil || size-len(font) > 6e6 {
		t.Errorf("the files but the font have %d bytes (%v), want at most 6 MB", size-len(font), err)
	}
	server := filepath.Join(t.TempDir(), "arena")
	if output, err := exec.Command("go", "build", "-tags", "headless", "-o", server, "tendon/cmd/arena").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, transport := range []string{"WebTransport", "WebSocket"} {
		t.Run(transport, func(t *testing.T) { play(t, server, dir, transport) })
	}
}

// play serves the page, and lets a bot in a browser join. transport is the only one that the invitation has.
func play(t *testing.T, server, dir, transport string) {
	cmd := exec.Command(server, "--json", "serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--web-pages", dir)
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
	invitation, err := playpage.ParseInvitation(text)
	if err != nil {
		t.Fatalf("%v: %s", err, link)
	}
	if invitation.Bot = true; transport == "WebSocket" {
		invitation.URLs = invitation.URLs[1:]
	} else {
		invitation.URLs = invitation.URLs[:1]
	}
	tab := pagetest.Open(t, at+"#join="+invitation.Text())
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
