package page_test

import (
	"context"
	"testing"
	"testing/fstest"

	"tendon/cmd/cli/page"
	"tendon/cmd/cli/page/pagetest"
	"tendon/ecs"
)

// Everything that a page is made of works in a browser at once: module, style, stream both ways, painter, plot.
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
		s.Page("/", f)
		s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
			if m := <-c.Messages(); string(m) == `"hello"` {
				return c.Send(p.Append(nil))
			}
			<-ctx.Done()
			return nil
		}))
	})
	tab := pagetest.Open(t, s.Link("/"))
	tab.WaitFor(`document.querySelector(".uplot canvas")`)
	if text := tab.Text("#said"); text != "0 255 0 255" {
		t.Errorf("the middle of the picture is %q, not the green circle", text)
	}
	tab.Screenshot("page")
}
