package host

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/net/broadcast"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems/relay"
)

// A server writes its rooms as broadcasts. When it stops, their matches are over, and a viewer verifies each to its end.
func TestARoomIsBroadcast(t *testing.T) {
	a, dir := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard), t.TempDir()
	h, err := Start(a, Config{Config: server.Config{Address: "127.0.0.1:0"}, Flags: &Flags{}, Strategy: relay.Strategy, Broadcast: &Broadcast{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Dial(h.PublicAddr, "main", 0, client.Config{Bot: true})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); c.State() != client.Live || c.Stats().Strategy.Confirmed < 10; time.Sleep(5 * time.Millisecond) {
		if err := c.Frame(time.Now()); err != nil || time.Now().After(end) {
			t.Fatalf("%v in tick %d", err, c.Stats().Strategy.Confirmed)
		}
	}
	c.Close()
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	v, err := broadcast.NewViewer(crumbs.Game(), broadcast.Files{FS: os.DirFS(filepath.Join(dir, "main"))}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 { // the index, the state, and the ticks of the last one or two fragments
		if _, err := v.Fetch(context.Background(), func() time.Duration { return 0 }); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			if more, err = v.Step(); err != nil {
				t.Fatal(err)
			}
		}
		if v.Stats().Over {
			break
		}
	}
	if s := v.Stats(); s.Verified < 10 || !s.Over || s.Index.Room != "main" || s.Err != nil {
		t.Errorf("%+v", s)
	}
}

// A room that is opened again is broadcast only after the files of its last match are written. A disk that does not answer does not
// keep the room closed.
func TestTheNextBroadcastOfARoomWaitsForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
		h := &Host{app: a, config: Config{Strategy: relay.Strategy, Broadcast: &Broadcast{Dir: t.TempDir()}}, ending: map[string]chan struct{}{}}
		disk, next := make(chan struct{}), make(chan *broadcast.Writer)
		h.endBroadcast("main", func() { <-disk })
		start := func() { next <- h.startBroadcast("main", &room.Config{Game: crumbs.Game()}) }
		go start()
		if w := <-next; w != nil { // after diskLimit
			t.Error("two matches are written into one folder")
		}
		go start()
		synctest.Wait()
		select {
		case <-next:
			t.Error("it did not wait")
		default:
		}
		close(disk)
		w := <-next
		if w == nil {
			t.Fatal("it is not broadcast")
		}
		w.Close(false)()
		h.recordings.Wait()
		if len(h.ending) > 0 {
			t.Errorf("%v is left", h.ending)
		}
	})
}

// The delay of a game with private data is chosen by the operator, who has to say that viewers may know everything.
func TestPrivateDataIsNotBroadcastByMistake(t *testing.T) {
	open, hidden := crumbs.Game(), crumbs.Game()
	hidden.Components = append(hidden.Components, ecs.NewComponent("hand", ecs.Roles[crumbs.Wear]{Private: true}))
	for _, c := range []struct {
		game              *ecs.Game
		delay             time.Duration
		explicit, private bool
		want              string
	}{
		{open, 0, false, false, ""},
		{open, MaxBroadcastDelay + 1, true, false, "0s to 15m0s"},
		{open, -1, true, false, "0s to 15m0s"},
		{open, time.Minute, true, true, "leave --broadcast-private out"},
		{hidden, time.Minute, true, false, "hidden data of other players"},
		{hidden, time.Minute, false, true, "hidden data of other players"},
		{hidden, time.Minute, true, true, ""},
	} {
		if err := CheckBroadcast(c.game, c.delay, c.explicit, c.private); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
