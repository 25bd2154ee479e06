package demo

import (
	"errors"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/labpage"
)

// page serves the lab's page with the demo's network, and its strategy beside lockstep, which predicts nothing.
func (v *Verb) page(a *app.App) error {
	if v.For != 0 {
		return errors.New("--for: the page stays until Ctrl-C: leave --for or --page out")
	}
	s := labpage.Usual(app.ChooseSeed(v.Seed))
	s.RTT, s.Jitter, s.Loss = float64(v.RTT)/float64(time.Millisecond), float64(v.Jitter)/float64(time.Millisecond), v.Loss
	s.Players = v.Bots + 1
	if s.Sync = []string{"lockstep", v.Sync}; v.Sync == "lockstep" {
		s.Sync[1] = "relay"
	}
	return v.PageFlags.Serve(a, s)
}
