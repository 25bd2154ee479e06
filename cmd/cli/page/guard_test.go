package page_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"tendon/cmd/cli/page"
)

const token = "correct-horse-battery"

// ask is one request to a server. The zero value is a plain GET of the root by a program.
type ask struct {
	method, path, host, origin, body string
	headers                          map[string]string
}

// do sends a request and returns the status and the body.
func (a ask) do(t *testing.T, s *page.Server) (*http.Response, string) {
	t.Helper()
	method, path := a.method, a.path
	if method == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequest(method, strings.TrimSuffix(s.URL(), "/")+"/"+strings.TrimPrefix(path, "/"), strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if a.host != "" {
		r.Host = a.host
	}
	if a.origin != "" {
		r.Header.Set("Origin", a.origin)
	}
	for name, value := range a.headers {
		r.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// counter is a server whose POST /change changes something, and whose GET / holds a secret.
func counter(t *testing.T, c page.Config) (s *page.Server, changes *atomic.Int64) {
	t.Helper()
	changes = &atomic.Int64{}
	s = start(t, c, func(s *page.Server) {
		s.Page("/", files("", "the secret"))
		s.Handle("/secret.json", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the secret") }))
		s.Handle("POST /change", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			changes.Add(1)
		}))
		s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
			for m := range c.Messages() {
				changes.Add(1)
				if err := c.Send(m); err != nil {
					return err
				}
			}
			return nil
		}))
	})
	return s, changes
}

// own returns the origin of a server's pages.
func own(s *page.Server) string { return strings.TrimSuffix(s.URL(), "/") }

// A site can have its own name resolved to loopback while its page is open ("DNS rebinding"); the name in the Host
// header is all that tells.
func TestForeignHostIsRefused(t *testing.T) {
	s, changes := counter(t, page.Config{})
	port := s.Addr().Port()
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.0.0.1:9999"} {
		if !strings.HasSuffix(host, ":9999") {
			host = fmt.Sprintf("%s:%d", host, port)
		}
		if answer, body := (ask{host: host}).do(t, s); answer.StatusCode != 200 || !strings.Contains(body, "the secret") {
			t.Errorf("Host %s: %s %s; it names this server", host, answer.Status, body)
		}
	}
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "10.0.0.1", "0.0.0.0", "evil.example@localhost"} {
		host = fmt.Sprintf("%s:%d", host, port)
		answer, body := ask{host: host}.do(t, s)
		if answer.StatusCode < 400 || strings.Contains(body, "the secret") {
			t.Errorf("Host %s: %s %s", host, answer.Status, body)
		}
		if answer, _ := (ask{method: "POST", path: "change", host: host, origin: "http://" + host}).do(t, s); answer.StatusCode < 400 {
			t.Errorf("POST with Host %s: %s", host, answer.Status)
		}
	}
	if changes.Load() != 0 {
		t.Errorf("%d changes were made", changes.Load())
	}
}

// Behind a proxy the server is known by the proxy's name, and only by the one that it was told.
func TestConfiguredHostIsKnown(t *testing.T) {
	s, _ := counter(t, page.Config{Hosts: []string{"game.example.net"}})
	for host, want := range map[string]int{"game.example.net": 200, "Game.Example.Net": 200, "game.example.net:80": 421, "other.example.net": 421} {
		if answer, _ := (ask{host: host}).do(t, s); answer.StatusCode != want {
			t.Errorf("Host %s: %s, want %d", host, answer.Status, want)
		}
	}
	if answer, _ := (ask{method: "POST", path: "change", host: "game.example.net", origin: "https://game.example.net"}).do(t, s); answer.StatusCode != 200 {
		t.Errorf("a POST of the proxy's own page: %s", answer.Status)
	}
}

// Whatever changes something must come from a page of this server; browsers always say where a POST comes from.
func TestPostOfAnotherOriginChangesNothing(t *testing.T) {
	s, changes := counter(t, page.Config{})
	for _, origin := range []string{"https://evil.example", "null", "", "http://127.0.0.1:1", "http://localhost.evil.example", own(s) + ".evil.example", "file://", strings.Replace(own(s), "http", "chrome-extension", 1)} {
		if answer, _ := (ask{method: "POST", path: "change", origin: origin}).do(t, s); answer.StatusCode != 403 {
			t.Errorf("POST with Origin %q: %s", origin, answer.Status)
		}
	}
	if n := changes.Load(); n != 0 {
		t.Fatalf("%d changes were made by others", n)
	}
	if answer, _ := (ask{method: "POST", path: "change", origin: own(s)}).do(t, s); answer.StatusCode != 200 || changes.Load() != 1 {
		t.Errorf("the page's own POST: %s, %d changes; so the test shows nothing", answer.Status, changes.Load())
	}
}

// dial opens a stream as a page of that origin would.
func dial(t *testing.T, s *page.Server, headers map[string]string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	h := http.Header{}
	for name, value := range headers {
		h.Set(name, value)
	}
	c, answer, err := websocket.Dial(t.Context(), strings.Replace(s.URL(), "http", "ws", 1)+"live", &websocket.DialOptions{HTTPHeader: h})
	if err == nil {
		t.Cleanup(func() { c.CloseNow() })
	}
	return c, answer, err
}

// A WebSocket is not held back by the same-origin policy: without this check any site could read and steer.
func TestStreamOfAnotherOriginIsRefused(t *testing.T) {
	s, changes := counter(t, page.Config{})
	for _, origin := range []string{"https://evil.example", "null", "", "http://127.0.0.1:1"} {
		headers := map[string]string{}
		if origin != "" {
			headers["Origin"] = origin
		}
		if _, answer, err := dial(t, s, headers); err == nil || answer == nil || answer.StatusCode != 403 {
			t.Errorf("stream with Origin %q: %v", origin, err)
		}
	}
	if n := changes.Load(); n != 0 {
		t.Errorf("%d messages were heard", n)
	}
	c, _, err := dial(t, s, map[string]string{"Origin": own(s)})
	if err != nil {
		t.Fatalf("the page's own stream: %v; so the test shows nothing", err)
	}
	if err := c.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, m, err := c.Read(t.Context()); err != nil || string(m) != "hello" {
		t.Errorf("it heard %q, %v", m, err)
	}
}

// Images, scripts, frames and fetches of other sites carry no Origin when they only read; browsers mark them otherwise.
func TestCrossSiteFetchIsRefusedAndALinkIsNot(t *testing.T) {
	s, _ := counter(t, page.Config{})
	for _, c := range []struct {
		site, mode, dest string
		want             int
	}{
		{"cross-site", "no-cors", "script", 403},
		{"cross-site", "no-cors", "image", 403},
		{"cross-site", "cors", "empty", 403},
		{"cross-site", "navigate", "iframe", 403},
		{"cross-site", "navigate", "object", 403},
		{"same-site", "no-cors", "script", 403}, // another port of this host
		{"what-is-new", "cors", "empty", 403},
		{"cross-site", "navigate", "document", 200}, // a person followed a link
		{"same-origin", "cors", "empty", 200},
		{"none", "navigate", "document", 200}, // a person typed the address
	} {
		answer, body := ask{headers: map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest}}.do(t, s)
		if answer.StatusCode != c.want || strings.Contains(body, "secret") != (c.want == 200) {
			t.Errorf("%s %s %s: %s", c.site, c.mode, c.dest, answer.Status)
		}
	}
	answer, _ := ask{method: "POST", path: "change", origin: own(s), headers: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}}.do(t, s)
	if answer.StatusCode != 403 {
		t.Errorf("a form that another site sends: %s", answer.Status)
	}
}

// A link, an image or a prefetch makes a GET, so none may change anything.
func TestGetNeverReachesWhatChanges(t *testing.T) {
	s, changes := counter(t, page.Config{})
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		answer, _ := ask{method: method, path: "change", origin: own(s)}.do(t, s)
		if answer.StatusCode != 405 || answer.Header.Get("Allow") != "POST" {
			t.Errorf("%s of what changes: %s, allowed %q", method, answer.Status, answer.Header.Get("Allow"))
		}
	}
	for _, path := range []string{"", "secret.json", "assets/page.css", "live"} {
		if answer, _ := (ask{method: "POST", path: path, origin: own(s)}).do(t, s); answer.StatusCode != 405 {
			t.Errorf("POST /%s: %s", path, answer.Status)
		}
	}
	if n := changes.Load(); n != 0 {
		t.Errorf("%d changes were made", n)
	}
}

// The headers are the second wall: they hold where a browser is too old for the first, or a page of ours has a mistake.
func TestEveryAnswerForbidsFramesForeignScriptsAndGuessing(t *testing.T) {
	s, _ := counter(t, page.Config{Token: token})
	for _, a := range []ask{
		{headers: map[string]string{"Authorization": "Bearer " + token}}, {}, {path: "nowhere"}, {path: "assets/page.css"},
		{host: "evil.example"}, {origin: "https://evil.example"}, {method: "POST", path: "secret.json", origin: own(s)},
	} {
		answer, _ := a.do(t, s)
		csp := answer.Header.Get("Content-Security-Policy")
		for _, directive := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, directive) {
				t.Errorf("%+v: %s, the policy %q lacks %s", a, answer.Status, csp, directive)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") || strings.Contains(csp, "*") {
			t.Errorf("the policy %q lets in what is not ours", csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Access-Control-Allow-Origin": ""} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%+v: %s is %q, want %q", a, name, got, want)
			}
		}
	}
}

// The body's bound is the server's, whatever the handler does.
func TestBodyIsBounded(t *testing.T) {
	s, changes := counter(t, page.Config{})
	for n, want := range map[int]int{64 << 10: 200, 64<<10 + 1: 413} {
		if answer, _ := (ask{method: "POST", path: "change", origin: own(s), body: strings.Repeat("x", n)}).do(t, s); answer.StatusCode != want {
			t.Errorf("%d bytes: %s, want %d", n, answer.Status, want)
		}
	}
	if changes.Load() != 1 {
		t.Errorf("%d changes, want that of the body that fits", changes.Load())
	}
}

// One message must not fill the memory, and the page is told why its stream ended.
func TestMessageThatIsTooLongEndsTheStreamWith1009(t *testing.T) {
	s, changes := counter(t, page.Config{})
	c, _, err := dial(t, s, map[string]string{"Origin": own(s)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte("x"), 16<<10)); err != nil {
		t.Fatal(err)
	}
	if _, m, err := c.Read(t.Context()); err != nil || len(m) != 16<<10 {
		t.Fatalf("a message that fits came back as %d bytes, %v", len(m), err)
	}
	_ = c.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte("x"), 16<<10+1)) // the server may end it meanwhile
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("the stream ended with %v, want 1009", err)
	}
	if changes.Load() != 1 {
		t.Errorf("%d messages were heard, want that which fits", changes.Load())
	}
}

// One picture after the other is offered to a page that takes none. Nobody waits for it, and what it missed is not kept:
// all that it can be sent afterwards is what the system's own buffers took.
func TestPageThatReadsNothingCostsNeitherTimeNorMemory(t *testing.T) {
	const size, count = 64 << 10, 4000
	offered := make(chan int, 1)
	s := start(t, page.Config{}, func(s *page.Server) {
		s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
			taken, picture := 0, make([]byte, size)
			for range count {
				if c.Offer(picture) {
					taken++
				}
				runtime.Gosched() // the writer has its turn
			}
			offered <- taken
			return nil
		}))
	})
	if _, _, err := dial(t, s, map[string]string{"Origin": own(s)}); err != nil {
		t.Fatal(err)
	}
	taken := <-offered
	if taken == 0 || taken > count/4 {
		t.Errorf("%d of %d pictures were taken for a page that reads nothing", taken, count)
	}
}

// A loop that keeps time must be able to offer a picture in each round without leaving anything to collect.
func TestOfferAllocatesNothing(t *testing.T) {
	allocations := make(chan float64, 1)
	s := start(t, page.Config{}, func(s *page.Server) {
		s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
			picture := make([]byte, 64<<10)
			for refused := 0; refused < 100; { // until the system's buffers are full and ours are as long as they get
				if !c.Offer(picture) {
					refused++
				}
			}
			allocations <- testing.AllocsPerRun(1000, func() { c.Offer(picture) })
			return nil
		}))
	})
	if _, _, err := dial(t, s, map[string]string{"Origin": own(s)}); err != nil {
		t.Fatal(err)
	}
	if n := <-allocations; n > 0.1 {
		t.Errorf("%v allocations an offer", n)
	}
}

// Each stream costs goroutines and buffers, so their number is bounded, and a place is free again when one ends.
func TestStreamsAreBounded(t *testing.T) {
	s, _ := counter(t, page.Config{Streams: 2})
	headers := map[string]string{"Origin": own(s)}
	first, _, err := dial(t, s, headers)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dial(t, s, headers); err != nil {
		t.Fatal(err)
	}
	if _, answer, err := dial(t, s, headers); err == nil || answer.StatusCode != 503 {
		t.Fatalf("the third of two streams: %v", err)
	}
	if err := first.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	for { // until the server has noticed
		if _, _, err := dial(t, s, headers); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// What a stream said last must arrive before it ends, and its error with it.
func TestStreamEndsWithWhatItSaidLastAndWithItsReason(t *testing.T) {
	s := start(t, page.Config{}, func(s *page.Server) {
		s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
			for i := range 5 {
				if err := c.Send(fmt.Append(nil, i)); err != nil {
					return err
				}
			}
			return errors.New("the recording is over " + strings.Repeat("界", 100))
		}))
	})
	c, _, err := dial(t, s, map[string]string{"Origin": own(s)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, m, err := c.Read(t.Context()); err != nil || string(m) != fmt.Sprint(i) {
			t.Fatalf("message %d is %q, %v", i, m, err)
		}
	}
	_, _, err = c.Read(t.Context())
	var end websocket.CloseError
	if !errors.As(err, &end) || end.Code != websocket.StatusInternalError || !strings.HasPrefix(end.Reason, "the recording is over 界") {
		t.Errorf("the stream ended with %v", err)
	}
}

// A server that stops tells its pages so, and leaves nobody behind.
func TestServerThatStopsEndsItsStreams(t *testing.T) {
	s, err := page.New(page.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
		defer close(ended)
		<-ctx.Done()
		return nil
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	c, _, err := dial(t, s, map[string]string{"Origin": own(s)})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the stream ended with %v, want 1001", err)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	<-ended
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("the socket is still open")
	}
}

// A message that must not be missed waits for a page that is behind, but not for ever.
func TestPageThatTakesNothingInTimeIsLetGo(t *testing.T) {
	ended := make(chan error, 1)
	s := start(t, page.Config{}, func(s *page.Server) {
		s.SetTimeout(time.Second)
		s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
			for message := make([]byte, 1<<20); ; {
				if err := c.Send(message); err != nil {
					ended <- err
					return err
				}
			}
		}))
	})
	if _, _, err := dial(t, s, map[string]string{"Origin": own(s)}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, page.ErrGone) {
		t.Errorf("the stream ended with %v", err)
	}
}

// A visitor that announces a body and does not send it must not hold a connection.
func TestBodyThatNeverComesEndsTheRequest(t *testing.T) {
	var changes atomic.Int64
	s := start(t, page.Config{}, func(s *page.Server) {
		s.SetTimeout(time.Second)
		s.Handle("POST /change", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err == nil {
				changes.Add(1)
			}
		}))
	})
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /change HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Length: 100\r\n\r\nhalf", s.Addr(), own(s))
	if _, err := io.ReadAll(c); err != nil { // until the server has closed it
		t.Error(err)
	}
	if changes.Load() != 0 {
		t.Error("half a body changed something")
	}
}
