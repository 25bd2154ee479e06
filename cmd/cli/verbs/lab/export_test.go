package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/static"
	"tendon/cmd/cli/page/pagetest"
	"tendon/ecs/race"
)

// link is a link of 20 Mbit/s that all responses share.
var link sync.Mutex

// line is a response over link.
type line struct{ http.ResponseWriter }

func (l line) Write(b []byte) (n int, err error) {
	const part, second = 16 << 10, 20e6 / 8
	for ; len(b) > 0 && err == nil; b = b[min(part, len(b)):] {
		link.Lock()
		var k int
		k, err = l.ResponseWriter.Write(b[:min(part, len(b))])
		n += k
		time.Sleep(time.Duration(float64(k) / second * float64(time.Second)))
		link.Unlock()
	}
	return n, err
}

// The lab runs in a browser without a server of its own, from any path of a static one. It is at most 3 MB, as servers send it,
// and requests nothing from other hosts. The test logs the time to the first picture over a link of 20 Mbit/s.
func TestTheExportedLabRunsInABrowser(t *testing.T) {
	if !race.Long && os.Getenv("TENDON_BROWSER") != "1" {
		t.Skip("it compiles a program")
	}
	dir := filepath.Join(t.TempDir(), "site")
	var out, note bytes.Buffer
	a := app.New(context.Background(), rules.Game(), &out, &note)
	a.Common.JSON = true
	v := Verb{Sync: "lockstep,predict", Flag: static.Flag{Export: dir, Program: "tendon/cmd/arena"}}
	v.For, v.Settle, v.BrowseFlags.Listen = defaultFor, defaultSettle, "127.0.0.1:0"
	if err := v.Run(a); err != nil {
		t.Fatal(err)
	}
	var exported struct{ Bytes int }
	if err := json.Unmarshal(out.Bytes(), &exported); err != nil || exported.Bytes < 1e6 || exported.Bytes > 3e6 {
		t.Errorf("%s (%v); want at most 3 MB", &out, err)
	}
	pagetest.Chromium(t)
	files := pagetest.OwnHost(http.StripPrefix("/some/path", http.FileServer(http.Dir(dir))))
	var first float64 // ms after the navigation
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files.ServeHTTP(line{w}, r)
	}))
	defer s.Close()
	tab := pagetest.Open(t, s.URL+"/some/path/#net=P5")
	const shown = `document.querySelectorAll(".panel").length === 2 && [...document.querySelectorAll(".veil")].every(v => v.hidden)`
	tab.Eval(`new Promise(r => { const wait = () => `+shown+` ? r(performance.now()) : requestAnimationFrame(wait); wait(); })`, &first)
	tab.WaitFor(`parseFloat(document.querySelector("#rtt").textContent) > 0`)
	tab.WaitFor(`document.querySelector("#net").value === "P5"`)
	tab.WaitFor(`document.querySelector("canvas.stage").toDataURL().length > 5000`)
	var others []string
	tab.Eval(`performance.getEntriesByType("resource").map(e => e.name).filter(n => new URL(n).origin !== location.origin)`, &others)
	if len(others) > 0 {
		t.Errorf("the page requests %v", others)
	}
	tab.Screenshot("exported-lab")
	t.Logf("%.2f MB, first pictures after %.0f ms", float64(exported.Bytes)/1e6, first)
}
