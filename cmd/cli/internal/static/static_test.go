package static

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/page/pagetest"
	"tendon/cmd/cli/replaypage"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
)

// match returns a recording of bots in the arena. From tick changed on, player 1 does not move, unless changed is 0.
func match(t *testing.T, ticks, changed ecs.Tick) *record.Record {
	t.Helper()
	g := rules.Game()
	w, err := ecs.NewWorld(g, 7)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	to, err := record.NewWriter(&file, g, record.HeaderOf(g, 7, "test"))
	if err != nil {
		t.Fatal(err)
	}
	dice, inputs := image.NewRand(3), make([]ecs.InputBytes, g.MaxPlayers)
	var s image.Snapshot
	for f := ecs.Tick(1); f <= ticks; f++ {
		k := record.Tick{Tick: f, Inputs: inputs}
		for p := range ecs.Player(4) {
			if f == 1 {
				k.Orders = append(k.Orders, image.Order{Kind: image.OrderJoin, Player: p})
			} else if inputs[p] = g.Bot(w, p, dice); p == 1 && changed > 0 && f >= changed {
				inputs[p] = ecs.InputBytes{}
			}
		}
		w.Step(ecs.TickInputs{Players: inputs, Orders: k.Orders})
		w.Image().Save(&s)
		k.Checksum = s.Checksum()
		if err := to.Tick(k); err != nil {
			t.Fatal(err)
		}
		if to.ImageDue(record.RecordingImages) || f == ticks {
			if err := to.Image(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := to.End(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(file.Bytes(), g)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// export writes a replay of the arena into a static server, and returns its address. A request of another host or file fails the test.
func export(t *testing.T, files ...replaypage.File) (url string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	var out, note bytes.Buffer
	a := app.New(context.Background(), rules.Game(), &out, &note)
	a.Common.JSON = true
	f := Flag{Export: dir, Program: "tendon/cmd/arena"}
	if err := f.Replay(a, files...); err != nil {
		t.Fatal(err)
	}
	var line struct{ Bytes, Recordings int }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Bytes < 1e6 || line.Bytes > 3e6 || line.Recordings < len(files[0].Data) {
		t.Errorf("%s (%v); want at most 3 MB", &out, err)
	}
	t.Logf("%.2f MB are loaded without the recordings of %d bytes", float64(line.Bytes)/1e6, line.Recordings)
	s := httptest.NewServer(pagetest.OwnHost(http.StripPrefix("/some/path", http.FileServer(http.Dir(dir)))))
	t.Cleanup(s.Close)
	return s.URL + "/some/path/"
}

// The files of a page contain the private data of all players, whatever the page shows. The command prints that.
func TestTheExportOfAGameWithPrivateDataIsNoted(t *testing.T) {
	hidden := crumbs.Game()
	hidden.Components = append(hidden.Components, ecs.NewComponent("hand", ecs.Roles[crumbs.Wear]{Private: true}))
	for g, want := range map[*ecs.Game]bool{crumbs.Game(): false, hidden: true} {
		var out, note bytes.Buffer
		a := app.New(context.Background(), g, &out, &note)
		f := Flag{Export: filepath.Join(t.TempDir(), "site"), Program: "tendon/no/program"}
		if err := f.Replay(a); err == nil {
			t.Error("a program that does not exist was compiled")
		}
		if got := strings.Contains(note.String(), "private data"); got != want {
			t.Errorf("%s", &note)
		}
	}
}

const open = `document.querySelector("#state").innerText === "open"`

// requested lists the requests of a page to other hosts.
const requested = `performance.getEntriesByType("resource").map((r) => r.name).filter((n) => !n.startsWith(location.origin + "/some/path/"))`

// A recording is shown by files alone: a browser scrubs, plots, walks through the marks, and shares a link.
func TestAnExportedRecordingRunsInABrowser(t *testing.T) {
	pagetest.Chromium(t)
	url := export(t, replaypage.File{Name: "match.tendonrec", Data: match(t, 700, 0).Bytes()})
	tab := pagetest.Open(t, url+"#tick=300&entity=p1:0@1&plot=body.Pos.X&seen=1")
	tab.WaitFor(open + ` && document.querySelector("#caption-0").innerText.startsWith("tick 300 ") && document.querySelector("#match").innerText === "as recorded"`)
	tab.WaitFor(`document.querySelector("#h-entity").innerText === "Entity p1:0@1" && Number(document.querySelector("#plot").dataset.points) > 100 && document.querySelector("#seen").value === "1"`)
	tab.WaitFor(`Number(document.querySelector("#marks").dataset.marks) > 5`)
	tab.Screenshot("exported-replay")
	tab.Set("#scrub", "650")
	tab.WaitFor(`document.querySelector("#caption-0").innerText.startsWith("tick 650 ") && location.hash.startsWith("#tick=650&entity=p1")`)
	tab.Eval(`document.activeElement.blur()`, nil)
	tab.Type(kb.Home + "n")
	tab.WaitFor(`document.querySelector("#marks-line").innerText.includes("join of player 0")`)
	tab.Click("#play")
	tab.WaitFor(`Number(document.querySelector("#scrub").value) > 20`)
	var foreign []string
	if tab.Eval(requested, &foreign); len(foreign) > 0 {
		t.Errorf("requests of %v", foreign)
	}
}

// Two recordings are compared, and a bundle shows the states of both sides and the ticks before.
func TestExportedComparisonsRunInABrowser(t *testing.T) {
	pagetest.Chromium(t)
	left, right := match(t, 300, 0), match(t, 300, 200)
	tab := pagetest.Open(t, export(t, replaypage.File{Name: "left", Data: left.Bytes()}, replaypage.File{Name: "right", Data: right.Bytes()})+"#tick=250&pane=1")
	tab.WaitFor(open + ` && document.querySelector("#caption-1").innerText.startsWith("tick 250 ") && document.querySelector("#pane").value === "1"`)
	tab.WaitFor(`document.querySelector("#divergence").innerText.startsWith("First difference: tick 2")`)
	tab.Click("#divergence")
	tab.WaitFor(`document.querySelectorAll("#t-differences tr.differs").length > 0`)

	b := &bundle.Bundle{Tick: 300, By: bundle.Client, Peer: "seat 1", Here: left, There: right}
	data, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	tab.Go(export(t, replaypage.File{Name: "desync.tendonbundle", Data: data}))
	tab.WaitFor(open + ` && document.querySelectorAll("#t-differences tr").length > 0 && document.querySelector("#caption-1").innerText.startsWith("tick 300 ")`)
	tab.Click("#also")
	tab.WaitFor(open + ` && document.querySelectorAll("canvas[id^=canvas-]").length === 1 && document.querySelector("#caption-0").innerText.startsWith("tick 0 ")`)
}
