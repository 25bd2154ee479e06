package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"time"

	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/page"
)

// pageFlags open the lab in a browser instead.
type pageFlags struct {
	Page   bool   `group:"The page" help:"Serve a page on which the same match runs by two to five strategies side by side, on a network that you make worse, with you as one of the players. It needs nothing from outside, and no other computer reaches it."`
	Listen string `group:"The page" default:"127.0.0.1:0" help:"With --page: where to serve it. An address that other computers reach demands a token, which is made up and stands in the link."`
	NoOpen bool   `group:"The page" help:"With --page: only print the link, and open no browser."`
}

// unusedListen is what --listen is if it is not given.
const unusedListen = "127.0.0.1:0"

// check refuses what is only for the page.
func (v *pageFlags) check() error {
	switch {
	case v.Page:
		return nil
	case v.Listen != unusedListen:
		return fmt.Errorf("--listen %s is for --page: add --page, or leave --listen out", v.Listen)
	case v.NoOpen:
		return errors.New("--no-open is for --page: add --page, or leave --no-open out")
	}
	return nil
}

// serve serves the page until Ctrl-C.
func (v *pageFlags) serve(a *app, begin labpage.Settings) error {
	c := page.Config{Addr: v.Listen, Streams: labpage.Streams}
	if !loopback(v.Listen) {
		token := make([]byte, 16)
		_, _ = rand.Read(token) // never fails
		c.Token = fmt.Sprintf("%x", token)
	}
	s, err := page.New(c)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", v.Listen, err)
	}
	if err := labpage.Register(s, labpage.Config{Game: a.game, Begin: begin}); err != nil {
		_ = s.Close()
		return err
	}
	link := s.Link("/")
	a.say("The lab is at %s (Ctrl-C ends it)", link)
	a.emit("page", fields{"url": link, "seed": begin.Seed})
	if !v.NoOpen {
		openBrowser(link)
	}
	return s.Serve(a.ctx)
}

// loopback reports whether an address is one that no other computer reaches. Of what is no address the server says so.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
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

// page serves the lab's page, which begins as the flags say.
func (v *labVerb) page(a *app) error {
	for flag, given := range map[string]bool{"--for": v.For != usualFor, "--settle": v.Settle != usualSettling, "--markdown": v.Markdown != "", "--out": v.Out != "", "--bots": v.Bots} {
		if given {
			return fmt.Errorf("%s is for the tables: leave it out, or leave --page out", flag)
		}
	}
	s := labpage.Usual(chooseSeed(v.Seed))
	if v.Players != 0 {
		s.Players = v.Players
	}
	if v.Sync != everything {
		chosen, err := chosenStrategies(v.Sync)
		if err != nil {
			return err
		}
		s.Sync = nil
		for _, c := range chosen {
			s.Sync = append(s.Sync, c.Name)
		}
	}
	if v.Net != usualNets {
		chosen, err := chosenProfiles(v.Net)
		if err != nil {
			return err
		}
		if len(chosen) != 1 {
			return fmt.Errorf("--net %s: the page begins with one network: name one", v.Net)
		}
		s.Net = chosen[0].Name
	}
	return v.pageFlags.serve(a, s)
}

// What the flags of the table are if they are not given.
const (
	usualFor      = time.Minute
	usualSettling = 5 * time.Second
	usualNets     = "P0..P9"
)

// page serves the lab's page with the demo's network, and its strategy beside lockstep, which predicts nothing.
func (v *demoVerb) page(a *app) error {
	if v.For != 0 {
		return errors.New("--for: the page stays until Ctrl-C: leave --for or --page out")
	}
	s := labpage.Usual(chooseSeed(v.Seed))
	s.RTT, s.Jitter, s.Loss = float64(v.RTT)/float64(time.Millisecond), float64(v.Jitter)/float64(time.Millisecond), v.Loss
	s.Players = v.Bots + 1
	if s.Sync = []string{"lockstep", v.Sync}; v.Sync == "lockstep" {
		s.Sync[1] = "relay"
	}
	return v.pageFlags.serve(a, s)
}
