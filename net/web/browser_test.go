//go:build !js

package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tendon/cmd/cli/page/pagetest"
)

// A page in a real browser opens sessions of both transports with Script. Packets of up to MaxPacket bytes cross them.
func TestAPageOpensSessions(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, url string) browserTab{
		"Chromium": func(t *testing.T, url string) browserTab { return pagetest.Open(t, url) },
		"Firefox":  func(t *testing.T, url string) browserTab { return pagetest.OpenFirefox(t, url) },
	} {
		t.Run(name, func(t *testing.T) { openSessions(t, open) })
	}
}

// browserTab is a page in any browser.
type browserTab interface {
	Eval(expression string, into any)
	WaitFor(expression string)
	Expect(text string)
}

func openSessions(t *testing.T, open func(t *testing.T, url string) browserTab) {
	l, urls := listen(t, Config{Pages: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/session.js" {
			w.Header().Set("Content-Type", "text/javascript")
			w.Write(Script)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>sessions</title><link rel="icon" href="data:,"><script src="session.js"></script>`)
	})})
	go func() { // echoes packets until the listener is closed
		buffer := make([]byte, 2048)
		for {
			n, from, err := l.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			l.WriteToUDPAddrPort(buffer[:n], from)
		}
	}()
	hashes := "["
	for _, h := range l.config.Certificates.Hashes() {
		hashes += fmt.Sprintf("Uint8Array.from(%v),", strings.ReplaceAll(fmt.Sprint(h[:]), " ", ","))
	}
	hashes += "]"
	tab := open(t, fmt.Sprintf("http://%s/", l.LocalAddr()))
	run := func(script string) {
		t.Helper()
		tab.Eval("(() => { "+script+" })()", nil)
	}
	var state struct {
		Opened  int
		Ended   string
		Missing []int
	}
	for name, url := range urls {
		// Every size is sent again until it has returned.
		run(fmt.Sprintf(`(() => {
			const missing = new Set([1, 500, %d]);
			window.state = { opened: 0, ended: "", missing };
			window.session = tendonOpen(%q, %s, %[1]d, () => {
				window.state.opened++;
				window.timer = setInterval(() => { for (const n of missing) window.session.send(new Uint8Array(n).fill(n)); }, 50);
			}, (packet) => { if (packet.every((b) => b === (packet.length & 255))) missing.delete(packet.length); }, (reason) => { window.state.ended = reason; });
		})()`, MaxPacket, url, hashes))
		tab.WaitFor(`window.state.ended !== "" || window.state.opened === 1 && window.state.missing.size === 0`)
		tab.Eval(`({opened: state.opened, ended: state.ended, missing: [...state.missing]})`, &state)
		if state.Ended != "" {
			t.Errorf("%s: %+v", name, state)
			continue
		}
		run(`clearInterval(window.timer); window.session.close()`)
		tab.WaitFor(`window.state.ended === "closed"`)
		t.Log(name)
	}
	// A server whose certificate is another one is refused, with a reason.
	tab.Expect("ERR_QUIC_PROTOCOL_ERROR")
	tab.Expect("CERTIFICATE")
	tab.Expect("Opening handshake failed")
	run(fmt.Sprintf(`window.refused = ""; tendonOpen(%q, [new Uint8Array(32)], 1177, () => { window.refused = "opened"; }, () => {}, (reason) => { window.refused = reason; })`, urls["WebTransport"]))
	tab.WaitFor(`window.refused !== "" && window.refused !== "opened"`)
}
