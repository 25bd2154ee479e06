package player

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/session"
	"tendon/systems"
)

// InWindow plays in a window. An error from lost ends it early. lost is optional.
func InWindow(ctx context.Context, a *app.App, c *client.Client, title string, lost <-chan error) error {
	defer c.Close()
	err := window.Run(window.Config{
		Title: title, Game: a.Game,
		Frame: func(now time.Time, in ecs.InputBytes) error {
			select {
			case <-ctx.Done():
				return window.ErrClosed
			case err := <-lost:
				return err
			default:
			}
			if unanswered(c) {
				return ErrSilent
			}
			c.SetInput(in)
			return c.Frame(now)
		},
		View: func(now time.Time) *ecs.View {
			if c.Core.World() == nil {
				return nil
			}
			view := c.View(now)
			c.Effects(func(e systems.Effect) {
				if a.Game.Screen.Effect != nil {
					a.Game.Screen.Effect(view, e)
				}
			})
			return view
		},
		Status: func() string { return status(c) },
	})
	return PlayError(err)
}

// PlayError adds advice to the error that ended a client. Leaving is no error.
func PlayError(err error) error {
	switch {
	case errors.Is(err, client.ErrClosed):
		return nil
	case errors.Is(err, client.ErrUnreachable):
		return fmt.Errorf("%w; see whether the server still runs, and whether the same player has joined from elsewhere", err)
	case errors.Is(err, &session.Error{Code: session.CodeGame}):
		return fmt.Errorf("%w; it may also be that the server runs at another --tick-rate: give the same", err)
	}
	return err
}

// status returns the line at the bottom of the window.
func status(c *client.Client) string {
	s := c.Stats()
	switch c.State() {
	case client.Live:
		return fmt.Sprintf("RTT %d ms · %d ticks ahead · input delay %d", s.RTT/1e6, s.Strategy.Present-s.Strategy.Confirmed, s.Strategy.InputDelay)
	case client.Loading, client.CatchingUp:
		return fmt.Sprintf("%v [%-20s] %.0f %%", c.State(), strings.Repeat("#", int(20*c.Progress())), 100*c.Progress())
	}
	return c.State().String() + "…"
}
