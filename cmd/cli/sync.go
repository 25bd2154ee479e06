package cli

import (
	"errors"
	"fmt"
	"time"

	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// strategies are the sync strategies that --sync takes, as a client knows them: how the server has set one up reaches
// the client in the handshake.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, verify.Strategy}

// syncFlags choose the sync strategy of a server and set it up.
type syncFlags struct {
	Sync      string        `default:"relay" help:"The sync strategy: relay (rollback), lockstep or verify."`
	Interval  int           `group:"Lockstep and verify" help:"lockstep: frames to a sync, 1, 2, 3, 5, 10 or 15; more means fewer packets and more delay. 0: 2."`
	Adapt     bool          `group:"Lockstep and verify" help:"lockstep: let the interval follow how the clients fare."`
	Eager     bool          `group:"Lockstep and verify" help:"lockstep: end an interval with every frame in which somebody does something."`
	Margin    int           `group:"Lockstep and verify" help:"lockstep: frames that a client keeps in hand, 1 to 12, -1 for none; 0: it follows the jitter."`
	Closing   string        `group:"Lockstep and verify" enum:"optimistic,waiting,hybrid" default:"optimistic" help:"lockstep: end a frame when its time is over (optimistic), when every player was heard (waiting), or when they were or --wait is over (hybrid)."`
	Wait      time.Duration `group:"Lockstep and verify" help:"lockstep: how long hybrid waits, at most two frames."`
	Article   bool          `group:"Lockstep and verify" help:"lockstep: as the article on frame sync has it: 5 frames to a sync, no margin, no catching up."`
	RelayOnly bool          `group:"Lockstep and verify" help:"lockstep: the server does not simulate; players vote, and it plays the log again where they disagree."`
	Audits    int           `group:"Lockstep and verify" default:"20" help:"lockstep: how many of 1000 results that a majority agreed on the server checks all the same."`
	Reliable  bool          `group:"Lockstep and verify" help:"lockstep, verify: send everything on the reliable channel, for networks that drop other packets."`
}

// strategy returns what the flags describe.
func (f *syncFlags) strategy() (systems.Strategy, error) {
	plain := *f
	plain.Sync, plain.Closing, plain.Audits = "", "optimistic", 20
	if f.Sync != "lockstep" {
		if plain.Reliable = plain.Reliable && f.Sync != "verify"; plain != (syncFlags{Closing: plain.Closing, Audits: plain.Audits}) || f.Closing != plain.Closing {
			return systems.Strategy{}, fmt.Errorf("--sync %s does not take --interval, --margin and the other flags of lockstep", f.Sync)
		}
	}
	switch f.Sync {
	case "lockstep":
		return f.lockstep()
	case "verify":
		return verify.New(verify.Config{Reliable: f.Reliable}), nil
	}
	known := ""
	for _, s := range strategies {
		if s.Name == f.Sync {
			return s, nil
		}
		known += " " + s.Name
	}
	return systems.Strategy{}, fmt.Errorf("--sync %s is not a strategy of this build: choose one of%s", f.Sync, known)
}

func (f *syncFlags) lockstep() (systems.Strategy, error) {
	c := lockstep.Config{}
	if f.Article {
		if f.Interval != 0 || f.Margin != 0 {
			return systems.Strategy{}, errors.New("--article chooses interval and margin itself: leave --interval and --margin out")
		}
		c = lockstep.Article()
	} else {
		c.Interval, c.Margin = f.Interval, f.Margin
	}
	c.AdaptInterval, c.Eager, c.Reliable, c.Audits, c.Wait = f.Adapt, f.Eager, f.Reliable, f.Audits, systems.Time(f.Wait)
	switch f.Closing {
	case "waiting":
		c.Closing = lockstep.Waiting
	case "hybrid":
		c.Closing = lockstep.Hybrid
	}
	if f.RelayOnly {
		c.Simulate = lockstep.OnDemand
	}
	return lockstep.New(c), nil // a mistake in c is reported when the server is made
}
