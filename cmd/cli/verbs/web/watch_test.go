package web

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/page/pagetest"
	"tendon/net/broadcast"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/relay"
)

// A browser watches a broadcast that another site serves. It computes every tick, and the checksums are those of the server.
func TestABrowserWatches(t *testing.T) {
	pagetest.Chromium(t)
	site, size := site(t, "arena")
	if size > 6e6 {
		t.Errorf("the files but the font have %d bytes, want at most 6 MB", size)
	}
	t.Logf("%.2f MB", float64(size)/1e6)
	dir := t.TempDir()
	store, err := broadcast.OpenDir(filepath.Join(dir, "main"))
	if err != nil {
		t.Fatal(err)
	}
	var w *broadcast.Writer
	m, err := matchsim.New(matchsim.Config{Game: rules.Game(), Strategy: relay.Strategy, Seed: 1, Unchecked: true, Room: func(c *room.Config) {
		if w, err = broadcast.NewWriter(broadcast.Config{Game: c.Game, Header: record.HeaderOf(c.Game, c.Seed, "test"), Run: "run", Store: store}, nil); err != nil {
			t.Fatal(err)
		}
		c.Sinks = append(c.Sinks, room.Sink{NeedState: true, Tick: func(f systems.FinalTick) { w.Tick(f.Recorded(), f.State, f.World) }})
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		m.Join(matchsim.Plan{})
	}
	m.Run(15 * time.Second)
	w.Close(true)()
	casts := httptest.NewServer(broadcast.Handler(dir))
	defer casts.Close()
	pages := httptest.NewServer(http.FileServer(http.Dir(site)))
	defer pages.Close()
	tab := open(t)
	tab.Go(pages.URL + "/#watch=" + casts.URL + "/main")
	tab.WaitFor(`window.tendonStats && tendonStats.verified > 60 && document.querySelector("#start").hidden`)
	tab.Screenshot("browser-watch")
	tab.WaitFor(`tendonStats.over && tendonStats.verified >= 360 && tendonStats.jumps === 0`)
}
