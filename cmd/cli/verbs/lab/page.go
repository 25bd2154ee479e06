package lab

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/gif"
	"os"
	"path/filepath"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/static"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/page"
	"tendon/net/simnet"
)

// PageFlags open the lab in a browser.
type PageFlags struct {
	Page bool `group:"The page" help:"Serve a page on which the same match runs by two or more strategies side by side. You are one of the players, and you change the network. The page loads nothing from other servers. By default only this computer can open it."`
	app.BrowseFlags
}

// Check rejects flags that need --page.
func (v *PageFlags) Check() error { return v.BrowseFlags.Check(v.Page) }

// Serve serves the page until Ctrl-C.
func (v *PageFlags) Serve(a *app.App, begin labpage.Settings) error {
	return v.BrowseFlags.Serve(a, "The lab", page.Config{Streams: labpage.Streams}, func(s *page.Server) error {
		return labpage.Register(s, labpage.Config{Game: a.Game, Strategies: syncflags.All, Begin: begin})
	}, app.Fields{"seed": app.ID(begin.Seed)})
}

// The defaults of --for and --settle.
const (
	defaultFor    = time.Minute
	defaultSettle = 5 * time.Second
)

// page serves the lab's page, which begins as the flags say.
func (v *Verb) page(a *app.App) error {
	// Flags that are not at their defaults are refused.
	for flag, given := range map[string]bool{"--for": v.For != defaultFor, "--settle": v.Settle != defaultSettle, "--markdown": v.Markdown != "",
		"--out": v.Out != "", "--bots": v.Bots} {
		if given {
			return fmt.Errorf("%s is for the tables: leave it out, or leave out --page, --export and --picture", flag)
		}
	}
	s := labpage.Usual(app.ChooseSeed(v.Seed))
	s.Players = cmp.Or(v.Players, s.Players)
	if v.Sync != everything {
		chosen, err := chosenStrategies(v.Sync)
		if err != nil {
			return err
		}
		s.Sync = nil
		for _, c := range chosen {
			if err := syncflags.CheckGame(c, a.Game); err != nil {
				return err
			}
			s.Sync = append(s.Sync, c.Name)
		}
	}
	if v.Given() {
		chosen, err := v.profiles()
		if err != nil {
			return err
		}
		if len(chosen) != 1 {
			return fmt.Errorf("--net %s: the page begins with one network: name one", v.Net)
		}
		SetNetwork(&s, chosen[0])
	}
	switch {
	case v.Picture != "":
		return v.picture(a, s)
	case v.Export != "":
		if err := cmp.Or(v.Flag.Check(a.Ctx, v.Page, static.LabScript), v.PageFlags.Check()); err != nil {
			return err
		}
		return v.Flag.Lab(a, s)
	}
	return v.PageFlags.Serve(a, s)
}

// picture writes the animation.
func (v *Verb) picture(a *app.App, begin labpage.Settings) error {
	if v.Page || v.Export != "" {
		return errors.New("--picture writes one file: leave out --page and --export")
	}
	if err := v.PageFlags.Check(); err != nil {
		return err
	}
	if err := cmp.Or(app.Writable(filepath.Dir(v.Picture)), app.Replaceable(v.Picture)); err != nil {
		return fmt.Errorf("--picture: %w", err)
	}
	film, err := labpage.Film(labpage.Config{Game: a.Game, Strategies: syncflags.All}, begin)
	if err != nil {
		return fmt.Errorf("--picture: %w", err)
	}
	var file bytes.Buffer
	if err := gif.EncodeAll(&file, film); err != nil {
		return fmt.Errorf("--picture: %w", err)
	}
	if err := os.WriteFile(v.Picture, file.Bytes(), 0o666); err != nil {
		return fmt.Errorf("--picture: %w", err)
	}
	a.Logf("%s: %d pictures, %.2f MB; seed %d", v.Picture, len(film.Image), float64(file.Len())/1e6, begin.Seed)
	a.Emit("picture", app.Fields{"file": v.Picture, "pictures": len(film.Image), "bytes": file.Len(), "seed": app.ID(begin.Seed)})
	return nil
}

// SetNetwork sets the network with which the page begins.
func SetNetwork(s *labpage.Settings, p simnet.Profile) {
	s.RTT, s.Jitter, s.Loss = netflags.RTT(p).Seconds()*1e3, p.Up.Jitter.Size.Seconds()*1e3, netflags.Loss(p)
	if s.Net = ""; p.Name != own {
		s.Net = p.Name
	}
}
