package player

import (
	"context"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
)

// Lobby is the time before a match, in which the player waits for the address of a server.
type Lobby struct {
	Status func() string         // the state, in one line
	Client <-chan *client.Client // receives the client when the match begins
	Failed <-chan error          // receives the error that ends the wait
}

// InWindowAfter shows the state of a lobby in a window, and then plays in it as InWindow does.
func InWindowAfter(ctx context.Context, a *app.App, l Lobby, with window.Config, notices <-chan string) error {
	var c *client.Client
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	return PlayError(window.Run(l.window(ctx, a, with, notices, &c)))
}

// window returns the window of a lobby. It stores the client in c when the match begins.
func (l Lobby) window(ctx context.Context, a *app.App, with window.Config, notices <-chan string, c **client.Client) window.Config {
	var match window.Config // valid if there is a client
	outer := with
	outer.Game, outer.Report = a.Game, func(err error) { a.Logf("%v", err) }
	outer.Frame = func(now time.Time, in ecs.InputBytes) error {
		if *c != nil {
			return match.Frame(now, in)
		}
		select {
		case <-ctx.Done():
			return window.ErrClosed
		case err := <-l.Failed:
			if ctx.Err() != nil { // the wait failed because the player leaves
				return window.ErrClosed
			}
			return err
		case *c = <-l.Client:
			match = showing(ctx, a, *c, with, nil, notices)
		default:
		}
		return nil
	}
	outer.View = func(now time.Time, effect func(*ecs.View, ecs.Effect)) *ecs.View {
		if *c == nil {
			return nil
		}
		return match.View(now, effect)
	}
	outer.Status = func() string {
		if *c == nil {
			return l.Status()
		}
		return match.Status()
	}
	outer.Banner = func(now time.Time) string {
		if *c == nil {
			return ""
		}
		return match.Banner(now)
	}
	outer.Stats = func() (s client.Stats) {
		if *c != nil {
			s = match.Stats()
		}
		return s
	}
	outer.Say = func(text string) {
		if *c != nil {
			match.Say(text)
		}
	}
	outer.Pause = func() {
		if *c != nil {
			match.Pause()
		}
	}
	return outer
}
