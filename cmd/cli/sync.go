package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// strategies are the sync strategies that --sync takes, as a client knows them: how the server has set one up reaches
// the client in the handshake.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}

// syncFlags choose the sync strategy of a server and set it up.
type syncFlags struct {
	Sync      string        `default:"relay" help:"The sync strategy: relay (rollback), lockstep, predict (prediction and reconciliation), verify or reckon (dead reckoning)."`
	Interval  int           `group:"Lockstep and verify" help:"lockstep: frames to a sync, 1, 2, 3, 5, 10 or 15; more means fewer packets and more delay. 0: 2."`
	Adapt     bool          `group:"Lockstep and verify" help:"lockstep: let the interval follow how the clients fare."`
	Eager     bool          `group:"Lockstep and verify" help:"lockstep: end an interval with every frame in which somebody does something."`
	Margin    int           `group:"Lockstep and verify" help:"lockstep: frames that a client keeps in hand, 1 to 12, or --margin=-1 for none; 0: it follows the jitter."`
	Closing   string        `group:"Lockstep and verify" enum:"optimistic,waiting,hybrid" default:"optimistic" help:"lockstep: end a frame when its time is over (optimistic), when every player was heard (waiting), or when they were or --wait is over (hybrid)."`
	Wait      time.Duration `group:"Lockstep and verify" help:"lockstep: how long --closing hybrid waits, at most two frames. Only with --closing hybrid."`
	Article   bool          `group:"Lockstep and verify" help:"lockstep: as the article on frame sync has it: 5 frames to a sync, no margin, no catching up."`
	RelayOnly bool          `group:"Lockstep and verify" help:"lockstep: the server does not simulate; players vote, and it plays the log again where they disagree. With --journal, a server that is started again computes the whole match once more, from tick 0: who does not simulate has no later state to store."`
	Audits    int           `group:"Lockstep and verify" default:"20" help:"lockstep with --relay-only: how many of 1000 results that a majority agreed on the server checks all the same. Without it, it checks all."`
	Reliable  bool          `group:"Lockstep and verify" help:"lockstep, verify: send everything on the reliable channel, for networks that drop other packets."`
	Snapshots int           `group:"Predict and reckon" help:"predict, reckon: states a second to each client; fewer cost less and show others, or what they do, later. predict: 1 to 1000, 0: 20. reckon: 1 to 60, 0: 5."`
	Interest  float64       `group:"Predict and reckon" help:"predict, reckon: the radius in world units within which a player hears of what belongs to others. 0: of everything."`
	LookBack  time.Duration `group:"Predict and reckon" help:"predict: how far back it is believed what a player saw when he shot, at most 1s; 0: 250ms, --look-back=-1ns: not at all."`
	Trusting  bool          `group:"Predict and reckon" help:"reckon: believe clients whatever they say of where their avatars are."`
	MaxSpeed  float64       `group:"Predict and reckon" help:"reckon: the fastest that an avatar moves, in world units per second; claims beyond are refused. 0: what the game says, if it does."`
	Assumed   time.Duration `group:"Predict and reckon" help:"reckon: exchange no clocks, and take everything that arrives for this old, at most 3s. 0: clocks are exchanged."`
}

// optimistic and someAudits are what --closing and --audits are if they are not given.
const (
	optimistic = "optimistic"
	someAudits = 20
)

// strategy returns what the flags describe, unless the game lacks what it needs.
func (f *syncFlags) strategy(g *ecs.Game) (systems.Strategy, error) {
	known := ""
	for _, s := range strategies {
		if s.Name == f.Sync {
			s, err := f.configured(s)
			if err == nil {
				err = fits(s, g)
			}
			return s, err
		}
		known += " " + s.Name
	}
	return systems.Strategy{}, fmt.Errorf("--sync %s is not a strategy of this build: choose one of%s", f.Sync, known)
}

// fits returns why a strategy that --sync names refuses the game, if it does.
func fits(s systems.Strategy, g *ecs.Game) error {
	if err := s.Check(g); err != nil {
		return fmt.Errorf("--sync %w", err)
	}
	return nil
}

// configured returns the strategy as the flags set it up; those that it does not take must not be given.
func (f *syncFlags) configured(s systems.Strategy) (systems.Strategy, error) {
	foreign, takers := f.foreign(s.Name)
	switch {
	case len(foreign) > 0 && len(takers) == 0:
		return s, fmt.Errorf("--sync %s does not take %s: leave that out; no strategy takes all of it", s.Name, strings.Join(foreign, ", "))
	case len(foreign) > 0:
		return s, fmt.Errorf("--sync %s does not take %s: leave that out, or choose --sync %s", s.Name, strings.Join(foreign, ", "), strings.Join(takers, " or "))
	case s.Name == "lockstep":
		return f.lockstep()
	case s.Name == "predict":
		return f.predict()
	case s.Name == "reckon":
		return f.reckon()
	case s.Name == "verify":
		return verify.New(verify.Config{Reliable: f.Reliable}), nil
	}
	return s, nil
}

// foreign returns the flags that were given and that a strategy does not take, and the strategies that take all of them.
func (f *syncFlags) foreign(name string) (given, takers []string) {
	for _, s := range strategies {
		takers = append(takers, s.Name)
	}
	const both, states = "lockstep verify", "predict reckon"
	for _, flag := range []struct {
		name, takers string
		given        bool
	}{
		{"--interval", "lockstep", f.Interval != 0}, {"--adapt", "lockstep", f.Adapt}, {"--eager", "lockstep", f.Eager},
		{"--margin", "lockstep", f.Margin != 0}, {"--closing", "lockstep", f.Closing != optimistic}, {"--wait", "lockstep", f.Wait != 0},
		{"--article", "lockstep", f.Article}, {"--relay-only", "lockstep", f.RelayOnly}, {"--audits", "lockstep", f.Audits != someAudits},
		{"--reliable", both, f.Reliable},
		{"--snapshots", states, f.Snapshots != 0}, {"--interest", states, f.Interest != 0}, {"--look-back", "predict", f.LookBack != 0},
		{"--trusting", "reckon", f.Trusting}, {"--max-speed", "reckon", f.MaxSpeed != 0}, {"--assumed", "reckon", f.Assumed != 0},
	} {
		if flag.given && !strings.Contains(flag.takers, name) {
			given = append(given, flag.name)
			takers = slices.DeleteFunc(takers, func(s string) bool { return !strings.Contains(flag.takers, s) })
		}
	}
	return given, takers
}

// predict returns prediction and reconciliation as the flags set it up.
func (f *syncFlags) predict() (systems.Strategy, error) {
	switch {
	case f.Snapshots < 0 || f.Snapshots > 1000:
		return systems.Strategy{}, fmt.Errorf("--snapshots %d: choose 1 to 1000 a second, or 0", f.Snapshots)
	case !(f.Interest >= 0 && f.Interest <= maxInterest):
		return systems.Strategy{}, fmt.Errorf("--interest %v: choose 0 to %d world units", f.Interest, maxInterest)
	case f.LookBack > time.Second:
		return systems.Strategy{}, fmt.Errorf("--look-back %v: choose at most 1s", f.LookBack)
	}
	c := predict.Config{SnapshotRate: f.Snapshots, Interest: fixed.FromFloat(f.Interest), MaxView: systems.Time(f.LookBack)}
	if err := c.Check(); err != nil {
		return systems.Strategy{}, err
	}
	return predict.New(c), nil
}

// reckon returns dead reckoning as the flags set it up.
func (f *syncFlags) reckon() (systems.Strategy, error) {
	switch {
	case f.Snapshots < 0 || f.Snapshots > 60:
		return systems.Strategy{}, fmt.Errorf("--snapshots %d: choose 1 to 60 a second, or 0", f.Snapshots)
	case !(f.Interest >= 0 && f.Interest <= maxInterest):
		return systems.Strategy{}, fmt.Errorf("--interest %v: choose 0 to %d world units", f.Interest, maxInterest)
	case !(f.MaxSpeed >= 0 && f.MaxSpeed <= reckon.MaxVelocity.Float()):
		return systems.Strategy{}, fmt.Errorf("--max-speed %v: choose 0 to %v world units per second", f.MaxSpeed, reckon.MaxVelocity.Float())
	case f.Trusting && f.MaxSpeed != 0:
		return systems.Strategy{}, errors.New("--trusting believes any speed: leave --max-speed out")
	case f.Assumed < 0 || f.Assumed > 3*time.Second:
		return systems.Strategy{}, fmt.Errorf("--assumed %v: choose 0 to 3s", f.Assumed)
	}
	c := reckon.Config{StateRate: f.Snapshots, Interest: fixed.FromFloat(f.Interest), Trusting: f.Trusting,
		MaxSpeed: fixed.FromFloat(f.MaxSpeed), Assumed: systems.Time(f.Assumed)}
	if err := c.Check(); err != nil {
		return systems.Strategy{}, err
	}
	return reckon.New(c), nil
}

// maxInterest bounds --interest, in world units.
const maxInterest = 1 << 20

func (f *syncFlags) lockstep() (systems.Strategy, error) {
	if f.Audits != someAudits && !f.RelayOnly && f.Audits >= 0 && f.Audits <= 1000 {
		return systems.Strategy{}, fmt.Errorf("--audits %d is for --relay-only: without it the server computes the match and checks every result; leave --audits out", f.Audits)
	}
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
