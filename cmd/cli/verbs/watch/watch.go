// Package watch is the verb that watches a broadcast.
package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/broadcast"
	"tendon/rollback"
)

// Verb watches a broadcast.
type Verb struct {
	Address  string         `arg:"" help:"Broadcast of a room: https://HOST/PATH/ROOM, or the directory DIR/ROOM of serve --broadcast DIR."`
	Headless bool           `help:"No window: verify every tick and print the progress, until the match ends."`
	For      *time.Duration `help:"Stop after this time. Default: until Ctrl-C, or with --headless until the match ends."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `A server with --broadcast DIR writes its matches as files, which any web server or HTTP cache can serve. watch loads the
files, simulates the match and compares the checksum of every tick. It begins with the second-last fragment. The picture is
behind the match by the delay of the broadcast and three to nine seconds. After a restart of the server, or if the network is
too slow, it continues with a newer fragment. It requests about one file every three seconds.

The exit code is 0 if the match ends or you stop watching, 1 if a tick differs from the match, and 2 if there is no broadcast.
The output names the tick that differs.
With --json, the events are progress, desync and watched.

Examples:
  watch https://example.com/broadcast/main
  watch casts/main                          a directory of this computer
  watch casts/main --headless --for 1m      verify for a minute`
}

// Run watches.
func (v *Verb) Run(a *app.App) error {
	if !v.Headless {
		if err := window.Check(); err != nil {
			return fmt.Errorf("%w; use --headless", err)
		}
	}
	source, err := v.source()
	if err != nil {
		return err
	}
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	viewer, err := broadcast.NewViewer(a.Game, source, app.ChooseSeed(0), clock())
	if err != nil {
		return err
	}
	fetch, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- viewer.Run(fetch, clock) }()
	if v.Headless {
		err = verify(ctx, a, viewer, ended)
	} else {
		err = show(ctx, a, viewer, clock, ended, v.Address)
	}
	stop()
	return v.finish(a, viewer, err)
}

// source returns the source of the address.
func (v *Verb) source() (broadcast.Source, error) {
	v.Address = strings.TrimPrefix(v.Address, "file://")
	if strings.Contains(v.Address, "://") {
		return broadcast.NewHTTP(v.Address, nil)
	}
	if !app.IsDirectory(v.Address) {
		return nil, fmt.Errorf("%s is no directory: use the folder of a room in the directory of serve --broadcast, or an address that begins with https://", v.Address)
	}
	return broadcast.Files{FS: os.DirFS(v.Address)}, nil
}

const (
	verifyInterval = 20 * time.Millisecond
	reportInterval = 5 * time.Second
)

// verify simulates ticks as soon as they arrive, until the match ends.
func verify(ctx context.Context, a *app.App, v *broadcast.Viewer, ended <-chan error) error {
	ticker := time.NewTicker(verifyInterval)
	defer ticker.Stop()
	reported := time.Now()
	for {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = v.Step(); err != nil {
				return err
			}
		}
		s := v.Stats()
		if time.Since(reported) >= reportInterval {
			reported = time.Now()
			a.Logf("%s", s.Status(a.Game.TickRate))
			a.Emit("progress", fields(a.Game, &s))
		}
		if s.Over {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-ticker.C:
		}
	}
}

// show shows the match in a window.
func show(ctx context.Context, a *app.App, v *broadcast.Viewer, clock func() time.Duration, ended <-chan error, address string) error {
	var failed error
	return window.Run(window.Config{Title: a.Game.Name + " · " + address, Game: a.Game,
		Report: func(err error) { a.Logf("%v", err) },
		Frame: func(time.Time, ecs.InputBytes) error {
			select {
			case <-ctx.Done():
				return window.ErrClosed
			case err := <-ended:
				failed = err
			default:
			}
			return failed
		},
		View: func(_ time.Time, effect func(*ecs.View, ecs.Effect)) *ecs.View {
			view, err := v.Show(clock(), effect)
			if err != nil {
				failed = err
				return nil
			}
			return view
		},
		Status: func() string { s := v.Stats(); return s.Status(a.Game.TickRate) },
		Banner: func(time.Time) string { s := v.Stats(); return s.Banner() },
	})
}

// fields returns the figures of a viewer as JSON.
func fields(g *ecs.Game, s *broadcast.Stats) app.Fields {
	return app.Fields{"tick": s.Tick, "verified": s.Verified, "jumps": s.Jumps, "bytes": s.Bytes, "kb_per_minute": s.PerMinute(g.TickRate) / 1000, "over": s.Over, "match": s.Index.Match}
}

// finish prints the result.
func (v *Verb) finish(a *app.App, viewer *broadcast.Viewer, err error) error {
	s := viewer.Stats()
	var desync *rollback.DesyncReport
	switch {
	case errors.As(err, &desync):
		a.Emit("desync", app.Fields{"report": desync})
		a.Print(desync.String() + "\n")
		return fmt.Errorf("%w: tick %d differs from the broadcast: watch with build %q, which made it", app.ErrFailed, desync.Tick, app.Printable(s.Index.Build))
	case errors.Is(err, broadcast.ErrNone):
		return fmt.Errorf("%w; a server with --broadcast writes one for each open room, into a folder with its name", err)
	case errors.Is(err, broadcast.ErrNotFound):
		return fmt.Errorf("%w, but the index names it: the broadcast is not whole", err)
	case err != nil:
		return err
	}
	a.Emit("watched", fields(a.Game, &s))
	switch none := v.Headless && s.Verified == 0; {
	case none && s.Err != nil:
		return fmt.Errorf("no tick arrived in time: %w", s.Err)
	case none:
		return errors.New("no tick arrived in time: set --for to more than the delay of the broadcast plus three seconds")
	}
	end := ""
	if s.Over {
		end = "; the match is over"
	}
	a.Print(fmt.Sprintf("%s verified, up to tick %d, with %.1f KB per minute and %s%s\n", app.Counted(int(s.Verified), "tick", "ticks"), s.Tick, s.PerMinute(a.Game.TickRate)/1000, app.Counted(int(s.Jumps), "gap", "gaps"), end))
	return nil
}
