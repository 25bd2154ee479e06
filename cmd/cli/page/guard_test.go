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

// request is one request to a server. The zero value is a plain GET of the root by a program.
type request struct {
	method, path, host, origin, body string
	headers                          map[string]string
}

// do sends a request and returns the status and the body.
func (a request) do(t *testing.T, s *page.Server) (*http.Response, string) {
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

// counter is a server whose POST /change has an effect, and whose GET / returns a secret.
func counter(t *testing.T, c page.Config) (s *page.Server, changes *atomic.Int64) {
	t.Helper()
	changes = &atomic.Int64{}
	s = start(t, c, func(s *page.Server) {
		s.Page("/", files("", "the secret"), ".")
		s.Handle("/secret.json", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the secret") }))
		s.Handle("POST /change", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			changes.Add(1)
		}))
		s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
			for m := range c.Messages() {
				changes.Add(1)
				if err := c.Send(m); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return s, changes
}

// own returns the origin of a server's pages.
func own(s *page.Server) string { return strings.TrimSuffix(s.URL(), "/") }

// A site can resolve its own name to loopback while its page is open ("DNS rebinding"). Only the Host header shows it.
func TestForeignHostIsRefused(t *testing.T) {
	s, changes := counter(t, page.Config{})
	port := s.Addr().Port()
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.0.0.1:9999"} {
		if !strings.HasSuffix(host, ":9999") {
			host = fmt.Sprintf("%s:%d", host, port)
		}
		if answer, body := (request{host: host}).do(t, s); answer.StatusCode != 200 || !strings.Contains(body, "the secret") {
			t.Errorf("Host %s: %s %s; it names this server", host, answer.Status, body)
		}
	}
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "10.0.0.1", "0.0.0.0", "evil.example@localhost"} {
		host = fmt.Sprintf("%s:%d", host, port)
		answer, body := request{host: host}.do(t, s)
		if answer.StatusCode < 400 || strings.Contains(body, "the secret") {
			t.Errorf("Host %s: %s %s", host, answer.Status, body)
		}
		if answer, _ := (request{method: "POST", path: "change", host: host, origin: "http://" + host}).do(t, s); answer.StatusCode < 400 {
			t.Errorf("POST with Host %s: %s", host, answer.Status)
		}
	}
	if changes.Load() != 0 {
		t.Errorf("%d changes were made", changes.Load())
	}
}

// Behind a proxy the server accepts the configured name, and no other.
func TestConfiguredHostIsKnown(t *testing.T) {
	s, _ := counter(t, page.Config{Hosts: []string{"game.example.net"}})
	for host, want := range map[string]int{"game.example.net": 200, "Game.Example.Net": 200, "game.example.net:80": 421, "other.example.net": 421} {
		if answer, _ := (request{host: host}).do(t, s); answer.StatusCode != want {
			t.Errorf("Host %s: %s, want %d", host, answer.Status, want)
		}
	}
	if answer, _ := (request{method: "POST", path: "change", host: "game.example.net", origin: "https://game.example.net"}).do(t, s); answer.StatusCode != 200 {
		t.Errorf("a POST of the proxy's own page: %s", answer.Status)
	}
}

// Requests with effects must come from a page of this server. Browsers always send the origin of a POST.
func TestPostOfAnotherOriginChangesNothing(t *testing.T) {
	s, changes := counter(t, page.Config{})
	for _, origin := range []string{"https://evil.example", "null", "", "http://127.0.0.1:1", "http://localhost.evil.example", own(s) + ".evil.example", "file://", strings.Replace(own(s), "http", "chrome-extension", 1)} {
		if answer, _ := (request{method: "POST", path: "change", origin: origin}).do(t, s); answer.StatusCode != 403 {
			t.Errorf("POST with Origin %q: %s", origin, answer.Status)
		}
	}
	if n := changes.Load(); n != 0 {
		t.Fatalf("other origins made %d changes", n)
	}
	if answer, _ := (request{method: "POST", path: "change", origin: own(s)}).do(t, s); answer.StatusCode != 200 || changes.Load() != 1 {
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

// The same-origin policy does not apply to WebSockets: without this check, any site could read and send.
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
		t.Errorf("%d messages were received", n)
	}
	c, _, err := dial(t, s, map[string]string{"Origin": own(s)})
	if err != nil {
		t.Fatalf("the page's own stream: %v; so the test shows nothing", err)
	}
	if err := c.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, m, err := c.Read(t.Context()); err != nil || string(m) != "hello" {
		t.Errorf("it received %q, %v", m, err)
	}
}

// Images, scripts, frames and fetches of other sites have no Origin when they only read; they have Sec-Fetch headers.
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
		{"cross-site", "navigate", "document", 200}, // a link
		{"same-origin", "cors", "empty", 200},
		{"none", "navigate", "document", 200}, // a typed address
	} {
		answer, body := request{headers: map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest}}.do(t, s)
		if answer.StatusCode != c.want || strings.Contains(body, "secret") != (c.want == 200) {
			t.Errorf("%s %s %s: %s", c.site, c.mode, c.dest, answer.Status)
		}
	}
	answer, _ := request{method: "POST", path: "change", origin: own(s), headers: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}}.do(t, s)
	if answer.StatusCode != 403 {
		t.Errorf("a form that another site sends: %s", answer.Status)
	}
}

// Links, images and prefetches are GETs, so a GET must not have effects.
func TestGetNeverReachesWhatChanges(t *testing.T) {
	s, changes := counter(t, page.Config{})
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		answer, _ := request{method: method, path: "change", origin: own(s)}.do(t, s)
		if answer.StatusCode != 405 || answer.Header.Get("Allow") != "POST" {
			t.Errorf("%s of a POST handler: %s, allowed %q", method, answer.Status, answer.Header.Get("Allow"))
		}
	}
	for _, path := range []string{"", "secret.json", "assets/page.css", "live"} {
		if answer, _ := (request{method: "POST", path: path, origin: own(s)}).do(t, s); answer.StatusCode != 405 {
			t.Errorf("POST /%s: %s", path, answer.Status)
		}
	}
	if n := changes.Load(); n != 0 {
		t.Errorf("%d changes were made", n)
	}
}

// The headers protect where a browser does not send Sec-Fetch headers, or a page has a mistake.
func TestEveryAnswerForbidsFramesForeignScriptsAndGuessing(t *testing.T) {
	s, _ := counter(t, page.Config{Token: token})
	for _, a := range []request{
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
			t.Errorf("the policy %q allows foreign resources", csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Access-Control-Allow-Origin": ""} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%+v: %s is %q, want %q", a, name, got, want)
			}
		}
	}
}

// The server bounds the body, not the handler.
func TestBodyIsBounded(t *testing.T) {
	s, changes := counter(t, page.Config{})
	for n, want := range map[int]int{64 << 10: 200, 64<<10 + 1: 413} {
		if answer, _ := (request{method: "POST", path: "change", origin: own(s), body: strings.Repeat("x", n)}).do(t, s); answer.StatusCode != want {
			t.Errorf("%d bytes: %s, want %d", n, answer.Status, want)
		}
	}
	if changes.Load() != 1 {
		t.Errorf("%d changes, want the one of the allowed size", changes.Load())
	}
}

// The size of a message is bounded, and the page receives the reason of the end.
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
		t.Fatalf("a message of the allowed size came back as %d bytes, %v", len(m), err)
	}
	_ = c.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte("x"), 16<<10+1)) // the server may close it meanwhile
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("the stream ended with %v, want 1009", err)
	}
	if changes.Load() != 1 {
		t.Errorf("%d messages were received, want the one of the allowed size", changes.Load())
	}
}

// Pictures are offered to a page that reads none. Offer does not wait and stores nothing beyond the buffers of the operating
// system.
func TestPageThatReadsNothingCostsNeitherTimeNorMemory(t *testing.T) {
	const size, count = 64 << 10, 4000
	offered := make(chan int, 1)
	s := start(t, page.Config{}, func(s *page.Server) {
		s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
			taken, picture := 0, make([]byte, size)
			for range count {
				if c.Offer(picture) {
					taken++
				}
				runtime.Gosched() // lets the writer run
			}
			offered <- taken
			return nil
		})
	})
	if _, _, err := dial(t, s, map[string]string{"Origin": own(s)}); err != nil {
		t.Fatal(err)
	}
	taken := <-offered
	if taken == 0 || taken > count/4 {
		t.Errorf("%d of %d pictures were accepted for a page that reads nothing", taken, count)
	}
}

// A timed loop offers a picture in each round without garbage.
func TestOfferAllocatesNothing(t *testing.T) {
	allocations := make(chan float64, 1)
	s := start(t, page.Config{}, func(s *page.Server) {
		s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
			picture := make([]byte, 64<<10)
			for refused := 0; refused < 100; { // until all buffers are full and at their final size
				if !c.Offer(picture) {
					refused++
				}
			}
			allocations <- testing.AllocsPerRun(1000, func() { c.Offer(picture) })
			return nil
		})
	})
	if _, _, err := dial(t, s, map[string]string{"Origin": own(s)}); err != nil {
		t.Fatal(err)
	}
	if n := <-allocations; n > 0.1 {
		t.Errorf("%v allocations an offer", n)
	}
}

// Each stream costs goroutines and buffers, so their number is bounded. A stream that ends makes room for another.
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

// The last messages of a stream and its error arrive.
func TestStreamEndsAfterItsLastMessageWithItsReason(t *testing.T) {
	s := start(t, page.Config{}, func(s *page.Server) {
		s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
			for i := range 5 {
				if err := c.Send(fmt.Append(nil, i)); err != nil {
					return err
				}
			}
			return errors.New("the recording is over " + strings.Repeat("界", 100))
		})
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

// A stopping server sends its pages the reason and ends all streams.
func TestServerThatStopsEndsItsStreams(t *testing.T) {
	s, err := page.New(page.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
		defer close(ended)
		<-ctx.Done()
		return nil
	})
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

// Send waits for a page that is behind until the timeout.
func TestPageThatReadsNothingTimesOut(t *testing.T) {
	ended := make(chan error, 1)
	s := start(t, page.Config{}, func(s *page.Server) {
		s.SetTimeout(time.Second)
		s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
			for message := make([]byte, 1<<20); ; {
				if err := c.Send(message); err != nil {
					ended <- err
					return err
				}
			}
		})
	})
	if _, _, err := dial(t, s, map[string]string{"Origin": own(s)}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, page.ErrGone) {
		t.Errorf("the stream ended with %v", err)
	}
}

// A visitor that announces a body and does not send it must not keep a connection.
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
