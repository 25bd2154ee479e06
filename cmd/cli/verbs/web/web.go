// Package web is the verb that compiles the game for browsers.
package web

import (
	"errors"
	"fmt"
	"os"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/wasm"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/playpage"
	"tendon/cmd/cli/verbs/serve"
)

// Verb compiles the game for browsers, and serves it or writes it as files.
type Verb struct {
	Out string `type:"path" placeholder:"DIR" help:"Write the page into this directory, for any static web server, and serve nothing."`

	serve.Verb `embed:""`
}

// Help explains the verb.
func (Verb) Help() string {
	return `The program is compiled for browsers, with the go command, in the folder of its module. Then a server runs as with serve, and
prints a link with which a browser joins. The other flags are those of serve. By default only this computer can open the
page, at 127.0.0.1:7778.

With --out, the page is written as files that any static web server can serve. A server with --web and --web-origin accepts
the browsers that open it there.

A self-signed certificate, the default, is accepted for WebTransport, because the invitation contains its hash. Other computers
need a page with a trusted certificate: one of a static web server, or of --web-cert and --web-key.

Examples:
  web
  web --out site
  web --web :7778 --web-cert fullchain.pem --web-key key.pem`
}

// Run compiles, and writes or serves.
func (v *Verb) Run(a *app.App) (err error) {
	if v.Out != "" && v.WebPages != "" {
		return errors.New("--out and --web-pages do not go together: --out writes the pages that --web-pages serves; leave one of them out")
	}
	if v.Out != "" {
		if err := app.Fillable("--out", v.Out, "play.js"); err != nil {
			return err
		}
	}
	path, err := wasm.Find(a.Ctx, "")
	if err != nil {
		return err
	}
	a.Logf("compiling %s for browsers", a.Game.Name)
	program, err := wasm.Build(a.Ctx, path)
	if err != nil {
		return err
	}
	font, err := wasm.Font(a.Ctx)
	if err != nil {
		return err
	}
	files, err := playpage.Files(a.Game.Name, program, font)
	if err != nil {
		return err
	}
	dir := v.Out
	if dir == "" {
		if dir, err = os.MkdirTemp("", a.Game.Name+"-web-*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	size, err := page.Write(dir, files)
	if err != nil {
		return err
	}
	if v.Out != "" {
		a.Print(fmt.Sprintf("%s has the game for browsers: %.1f MB are loaded, and a font of %.1f MB in the background. Players open it with the links that serve --web prints.\n", v.Out, float64(size-len(font))/1e6, float64(len(font))/1e6))
		a.Emit("exported", app.Fields{"directory": v.Out, "bytes": size})
		return nil
	}
	v.WebPages = dir
	if v.Web == "" {
		v.Web = "127.0.0.1:7778"
	}
	return v.Verb.Run(a)
}
