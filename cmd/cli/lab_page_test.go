package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
)

// pageGame is crumbs.Game with a picture.
func pageGame() *ecs.Game {
	g := crumbs.Game()
	g.Screen.Draw = func(c ecs.Canvas, v *ecs.View) {
		c.Camera(0, 0, 10)
		c.Circle(float64(v.Tick%7), 0, 1, ecs.Color{R: 255, A: 255})
	}
	return g
}

// firstMessage returns the first message that the page at an address receives.
func firstMessage(t *testing.T, url string) (m struct {
	Game     string
	Settings struct {
		Sync    []string
		Net     string
		RTT     float64
		Loss    float64
		Players int
		Seed    uint64 `json:",string"`
	}
}) {
	t.Helper()
	c, _, err := websocket.Dial(context.Background(), url+"lab", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {strings.TrimSuffix(url, "/")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	_, text, err := c.Read(context.Background())
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The page is there where the verb says, begins as the flags say, and ends with Ctrl-C as everything does.
func TestTheLabsPageIsServedUntilItIsInterrupted(t *testing.T) {
	lab := background(t, pageGame(), "lab", "--page", "--no-open", "--json", "--sync", "predict,lockstep", "--net", "P5", "--players", "3", "--seed", "11")
	url := awaitEvent(t, lab.out, lab.ended, "page").text("url")
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if html, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || !strings.Contains(string(html), "Tendon lab") {
		t.Errorf("%s answers %s: %s", url, answer.Status, html)
	}
	m := firstMessage(t, url)
	if s := m.Settings; m.Game != "crumbs" || strings.Join(s.Sync, " ") != "lockstep predict" || s.Net != "P5" || s.Players != 3 || s.Seed != 11 {
		t.Errorf("the page receives %+v", m)
	}
	lab.stop()
	if code := <-lab.ended; code != app.ExitFine {
		t.Errorf("it ends with exit code %d: %s", code, lab.note)
	}
}

func TestTheDemosPageBeginsWithTheDemosNetwork(t *testing.T) {
	demo := background(t, pageGame(), "demo", "--page", "--no-open", "--json", "--rtt", "320ms", "--loss", "7", "--bots", "2", "--sync", "reckon")
	m := firstMessage(t, awaitEvent(t, demo.out, demo.ended, "page").text("url"))
	if s := m.Settings; strings.Join(s.Sync, " ") != "lockstep reckon" || s.RTT != 320 || s.Loss != 7 || s.Players != 3 {
		t.Errorf("the page receives %+v", m)
	}
	demo.stop()
	if code := <-demo.ended; code != app.ExitFine {
		t.Errorf("it ends with exit code %d: %s", code, demo.note)
	}
}

// An address that others reach is served with a token, which no request without it gets past.
func TestThePageForOthersDemandsAToken(t *testing.T) {
	lab := background(t, pageGame(), "lab", "--page", "--no-open", "--json", "--listen", "0.0.0.0:0")
	url := awaitEvent(t, lab.out, lab.ended, "page").text("url")
	at, token, ok := strings.Cut(url, "#token=")
	if !ok || len(token) != 26 {
		t.Fatalf("the link is %s", url)
	}
	answer, err := http.Get(at + "lab.js")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		t.Errorf("%slab.js is served without the token", at)
	}
}

func TestThePageRefusesWhatItCannotDo(t *testing.T) {
	noBot := pageGame()
	noBot.Bot = nil
	for _, c := range []struct {
		game *ecs.Game
		args string
		want []string
	}{
		{crumbs.Game(), "lab --page --no-open", []string{"Draw"}},
		{noBot, "lab --page --no-open", []string{"Bot"}},
		{pageGame(), "lab --page --no-open --for 10s", []string{"--for"}},
		{pageGame(), "lab --page --no-open --out x", []string{"--out"}},
		{pageGame(), "lab --page --no-open --net P3,P5", []string{"--net", "one"}},
		{pageGame(), "lab --page --no-open --sync none", []string{"--sync", "none"}},
		{pageGame(), "lab --page --no-open --listen nowhere", []string{"--listen"}},
		{pageGame(), "demo --page --no-open --for 10s", []string{"--for"}},
		{pageGame(), "lab --listen 127.0.0.1:1", []string{"--listen", "--page"}},
		{pageGame(), "demo --no-open", []string{"--no-open", "--page"}},
		{pageGame(), "lab --picture x.gif", []string{"--picture", "Controls"}},
		{pageGame(), "lab --picture x.gif --page", []string{"--picture", "--page"}},
		{pageGame(), "lab --picture x.gif --bots", []string{"--bots", "--picture"}},
	} {
		refused(t, do(t, c.game, strings.Fields(c.args)...), c.want...)
	}
}
