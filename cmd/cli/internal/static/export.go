// Package static writes pages as files that any static web server can serve. A worker of the page runs the game, compiled for
// browsers.
package static

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/internal/wasm"
	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/replaypage"
)

// Flag is the flag of a verb that can write its page as files.
type Flag struct {
	Export string `type:"path" placeholder:"DIR" group:"The page" help:"Write the page into this directory, as files for any static web server. It needs the go command and the source of the game."`

	Program string `kong:"-"` // the package to compile; "": that of the running program
}

// The scripts by which an earlier page in the directory is recognized.
const (
	LabScript    = "lab.js"
	ReplayScript = "replay.js"
)

// Check returns an error if the page cannot be written, or is also served. It sets Program. script is that of the page.
func (f *Flag) Check(ctx context.Context, served bool, script string) (err error) {
	if f.Export == "" {
		return nil
	}
	if served {
		return errors.New("--export writes the page as files: leave --page out")
	}
	if err := app.Fillable("--export", f.Export, script); err != nil {
		return err
	}
	f.Program, err = wasm.Find(ctx, f.Program)
	return err
}

// Lab writes the lab.
func (f *Flag) Lab(a *app.App, begin labpage.Settings) error {
	return f.write(a, "the lab", begin, nil, app.Fields{"seed": app.ID(begin.Seed)}, func(s *page.Server) error {
		return labpage.Register(s, labpage.Config{Game: a.Game, Strategies: syncflags.All, Begin: begin})
	})
}

// Replay writes the page that shows recordings, or a desync bundle.
func (f *Flag) Replay(a *app.App, list ...replaypage.File) error {
	if a.Game.Schema().HasPrivate() {
		a.Logf("%s has private data: everyone who can load the page can read that of all players", a.Game.Name)
	}
	files := map[string][]byte{}
	for i := range list {
		list[i].Path = fmt.Sprintf("recording-%d.bin", i+1)
		files[list[i].Path] = list[i].Data
	}
	return f.write(a, "the match", list, files, nil, func(s *page.Server) error {
		replaypage.Register(s, "/", func(context.Context, string) ([]replaypage.Match, error) { return nil, nil }) // for its files
		s.Images(a.Game)
		return nil
	}, "replay")
}

// write compiles the game for browsers and writes the page. name describes the content. The program receives begin.
func (f *Flag) write(a *app.App, name string, begin any, files map[string][]byte, more app.Fields, register func(*page.Server) error, tags ...string) error {
	a.Logf("compiling %s for browsers", a.Game.Name)
	ctx := a.Ctx
	if ctx.Err() != nil { // Ctrl-C has ended the run that is exported
		ctx = context.WithoutCancel(ctx)
	}
	program, err := wasm.Build(ctx, f.Program, append(tags, "headless")...)
	if err != nil {
		return err
	}
	if program.Begin, err = json.Marshal(begin); err != nil {
		return err
	}
	size, err := page.Export(f.Export, program, register)
	if err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	data := 0
	for _, content := range files {
		data += len(content)
	}
	if _, err := page.Write(f.Export, files); err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	loaded := fmt.Sprintf("a browser loads %.2f MB", float64(size)/1e6)
	if data > 0 {
		loaded += fmt.Sprintf(", and %.2f MB of recordings", float64(data)/1e6)
	}
	a.Print(fmt.Sprintf("%s contains %s as files: %s. Serve the directory, for example with\n  python3 -m http.server --directory %s\n", f.Export, name, loaded, app.Quoted(f.Export)))
	line := app.Fields{"directory": f.Export, "bytes": size, "recordings": data}
	for k, v := range more {
		line[k] = v
	}
	a.Emit("exported", line)
	return nil
}
