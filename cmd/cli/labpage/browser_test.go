package labpage_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
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
	tab.Eval(`document.querySelector("#desync-card").scrollIntoView()`, nil)
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
	for _, name := range []string{"pause", "share", "again", "canvas", "net", "rtt", "jitter", "loss", "prediction", "reconciliation", "interpolation", "lagcomp", "delay", "players",
		"predict", "ghosts", "hud", "desync"} {
		if !reached[name] {
			t.Errorf("Tab does not reach %s", name)
		}
	}
	tab.Eval(`document.querySelector("input[name=rtt]").focus()`, nil)
	tab.Type(kb.ArrowRight + kb.ArrowRight)
	if text := tab.Text("label:has(input[name=rtt]) output"); text != "220 ms" {
		t.Errorf("two presses of the right arrow make the latency of 200 ms %s", text)
	}
	if text := tab.Text("#who"); text != "a bot plays for you" {
		t.Errorf("a key that was the slider's moved the player: %s", text)
	}
	tab.Eval(`document.querySelector("#pause").focus()`, nil)
	tab.Type(" ")
	tab.WaitFor(`document.querySelector("#state").textContent === "paused"`)
	tab.Type(" ")
	tab.Type(kb.Escape)
	tab.Type("d")
	tab.WaitFor(`document.querySelector("#who").textContent === "you play"`)
}

// A click on a control must not take the keys from the game.
func TestKeysReachTheGameAfterAClickOnAControl(t *testing.T) {
	tab := open(t, serve(t))
	for _, control := range []string{"#ghosts", "input[name=interpolation]", "input[name=loss]", "#net", "#again", "#more summary", "#share", "#pause"} {
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

// A screen reader reports the name of a control, not only its value.
func TestEveryControlHasAName(t *testing.T) {
	tab := open(t, serve(t))
	var bare []string
	tab.Eval(`[...document.querySelectorAll("input, select, button")].filter(e => {
		const names = [e.getAttribute("aria-label"), ...[...(e.labels ?? [])].map(l => l.textContent), e.matches("button") ? e.innerText : ""];
		return !names.some(n => n && /[a-z]/i.test(n)) && !e.closest(".pad");
	}).map(e => e.outerHTML.slice(0, 80))`, &bare)
	if len(bare) > 0 {
		t.Errorf("without a name: %q", bare)
	}
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
	tab.Click("#more summary")
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
		t.Errorf("at 360 pixels the page is %d wide, in %d columns; beyond the edge: %q", wide.Page, wide.Columns, wide.Out)
	}
	tab.Eval(`scrollTo(0, 330)`, nil)
	tab.Screenshot("lab-phone")
}

// Text must be read in both schemes: what is soft has to stand out from its ground too.
func TestBothColourSchemesAreReadable(t *testing.T) {
	tab := open(t, serve(t))
	grounds := map[string]bool{}
	for _, scheme := range []string{"dark", "light"} {
		tab.Scheme(scheme)
		tab.WaitFor(fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches`, scheme))
		tab.Eval(`Promise.all(document.getAnimations().map(a => a.finished.catch(() => 0)))`, nil) // colours that change
		var ground string
		tab.Eval(`getComputedStyle(document.body).backgroundColor`, &ground)
		grounds[ground] = true
		var faint []string
		tab.Eval(`(() => {
			const rgb = (c) => c.match(/[\d.]+/g).slice(0, 3).map(x => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
			const light = (c) => { const [r, g, b] = rgb(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
			const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)|\/ 0\)|transparent/.test(c)) return c; } return "rgb(255, 255, 255)"; };
			return [...document.querySelectorAll("h1, h2, p, dt, dd, li, output, .badge, button:not(:disabled)")].filter(e => e.offsetParent && e.textContent.trim() && !e.closest(".screen, .idle")).filter(e => {
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
	tab.Click("input[name=interpolation]")
	tab.WaitFor(`document.querySelectorAll(".panel").length === 3`)
	tab.WaitFor(running)
	var there string
	tab.Eval(`location.href`, &there)
	if !strings.Contains(there, "seed=7") {
		t.Errorf("the link has not the seed: %s", there)
	}
	other := open(t, there)
	other.WaitFor(`Math.abs(parseFloat(document.querySelector("#rtt").textContent) - 370) < 40`)
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

// The moving picture in the README is made from these frames: ffmpeg -framerate 8 -i lab%02d.jpeg lab.gif. The player walks
// right and left, and the pictures of two strategies follow with different delays.
func TestTheMovingPictureForTheReadme(t *testing.T) {
	tab := pagetest.Open(t, serve(t)+"#seed=33&rtt=300&jitter=10&loss=2&players=5")
	tab.Resize(1280, 800)
	tab.WaitFor(running)
	keys := map[int]string{2: "keydown ArrowRight", 14: "keyup ArrowRight", 18: "keydown ArrowDown", 26: "keyup ArrowDown", 30: "keydown ArrowLeft", 42: "keyup ArrowLeft"}
	start := time.Now()
	for i := range 48 {
		if kind, key, pressed := strings.Cut(keys[i], " "); pressed {
			tab.Eval(fmt.Sprintf(`dispatchEvent(new KeyboardEvent(%q, { key: %q })) ?? 0`, kind, key), nil)
		}
		tab.Eval(fmt.Sprintf(`new Promise(r => setTimeout(r, Math.max(0, %d))) ?? 0`, (time.Duration(i)*time.Second/8-time.Since(start)).Milliseconds()), nil)
		tab.Screenshot(fmt.Sprintf("lab%02d", i), cdppage.Viewport{X: 24, Y: 218, Width: 1232, Height: 542, Scale: 0.6})
	}
}

// The picture in the README shows a press that one strategy has shown and the other has not yet. It is written for people to
// look at; that the page looks like this is what the others test.
func TestThePictureForTheReadme(t *testing.T) {
	tab := pagetest.Open(t, serve(t)+"#seed=33&rtt=300&jitter=10&loss=2&players=5")
	tab.Resize(1280, 940)
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
	if tab.Eval(`[...document.querySelectorAll(".panel code")].map(e => e.textContent)`, &names); !slices.Equal(names, []string{"lockstep", "relay"}) {
		t.Errorf("after two swaps the panels are of %v", names)
	}
}
