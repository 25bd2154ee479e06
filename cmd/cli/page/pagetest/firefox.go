package pagetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// Firefox is a page in its own Firefox, which is closed with the test. One goroutine uses it. It is driven by WebDriver BiDi.
type Firefox struct {
	t       testing.TB
	ctx     context.Context
	socket  *websocket.Conn
	last    int    // number of the last command
	context string // of the page
	errors  []string
	allowed []string // parts of errors that do not count
}

// preferences are those of the profile. Firefox then makes no requests of its own, and has WebGL without a graphics card. It paints 15
// pictures a second, which leaves time of the processor for other programs.
const preferences = `user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
user_pref("webgl.force-enabled", true);
user_pref("media.autoplay.default", 0);
user_pref("layout.frame_rate", 15);
`

// HasFirefox reports whether a Firefox is installed.
func HasFirefox() bool { _, ok := firefox(); return ok }

func firefox() (program string, ok bool) {
	for _, name := range []string{"firefox-esr", "firefox"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, true
		}
	}
	return "", false
}

// OpenFirefox opens a page of 240 by 150 pixels in Firefox, without a graphics card, and waits until it is loaded. It skips the test
// if browser tests are not enabled or Firefox is not installed.
func OpenFirefox(t testing.TB, url string) *Firefox {
	t.Helper()
	if os.Getenv("TENDON_BROWSER") != "1" {
		t.Skip("TENDON_BROWSER=1 is not set, so no browser is started")
	}
	program, ok := firefox()
	if !ok {
		t.Skip("no Firefox is installed: neither firefox-esr nor firefox is found")
	}
	profile := t.TempDir()
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(preferences), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &Firefox{t: t}
	found, ended := f.start(program, profile)
	var cancel context.CancelFunc
	f.ctx, cancel = context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	select {
	case address := <-found:
		var err error
		if f.socket, _, err = websocket.Dial(f.ctx, address+"/session", nil); err != nil {
			t.Fatalf("the session of Firefox: %v", err)
		}
	case <-ended:
		t.Fatal("Firefox has exited")
	case <-f.ctx.Done():
		t.Fatal("Firefox opens no session")
	}
	f.socket.SetReadLimit(16 << 20)
	f.command("session.new", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{"acceptInsecureCerts": true}}}, nil)
	f.command("session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil)
	var tree struct {
		Contexts []struct{ Context string }
	}
	f.command("browsingContext.getTree", map[string]any{}, &tree)
	f.context = tree.Contexts[0].Context
	f.command("browsingContext.setViewport", map[string]any{"context": f.context, "viewport": map[string]int{"width": 240, "height": 150}}, nil)
	f.command("browsingContext.navigate", map[string]any{"context": f.context, "url": url, "wait": "complete"}, nil)
	return f
}

// start starts Firefox. found receives the address of its sessions, and ended is closed when it has exited.
func (f *Firefox) start(program, profile string) (found <-chan string, ended <-chan struct{}) {
	f.t.Helper()
	cmd := exec.Command(program, "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank")
	cmd.Env = append(os.Environ(), "MOZ_CRASHREPORTER_DISABLE=1", "LIBGL_ALWAYS_SOFTWARE=1", "HOME="+profile, "DISPLAY="+display(f.t))
	out, err := cmd.StderrPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatalf("Firefox cannot be started: %v", err)
	}
	exited := make(chan struct{})
	f.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		_ = cmd.Wait()
		for _, e := range f.errors {
			if !slices.ContainsFunc(f.allowed, func(text string) bool { return strings.Contains(e, text) }) {
				f.t.Errorf("error on the page in Firefox: %s", e)
			}
		}
	})
	address := make(chan string, 1)
	go func() {
		defer close(exited)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, at, ok := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); ok {
				address <- at
			}
		}
	}()
	return address, exited
}

// display starts a virtual screen and returns its name. Firefox has no WebGL without a screen.
func display(t testing.TB) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	screen := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1280x800x24", "-nolisten", "tcp")
	screen.ExtraFiles = []*os.File{write}
	err = screen.Start()
	write.Close()
	if err != nil {
		t.Skipf("Firefox needs a screen: %v; install xvfb", err)
	}
	t.Cleanup(func() {
		_ = screen.Process.Kill()
		_ = screen.Wait()
	})
	number, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb: %v", err)
	}
	return ":" + strings.TrimSpace(number)
}

// command sends a command and waits for its result. It keeps the errors of the page that arrive meanwhile.
func (f *Firefox) command(method string, params, result any) {
	f.t.Helper()
	f.last++
	text, err := json.Marshal(map[string]any{"id": f.last, "method": method, "params": params})
	if err == nil {
		err = f.socket.Write(f.ctx, websocket.MessageText, text)
	}
	for err == nil {
		var data []byte
		if _, data, err = f.socket.Read(f.ctx); err != nil {
			break
		}
		var m struct {
			ID             int
			Error, Message string
			Method         string
			Result         json.RawMessage
			Params         struct{ Level, Text string }
		}
		if err = json.Unmarshal(data, &m); err != nil {
			break
		}
		if m.Method == "log.entryAdded" && m.Params.Level == "error" {
			f.errors = append(f.errors, m.Params.Text)
		}
		if m.ID != f.last {
			continue
		}
		if m.Error != "" {
			f.t.Fatalf("Firefox: %s: %s: %s", method, m.Error, m.Message)
		}
		if result != nil {
			err = json.Unmarshal(m.Result, result)
		}
		break
	}
	if err != nil {
		f.t.Fatalf("Firefox: %s: %v", method, err)
	}
}

// Expect allows errors that contain a text.
func (f *Firefox) Expect(text string) { f.allowed = append(f.allowed, text) }

// Eval evaluates a JavaScript expression, waits for it if it is a promise, and stores its JSON value in into. Optional.
func (f *Firefox) Eval(expression string, into any) {
	f.t.Helper()
	raw, err := f.eval(expression)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		f.t.Fatalf("%s: %v", expression, err)
	}
}

func (f *Firefox) eval(expression string) ([]byte, error) {
	var out struct {
		Type             string
		Result           struct{ Value string }
		ExceptionDetails struct{ Text string }
	}
	f.command("script.evaluate", map[string]any{"expression": stringify(expression), "target": map[string]string{"context": f.context}, "awaitPromise": true}, &out)
	if out.Type != "success" {
		return nil, fmt.Errorf("%s", out.ExceptionDetails.Text)
	}
	return []byte(out.Result.Value), nil
}

// WaitFor waits until a JavaScript expression is true. An expression that throws is not true yet.
func (f *Firefox) WaitFor(expression string) {
	f.t.Helper()
	waitFor(f.t, f.ctx, f.eval, expression)
}
