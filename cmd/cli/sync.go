package cli

import (
	"errors"
	"fmt"
	"strings"
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
	Wait      time.Duration `group:"Lockstep and verify" help:"lockstep: how long --closing hybrid waits, at most two frames. Only with --closing hybrid."`
	Article   bool          `group:"Lockstep and verify" help:"lockstep: as the article on frame sync has it: 5 frames to a sync, no margin, no catching up."`
	RelayOnly bool          `group:"Lockstep and verify" help:"lockstep: the server does not simulate; players vote, and it plays the log again where they disagree. With --journal, a server that is started again computes the whole match once more, from tick 0: who does not simulate has no later state to store."`
	Audits    int           `group:"Lockstep and verify" default:"20" help:"lockstep: how many of 1000 results that a majority agreed on the server checks all the same."`
	Reliable  bool          `group:"Lockstep and verify" help:"lockstep, verify: send everything on the reliable channel, for networks that drop other packets."`
}

// optimistic and someAudits are what --closing and --audits are if they are not given.
const (
	optimistic = "optimistic"
	someAudits = 20
)

// strategy returns what the flags describe.
func (f *syncFlags) strategy() (systems.Strategy, error) {
	known := ""
	for _, s := range strategies {
		if s.Name == f.Sync {
			return f.configured(s)
		}
		known += " " + s.Name
	}
	return systems.Strategy{}, fmt.Errorf("--sync %s is not a strategy of this build: choose one of%s", f.Sync, known)
}

// configured returns the strategy as the flags set it up; those that it does not take must not be given.
func (f *syncFlags) configured(s systems.Strategy) (systems.Strategy, error) {
	if s.Name == "lockstep" {
		return f.lockstep()
	}
	var given []string
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--interval", f.Interval != 0}, {"--adapt", f.Adapt}, {"--eager", f.Eager}, {"--margin", f.Margin != 0},
		{"--closing", f.Closing != optimistic}, {"--wait", f.Wait != 0}, {"--article", f.Article}, {"--relay-only", f.RelayOnly},
		{"--audits", f.Audits != someAudits}, {"--reliable", f.Reliable && s.Name != "verify"},
	} {
		if flag.given {
			given = append(given, flag.name)
		}
	}
	switch {
	case len(given) > 0:
		return s, fmt.Errorf("--sync %s does not take %s: leave that out, or choose --sync lockstep", s.Name, strings.Join(given, ", "))
	case s.Name == "verify":
		return verify.New(verify.Config{Reliable: f.Reliable}), nil
	}
	return s, nil
}

func (f *syncFlags) lockstep() (systems.Strategy, error) {
	if f.Wait != 0 && f.Closing != "hybrid" {
		return systems.Strategy{}, fmt.Errorf("--wait %v is how long --closing hybrid waits, and --closing is %s: choose --closing hybrid, or leave --wait out", f.Wait, f.Closing)
	}
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
	var field *lockstep.FieldError
	switch err := c.Check(); {
	case errors.As(err, &field): // which has the name of the flag that it comes from
		return systems.Strategy{}, fmt.Errorf("--%s %s: %s", strings.ToLower(field.Field), field.Value, field.Want)
	case err != nil:
		return systems.Strategy{}, err
	}
	return lockstep.New(c), nil
}
