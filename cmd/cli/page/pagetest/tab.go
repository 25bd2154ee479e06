package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Tab is a page in its own browser, which is closed with the test. One goroutine uses it. Its methods fail the test instead of
// returning an error.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex // the browser reports from a goroutine of its own
	problems []string
	expected []string
}

const (
	// longest bounds a test of Firefox.
	longest = 30 * time.Minute
	// timeout bounds every wait. Only a failing test waits that long.
	timeout = 4 * time.Minute
	// pollInterval is the interval of checks while waiting.
	pollInterval = 25 * time.Millisecond
)

// Chromium returns the path of the browser. It skips the test if browser tests are not enabled or there is no browser.
func Chromium(t testing.TB) string {
	t.Helper()
	if os.Getenv("TENDON_BROWSER") != "1" {
		t.Skip("TENDON_BROWSER=1 is not set, so no browser is started")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	t.Skip("no Chromium is installed: neither chromium nor chromium-browser nor google-chrome is found")
	return ""
}

// Open opens a page of 1280 by 800 pixels and waits until it is loaded. options replace those of the browser.
func Open(t testing.TB, url string, options ...chromedp.ExecAllocatorOption) *Tab {
	t.Helper()
	options = append(append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(Chromium(t)), chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir())), options...)
	browser, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, leave := chromedp.NewContext(browser, chromedp.WithErrorf(t.Logf))
	t.Cleanup(leave)
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser cannot be started: %v", err)
	}
	if err := chromedp.Listen(ctx, tab.event); err != nil {
		t.Fatalf("the events of the browser cannot be received: %v", err)
	}
	t.Cleanup(func() {
		for _, p := range tab.Errors() {
			t.Errorf("error on the page: %s", p)
		}
	})
	tab.Resize(1280, 800)
	tab.Go(url)
	return tab
}

// event stores the errors of the page. The browser's goroutine calls it.
func (b *Tab) event(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "assert" {
			text = "console:"
			for _, a := range e.Args {
				text += " " + strings.TrimSpace(string(a.Value)+" "+a.Description)
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			text = strings.TrimSpace(e.Entry.Text + " " + e.Entry.URL)
		}
	}
	if text != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, text)
	}
}

// Expect allows errors that contain a text, for a test of a refusal.
func (b *Tab) Expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

// Errors returns the unexpected errors of the page so far. Each fails the test at its end.
func (b *Tab) Errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.problems), func(problem string) bool {
		return slices.ContainsFunc(b.expected, func(text string) bool { return strings.Contains(problem, text) })
	})
}

// do runs actions.
func (b *Tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// OwnHost serves files with a policy that lets a page and its workers make requests to the own host alone. The browser reports any
// other request as an error, which fails the test.
func OwnHost(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self' data: blob: 'unsafe-inline' 'wasm-unsafe-eval'")
		files.ServeHTTP(w, r)
	})
}

// Go opens another page in the tab and waits until it is loaded.
func (b *Tab) Go(url string) {
	b.t.Helper()
	b.do("open "+url, chromedp.Navigate(url))
}

// Before runs a script in each page that the tab opens from now on, before the scripts of the page.
func (b *Tab) Before(script string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		b.t.Fatalf("the script cannot be added: %v", err)
	}
}

// Eval evaluates a JavaScript expression, waits for it if it is a promise, and stores its JSON value in into. Optional.
func (b *Tab) Eval(expression string, into any) {
	b.t.Helper()
	raw, err := b.eval(expression)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		b.t.Fatalf("%s is %s: %v", expression, raw, err)
	}
}

func (b *Tab) eval(expression string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](stringify(expression), chromedp.EvalAwaitPromise))
	return []byte(text), err
}

// stringify returns an expression whose value is the JSON of another expression. undefined is not valid JSON.
func stringify(expression string) string {
	return fmt.Sprintf("(async () => JSON.stringify((await (%s)) ?? null))()", expression)
}

// WaitFor waits until a JavaScript expression is true. One that throws is not true yet.
func (b *Tab) WaitFor(expression string) {
	b.t.Helper()
	waitFor(b.t, b.ctx, b.eval, expression)
}

func waitFor(t testing.TB, ctx context.Context, eval func(string) ([]byte, error), expression string) {
	t.Helper()
	var last error
	for until := time.Now().Add(timeout); time.Now().Before(until); time.Sleep(pollInterval) {
		raw, err := eval("!!(" + expression + ")")
		last = err
		if err == nil && string(raw) == "true" {
			return
		}
		if ctx.Err() != nil {
			break
		}
	}
	text, _ := eval("document.body.innerText.slice(0, 2000)")
	t.Fatalf("%s did not become true (%v); the page shows %s", expression, last, text)
}

// Click scrolls to the first element of a CSS selector and clicks its middle.
func (b *Tab) Click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Type presses keys one after the other. Package kb of chromedp has those without a character.
func (b *Tab) Type(keys string) {
	b.t.Helper()
	b.do("type "+keys, chromedp.KeyEvent(keys))
}

// Hold holds a key while it calls f.
func (b *Tab) Hold(key string, f func()) {
	b.t.Helper()
	code := "Key" + strings.ToUpper(key)
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Code: code}); err != nil {
			b.t.Fatalf("the key %s: %v", key, err)
		}
		if kind == input.DispatchKeyEventTypeKeyDown {
			f()
		}
	}
}

// Touch holds a finger on each of the first elements of CSS selectors while it calls f, at a part of the width and height.
func (b *Tab) Touch(places map[string][2]float64, f func()) {
	b.t.Helper()
	var points []*input.TouchPoint
	for selector, part := range places {
		var box struct{ X, Y, Width, Height float64 }
		b.Eval(fmt.Sprintf("document.querySelector(%q).getBoundingClientRect()", selector), &box)
		id := float64(len(points))
		points = append(points, &input.TouchPoint{X: box.X + part[0]*box.Width, Y: box.Y + part[1]*box.Height, ID: &id})
	}
	for _, e := range []input.DispatchTouchEventParams{{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: points}, {Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}}} {
		if _, err := chromedp.Call(b.ctx, input.DispatchTouchEvent, e); err != nil {
			b.t.Fatalf("touch: %v", err)
		}
		if len(e.TouchPoints) > 0 {
			f()
		}
	}
}

// Names returns the role and the name of each element that a screen reader reads, as in "button: Start".
func (b *Tab) Names() (names []string) {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.t.Fatalf("the names of the page: %v", err)
	}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		name := ""
		if n.Name != nil {
			_ = json.Unmarshal(n.Name.Value, &name) // a name is a string
		}
		names = append(names, strings.Trim(string(n.Role.Value), `"`)+": "+name)
	}
	return names
}

// Phone emulates a phone with a touch screen of a size in CSS pixels.
func (b *Tab) Phone(width, height int) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(width), Height: int64(height), DeviceScaleFactor: 1, Mobile: true})
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true, MaxTouchPoints: 5})
	}
	if err != nil {
		b.t.Fatalf("the page of a phone: %v", err)
	}
}

// Hide opens another tab in the window, which hides the page until Show.
func (b *Tab) Hide() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"}); err != nil {
		b.t.Fatalf("another tab: %v", err)
	}
}

// Show shows the page again after Hide.
func (b *Tab) Show() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.BringToFront, cdp.Empty{}); err != nil {
		b.t.Fatalf("the page cannot be shown: %v", err)
	}
}

// Set sets the value of a form's element and dispatches the events of a manual change.
func (b *Tab) Set(selector, value string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.value = %q;
		e.dispatchEvent(new Event("input", { bubbles: true }));
		e.dispatchEvent(new Event("change", { bubbles: true }));
	})()`, selector, value), nil)
}

// Text returns the visible text of the first element of a CSS selector.
func (b *Tab) Text(selector string) (text string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf("document.querySelector(%q).innerText", selector), &text)
	return text
}

// Resize sets the size of the page, in CSS pixels.
func (b *Tab) Resize(width, height int) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(int64(width), int64(height)))
}

// Scheme sets the preferred colour scheme, "dark" or "light".
func (b *Tab) Scheme(name string) {
	b.t.Helper()
	b.Media("prefers-color-scheme", name)
}

// Media sets a preference of the user, such as prefers-reduced-motion. The other preferences become those of the browser.
func (b *Tab) Media(name, value string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: name, Value: value}}})
	if err != nil {
		b.t.Fatalf("%s cannot be set: %v", name, err)
	}
}

// Screenshot writes the visible page to NAME.png in the directory TENDON_SCREENSHOTS, or in a temporary one. With a part of
// the page, in CSS pixels, it writes NAME.jpeg, which is faster: for the frames of a moving picture.
func (b *Tab) Screenshot(name string, part ...page.Viewport) {
	b.t.Helper()
	surface, fast, quality := true, true, int64(95)
	params, file := page.CaptureScreenshotParams{FromSurface: &surface}, name+".png"
	if len(part) > 0 {
		params = page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg, Quality: &quality, Clip: &part[0], OptimizeForSpeed: &fast}
		file = name + ".jpeg"
	}
	directory := os.Getenv("TENDON_SCREENSHOTS")
	if directory == "" {
		directory = b.t.TempDir()
	}
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	picture, err := chromedp.Call(ctx, page.CaptureScreenshot, params)
	if err == nil {
		err = os.MkdirAll(directory, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, file), picture.Data, 0o644)
	}
	if err != nil {
		b.t.Fatalf("screenshot %s: %v", name, err)
	}
}
