package replaypage

import (
	"fmt"
	"slices"
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
	// A link to the other match shows the marks of that match.
	tab.Eval(`(() => {
		window.asked = "";
		const send = WebSocket.prototype.send;
		WebSocket.prototype.send = function (x) { window.asked += x; return send.call(this, x); };
		location.hash = "#tick=10&pane=1";
	})()`, nil)
	tab.WaitFor(`window.asked.includes('"marks":{"match":1')`)
}

// unnamed lists the visible controls without an accessible name.
const unnamed = `[...document.querySelectorAll("button, input, select, summary, a, canvas:not([aria-hidden])")].filter((e) => e.checkVisibility() && !(
	e.getAttribute("aria-label") || e.labels?.length && [...e.labels].some((l) => l.innerText.trim() || l.textContent.trim()) || e.innerText?.trim() || e.title)).map((e) => e.outerHTML)`

// A person walks from mark to mark, filters them, sees the match as a player, and shares the view by a link. The keyboard alone is
// enough, and every control has a name.
func TestBrowserShowsMarksAndViewers(t *testing.T) {
	pagetest.Chromium(t)
	s := serve(t, Match{Name: "match.tendonrec", Record: botMatch(t, arena, 600, 0)})
	tab := pagetest.Open(t, s.Link("/"))
	tab.Media("prefers-reduced-motion", "reduce")
	tab.WaitFor(`Number(document.querySelector("#marks").dataset.marks) > 5 && document.querySelectorAll("#filter label").length > 1`)
	tick := func() (n int) {
		tab.Eval(`Number(document.querySelector("#tick").value)`, &n)
		return n
	}
	shown := func(want int) {
		t.Helper()
		tab.WaitFor(fmt.Sprintf(`document.querySelector("#caption-0").innerText.startsWith("tick %d ")`, want))
	}
	tab.Eval(`document.activeElement.blur()`, nil)
	tab.Type("n")
	shown(1) // the joins
	tab.WaitFor(`document.querySelector("#marks-line").innerText.includes("join of player 0")`)
	tab.Type("n")
	tab.WaitFor(`Number(document.querySelector("#tick").value) > 1`)
	event := tick()
	tab.Type("p")
	shown(1)
	// Without events, the joins are the only marks.
	tab.Eval(`(() => { document.querySelector(".filter").open = true; for (const l of document.querySelectorAll("#filter label")) if (!l.innerText.startsWith("joins")) l.querySelector("input").click(); })()`, nil)
	tab.WaitFor(`document.querySelector("#marks").dataset.marks === "1"`)
	tab.Click("#after")
	tab.WaitFor(`document.querySelector("#marks-line").innerText === "No mark after this tick."`)

	readControls(t, tab)
	// The camera and the picture are those of the player.
	before := 0
	tab.Eval(fmt.Sprintf(painted, 0), &before)
	tab.Set("#seen", "2")
	tab.WaitFor(`location.hash.includes("seen=2")`)
	tab.WaitFor(fmt.Sprintf(`(%s) !== %d`, fmt.Sprintf(painted, 0), before))

	tab.Set("#tick", fmt.Sprint(event))
	shown(event)
	tab.Set("#find", "player 2")
	tab.WaitFor(`[...document.querySelectorAll("#t-entities tr")].every((r) => r.innerText.includes("player 2"))`)
	tab.Click("#t-entities button")
	tab.WaitFor(`document.querySelector("#h-entity").innerText.startsWith("Entity p2:")`)
	tab.Click(`[aria-label="Plot body.Pos.X"]`)
	tab.WaitFor(`Number(document.querySelector("#plot").dataset.points) > 10 && location.hash.includes("plot=")`)
	var link string
	tab.Eval(`location.href`, &link)
	tab.Screenshot("replay-marks")
	tab.Go("about:blank")
	tab.Go(link)
	shown(event)
	tab.WaitFor(`document.querySelector("#h-entity").innerText.startsWith("Entity p2:") && Number(document.querySelector("#plot").dataset.points) > 10 && document.querySelector("#seen").value === "2"`)
	tab.Click("#copy")
	tab.WaitFor(`document.querySelector("#copy").innerText !== "Copy link"`)
	tab.WaitFor(`location.hash === ` + fmt.Sprintf("%q", link[strings.Index(link, "#"):]))

	reachTransport(t, tab)
	var moving []string
	if tab.Eval(`document.getAnimations().map((a) => a.constructor.name)`, &moving); len(moving) > 0 {
		t.Errorf("animations for a user who prefers reduced motion: %v", moving)
	}
	tab.Resize(360, 1600)
	tab.WaitFor(`innerWidth === 360 && document.documentElement.scrollWidth <= 360`)
	tab.Screenshot("replay-marks-phone")
}

// reachTransport presses Tab, which reaches every control of the transport.
func reachTransport(t *testing.T, tab *pagetest.Tab) {
	t.Helper()
	tab.Eval(`document.querySelector("#transport").focus()`, nil)
	reached := map[string]bool{}
	for range 20 {
		tab.Type(kb.Tab)
		var id string
		tab.Eval(`document.activeElement.id || document.activeElement.tagName`, &id)
		reached[id] = true
	}
	for _, id := range []string{"back", "play", "forward", "speed", "tick", "seen", "scrub", "before", "after", "SUMMARY"} {
		if !reached[id] {
			t.Errorf("Tab does not reach %s: %v", id, reached)
		}
	}
}

// readControls reads the page as a screen reader does.
func readControls(t *testing.T, tab *pagetest.Tab) {
	t.Helper()
	var names []string
	if tab.Eval(unnamed, &names); len(names) > 0 {
		t.Errorf("without a name: %q", names)
	}
	read := tab.Names()
	for _, want := range []string{"combobox: Seen by", "combobox: Speed", "spinbutton: Tick", "slider: Go to a tick", "searchbox: Find", "combobox: Range",
		"button: Play", "button: One tick back", "button: One tick on", "button: Previous mark", "button: Next mark", "button: Copy link", "heading: Entities", "heading: Inputs",
		"heading: Orders and events", "heading: A field over time"} {
		if !slices.Contains(read, want) {
			t.Errorf("nothing has the role and name %q", want)
		}
	}
}
