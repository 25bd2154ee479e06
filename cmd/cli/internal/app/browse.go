package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"

	"tendon/cmd/cli/page"
)

// BrowseFlags are the flags of a verb that can serve a page.
type BrowseFlags struct {
	Listen string `group:"The page" default:"127.0.0.1:0" help:"With --page: address of the page, as host:port; port 0: any free port. An address that other computers can reach needs a token; the link contains a random one."`
	NoOpen bool   `group:"The page" help:"With --page: print the link and open no browser."`
}

// Check refuses the flags of a page without --page.
func (v *BrowseFlags) Check(page bool) error {
	switch {
	case !page && v.Listen != "127.0.0.1:0":
		return fmt.Errorf("--listen %s is for --page: add --page, or leave --listen out", v.Listen)
	case !page && v.NoOpen:
		return errors.New("--no-open is for --page: add --page, or leave --no-open out")
	}
	return nil
}

// Serve serves a page until Ctrl-C. register adds its contents, name is its subject, and more are further fields of the
// line of JSON.
func (v *BrowseFlags) Serve(a *App, name string, c page.Config, register func(*page.Server) error, more Fields) error {
	c.Addr = v.Listen
	if page.Reachable(v.Listen) {
		c.Token = rand.Text()
	}
	s, err := page.New(c)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", v.Listen, err)
	}
	if err := register(s); err != nil {
		_ = s.Close()
		return err
	}
	link := s.Link("/")
	a.Logf("%s is at %s (Ctrl-C ends it)", name, link)
	line := Fields{"url": link}
	maps.Copy(line, more)
	a.Emit("page", line)
	if !v.NoOpen {
		openBrowser(link)
	}
	return s.Serve(a.Ctx)
}

// openBrowser opens a link in the browser, if there is a display. The link is printed in any case.
func openBrowser(link string) {
	name, args := "xdg-open", []string{link}
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case runtime.GOOS == "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	if c := exec.Command(name, args...); c.Start() == nil {
		go func() { _ = c.Wait() }()
	}
}
