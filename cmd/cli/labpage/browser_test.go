package labpage_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
)

// serve serves the page of the arena and returns its link.
func serve(t *testing.T) string {
	t.Helper()
	pagetest.Chromium(t)
	s, err := page.New(page.Config{Streams: labpage.Streams})
	if err != nil {
		t.Fatal(err)
	}
	if err := labpage.Register(s, labpage.Config{Game: rules.Game(), Strategies: syncflags.All, Begin: labpage.Usual(7)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.Link("/")
}

// running is true once the panels show pictures of matches.
const running = `document.querySelectorAll(".panel").length > 0 && [...document.querySelectorAll(".veil")].every(v => v.hidden) && parseFloat(document.querySelector("#rtt").textContent) > 0`

// open opens a link and waits until matches are shown.
func open(t *testing.T, link string) *pagetest.Tab {
	t.Helper()
	tab := pagetest.Open(t, link)
	tab.WaitFor(running)
	return tab
}

// sum is a checksum of a canvas.
const sum = `(() => {
	const c = document.querySelectorAll("canvas.stage")[%d], d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
	let n = 0;
	for (let i = 0; i < d.length; i += 4) n = (n * 31 + d[i] * 7 + d[i + 1] * 3 + d[i + 2]) %% 1000000007;
	return n;
})()`

// The page loads without errors, its pictures move, and it requests nothing from other hosts.
func TestThePageLoadsWithoutErrorsAndItsPicturesMove(t *testing.T) {
	link := serve(t)
	tab := open(t, link)
	for i := range 2 {
		var before int
		tab.Eval(fmt.Sprintf(sum, i), &before)
		tab.WaitFor(fmt.Sprintf(sum+" !== %d", i, before))
	}
	tab.Click("#more summary")
	tab.WaitFor(`document.querySelectorAll(".plot canvas").length === 6`)
	var from []string
	tab.Eval(`performance.getEntriesByType("resource").map(e => new URL(e.name).origin).filter(o => o !== location.origin)`, &from)
	if len(from) > 0 {
		t.Errorf("the page requested from other hosts: %v", from)
	}
	var loaded int
	if tab.Eval(`performance.getEntriesByType("resource").length`, &loaded); loaded < 8 {
		t.Errorf("%d resources were loaded: the test proves nothing", loaded)
	}
}

// The round trip on the page is measured in the simulated network, so it follows the slider with a delay.
func TestASliderChangesTheRoundTripThatTheSimulationMeasures(t *testing.T) {
	tab := open(t, serve(t))
	tab.WaitFor(`Math.abs(parseFloat(document.querySelector("#rtt").textContent) - 215) < 30`)
	tab.Set("input[name=rtt]", "600")
	if text := tab.Text("label:has(input[name=rtt]) output"); text != "600 ms" {
		t.Errorf("the slider shows %q", text)
	}
	tab.WaitFor(`Math.abs(parseFloat(document.querySelector("#rtt").textContent) - 615) < 40`)
	tab.Set("#net", "P0")
	tab.WaitFor(`parseFloat(document.querySelector("#rtt").textContent) < 5`)
}

// The report names the component and the field, with both values.
func TestTheDesyncButtonShowsAReportThatNamesTheField(t *testing.T) {
	tab := open(t, serve(t))
	named := func(method, what string) string {
		return tab.Text(fmt.Sprintf("[data-of=%s][data-outcome=found] [data-named=%q]", method, what))
	}
	for range 3 { // the game itself moves a player who is dead at that moment
		tab.Click("#desync")
		tab.WaitFor(`document.querySelectorAll("[data-of]").length === 2 && !document.querySelector("[data-outcome=pending]")`)
		var found int
		if tab.Eval(`document.querySelectorAll("[data-outcome=found]").length`, &found); found == 2 {
			break
		}
		tab.Click("#again")
		tab.WaitFor(`document.querySelectorAll("[data-of]").length === 0`)
		tab.WaitFor(running)
	}
	for _, method := range []string{"lockstep", "relay"} {
		component, field := named(method, "component"), named(method, "field")
		here, there := named(method, "on your machine"), named(method, "on the server")
		if component != "body" || !strings.HasPrefix(field, "Pos.") || here == there || here == "" {
			t.Errorf("%s: component %q, field %q, %q here and %q there", method, component, field, here, there)
		}
	}
	tab.Screenshot("lab-desync")
}

// The same press shows at once in one picture and a third of a second later in the other.
func TestAKeyMovesTheOwnAvatarAtOnceInRelayAndLaterInLockstep(t *testing.T) {
	tab := open(t, serve(t)+"#rtt=400&jitter=0&loss=0&players=1")
	tab.WaitFor(`Math.abs(parseFloat(document.querySelector("#rtt").textContent) - 400) < 20`)
	tab.Eval(`(() => {
		window.order = [];
		for (const p of document.querySelectorAll(".panel")) {
			const lamp = p.querySelector(".lamp");
			new MutationObserver(() => { if (lamp.classList.contains("shown")) window.order.push(p.dataset.panel + ": " + lamp.textContent); })
				.observe(lamp, { childList: true, attributes: true });
		}
		dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
	})()`, nil)
	tab.WaitFor(`window.order.some(o => o.startsWith("relay")) && window.order.some(o => o.startsWith("lockstep"))`)
	tab.Screenshot("lab-press")
	var order []string
	tab.Eval(`window.order`, &order)
	var after float64
	_, _ = fmt.Sscanf(strings.TrimPrefix(tab.Text("[data-panel=lockstep] .lamp"), "shown after "), "%f", &after)
	if order[0] != "relay: shown at once" || after < 380 {
		t.Errorf("the lamps are %q, lockstep's after %v ms", order, after)
	}
}

// Every control can be reached and used with the keyboard, the focus is visible, and the viewer can play.
func TestThePageIsUsedByKeyboardAlone(t *testing.T) {
	tab := open(t, serve(t))
	tab.Eval(`document.querySelector("#more summary").focus()`, nil)
	tab.Type(" ")
	tab.WaitFor(`document.querySelector("#more").open`)
	tab.Eval(`document.activeElement.blur()`, nil)
	reached := map[string]bool{}
	for range 80 {
		tab.Type(kb.Tab)
		var at struct {
			Name    string
			Outline string
		}
		tab.Eval(`(() => { const e = document.activeElement; return { name: e.name || e.id || e.dataset.method || (e.matches("canvas") ? "canvas" : e.tagName), outline: getComputedStyle(e).outlineStyle } })()`, &at)
		if at.Name != "BODY" && at.Outline == "none" {
			t.Errorf("the focus of %s is invisible", at.Name)
		}
		reached[at.Name] = true
	}
	for _, name := range []string{"A", "pause", "share", "again", "canvas", "net", "rtt", "jitter", "loss", "prediction", "reconciliation", "interpolation", "lagcomp", "delay", "players",
		"predict", "ghosts", "hud", "server", "other", "spike", "unplug", "desync"} {
		if !reached[name] {
			t.Errorf("Tab does not reach %s", name)
		}
	}
	latency := func(want string) {
		t.Helper()
		if text := tab.Text("label:has(input[name=rtt]) output"); text != want {
			t.Errorf("the latency is %s, want %s", text, want)
		}
	}
	tab.Eval(`document.querySelector("input[name=rtt]").focus()`, nil)
	tab.Type("++-" + kb.PageUp)
	latency("310 ms")
	if text := tab.Text("#who"); text != "a bot plays for you" {
		t.Errorf("a key that was the slider's moved the player: %s", text)
	}
	tab.Type(kb.ArrowRight)
	latency("310 ms")
	tab.WaitFor(`document.querySelector("#who").textContent === "you play" && document.activeElement.name === "rtt"`)
	tab.Click("#auto")
	tab.Eval(`document.querySelector("#pause").focus()`, nil)
	tab.Type(kb.Tab) // from here on, the keyboard sets the focus
	tab.Eval(`document.querySelector("#pause").focus()`, nil)
	tab.Type(" ")
	tab.WaitFor(`document.querySelector("#state").textContent === "paused"`)
	tab.Type(" ")
	tab.WaitFor(`document.querySelector("#state").textContent !== "paused"`)
}

// A click on a control must not take the keys from the game.
func TestKeysReachTheGameAfterAClickOnAControl(t *testing.T) {
	tab := open(t, serve(t))
	tab.Click("#more summary")
	for _, control := range []string{"#ghosts", "input[name=interpolation]", "input[name=loss]", "#net", "#again", "#share", "#spike", "#pause"} {
		tab.WaitFor(running)
		tab.Eval(`(() => {
			window.sent = 0;
			window.old ??= WebSocket.prototype.send;
			WebSocket.prototype.send = function (x) { if (x.includes('"hands"') && x.includes('"arrowright"')) window.sent++; return window.old.call(this, x); };
		})()`, nil)
		tab.Click(control)
		if control == "#net" {
			tab.Type(kb.Escape) // closes the list
			tab.Click(control)
			tab.Set(control, "P3")
		}
		var before, after string
		tab.Eval(`document.querySelector("input[name=loss]").value + document.querySelector("#net").value`, &before)
		tab.Type(kb.ArrowRight)
		tab.WaitFor(`window.sent > 0 || document.activeElement.matches("select:open")`)
		if tab.Eval(`document.querySelector("input[name=loss]").value + document.querySelector("#net").value`, &after); after != before && control != "#net" {
			t.Errorf("after a click on %s the key changes the settings from %s to %s", control, before, after)
		}
		if control == "#pause" {
			tab.WaitFor(`document.querySelector("#state").textContent === "paused"`)
		}
		tab.Type(kb.Escape)
	}
}

// A key that is held when the window loses the focus is released: its keyup goes to another window.
func TestKeysAreReleasedWithTheFocus(t *testing.T) {
	tab := open(t, serve(t))
	tab.Eval(`(() => {
		const send = WebSocket.prototype.send;
		WebSocket.prototype.send = function (x) { if (x.includes('"hands"')) window.sent = x; return send.call(this, x); };
		dispatchEvent(new KeyboardEvent("keydown", { key: "d", code: "KeyD" }));
	})()`, nil)
	tab.WaitFor(`window.sent?.includes('"keys":["d"]')`)
	tab.Eval(`dispatchEvent(new Event("blur"))`, nil)
	tab.WaitFor(`window.sent.includes('"keys":[]')`)
}

// A screen reader reads each line that is visible, each picture and each control by its name.
func TestEveryVisibleLineAndControlHasItsName(t *testing.T) {
	tab := open(t, serve(t)+"#server=on&other=on")
	tab.Type("d")
	tab.WaitFor(`document.querySelector("[data-panel=relay] [data-fact=key]").textContent === "in 0 frames"`)
	tab.Click("#more summary")
	tab.WaitFor(`document.querySelectorAll(".bytes li").length > 4`)
	tab.Click("#pause") // so that no line changes meanwhile
	tab.WaitFor(`document.querySelector("#state").textContent === "paused"`)
	read := func() (lines []string) {
		tab.Eval(`(() => {
		const list = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walk.nextNode()) {
			const e = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
			if (text && e.checkVisibility({ visibilityProperty: true }) && !e.closest("script, option, [aria-hidden=true]")) list.push(text.replace(/\s+/g, " "));
		}
		return list;
	})()`, &lines)
		return lines
	}
	lines, names := read(), tab.Names()
	for before := []string(nil); !slices.Equal(before, lines); { // the page may still show a frame from before the pause
		before, names = lines, tab.Names()
		lines = read()
	}
	all := strings.Join(names, "\n")
	for _, line := range lines {
		if !strings.Contains(all, line) {
			t.Errorf("a screen reader does not read %q", line)
		}
	}
	if len(lines) < 60 {
		t.Errorf("only %d lines are visible: the test proves nothing: %q", len(lines), lines)
	}
	for _, want := range []string{"link: 1 Press →", "link: Tour: 20 seconds", "heading: Lockstep", "heading: Rollback", "slider: Latency", "slider: Loss", "checkbox: Lockstep", "checkbox: Rollback",
		"button: Lag spike", "button: Unplug 2 s", "button: Break it", "button: Go on", "application: Lockstep: the match as you would see it. Arrow keys move you.",
		"image: Rollback: the server now", "image: Rollback: the other player", "combobox: Kind of connection", "switch: Prediction", "switch: The other player"} {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, want) }) {
			t.Errorf("%q is not among the names", want)
		}
	}
	for _, name := range names {
		role, text, _ := strings.Cut(name, ": ")
		if text == "" && slices.Contains([]string{"button", "link", "slider", "checkbox", "switch", "combobox", "image", "application", "region"}, role) {
			t.Errorf("a %s has no name", role)
		}
	}
	if t.Failed() {
		t.Logf("%q", names)
	}
	tab.Eval(`document.querySelector("#facts").scrollIntoView()`, nil)
	tab.Screenshot("lab-more")
}

// With a preference for reduced motion the page begins paused, and shows that.
func TestWithReducedMotionThePageIsPaused(t *testing.T) {
	tab := pagetest.Open(t, "about:blank")
	tab.Media("prefers-reduced-motion", "reduce")
	tab.Go(serve(t))
	tab.WaitFor(`document.querySelectorAll(".panel").length > 0 && document.querySelector("#pause").getAttribute("aria-pressed") === "true"`)
	tab.WaitFor(`document.querySelector("#state").textContent === "paused"`)
	tab.Eval(`new Promise(r => setTimeout(r, 500)) ?? 0`, nil)
	if text := tab.Text("#state"); text != "paused" {
		t.Errorf("the page shows %q while it is paused", text)
	}
	tab.Eval(`(location.hash = "#tour=2")`, nil) // the tour does not move by itself
	tab.WaitFor(`document.querySelector("#tour [aria-current]")?.textContent.includes("300 ms")`)
	if text := tab.Text("#state"); text != "paused" {
		t.Errorf("a step of the tour shows %q", text)
	}
	tab.Click("#pause")
	tab.WaitFor(`document.querySelector("#state").textContent === "running"`)
}

// After a change of the network the figure of the old one is gone.
func TestTheLatencyOfTheOldNetworkIsNotShown(t *testing.T) {
	tab := open(t, serve(t)+"#sync=lockstep,relay&rtt=100&jitter=0&loss=0&players=1")
	tab.Type("d") // the player now presses nothing more
	tab.WaitFor(`/^after /.test(document.querySelector("[data-panel=lockstep] [data-fact=key]").innerText)`)
	tab.Set("input[name=rtt]", "800")
	tab.WaitFor(`document.querySelector("[data-panel=lockstep] [data-fact=key]").innerText.includes("press a key")`)
}

// A phone shows one column, and nothing that has to be pushed sideways.
func TestThePageFitsAPhone(t *testing.T) {
	tab := open(t, serve(t)+"#sync=lockstep,relay,predict,verify,reckon")
	tab.Resize(360, 740)
	tab.Eval(`document.querySelectorAll("details").forEach(d => { d.open = true; })`, nil)
	tab.WaitFor(`document.querySelectorAll("#numbers tbody tr").length === 5`)
	tab.WaitFor(`[...document.querySelectorAll(".plot canvas")].every(c => c.getBoundingClientRect().width <= 360)`) // which follow
	var wide struct {
		Page, Columns int
		Out           []string
	}
	tab.Eval(`(() => ({
		page: document.documentElement.scrollWidth,
		columns: getComputedStyle(document.querySelector("#panels")).gridTemplateColumns.split(" ").length,
		out: [...document.querySelectorAll("button, input, select, canvas, h1, h2, p, dd")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.offsetParent && !e.closest(".scroll, .skip")).map(e => e.outerHTML.slice(0, 80)),
	}))()`, &wide)
	if wide.Page > 360 || wide.Columns != 1 || len(wide.Out) > 0 {
		tab.Eval(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .skip")).map(e => e.outerHTML.slice(0, 80))`, &wide.Out)
		t.Errorf("at 360 pixels the page is %d wide, in %d columns; beyond the edge: %q", wide.Page, wide.Columns, wide.Out)
	}
	tab.Screenshot("lab-phone")
}

// The page also runs in Firefox, without an error.
func TestThePageRunsInFirefox(t *testing.T) {
	tab := pagetest.OpenFirefox(t, serve(t)+"#tour=2")
	tab.WaitFor(running)
	tab.Eval(`dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }))`, nil)
	tab.WaitFor(`document.querySelector("[data-panel=relay] [data-fact=key]").textContent === "in 0 frames"`)
	tab.WaitFor(`/^after/.test(document.querySelector("[data-panel=lockstep] [data-fact=key]").textContent)`)
}

// outside lists the parts that are not completely in the window.
const outside = `["#tour", "#say", ".panel", ".stage", "#set-rtt", "#set-loss", "#spike", "#unplug", "#desync"].flatMap(s => [...document.querySelectorAll(s)].filter(e => {
	const b = e.getBoundingClientRect(), pad = document.querySelector("#pad"), end = getComputedStyle(pad).display === "none" ? innerHeight : pad.getBoundingClientRect().top;
	return b.top < 0 || b.left < 0 || b.bottom > end + 1 || b.right > innerWidth + 1;
}).map(e => s + " " + JSON.stringify(e.getBoundingClientRect())))`

// The pictures and the bar are on the first screen, with two to five strategies, all views, and each sentence of the tour.
func TestTheStageFitsTheFirstScreen(t *testing.T) {
	tab := open(t, serve(t))
	check := func(link string, panels, width, height int) {
		t.Helper()
		tab.Resize(width, height)
		tab.Eval(fmt.Sprintf(`(location.hash = %q)`, link), nil)
		tab.WaitFor(fmt.Sprintf(`document.querySelectorAll(".panel").length === %d && `+running, panels))
		tab.WaitFor(`scrollY === 0`)
		var out []string
		if tab.Eval(outside, &out); len(out) > 0 {
			t.Errorf("%s at %dx%d: outside the window are %v", link, width, height, out)
		}
	}
	for _, step := range []string{"#tour=1", "#tour=2", "#tour=3", "#tour=4", "#tour=0"} {
		check(step, 2, 1440, 900)
		check(step, 2, 390, 844)
	}
	check("#sync=lockstep,relay,predict", 3, 1440, 900)
	check("#sync=lockstep,relay&server=on&other=on", 2, 1440, 900)
	tab.WaitFor(`document.querySelectorAll("figure:not([hidden]) .view").length === 4`)
	tab.Screenshot("lab-views")
	check("#sync=lockstep,relay,predict,verify,reckon&server=off&other=off", 5, 1440, 900)
	tab.Screenshot("lab-five")
}

// Each step of the tour is a link, which sets the page and says its sentence. F1 goes to the next step.
func TestTheTour(t *testing.T) {
	tab := open(t, serve(t)+"#tour=2")
	step := func(number, latency string, prediction bool, says string) {
		t.Helper()
		tab.WaitFor(fmt.Sprintf(`document.querySelector("#tour [aria-current]")?.getAttribute("href") === "#tour=%s" && location.hash.includes("tour=%[1]s") && `+running, number))
		var predicts bool
		tab.Eval(`document.querySelector("[name=prediction]").checked`, &predicts)
		if text := tab.Text("label:has(input[name=rtt]) output"); text != latency || predicts != prediction || !strings.Contains(tab.Text("#say"), says) {
			t.Errorf("step %s has a latency of %s, predicts %v and says %q", number, text, predicts, tab.Text("#say"))
		}
		tab.Screenshot("lab-tour" + number)
	}
	step("2", "300 ms", true, "300 ms away")
	tab.Type(kb.ArrowRight)
	tab.WaitFor(`document.querySelector("[data-panel=relay] [data-fact=key]").textContent === "in 0 frames"`)
	tab.Type(kb.F1)
	step("3", "300 ms", false, "Prediction is off")
	tab.WaitFor(running)
	tab.Type(kb.ArrowLeft)
	tab.WaitFor(`/^after/.test(document.querySelector("[data-panel=relay] [data-fact=key]").textContent)`)
	tab.Eval(`document.querySelector("#say a").focus()`, nil)
	tab.Type(kb.Enter)
	step("4", "300 ms", true, "names the field")
	tab.Type(kb.F1)
	tab.WaitFor(`!document.querySelector("#tour [aria-current]") && !location.hash.includes("tour")`)
	if text := tab.Text("label:has(input[name=rtt]) output"); text != "200 ms" {
		t.Errorf("after the tour the latency is %s", text)
	}
	tab.Type(kb.F1)
	step("1", "20 ms", true, "hold it")
}

// The buttons change the network for a moment, as the measurements show.
func TestALagSpikeAndAnUnpluggedCable(t *testing.T) {
	tab := open(t, serve(t)+"#rtt=100&jitter=0&loss=0")
	rtt := `parseFloat(document.querySelector("#rtt").textContent)`
	tab.WaitFor(`Math.abs(` + rtt + ` - 100) < 10`)
	tab.Click("#spike")
	tab.WaitFor(`parseFloat(document.querySelector("#jitter").textContent) > 300`)
	tab.WaitFor(`parseFloat(document.querySelector("#jitter").textContent) < 10`)
	tab.Click("#unplug")
	tab.WaitFor(`parseFloat(document.querySelector("#lost").textContent) > 40 || ` + rtt + ` !== ` + rtt)
	tab.WaitFor(`parseFloat(document.querySelector("#lost").textContent) === 0 && Math.abs(` + rtt + ` - 100) < 10`)
}

// Text must be read in both schemes: what is soft has to stand out from its ground too.
func TestBothColourSchemesAreReadable(t *testing.T) {
	tab := open(t, serve(t))
	tab.Click("#more summary")
	grounds := map[string]bool{}
	for _, scheme := range []string{"dark", "light"} {
		tab.Scheme(scheme)
		tab.WaitFor(fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches`, scheme))
		tab.Eval(`Promise.all(document.getAnimations().filter(a => a.effect.target.checkVisibility()).map(a => a.finished.catch(() => 0)))`, nil) // colours that change
		var ground string
		tab.Eval(`getComputedStyle(document.body).backgroundColor`, &ground)
		grounds[ground] = true
		var faint []string
		tab.Eval(`(() => {
			const rgb = (c) => c.match(/[\d.]+/g).slice(0, 3).map(x => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
			const light = (c) => { const [r, g, b] = rgb(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
			const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)|\/ 0\)|transparent/.test(c)) return c; } return "rgb(255, 255, 255)"; };
			return [...document.querySelectorAll("h1, h2, p, dt, dd, li, output, .badge, button:not(:disabled)")].filter(e => e.checkVisibility() && e.textContent.trim() && !e.closest(".screen, .idle")).filter(e => {
				const a = light(getComputedStyle(e).color), b = light(ground(e));
				return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
			}).map(e => e.outerHTML.slice(0, 80));
		})()`, &faint)
		if len(faint) > 0 {
			t.Errorf("%s: hard to read: %q", scheme, faint)
		}
		tab.Screenshot("lab-" + scheme)
	}
	if len(grounds) != 2 {
		t.Errorf("both schemes have the ground %v", grounds)
	}
}

// A link must bring somebody else to the same setting, and what one sets must be in the address.
func TestTheLinkReproducesTheSettings(t *testing.T) {
	link := serve(t)
	tab := open(t, link)
	tab.Set("input[name=rtt]", "350")
	tab.Set("input[name=loss]", "7.5")
	tab.Set("input[name=players]", "3")
	tab.Set("input[name=delay]", "4")
	tab.Click("[data-method=predict]")
	tab.WaitFor(`document.querySelectorAll(".panel").length === 3 && ` + running) // a new panel moves the controls, and a click would miss them
	tab.Click("#more summary")
	tab.Click("input[name=interpolation]")
	tab.WaitFor(`!document.querySelector("input[name=interpolation]").checked`)
	tab.WaitFor(running)
	var there string
	tab.Eval(`location.href`, &there)
	if !strings.Contains(there, "seed=7") {
		t.Errorf("the link has not the seed: %s", there)
	}
	other := open(t, there)
	other.WaitFor(`Math.abs(parseFloat(document.querySelector("#rtt").textContent) - 500) < 170`) // a busy host adds to the 350 ms
	other.Click("#more summary")
	for selector, want := range map[string]string{"rtt": "350 ms", "loss": "7.5 %", "players": "you and 2", "delay": "4 ticks · 67 ms"} {
		if text := other.Text(fmt.Sprintf("label:has(input[name=%s]) output", selector)); text != want {
			t.Errorf("the link makes %s %q, want %q", selector, text, want)
		}
	}
	var panels []string
	other.Eval(`[...document.querySelectorAll(".panel")].map(p => p.dataset.panel)`, &panels)
	var switched []bool
	other.Eval(`["prediction", "reconciliation", "interpolation", "lagcomp"].map(n => document.querySelector("input[name=" + n + "]").checked)`, &switched)
	if !slices.Equal(panels, []string{"lockstep", "relay", "predict"}) || !slices.Equal(switched, []bool{true, true, false, true}) {
		t.Errorf("the link shows %v, switched %v", panels, switched)
	}
	var address string
	if other.Eval(`location.href`, &address); address != there {
		t.Errorf("the link %s became %s", there, address)
	}
}

// The picture in the README shows a press that one strategy has shown and the other has not yet. It is written for people to
// look at; that the page looks like this is what the others test.
func TestThePictureForTheReadme(t *testing.T) {
	tab := pagetest.Open(t, serve(t)+"#seed=33&rtt=300&jitter=10&loss=2&players=3")
	tab.Resize(1440, 790)
	tab.WaitFor(running)
	key := func(kind, name string) string {
		return fmt.Sprintf(`dispatchEvent(new KeyboardEvent(%q, { key: %q }))`, kind, name)
	}
	after := func(ms int) string { return fmt.Sprintf(`new Promise(r => setTimeout(r, %d))`, ms) }
	for _, step := range []string{key("keydown", "ArrowRight"), after(1500), key("keyup", "ArrowRight"), after(1500), key("keydown", "ArrowDown"), after(170)} {
		tab.Eval(step+" ?? 0", nil)
	}
	tab.Screenshot("labpage")
}

// The button and F2 exchange the strategies of the running matches. The panels follow, and no match begins again.
func TestTheStrategiesAreSwapped(t *testing.T) {
	tab := open(t, serve(t))
	first := `document.querySelector(".panel").dataset.panel`
	var before string
	tab.Eval(first, &before)
	for _, by := range []string{`document.querySelector("#swap").click()`, `dispatchEvent(new KeyboardEvent("keydown", { key: "F2" }))`} {
		tab.Eval(by, nil)
		tab.WaitFor(fmt.Sprintf(first+" !== %q && "+running, before))
		tab.Eval(first, &before)
	}
	var names []string
	if tab.Eval(`[...document.querySelectorAll(".panel")].map(e => e.dataset.panel)`, &names); !slices.Equal(names, []string{"lockstep", "relay"}) {
		t.Errorf("after two swaps the panels are of %v", names)
	}
}
