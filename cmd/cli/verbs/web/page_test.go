package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/page/pagetest"
	"tendon/net/client"
	"tendon/net/web"
)

// loopback returns the URL of WebTransport without a simulated network.
func (s *stand) loopback() string {
	return fmt.Sprintf("https://127.0.0.1:%d%s", s.webPort(), web.Path)
}

const playing = `window.tendonStats && tendonStats.state === "live" && tendonStats.confirmed > 60`

// The page has a name for each thing that is visible, requests nothing from other hosts, fits a phone, and is used by keyboard alone.
func TestThePageIsAccessible(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	s := newStand(t, rules.Game(), 1, dir)
	tab := open(t)
	b := s.add("Chromium", tab)
	tab.Resize(360, 640)
	tab.Media("prefers-reduced-motion", "reduce")
	tab.Go(s.pages.URL + "/") // without an invitation
	tab.WaitFor(`document.querySelector("#state").textContent.includes("needs an invitation")`)
	names := tab.Names()
	for _, want := range []string{"heading: arena", "status: ", "StaticText: This page needs an invitation: open the whole link that the server printed."} {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, want) }) {
			t.Errorf("%q is not among the names %q", want, names)
		}
	}
	tab.Go(s.pages.URL + "/?#watch=http://") // not an address
	tab.WaitFor(`document.querySelector("#state").textContent.includes("no address of a broadcast")`)
	fits := `document.documentElement.scrollWidth <= innerWidth`
	tab.WaitFor(fits)
	tab.Go("about:blank")
	tab.Go(s.link(s.loopback(), false))
	tab.WaitFor(playing)
	tab.WaitFor(fits + ` && document.querySelector("#start").hidden && document.querySelector("#touch").hidden`)
	tab.WaitFor(`document.querySelector("#news").textContent === "in the match"`)
	var elements []string
	tab.Eval(`[...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && !e.closest("[hidden]") && e.matches("canvas, button, input, progress, a") && !e.getAttribute("aria-label")).map(e => e.tagName)`, &elements)
	if len(elements) > 0 {
		t.Errorf("elements without a name: %v", elements)
	}
	if names = tab.Names(); !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "application: arena: the picture of the match") }) {
		t.Errorf("the picture is not among the names %q", names)
	}
	var from, moving []string
	tab.Eval(`performance.getEntriesByType("resource").map(e => new URL(e.name).origin).filter(o => o !== location.origin && !o.startsWith("https://127.0.0.1"))`, &from)
	tab.Eval(`document.getAnimations().map(a => a.constructor.name)`, &moving)
	if len(from)+len(moving) > 0 {
		t.Errorf("requests to other hosts %v, animations %v", from, moving)
	}
	// The picture has the focus from the start, and its keys reach the match.
	tab.WaitFor(`document.activeElement === document.querySelector("canvas")`)
	tab.Hold("d", func() { s.until("the key reaches the server", func() bool { return s.input(b).X == 127 }) })
}

// A page shows what a browser lacks: it does not start without WebGL, and it starts without WebTransport.
func TestThePageSaysWhatTheBrowserLacks(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	s := newStand(t, rules.Game(), 0, dir)
	tab := open(t, chromedp.Flag("ignore-certificate-errors", true))
	tab.Before(`delete globalThis.WebTransport`)
	tab.Go(s.link(s.webSocket(), true))
	tab.WaitFor(`document.querySelector("#hint").textContent.includes("has no WebTransport")`)
	tab.WaitFor(playing)
	tab.Before(`HTMLCanvasElement.prototype.getContext = () => null`)
	tab.Go(s.pages.URL + "/")
	tab.WaitFor(`document.querySelector("#state").textContent.includes("has no WebGL") && document.querySelector("#progress").hidden`)
}

// A page whose link was used elsewhere says after a while that no server answers.
func TestAUsedLinkIsExplained(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	s := newStand(t, rules.Game(), 0, dir)
	link := s.link(s.loopback(), true)
	first, second := open(t), open(t)
	first.Go(link)
	first.WaitFor(playing)
	second.Go(link)
	second.WaitFor(`document.querySelector("#state").textContent.includes("Ask for another link") && !document.querySelector("#start").hidden`)
	first.WaitFor(playing)
}

// Two fingers on a phone move the stick and hold a button at the same time. The match receives both.
func TestTouchControls(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	s := newStand(t, rules.Game(), 0, dir)
	tab := open(t)
	b := s.add("Chromium", tab)
	tab.Phone(360, 640)
	tab.Go(s.link(s.loopback(), false))
	tab.WaitFor(playing)
	names := tab.Names()
	for _, control := range rules.Game().Screen.Touch {
		if !slices.Contains(names, "button: "+control.Meaning) {
			t.Errorf("%s is not among the names %q", control.Meaning, names)
		}
	}
	tab.WaitFor(`[...document.querySelectorAll("#touch button")].every(e => { const b = e.getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth && b.bottom <= innerHeight && b.width >= 44 && b.height >= 44; })`)
	tab.Screenshot("browser-touch")
	tab.Touch(map[string][2]float64{`[aria-label="walk"]`: {0.98, 0.5}, `[aria-label="dash"]`: {0.5, 0.5}}, func() {
		s.until("the server receives a stick and a button", func() bool { return s.gave(b, func(in rules.Pad) bool { return in.X > 100 && in.Dash && !in.Fire }) })
	})
	s.until("the fingers are lifted", func() bool { return s.input(b).X == 0 })
	// A finger on the picture aims and fires.
	tab.Touch(map[string][2]float64{"canvas": {0.5, 0.2}}, func() {
		s.until("the server receives a shot", func() bool { return s.input(b).Fire })
	})
}

// A hidden tab falls behind alone. It has caught up soon after it is shown, without a new connection, and the other clients play on.
func TestAHiddenTabFallsBehindAlone(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	s := newStand(t, rules.Game(), 2, dir)
	tab := open(t, chromedp.Flag("disable-background-timer-throttling", false), chromedp.Flag("disable-backgrounding-occluded-windows", false),
		chromedp.Flag("disable-renderer-backgrounding", false))
	b := s.add("hidden", tab)
	tab.Go(s.link(s.loopback(), true))
	tab.WaitFor(playing)
	var before []player.Line
	for _, p := range s.bots {
		before = append(before, p.Line())
	}
	tab.Hide()
	tab.WaitFor(`document.hidden`)
	began := s.tick()
	s.until("ten seconds pass", func() bool { return s.tick() >= began+600 })
	hidden, behind := b.stats(), 0
	tab.Eval(`tendonChecksums()?.tick ?? 0`, &behind)
	stalls := 0 // the most of another client
	for i, p := range s.bots {
		switch l := p.Line(); {
		case before[i].State != client.Live.String():
		case l.State != before[i].State:
			t.Errorf("another client is %s", l.State)
		default:
			stalls = max(stalls, int(l.Stalls)-int(before[i].Stalls))
		}
	}
	t.Logf("hidden for 10 s: the tab has confirmed %d of the %d ticks since; another client stalled for %d ticks", behind-int(began), s.tick()-began, stalls)
	if stalls > 60 { // a busy machine causes some
		t.Errorf("another client stalled for %d ticks", stalls)
	}
	tab.Show()
	shown, start := s.tick(), time.Now()
	tab.WaitFor(fmt.Sprintf(`!document.hidden && tendonStats.state === "live" && tendonStats.confirmed >= %d`, shown))
	t.Logf("caught up %v after it is shown", time.Since(start).Round(10*time.Millisecond))
	for b.equal = 0; b.equal == 0; {
		s.compare(b)
	}
	if st := b.stats(); st.Reconnects > hidden.Reconnects {
		t.Errorf("the tab connected again: %+v", st)
	}
}
