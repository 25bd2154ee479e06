package page_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
	"tendon/ecs"
)

// All parts of a page work together in a browser: module, style, stream both ways, painter, plot.
func TestBrowserRunsAPageWithStreamPainterAndPlot(t *testing.T) {
	pagetest.Chromium(t)
	p := page.NewPicture()
	p.Reset(2)
	p.Camera(0, 0, 10)
	p.Rectangle(-5, -5, 10, 10, ecs.Color{R: 255, A: 255})
	p.Circle(0, 0, 2, ecs.Color{G: 255, A: 255})
	p.Hud().Text(1, 1, 2, -1, `tick "1"`, ecs.Color{R: 255, G: 255, B: 255, A: 255})
	s := start(t, page.Config{}, func(s *page.Server) {
		f := files(`<link rel="stylesheet" href="/assets/uplot/uPlot.min.css"><script src="/assets/uplot/uPlot.iife.min.js"></script><script type="module" src="/app.js"></script>`,
			`<main><h1 id="said"></h1><canvas class="stage"></canvas><div id="plot" class="plot"></div></main>`)
		f["app.js"] = &fstest.MapFile{Data: []byte(`
import { stream } from "/assets/stream.js";
import { fit, paint } from "/assets/painter.js";
const canvas = document.querySelector("canvas");
const s = stream("/live", { message(m) {
  const { width, height } = fit(canvas);
  paint(canvas.getContext("2d"), m, { width, height, background: "#000" });
  const middle = canvas.getContext("2d").getImageData(width / 2, height / 2, 1, 1).data;
  document.getElementById("said").textContent = Array.from(middle).join(" ");
  new uPlot({ width: 300, height: 200, series: [{}, { stroke: "red" }] }, [[1, 2, 3], [1, 4, 9]], document.getElementById("plot"));
}, state(name) { if (name === "open") s.send("hello"); } });
`)}
		s.Page("/", f, ".")
		s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
			if m := <-c.Messages(); string(m) == `"hello"` {
				return c.Send(p.Append(nil))
			}
			<-ctx.Done()
			return nil
		})
	})
	tab := pagetest.Open(t, s.Link("/"))
	tab.WaitFor(`document.querySelector(".uplot canvas")`)
	if text := tab.Text("#said"); text != "0 255 0 255" {
		t.Errorf("the middle of the picture is %q, not the green circle", text)
	}
	tab.Screenshot("page")
}

// A page beyond the limit shows the reason and what to do.
func TestBrowserSaysWhyAStreamIsRefused(t *testing.T) {
	pagetest.Chromium(t)
	s := start(t, page.Config{Streams: 1}, func(s *page.Server) {
		f := files(`<script type="module" src="/app.js"></script>`, `<p id="state"></p>`)
		f["app.js"] = &fstest.MapFile{Data: []byte(`
import { stream } from "/assets/stream.js";
stream("/live", { state(name, reason) { if (name !== "connecting") document.getElementById("state").textContent = name + ": " + reason; } });
`)}
		s.Page("/", f, ".")
		s.Stream("/live", func(ctx context.Context, _ *page.Conn) error {
			<-ctx.Done()
			return nil
		})
	})
	first := pagetest.Open(t, s.Link("/"))
	first.WaitFor(`document.querySelector("#state").textContent === "open: "`)
	second := pagetest.Open(t, "about:blank")
	second.Expect("503")
	second.Go(s.Link("/"))
	second.WaitFor(`document.querySelector("#state").textContent === "lost: too many pages of this server are open: close one"`)
	// A page that was left releases its stream although the browser keeps it, and reconnects when it is shown again.
	first.Go("about:blank")
	second.WaitFor(`document.querySelector("#state").textContent === "open: "`)
	second.Go("about:blank")
	first.Expect("503") // until the server has noticed that the second is closed
	first.Eval(`void setTimeout(() => history.back(), 0)`, nil)
	first.WaitFor(`document.querySelector("#state")?.textContent === "open: "`)
}

// attack tries every way of a page to access another server, whose address is in the fragment, and stores the results.
const attack = `
const target = decodeURIComponent(location.hash.slice(1));
const got = {};
const tries = {
  async fetch() { return (await fetch(target + "secret.json", { credentials: "include" })).text(); },
  async opaque() { const r = await fetch(target + "secret.json", { mode: "no-cors", credentials: "include" }); return (await r.text()) || (r.type === "opaque" ? "" : r.type); },
  async post() { const r = await fetch(target + "change", { method: "POST", credentials: "include", body: "x" }); return "answer " + r.status; },
  async blind() { await fetch(target + "change", { method: "POST", mode: "no-cors", credentials: "include", body: "x" }); return ""; },
  async beacon() { navigator.sendBeacon(target + "change", "x"); return ""; },
  socket() {
    return new Promise((done) => {
      const s = new WebSocket(target.replace("http", "ws") + "live");
      s.onopen = () => s.send("steer");
      s.onmessage = (e) => done("received " + e.data);
      s.onerror = () => done("");
    });
  },
  form() {
    return new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.name = "sink";
      document.body.append(frame);
      const form = document.createElement("form");
      form.action = target + "change"; form.method = "POST"; form.target = "sink";
      document.body.append(form);
      frame.onload = () => done("");
      form.submit();
      setTimeout(() => done(""), 3000); // a refused frame may never load; the server counts its effects
    });
  },
  frame() {
    return new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.src = target;
      frame.onload = () => { let text = ""; try { text = frame.contentDocument.body.innerText; } catch {} done(text.includes("secret") ? text : ""); };
      document.body.append(frame);
      setTimeout(() => done(""), 3000);
    });
  },
  script() {
    return new Promise((done) => {
      const s = document.createElement("script");
      s.src = target + "secret.js";
      s.onload = () => done(window.secret ?? "");
      s.onerror = () => done("");
      document.body.append(s);
    });
  },
  image() {
    return new Promise((done) => {
      const i = new Image();
      i.onload = () => done("size " + i.width);
      i.onerror = () => done("");
      i.src = target + "secret.svg";
    });
  },
};
for (const [name, attempt] of Object.entries(tries)) {
  try { got[name] = await attempt(); } catch (e) { got[name] = ""; }
}
window.got = got;
`

// guarded is a server with a token that counts the requests that reach its handlers.
func guarded(t *testing.T) (s *page.Server, reads, changes *atomic.Int64) {
	reads, changes = &atomic.Int64{}, &atomic.Int64{}
	secret := func(kind, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reads.Add(1)
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, text)
		})
	}
	s = start(t, page.Config{Token: token}, func(s *page.Server) {
		s.Handle("/{$}", secret("text/html", "<title>t</title>the secret"))
		s.Handle("/secret.json", secret("application/json", `"the secret"`))
		s.Handle("/secret.js", secret("text/javascript", `window.secret = "the secret"`))
		s.Handle("/secret.svg", secret("image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>`))
		s.Handle("POST /change", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { changes.Add(1) }))
		s.Stream("/live", func(ctx context.Context, c *page.Conn) error {
			for m := range c.Messages() {
				changes.Add(1)
				c.Offer(m)
			}
			return nil
		})
		f := files(`<script type="module" src="attack.js"></script>`, "")
		f["attack.js"] = &fstest.MapFile{Data: []byte(attack)}
		s.Page("/own/", f, ".")
	})
	return s, reads, changes
}

// While a page is open, with its cookie, another site can neither read nor send. Another port of the same host cannot
// either, although browsers send the cookie there.
func TestBrowserLetsNoOtherSiteReadOrSteer(t *testing.T) {
	pagetest.Chromium(t)
	s, reads, changes := guarded(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/attack.js" {
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, attack)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!doctype html><title>evil</title><link rel="icon" href="data:,"><body><script type="module" src="/attack.js"></script>`)
	}))
	defer evil.Close()
	tab := pagetest.Open(t, s.Link("/own/"))
	tab.WaitFor(`document.title === "test" && location.hash === ""`)

	// The control: the same attempts from the server's own page succeed, except for frames and for scripts that are added later,
	// which its policy forbids.
	fragment := "#" + url.QueryEscape(s.URL())
	tab.Expect("frame")
	tab.Expect("ERR_BLOCKED")
	tab.Go("about:blank")
	tab.Go(s.URL() + "own/" + fragment)
	tab.WaitFor("window.got")
	var got map[string]string
	tab.Eval("window.got", &got)
	if got["fetch"] != `"the secret"` || got["post"] != "answer 200" || got["socket"] != "received steer" || got["image"] != "size 7" || got["frame"] != "" {
		t.Errorf("the server's own page got %q; so the test shows nothing", got)
	}
	if reads.Load() == 0 || changes.Load() < 4 {
		t.Errorf("the server's own page read %d times and changed %d", reads.Load(), changes.Load())
	}

	for _, address := range []string{evil.URL, strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)} {
		reads.Store(0)
		changes.Store(0)
		tab.Expect("") // browsers report all of it
		tab.Go("about:blank")
		tab.Go(address + "/" + fragment)
		tab.WaitFor("window.got")
		var got map[string]string
		tab.Eval("window.got", &got)
		if len(got) != 10 {
			t.Errorf("%s: %d attempts were made: %q", address, len(got), got)
		}
		for name, what := range got {
			if what != "" {
				t.Errorf("a page of %s got %q by %s", address, what, name)
			}
		}
		if r, c := reads.Load(), changes.Load(); r != 0 || c != 0 {
			t.Errorf("a page of %s reached %d reads and %d changes", address, r, c)
		}
	}
}

// The link contains the token where no server logs it. The page removes it, and asks for it if there is none.
func TestBrowserAsksForTheTokenOnceAndHidesIt(t *testing.T) {
	pagetest.Chromium(t)
	s, _ := counter(t, page.Config{Token: token})
	tab := pagetest.Open(t, "about:blank")
	tab.Expect("401")
	tab.Expect("403")
	tab.Go(s.URL())
	tab.WaitFor(`document.querySelector("#ask")`)
	tab.Screenshot("token")
	tab.Set("#token", "not the token at all")
	tab.Click("#ask button")
	tab.WaitFor(`document.querySelector("#wrong").textContent.includes("not the token")`)
	tab.Go("about:blank")
	tab.Go(s.Link("/"))
	tab.WaitFor(`document.body.innerText.includes("the secret") && location.hash === ""`)
	tab.Go(s.URL())
	if text := tab.Text("body"); !strings.Contains(text, "the secret") {
		t.Errorf("the second visit shows %q", text)
	}
	var cookie string
	tab.Eval("document.cookie", &cookie)
	if cookie != "" {
		t.Errorf("scripts see the cookie %q", cookie)
	}
}

// An unexpected error of a page must fail the test.
func TestBrowserErrorsOfThePageAreReported(t *testing.T) {
	pagetest.Chromium(t)
	s := start(t, page.Config{}, func(s *page.Server) {
		f := files(`<script src="/bad.js"></script><script src="/missing.js"></script><script>inline()</script>`, "")
		f["bad.js"] = &fstest.MapFile{Data: []byte(`console.error("logged"); setTimeout(() => { throw new Error("thrown") }); document.title = "done"`)}
		s.Page("/", f, ".")
	})
	tab := pagetest.Open(t, s.Link("/"))
	tab.WaitFor(`document.title === "done"`)
	all := func() string { return strings.Join(tab.Errors(), "\n") }
	for _, want := range []string{"logged", "thrown", "404", "Content Security Policy"} {
		for !strings.Contains(all(), want) {
			if t.Context().Err() != nil {
				t.Fatalf("pagetest reported only %q", all())
			}
			tab.Eval("new Promise((done) => setTimeout(done, 10))", nil)
		}
	}
	tab.Expect("")
}
