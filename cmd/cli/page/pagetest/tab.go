package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is a page in a browser of its own, which ends with the test. One goroutine uses it. Its methods fail the test
// rather than return an error.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex // the browser reports from a goroutine of its own
	problems []string
	expected []string
}

const (
	// patience bounds every wait. It is long since it only matters to a test that fails.
	patience = 90 * time.Second
	// glance is how often a wait looks.
	glance = 25 * time.Millisecond
)

// Chromium returns the browser's program. It skips the test if browser tests are not asked for or there is none.
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

// Open opens a page, 1280 by 800 pixels, and waits until it is loaded.
func Open(t testing.TB, url string) *Tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(Chromium(t)), chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	browser, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, leave := chromedp.NewContext(browser, chromedp.WithErrorf(t.Logf))
	t.Cleanup(leave)
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser cannot be started: %v", err)
	}
	if err := chromedp.Listen(ctx, tab.hear); err != nil {
		t.Fatalf("the browser cannot be listened to: %v", err)
	}
	t.Cleanup(tab.judge)
	tab.Resize(1280, 800)
	tab.Go(url)
	return tab
}

// hear notes what the page complains about. It is called by the browser's goroutine.
func (b *Tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.note(text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "assert" {
			var words []string
			for _, a := range e.Args {
				words = append(words, strings.TrimSpace(string(a.Value)+" "+a.Description))
			}
			b.note("console: " + strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.note(strings.TrimSpace(e.Entry.Text + " " + e.Entry.URL))
		}
	}
}

func (b *Tab) note(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, problem)
}

// judge fails the test for every complaint that nobody expected.
func (b *Tab) judge() {
	b.t.Helper()
	for _, p := range b.Errors() {
		b.t.Errorf("the page complains: %s", p)
	}
}

// Expect allows complaints that contain a text: of a test that wants something refused.
func (b *Tab) Expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

// Errors returns the page's complaints until now that were not expected. Each fails the test at its end.
func (b *Tab) Errors() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
next:
	for _, p := range b.problems {
		for _, e := range b.expected {
			if strings.Contains(p, e) {
				continue next
			}
		}
		list = append(list, p)
	}
	return list
}

// do carries out actions.
func (b *Tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v%s", what, err, b.told())
	}
}

// told says what the page complained about, for the message of a failure.
func (b *Tab) told() string {
	if list := b.Errors(); len(list) > 0 {
		return "\nthe page complains: " + strings.Join(list, "\n")
	}
	return ""
}

// Go opens another page in the tab and waits until it is loaded.
func (b *Tab) Go(url string) {
	b.t.Helper()
	b.do("open "+url, chromedp.Navigate(url))
}

// Eval evaluates a JavaScript expression and stores its value, as JSON has it, in into; a promise is waited for. A nil
// into drops it.
func (b *Tab) Eval(expression string, into any) {
	b.t.Helper()
	raw, err := b.eval(expression)
	if err != nil {
		b.t.Fatalf("%s: %v%s", expression, err, b.told())
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		b.t.Fatalf("%s is %s: %v", expression, raw, err)
	}
}

func (b *Tab) eval(expression string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	// Undefined is no JSON.
	wrapped := fmt.Sprintf("(async () => JSON.stringify((await (%s)) ?? null))()", expression)
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](wrapped, chromedp.EvalAwaitPromise))
	return []byte(text), err
}

// WaitFor waits until a JavaScript expression is true. One that throws is not true yet.
func (b *Tab) WaitFor(expression string) {
	b.t.Helper()
	var last error
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(glance) {
		raw, err := b.eval("!!(" + expression + ")")
		if last = err; err == nil && string(raw) == "true" {
			return
		}
		if b.ctx.Err() != nil {
			break
		}
	}
	text, _ := b.eval("document.body.innerText.slice(0, 2000)")
	b.t.Fatalf("%s did not become true (%v); the page shows %s%s", expression, last, text, b.told())
}

// Click clicks in the middle of the first element that a CSS selector finds, scrolled into sight.
func (b *Tab) Click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Type presses keys, one after the other, where the focus is. Package kb of chromedp names those without a character.
func (b *Tab) Type(keys string) {
	b.t.Helper()
	b.do("type "+keys, chromedp.KeyEvent(keys))
}

// Set gives a form's element a value and tells the page, as a person's hand does.
func (b *Tab) Set(selector, value string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.value = %q;
		e.dispatchEvent(new Event("input", { bubbles: true }));
		e.dispatchEvent(new Event("change", { bubbles: true }));
	})()`, selector, value), nil)
}

// Text returns the visible text of the first element that a CSS selector finds.
func (b *Tab) Text(selector string) (text string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf("document.querySelector(%q).innerText", selector), &text)
	return text
}

// Resize gives the page so many CSS pixels.
func (b *Tab) Resize(width, height int) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(int64(width), int64(height)))
}

// Scheme has the system prefer "dark" or "light".
func (b *Tab) Scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	if err != nil {
		b.t.Fatalf("the colour scheme cannot be set: %v", err)
	}
}

// Screenshot writes what is seen to NAME.png in the directory TENDON_SCREENSHOTS, or in one that ends with the test, and
// returns the path.
func (b *Tab) Screenshot(name string) string {
	b.t.Helper()
	directory := os.Getenv("TENDON_SCREENSHOTS")
	if directory == "" {
		directory = b.t.TempDir()
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(directory, 0o755)
	}
	at := filepath.Join(directory, name+".png")
	if err == nil {
		err = os.WriteFile(at, picture, 0o644)
	}
	if err != nil {
		b.t.Fatalf("screenshot %s: %v", name, err)
	}
	return at
}
