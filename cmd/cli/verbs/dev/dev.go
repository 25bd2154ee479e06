// Package dev is the verb that plays a match and builds the game again when a file is saved. The match continues with the new
// build.
package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/window"
	"tendon/ecs/image"
)

// Verb plays a match whose processes are replaced by a new build when a file of the program is saved.
type Verb struct {
	syncflags.Flags `embed:""`

	Windows  int            `default:"1" help:"Number of windows, each with a player."`
	Bots     int            `default:"1" help:"Number of bots."`
	Headless bool           `help:"No windows: their players send no inputs."`
	Listen   string         `default:"127.0.0.1:0" help:"Address of the server. Default: a free port of the loopback interface."`
	Dir      string         `type:"path" default:".tendon" help:"Directory of journals, recordings and builds. The recordings and the last builds stay for replay."`
	Seed     uint64         `help:"Seed of the match. Default: a random one."`
	For      *time.Duration `help:"Stop after this time. Default: until Ctrl-C."`
	Check    bool           `hidden:"" help:"Print the layout of the state, after a check that the state in the layout of the standard input can be carried over."`

	netflags.NetFlags `embed:"" set:"rtt=0s" set:"jitter=0s" set:"loss=0"`
}

// Help explains the verb.
func (Verb) Help() string {
	return `A server, windows and bots run as processes of their own. When a file of the program is saved, the program is built and
these processes are replaced. The match continues at its tick with the new rules: players keep their seats, names and
entities. If the build fails, its errors are printed and the match goes on with the old build.

The state is carried over by the names of components, resources and fields, also inside of structs, arrays and lists. Added
ones are zero, and removed ones are dropped. A field with another type is refused, with its name: the match then goes on with
the old build. The change is an order in the match. A file of DIR/recordings has the ticks of one build, and DIR/builds has
the last ten builds, with which replay plays both sides of a change:
  replay DIR/recordings/FILE --builds DIR/builds
  replay DIR/recordings/FILE --builds DIR/builds --redo --page
                                the last 10 s again with the present rules,
                                beside the old ones, in a browser

If the rules of a build panic, the match waits for the next build, which continues it before the tick that panicked.
Closing the last window ends the verb, and so does Ctrl-C. The next dev begins another match.

Examples:
  dev
  dev --windows 2 --bots 0 --net P5
  dev --headless --bots 3 --sync predict`
}

// Run plays until the end of the context.
func (v *Verb) Run(a *app.App) error {
	if v.Check {
		return check(a)
	}
	if err := v.checkFlags(a); err != nil {
		return err
	}
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	s := &session{app: a, verb: v, events: make(chan event, 64)}
	defer func() {
		if s.unlock != nil {
			_ = s.unlock() // the system releases the lock in any case
		}
	}()
	err = s.prepare(ctx)
	if ctx.Err() != nil && err != nil { // Ctrl-C has ended a command of the preparation
		return nil
	}
	if err != nil {
		return err
	}
	defer s.end()
	return s.play(ctx)
}

func (v *Verb) checkFlags(a *app.App) error {
	most := a.Game.MaxPlayers
	switch {
	case v.Windows < 0 || v.Bots < 0 || v.Windows+v.Bots < 1 || v.Windows+v.Bots > most:
		return fmt.Errorf("--windows %d --bots %d: give 1 to %d players together", v.Windows, v.Bots, most)
	case v.Bots > 0 && a.Game.Bot == nil:
		return errors.New("the game has no bot: use --bots 0")
	case v.RelayOnly:
		return errors.New("--relay-only is for serve: without the state, the server cannot carry it over")
	}
	if v.Windows > 0 && !v.Headless {
		if err := window.Check(); err != nil {
			return fmt.Errorf("%w; use --headless, or --windows 0", err)
		}
	}
	if _, err := v.Strategy(a.Game); err != nil {
		return err
	}
	_, err := v.Profile(usual)
	return err
}

// version is what a build prints about itself.
type version struct {
	Build  string `json:"build"`
	Layout string `json:"layout"`
}

// check prints the version of this process. The standard input is the layout of the build before, or empty.
func check(a *app.App) error {
	before, err := readAll(os.Stdin)
	if err == nil && len(before) > 0 {
		_, err = image.NewMigration(before, a.Game.Schema())
	}
	if err != nil {
		return err
	}
	now := version{Build: app.Build(), Layout: string(a.Game.Schema().AppendLayout(nil))}
	a.Print(now.Layout)
	a.Emit("version", app.FieldsOf(now))
	return nil
}

// prepare makes the directory, builds the program and starts the match.
func (s *session) prepare(ctx context.Context) (err error) {
	s.builds, s.journals = filepath.Join(s.verb.Dir, "builds"), filepath.Join(s.verb.Dir, "journals")
	s.clientDir, s.recordings = filepath.Join(s.verb.Dir, "clients"), filepath.Join(s.verb.Dir, "recordings")
	if err = os.MkdirAll(s.verb.Dir, 0o700); err == nil {
		s.unlock, err = durable.Lock(filepath.Join(s.verb.Dir, "lock"))
	}
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("another dev runs with the directory %s: stop it, or give another --dir", s.verb.Dir)
	}
	if err != nil {
		return fmt.Errorf("--dir: %w; choose another directory", err)
	}
	err = errors.Join(os.RemoveAll(s.journals), os.RemoveAll(s.clientDir))
	for _, dir := range []string{s.builds, s.journals, s.clientDir} {
		err = errors.Join(err, os.MkdirAll(dir, 0o700))
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(s.verb.Dir, ".gitignore"), []byte("*\n"), 0o644)); err != nil {
		return fmt.Errorf("--dir: %w; choose another directory", err)
	}
	if s.source, err = findSource(ctx); err != nil {
		return err
	}
	if s.files, err = s.source.list(ctx); err != nil {
		return err
	}
	s.seen = s.files.state()
	b, err := s.build(ctx)
	if err != nil {
		return err
	}
	s.current = b
	if err := s.start(ctx, s.verb.Listen); err != nil {
		s.end()
		return err
	}
	s.app.Logf("%s is at %s; save a file of %s to change the rules (Ctrl-C ends it)", s.app.Game.Name, s.addr, s.source.pkg)
	s.app.Emit("started", app.Fields{"address": s.addr, "build": b.Build, "builds": s.builds, "recordings": s.recordings})
	return nil
}
