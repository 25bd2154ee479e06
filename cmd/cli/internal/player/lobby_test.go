package player

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/matchsim/halves"
)

// lobby returns a window of a lobby, and the channel for the error that ends its wait.
func lobby(ctx context.Context) (window.Config, chan<- error) {
	failed := make(chan error, 1)
	l := Lobby{Status: func() string { return "queued" }, Client: make(chan *client.Client), Failed: failed}
	var c *client.Client
	return l.window(ctx, app.New(ctx, halves.Dots(), io.Discard, io.Discard), window.Config{}, nil, &c), failed
}

func TestALobbyShowsItsStatusUntilTheWaitFails(t *testing.T) {
	w, failed := lobby(t.Context())
	now := time.Unix(1000, 0)
	if err := w.Frame(now, ecs.InputBytes{}); err != nil || w.Status() != "queued" || w.View(now, nil) != nil || w.Banner(now) != "" {
		t.Errorf("the lobby shows %q, %v", w.Status(), err)
	}
	refused := errors.New("there is no such queue")
	failed <- refused
	if err := w.Frame(now, ecs.InputBytes{}); !errors.Is(err, refused) {
		t.Errorf("%v, want %v", err, refused)
	}
}

// A player who leaves ends the wait. That is not a failure, whichever of both the window receives first.
func TestAPlayerWhoLeavesALobbyIsNoFailure(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		w, failed := lobby(ctx)
		cancel()
		failed <- ctx.Err()
		if err := w.Frame(time.Unix(1000, 0), ecs.InputBytes{}); !errors.Is(err, window.ErrClosed) {
			t.Fatalf("%v, want %v", err, window.ErrClosed)
		}
	}
}
