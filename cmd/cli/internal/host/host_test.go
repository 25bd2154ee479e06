package host

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
	"tendon/systems/relay"
)

// An operator receives the last seconds of a room that runs, and an error for a room that does not exist.
func TestTheLastSecondsOfARoomThatRuns(t *testing.T) {
	a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
	h, err := Start(a, Config{Config: server.Config{Address: "127.0.0.1:0"}, Flags: &Flags{}, Strategy: relay.Strategy, Watched: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := h.Recent(t.Context(), "main"); err == nil {
			t.Error("a stopped server has a room")
		}
	}()
	if _, err := h.Recent(t.Context(), "nowhere"); !errors.Is(err, server.ErrNoRoom) {
		t.Error(err)
	}
	c, err := h.Dial(h.PublicAddr, "main", 0, client.Config{Bot: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var last *record.Record
	for end := time.Now().Add(time.Minute); last == nil || last.Last().Tick < last.Start()+60; time.Sleep(10 * time.Millisecond) {
		if err := c.Frame(time.Now()); err != nil || time.Now().After(end) {
			t.Fatalf("%v, %v", err, last)
		}
		if c.State() == client.Live {
			last, _ = h.Recent(t.Context(), "main")
		}
	}
	started, busy := make(chan struct{}), make(chan struct{})
	go h.Do(t.Context(), "main", func(*room.Room) { close(started); <-busy })
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := h.Recent(ctx, "main"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a busy room: %v", err)
	}
	close(busy)
	at, err := cursor.New(last, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Seek(at.Last()); err != nil || at.State().Empty() {
		t.Errorf("tick %d: %v", at.Last(), err)
	}
}
