package replaypage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"tendon/cmd/cli/page/pagetest"
)

// painted is a sum over a canvas' pixels: another picture has another one.
const painted = `(() => { const c = document.querySelector("#canvas-%d"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
	let sum = 0; for (let i = 0; i < d.length; i += 4) sum = (sum * 31 + d[i] + 7 * d[i + 1] + 13 * d[i + 2]) %% 1000000007; return sum; })()`

// A person plays, pauses, steps and scrubs a match, selects an entity in the picture and plots one of its fields.
func TestBrowserShowsAMatch(t *testing.T) {
	pagetest.Chromium(t)
	s := serve(t, Match{Name: "match.tendonrec", Record: botMatch(t, arena, 1500, 0)})
	tab := pagetest.Open(t, s.Link("/"))
	tab.WaitFor(`document.querySelector("#state").innerText === "open" && document.querySelector("#caption-0").innerText.startsWith("tick 0")`)
	sum := func(i int) (n int) {
		tab.Eval(fmt.Sprintf(painted, i), &n)
		return n
	}
	before := sum(0)
	tab.Click("#play")
	tab.WaitFor(`Number(document.querySelector("#scrub").value) > 20`)
	tab.Click("#play")
	tab.WaitFor(`document.querySelector("#play").innerText === "Play"`)
	if after := sum(0); after == before {
		t.Error("the picture does not move")
	}
	tab.Set("#scrub", "900")
	tab.WaitFor(`document.querySelector("#caption-0").innerText.startsWith("tick 900 ")`)
	tab.Click("#forward")
	tab.WaitFor(`document.querySelector("#caption-0").innerText.startsWith("tick 901 ")`)
	tab.Eval(`document.activeElement.blur()`, nil)
	tab.Type(kb.ArrowLeft)
	tab.WaitFor(`document.querySelector("#caption-0").innerText.startsWith("tick 900 ")`)
	tab.Type(kb.End)
	tab.WaitFor(`document.querySelector("#caption-0").innerText.startsWith("tick 1500 ") && location.hash === "#tick=1500"`)
	tab.Set("#tick", "600")
	tab.WaitFor(`document.querySelector("#caption-0").innerText.startsWith("tick 600 ") && document.querySelector("#match").innerText === "as recorded"`)

	tab.Eval(`(() => { const c = document.querySelector("#canvas-0"), b = c.getBoundingClientRect();
		c.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: b.left + b.width / 2, clientY: b.top + b.height / 2 })); })()`, nil)
	tab.WaitFor(`/^Entity .*@/.test(document.querySelector("#h-entity").innerText) && document.querySelectorAll("#t-entity tr").length > 0`)
	tab.Set("#find", "player 0")
	tab.WaitFor(`[...document.querySelectorAll("#t-entities tr")].length > 0 && [...document.querySelectorAll("#t-entities tr")].every((r) => r.innerText.includes("player 0"))`)
	tab.Click("#t-entities button")
	tab.WaitFor(`document.querySelector("#h-entity").innerText.startsWith("Entity p0:") && document.querySelector("#life").innerText.startsWith("exists from tick")`)
	tab.Click(`[aria-label="Plot body.Pos.X"]`)
	tab.WaitFor(`Number(document.querySelector("#plot").dataset.points) > 100 && document.querySelector(".uplot canvas")`)
	tab.Set("#find", "")
	for _, scheme := range []string{"light", "dark"} {
		tab.Scheme(scheme)
		tab.Resize(1280, 1500)
		tab.WaitFor(`innerWidth === 1280`)
		tab.Screenshot("replay-" + scheme)
		tab.Resize(360, 1600)
		tab.WaitFor(`innerWidth === 360 && document.documentElement.scrollWidth <= 360`)
		tab.Screenshot("replay-" + scheme + "-phone")
	}
}

// Two matches side by side stop in the first tick in which they differ, and component, entity and field are marked.
func TestBrowserStopsWhereTwoMatchesDiverge(t *testing.T) {
	pagetest.Chromium(t)
	s := serve(t, Match{Name: "left", Record: botMatch(t, arena, 400, 0)}, Match{Name: "right", Record: botMatch(t, arena, 400, 200)})
	tab := pagetest.Open(t, s.Link("/")+"#tick=180")
	tab.WaitFor(`document.querySelectorAll("#t-differences tr").length > 0 && !document.querySelector("#divergence").hidden`)
	tab.Set("#speed", "4")
	tab.Click("#play")
	tab.WaitFor(`document.querySelector("#play").innerText === "Play" && Number(document.querySelector("#scrub").value) >= 200`)
	tab.Eval(`new Promise((done) => setTimeout(done, 300))`, nil) // time to continue, if it did not stop
	var tick, divergence string
	tab.Eval(`document.querySelector("#scrub").value`, &tick)
	tab.Eval(`document.querySelector("#divergence").innerText`, &divergence)
	if divergence != "First difference: tick "+tick {
		t.Errorf("it stopped in tick %s; %s", tick, divergence)
	}
	if row := tab.Text("#t-differences tr"); !strings.Contains(row, "player 1") {
		t.Errorf("the first difference is %q, not of player 1, whose input was changed", row)
	}
	tab.Click("#t-differences button")
	tab.WaitFor(`document.querySelectorAll("#t-entity tr.differs").length > 0 && document.querySelectorAll("#t-entities tr.differs").length > 0`)
	tab.Resize(1280, 1400)
	tab.Screenshot("replay-two")
}
