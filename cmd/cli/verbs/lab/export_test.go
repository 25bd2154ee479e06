package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/page/pagetest"
	"tendon/ecs/race"
)

// The lab runs in a browser without a server of its own, from any path of a static one. It is at most 3 MB, as servers send it.
func TestTheExportedLabRunsInABrowser(t *testing.T) {
	if !race.Long && os.Getenv("TENDON_BROWSER") != "1" {
		t.Skip("it compiles a program")
	}
	dir := filepath.Join(t.TempDir(), "site")
	var out, note bytes.Buffer
	a := app.New(context.Background(), rules.Game(), &out, &note)
	a.Common.JSON = true
	v := Verb{Sync: "lockstep,predict", Export: dir, exported: "tendon/cmd/arena"}
	v.For, v.Settle, v.BrowseFlags.Listen = defaultFor, defaultSettle, "127.0.0.1:0"
	if err := v.Run(a); err != nil {
		t.Fatal(err)
	}
	var exported struct{ Bytes int }
	if err := json.Unmarshal(out.Bytes(), &exported); err != nil || exported.Bytes < 1e6 || exported.Bytes > 3e6 {
		t.Errorf("%s (%v); want at most 3 MB", &out, err)
	}
	pagetest.Chromium(t)
	requests := make(chan string, 1000)
	files := http.StripPrefix("/some/path", http.FileServer(http.Dir(dir)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.Path
		files.ServeHTTP(w, r)
	}))
	defer s.Close()
	tab := pagetest.Open(t, s.URL+"/some/path/#net=P5")
	tab.WaitFor(`document.querySelectorAll(".panel").length === 2 && [...document.querySelectorAll(".veil")].every(v => v.hidden)`)
	tab.WaitFor(`parseFloat(document.querySelector("#rtt").textContent) > 0`)
	tab.WaitFor(`document.querySelector("#net").value === "P5"`)
	picture := `document.querySelector("canvas.stage").toDataURL().length`
	tab.WaitFor(picture + ` > 5000`)
	tab.Screenshot("exported-lab")
	var load float64
	tab.Eval(`performance.getEntriesByType("resource").map(r => r.transferSize).reduce((a, b) => a + b, 0)`, &load)
	t.Logf("%.2f MB, %.0f bytes transferred by the page without its worker, %d requests", float64(exported.Bytes)/1e6, load, len(requests))
}
