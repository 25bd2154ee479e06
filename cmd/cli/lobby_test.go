package cli

import (
	"fmt"
	"os"
	"testing"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/window"
	"tendon/ecs"
)

// shownGame is crumbs for a window. It prints a line when the first picture with two players is drawn.
func shownGame() *ecs.Game {
	g, drawn := crumbs.Game(), false
	g.Screen.Controls = func(ecs.Controls) ecs.InputBytes { return crumbs.Pads.Pack(crumbs.Pad{}) }
	g.Screen.Draw = func(_ ecs.Canvas, v *ecs.View) {
		players := 0
		for range crumbs.Walkers.All(v.Sim) {
			players++
		}
		if players == 2 && !drawn {
			drawn = true
			fmt.Println(`{"event":"drawn"}`)
		}
	}
	return g
}

// Two windows wait for a match, and then show it. A third one waits, and Ctrl-C leaves the queue.
func TestTwoWindowsQueueAndPlay(t *testing.T) {
	slow(t)
	if err := window.Check(); err != nil {
		t.Skip(err)
	}
	key := newKey(t)
	server := background(t, crumbs.Game(), "serve", "--json", "--listen", "127.0.0.1:0", "--key-file", key)
	address := awaitEvent(t, server.out, server.ended, "listening").text("public")
	b := background(t, crumbs.Game(), "backend", "--json", "--listen", "127.0.0.1:0", "--key-file", key, "--server", address, "--queue", "duel=2", "--dir", t.TempDir())
	url := awaitEvent(t, b.out, b.ended, "backend").text("url")
	queued := func(event string, f map[string]any) bool { return event == "queue" && f["state"] == "queued" }
	queues := func(player string) (*process, string) {
		p := startProgram(t, os.Args[0], append(os.Environ(), asCrumbs+"=shown"), "join", "--backend", url, "--queue", "duel", "--player", player)
		id, _ := p.until(queued)["id"].(string)
		return p, id
	}
	ann, _ := queues("ann")
	bob, _ := queues("bob")
	for _, p := range []*process{ann, bob} {
		p.until(is("matched"))
		p.until(is("drawn"))
	}
	eve, id := queues("eve")
	for _, p := range []*process{ann, bob, eve} {
		if code := p.end(os.Interrupt); code != app.ExitFine {
			t.Errorf("exit code %d", code)
		}
	}
	if got, err := (&api.Client{URL: url}).Get(t.Context(), id, 0); err != nil || got.State != "cancelled" {
		t.Errorf("%+v, %v", got, err)
	}
}
