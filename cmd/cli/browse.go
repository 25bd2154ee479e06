package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"tendon/cmd/cli/page"
)

// browseFlags say where a page is served.
type browseFlags struct {
	Listen string `group:"The page" default:"127.0.0.1:0" help:"With --page: where to serve it. An address that other computers reach demands a token, which is made up and stands in the link."`
	NoOpen bool   `group:"The page" help:"With --page: only print the link, and open no browser."`
}

// unusedListen is what --listen is if it is not given.
const unusedListen = "127.0.0.1:0"

// check refuses what is only for a page where there is none.
func (v *browseFlags) check(page bool) error {
	switch {
	case page:
		return nil
	case v.Listen != unusedListen:
		return fmt.Errorf("--listen %s is for --page: add --page, or leave --listen out", v.Listen)
	case v.NoOpen:
		return errors.New("--no-open is for --page: add --page, or leave --no-open out")
	}
	return nil
}

// serve serves a page until Ctrl-C. register says what is on it, name what it is; more stands in the line of JSON.
func (v *browseFlags) serve(a *app, name string, c page.Config, register func(*page.Server) error, more fields) error {
	c.Addr = v.Listen
	if page.Reachable(v.Listen) {
		token := make([]byte, 16)
		_, _ = rand.Read(token) // never fails
		c.Token = fmt.Sprintf("%x", token)
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
	a.say("%s is at %s (Ctrl-C ends it)", name, link)
	line := fields{"url": link}
	for k, value := range more {
		line[k] = value
	}
	a.emit("page", line)
	if !v.NoOpen {
		openBrowser(link)
	}
	return s.Serve(a.ctx)
}

// openBrowser shows a link to whoever sits here. Where that is not possible, the link was printed.
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
