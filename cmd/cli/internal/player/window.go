package player

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/systems"
)

// InWindow plays in a window. with has the title, and what this window offers besides the match of the client: Place, Next,
// Network and Chat. An error from lost ends it early. It shows the texts from notices. Both are optional.
func InWindow(ctx context.Context, a *app.App, c *client.Client, with window.Config, lost <-chan error, notices <-chan string) error {
	defer c.Close()
	return PlayError(window.Run(showing(ctx, a, c, with, lost, notices)))
}

// showing returns the window of a client: see InWindow.
func showing(ctx context.Context, a *app.App, c *client.Client, with window.Config, lost <-chan error, notices <-chan string) window.Config {
	text, until := "", time.Time{} // a verdict or a notice, and its end
	discarded := discards(0)
	with.Game, with.Stats, with.Say = a.Game, c.Stats, c.Chat
	with.Pause = func() { c.Pause(!c.Paused().On) }
	with.Report = func(err error) { a.Logf("%v", err) }
	with.Frame = func(now time.Time, in ecs.InputBytes) error {
		select {
		case <-ctx.Done():
			return window.ErrClosed
		case err := <-lost:
			return err
		default:
		}
		if s := c.Stats(); s.Unanswered(firstTime) {
			return cmp.Or(c.Refusal(), ErrSilent)
		}
		c.SetInput(in)
		defer discarded.report(c.Core.World(), func(d ecs.DiscardedWrites) { ShowDiscarded(a, d) })
		return c.Frame(now)
	}
	with.View = func(now time.Time, effect func(*ecs.View, ecs.Effect)) *ecs.View {
		if c.Core.World() == nil {
			return nil
		}
		view := c.View(now)
		c.Effects(func(e systems.Effect) {
			if e.Verdict != nil {
				ShowVerdict(a, e.Verdict)
				text, until = VerdictText(e.Verdict), now.Add(verdictTime)
			}
			effect(view, e)
		})
		return view
	}
	with.Banner = func(now time.Time) string {
		select {
		case text = <-notices:
			until = now.Add(noticeTime)
		default:
		}
		if !now.Before(until) {
			text = ""
		}
		return bannerText(c.Stats(), c.Left(now), text, c.Paused().On)
	}
	with.Status = func() string {
		s := c.Stats()
		switch s.State {
		case client.Live:
			text := fmt.Sprintf("%s · RTT %d ms · %d ticks ahead · input delay %d", c.Playing(), s.RTT/1e6, s.Strategy.Present-s.Strategy.Confirmed, s.Strategy.InputDelay)
			return text + " · Esc: menu"
		case client.Loading, client.CatchingUp:
			return fmt.Sprintf("%v [%-20s] %.0f %%", s.State, strings.Repeat("#", int(20*c.Progress())), 100*c.Progress())
		}
		if s.AwaitsMatch() {
			return "connected; waiting for the match…"
		}
		return s.State.String() + "…"
	}
	return with
}

// bannerText returns the banner of a client, "" for none: a lost connection with the seconds that are left, else the text, else
// the pause. A room that moves to another server is away for less than client.ShownAway.
func bannerText(s client.Stats, left time.Duration, text string, paused bool) string {
	seconds := int((left + time.Second - 1) / time.Second)
	away := s.Away >= client.ShownAway
	switch {
	case s.State == client.Live && s.Waiting:
		return "waiting for the server"
	case away && s.State == client.Reconnecting && s.AwaitsMatch():
		return "connected again; waiting for the match"
	case away && s.State == client.Reconnecting:
		return fmt.Sprintf("connection lost; reconnecting, %d s left", seconds)
	case away && s.Reconnects > 0 && s.State != client.Connecting && s.State != client.Ended && s.State != client.Live:
		return fmt.Sprintf("connected again; %v", s.State)
	case text != "":
		return text
	case paused:
		return "paused; the menu (Esc) resumes the match"
	}
	return ""
}

const (
	verdictTime = 8 * time.Second // how long a window shows a verdict
	noticeTime  = 5 * time.Second // how long it shows a text of the server
)
