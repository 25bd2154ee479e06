package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
)

// The page shows the server without an error of the browser, at any width, and no name becomes markup.
func TestBrowserShowsRoomsPlayersAndCosts(t *testing.T) {
	pagetest.Chromium(t)
	s, p := start(t, page.Config{Token: "operators-token-1234"}), newFakeServer()
	for i := range 12 {
		p.add(fmt.Sprintf("room %d", i), 1+i%4)
	}
	const nasty = `<img src=x onerror="document.title='taken'">`
	p.add(nasty, 2)
	tab := pagetest.Open(t, "about:blank")
	tab.Expect("401")
	tab.Go(s.Link("/"))
	tab.WaitFor(`document.querySelector("#state")?.innerText === "starting"`)
	s.Ready(p.source())
	tab.WaitFor(`document.querySelectorAll("#t-rooms tr").length === 13 && document.querySelectorAll("#t-players tr").length === 1`)
	if state, costs := tab.Text("#state"), tab.Text("#t-costs"); state != "ready" || !strings.Contains(costs, "walk (again)") || !strings.Contains(costs, "send") {
		t.Errorf("%s, %s", state, costs)
	}
	if bytes := tab.Text("#t-bytes tr"); !strings.Contains(bytes, "walker") || !strings.Contains(bytes, "75.00 %") || !strings.Contains(bytes, "1,800 B") {
		t.Errorf("%s", bytes)
	}
	if line := tab.Text("#bytes-line"); !strings.Contains(line, "each room, on average") {
		t.Errorf("of 13 rooms: %s", line)
	}
	tab.WaitFor(`document.querySelectorAll(".uplot canvas").length === 2`)
	tab.Click(`[data-room="room 3"]`)
	tab.WaitFor(`document.querySelector("#h-room").innerText === "Players of room 3" && document.querySelectorAll("#t-players tr").length === 4`)
	tab.Click("#of-room")
	tab.WaitFor(`document.querySelector("#of-room").getAttribute("aria-pressed") === "true" && document.querySelector("#costs-line").innerText.includes("of 100 turns")`)
	if line := tab.Text("#bytes-line"); !strings.Contains(line, "this room") {
		t.Errorf("of one room: %s", line)
	}
	tab.Set("#find", "onerror")
	tab.WaitFor(`document.querySelectorAll("#t-rooms tr").length === 1`)
	if text := tab.Text("#t-rooms tr td"); text != nasty {
		t.Errorf("the room is shown as %q", text)
	}
	tab.Set("#find", "")
	for _, scheme := range []string{"light", "dark"} {
		tab.Scheme(scheme)
		tab.Resize(1280, 1400)
		tab.WaitFor(`innerWidth === 1280`)
		tab.Screenshot("admin-" + scheme)
		tab.Resize(360, 1400)
		tab.WaitFor(`innerWidth === 360 && document.documentElement.scrollWidth <= 360`)
		tab.Screenshot("admin-" + scheme + "-phone")
	}
	var small []string
	tab.Eval(`[...document.querySelectorAll("button:not(.pick), a.button, select, input")].filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.outerHTML)`, &small)
	if len(small) > 0 {
		t.Errorf("too small for a finger: %q", small)
	}
	s.Stopping()
	tab.WaitFor(`document.querySelector("#state").innerText === "stopping"`)
	var title string
	if tab.Eval("document.title", &title); strings.Contains(title, "taken") {
		t.Error("a room's name was run as a script")
	}
}

// A screen reader reads the parts of the page by their names. Tab reaches its controls, Enter selects a room, and nothing is
// animated for a user who prefers reduced motion.
func TestBrowserReadsTheServerByNames(t *testing.T) {
	pagetest.Chromium(t)
	s, p := start(t, page.Config{}), newFakeServer()
	p.add("room 1", 2)
	p.add("room 2", 3)
	s.Ready(p.source())
	tab := pagetest.Open(t, "about:blank")
	tab.Media("prefers-reduced-motion", "reduce")
	tab.Go(s.Link("/"))
	tab.WaitFor(`document.querySelectorAll("#t-rooms tr").length === 2 && document.querySelectorAll("#t-bytes tr").length > 0`)
	names := tab.Names()
	for _, want := range []string{"heading: Rooms", "heading: Players of room 1", "heading: Costs of ticks", "heading: Bandwidth by component", "searchbox: Find", "link: Metrics", "button: room 1",
		"button: This room", "columnheader: Kind of entity", "image: kbit per second in and out in the last two minutes"} {
		if !slices.Contains(names, want) {
			t.Errorf("%q is not among the names %q", want, names)
		}
	}
	for _, name := range names {
		if role, text, _ := strings.Cut(name, ": "); text == "" && slices.Contains([]string{"button", "link", "searchbox", "image", "region"}, role) {
			t.Errorf("a %s has no name", role)
		}
	}
	reached := map[string]bool{}
	for range 20 {
		tab.Type(kb.Tab)
		var at string
		tab.Eval(`document.activeElement.id || document.activeElement.dataset.room || document.activeElement.textContent`, &at)
		if reached[at] = true; at == "room 2" {
			tab.Type(kb.Enter)
		}
	}
	for _, want := range []string{"To the rooms", "Metrics", "find", "room 1", "room 2", "last", "of-room"} {
		if !reached[want] {
			t.Errorf("Tab does not reach %s: %v", want, reached)
		}
	}
	tab.WaitFor(`document.querySelector("#h-room").innerText === "Players of room 2" && document.querySelectorAll("#t-players tr").length === 3`)
	var moving []string
	if tab.Eval(`document.getAnimations().map((a) => a.constructor.name)`, &moving); len(moving) > 0 {
		t.Errorf("animations: %v", moving)
	}
}

// A room's last seconds open in the page for recordings.
func TestBrowserOpensTheLastSecondsOfARoom(t *testing.T) {
	pagetest.Chromium(t)
	s, p := start(t, page.Config{}), newFakeServer()
	p.add("a & b", 1)
	s.Ready(p.source())
	tab := pagetest.Open(t, s.Link("/"))
	tab.WaitFor(`!document.querySelector("#last").hidden`)
	tab.Click("#last")
	tab.WaitFor(`location.pathname === "/last/" && document.body.innerText.includes("300") && document.body.innerText.includes("walker")`)
	tab.Screenshot("last")
}

// The list of profiles complies with the policy of all pages, and every link in it works. Profiles of several seconds are
// requested for one second, one after the other: a server runs one trace at a time.
func TestBrowserListsTheProfiles(t *testing.T) {
	pagetest.Chromium(t)
	s := start(t, page.Config{})
	tab := pagetest.Open(t, s.Link("/")+"debug/pprof/")
	var links []string
	tab.Eval(`[...document.querySelectorAll("main a")].map(a => a.getAttribute("href"))`, &links)
	if len(links) < 10 {
		t.Errorf("links: %q", links)
	}
	var broken []string
	tab.Eval(`(async () => {
		const broken = [];
		for (const a of document.querySelectorAll("main a")) {
			const r = await fetch(a.href.replace(/seconds=\d+/, "seconds=1").replace("profile?seconds=1", "cmdline"));
			if (!r.ok || (await r.arrayBuffer()).byteLength === 0) broken.push(a.href);
		}
		return broken;
	})()`, &broken)
	if len(broken) > 0 {
		t.Errorf("broken: %q", broken)
	}
	tab.Screenshot("profiles")
	tab.Scheme("dark")
	tab.Resize(360, 800)
	tab.WaitFor(`innerWidth === 360 && document.documentElement.scrollWidth <= 360`)
	tab.Screenshot("profiles-dark-phone")
}
