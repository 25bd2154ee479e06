package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"testing"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/page/pagetest"
	"tendon/net/simnet"
)

// watchPictures counts the pictures of a page, measures how long the program takes for each, and calls after(sum) with a sum of the
// middle of each.
const watchPictures = `{
window.pictures = 0;
window.costs = [];
const request = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (f) => request((now) => {
	const began = performance.now();
	f(now);
	window.costs.push(performance.now() - began);
	window.pictures++;
	if (!window.after) return;
	const canvas = document.querySelector("canvas"), gl = canvas.getContext("webgl2") ?? canvas.getContext("webgl");
	const bound = gl.getParameter(gl.FRAMEBUFFER_BINDING), size = 64, pixels = new Uint8Array(4 * size * size);
	gl.bindFramebuffer(gl.FRAMEBUFFER, null);
	gl.readPixels(canvas.width / 2 - size / 2, canvas.height / 2 - size / 2, size, size, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
	gl.bindFramebuffer(gl.FRAMEBUFFER, bound);
	let sum = 0;
	for (const p of pixels) sum = (sum * 31 + p) % 1000000007;
	window.after(sum);
});
}`

// measureKeys presses a key when the picture no longer changes. It returns the pictures and the ticks until the picture changes.
const measureKeys = `(async () => {
	const results = [], canvas = document.querySelector("canvas");
	const still = () => new Promise((done) => {
		let last, same = 0;
		window.after = (sum) => { same = sum === last ? same + 1 : 0; last = sum; if (same > 10) { window.after = null; done(last); } };
	});
	const key = (type, code) => canvas.dispatchEvent(new KeyboardEvent(type, { code, key: code, bubbles: true }));
	for (let i = 0; i < 5; i++) {
		const code = i % 2 ? "ArrowLeft" : "ArrowRight", before = await still(), tick = tendonStats.tick;
		await new Promise((done) => setTimeout(done, 37 * i % 16));
		const began = window.pictures;
		const changed = new Promise((done) => { window.after = (sum) => { if (sum !== before) { window.after = null; done({ Pictures: window.pictures - began, Ticks: tendonStats.tick - tick }); } }; });
		key("keydown", code);
		results.push(await changed);
		key("keyup", code);
	}
	return results;
})()`

// The effect of the player's own key is visible in the next picture, or at most two ticks after the key, for any round trip. The second limit is for
// one picture per tick: the next picture may then show no newer tick.
func TestTheOwnKeyIsInTheNextPicture(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "dots")
	at, invitation := served(t, built(t, "dots"), dir, "--web-origin", "*")
	u, err := url.Parse(invitation.URLs[0])
	if err != nil {
		t.Fatal(err)
	}
	profile, _ := simnet.ByName("P3")
	proxy, err := simnet.NewProxy(netip.MustParseAddrPort(u.Host), profile, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	invitation.URLs = []string{fmt.Sprintf("https://%s%s", proxy.Addr(), u.Path)}
	tab := open(t)
	tab.Before(watchPictures)
	tab.Go(at + "#join=" + invitation.Text())
	tab.WaitFor(playing)
	var keys []struct{ Pictures, Ticks int }
	tab.Eval(measureKeys, &keys)
	t.Logf("from a key to its effect, %s: %+v", profile.Title, keys)
	late := 0
	for _, k := range keys {
		if k.Pictures > 1 && k.Ticks > 2 {
			late++
		}
	}
	if late > len(keys)/2 {
		t.Errorf("the effects of %d of %d keys are late", late, len(keys))
	}
}

// BenchmarkPicture measures how long the program takes for a picture of the arena with 8 players, with relay over the network P3. The time
// includes the rollbacks and the commands for the graphics card, and not its work.
func BenchmarkPicture(b *testing.B) {
	pagetest.Chromium(b)
	dir, _ := site(b, "arena")
	s := newStand(b, rules.Game(), 7, dir)
	tab := open(b)
	tab.Before(watchPictures)
	to := s.webTransport()
	profile, _ := simnet.ByName("P3")
	s.setProfile(profile)
	tab.Go(s.link(to, true))
	tab.WaitFor(playing)
	tab.Eval(`window.costs = []`, nil)
	for pictures := 300; b.Loop(); pictures += 300 {
		tab.WaitFor(fmt.Sprintf("window.costs.length > %d", pictures))
	}
	var costs []float64
	tab.Eval(`window.costs`, &costs)
	slices.Sort(costs)
	b.ReportMetric(costs[len(costs)/2], "ms-median")
	b.ReportMetric(costs[len(costs)*99/100], "ms-p99")
	if st := s.add("Chromium", tab).stats(); st.Rollbacks == 0 {
		b.Errorf("no rollbacks: the benchmark proves nothing: %+v", st)
	}
}
