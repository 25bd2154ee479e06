// Package syncflags has the flags that choose a sync strategy and configure it.
package syncflags

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/motion"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// All are the sync strategies that --sync accepts, as a client uses them: the server's settings reach the client
// in the handshake.
var All = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}

// Flags choose the sync strategy of a server and configure it. The struct is the one table of these flags. Its tags
// give the help, the check of flags that a strategy does not accept, and the text stored in a recording. The tag sync lists
// the strategies that accept a flag.
type Flags struct {
	Sync      string        `default:"relay" help:"Sync strategy: relay (rollback), lockstep, predict (prediction and reconciliation), verify or reckon (dead reckoning)."`
	Interval  int           `sync:"lockstep" group:"Lockstep and verify" help:"lockstep: frames per sync packet, 1, 2, 3, 5, 10 or 15. More means fewer packets and more delay. 0: 2."`
	Adapt     bool          `sync:"lockstep" group:"Lockstep and verify" help:"lockstep: adapt the interval to the connections of the clients."`
	Eager     bool          `sync:"lockstep" group:"Lockstep and verify" help:"lockstep: end an interval at every frame in which an input changes."`
	Margin    int           `sync:"lockstep" group:"Lockstep and verify" help:"lockstep: frames in a client's jitter buffer, 1 to 12, or --margin=-1 for none. 0: adapted to the jitter."`
	Closing   string        `sync:"lockstep" group:"Lockstep and verify" enum:"optimistic,waiting,hybrid" default:"optimistic" help:"lockstep: optimistic closes a frame at its deadline. waiting closes it when all inputs have arrived. hybrid also closes it when --wait is over."`
	Wait      time.Duration `sync:"lockstep" group:"Lockstep and verify" help:"lockstep: how long --closing hybrid waits, at most two frames. Only with --closing hybrid."`
	Article   bool          `sync:"lockstep" group:"Lockstep and verify" help:"lockstep: the settings of the article on frame sync: 5 frames per packet, no jitter buffer, no catching up."`
	RelayOnly bool          `sync:"lockstep" group:"Lockstep and verify" help:"lockstep: do not simulate on the server. Players vote on results, and the server replays the match where votes differ. With --journal, a restarted server computes each match again from tick 0."`
	Audits    int           `sync:"lockstep" group:"Lockstep and verify" default:"20" help:"lockstep with --relay-only: how many of 1000 results with a majority the server replays all the same. Without --relay-only it checks all."`
	Reliable  bool          `sync:"lockstep verify" group:"Lockstep and verify" help:"lockstep, verify: send everything on the reliable channel, for networks that drop other packets."`
	Snapshots int           `sync:"predict reckon" group:"Predict and reckon" help:"predict, reckon: snapshots per second to each client. Fewer cost less and show remote entities later. predict: 1 to 1000, 0: 20. reckon: 1 to 60, 0: 5."`
	Interest  float64       `sync:"predict reckon" group:"Predict and reckon" help:"predict, reckon: radius, in world units, of a player's relevance set. 0: replicate everything to everyone."`
	LookBack  time.Duration `sync:"predict" group:"Predict and reckon" help:"predict: limit of lag compensation, at most 1s. 0: 250ms. --look-back=-1ns: none."`
	Trusting  bool          `sync:"reckon" group:"Predict and reckon" help:"reckon: accept every position that a client sends for its avatars."`
	MaxSpeed  float64       `sync:"reckon" group:"Predict and reckon" help:"reckon: maximum speed of an avatar, in world units per second; faster motion is refused. 0: the game's own limit, if it has one."`
	Assumed   time.Duration `sync:"reckon" group:"Predict and reckon" help:"reckon: estimate no clocks and assume this latency for every message, at most 3s. 0: clocks are estimated."`
}

// syncFlag is one row of the table.
type syncFlag struct {
	name  string // with its dashes
	sync  string // strategies that accept it, separated by blanks
	value any
	given bool // its value is not the default
}

// wordStart is where kong puts a dash into the name of a field.
var wordStart = regexp.MustCompile(`([a-z])([A-Z])`)

// table returns the flags besides --sync with their values.
func (f *Flags) table() (list []syncFlag) {
	values := reflect.ValueOf(f).Elem()
	for i := 1; i < values.NumField(); i++ {
		field, value := values.Type().Field(i), values.Field(i)
		given := !value.IsZero()
		if usual, ok := field.Tag.Lookup("default"); ok {
			given = fmt.Sprint(value) != usual
		}
		name := "--" + strings.ToLower(wordStart.ReplaceAllString(field.Name, "$1-$2"))
		list = append(list, syncFlag{name, field.Tag.Get("sync"), value.Interface(), given})
	}
	return list
}

// CommandLine returns the flags that are not at their defaults, as they are typed: --sync lockstep --interval 5.
func (f *Flags) CommandLine() string {
	text := "--sync " + f.Sync
	for _, flag := range f.table() {
		if value := fmt.Sprint(flag.value); flag.given {
			text += " " + flag.name
			switch {
			case strings.HasPrefix(value, "-"):
				text += "=" + value
			case value != "true":
				text += " " + value
			}
		}
	}
	return text
}

// Strategy returns the strategy that the flags describe. It fails if a flag has no effect or is out of range, or if the
// game lacks what the strategy needs.
func (f *Flags) Strategy(g *ecs.Game) (systems.Strategy, error) {
	i := slices.IndexFunc(All, func(s systems.Strategy) bool { return s.Name == f.Sync })
	if i < 0 {
		return systems.Strategy{}, fmt.Errorf("--sync %s is not a strategy of this build: choose one of %s", f.Sync, strategyNames())
	}
	err := f.checkAccepted()
	s := All[i]
	if err == nil {
		s, err = f.configured(s)
	}
	if err == nil {
		err = CheckGame(s, g)
	}
	return s, err
}

// strategyNames lists the strategies, separated by blanks.
func strategyNames() string {
	var names []string
	for _, s := range All {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// CheckGame returns an error if the game lacks what a strategy needs.
func CheckGame(s systems.Strategy, g *ecs.Game) error {
	if err := s.Check(g); err != nil {
		return fmt.Errorf("--sync %w", err)
	}
	return nil
}

// checkAccepted returns an error that names the flags that the chosen strategy does not accept, and the strategies that
// accept all of them.
func (f *Flags) checkAccepted() error {
	var refused []string
	others := strings.Fields(strategyNames())
	for _, flag := range f.table() {
		accepting := strings.Fields(flag.sync)
		if flag.given && !slices.Contains(accepting, f.Sync) {
			refused = append(refused, flag.name)
			others = slices.DeleteFunc(others, func(name string) bool { return !slices.Contains(accepting, name) })
		}
	}
	switch {
	case len(refused) == 0:
		return nil
	case len(others) == 0:
		return fmt.Errorf("--sync %s does not accept %s: leave that out; no strategy accepts all of it", f.Sync, strings.Join(refused, ", "))
	}
	return fmt.Errorf("--sync %s does not accept %s: leave that out, or choose --sync %s", f.Sync, strings.Join(refused, ", "), strings.Join(others, " or "))
}

// configured returns a strategy with the settings of the flags.
func (f *Flags) configured(s systems.Strategy) (systems.Strategy, error) {
	switch s.Name {
	case lockstep.Strategy.Name:
		c, err := f.lockstep()
		return lockstep.New(c), err
	case predict.Strategy.Name:
		c, err := f.predict()
		return predict.New(c), err
	case reckon.Strategy.Name:
		c, err := f.reckon()
		return reckon.New(c), err
	case verify.Strategy.Name:
		return verify.New(verify.Config{Reliable: f.Reliable}), nil
	}
	return s, nil
}

// maxInterest bounds --interest, in world units.
const maxInterest = 1 << 20

// replication checks --snapshots and --interest, which predict and reckon share.
func (f *Flags) replication(maxSnapshots int) error {
	switch {
	case f.Snapshots < 0 || f.Snapshots > maxSnapshots:
		return fmt.Errorf("--snapshots %d: choose 1 to %d per second, or 0", f.Snapshots, maxSnapshots)
	case !(f.Interest >= 0 && f.Interest <= maxInterest):
		return fmt.Errorf("--interest %v: choose 0 to %d world units", f.Interest, maxInterest)
	}
	return nil
}

func (f *Flags) predict() (c predict.Config, err error) {
	if err = f.replication(1000); err == nil && f.LookBack > time.Second {
		err = fmt.Errorf("--look-back %v: choose at most 1s", f.LookBack)
	}
	if err != nil {
		return c, err
	}
	c = predict.Config{SnapshotRate: f.Snapshots, Interest: fixed.FromFloat(f.Interest), MaxView: systems.Time(f.LookBack)}
	return c, c.Check()
}

func (f *Flags) reckon() (c reckon.Config, err error) {
	if err := f.replication(60); err != nil {
		return c, err
	}
	switch {
	case !(f.MaxSpeed >= 0 && f.MaxSpeed <= motion.MaxVelocity.Float()):
		return c, fmt.Errorf("--max-speed %v: choose 0 to %v world units per second", f.MaxSpeed, motion.MaxVelocity.Float())
	case f.Trusting && f.MaxSpeed != 0:
		return c, errors.New("--trusting accepts any speed: leave --max-speed out")
	case f.Assumed < 0 || f.Assumed > 3*time.Second:
		return c, fmt.Errorf("--assumed %v: choose 0 to 3s", f.Assumed)
	}
	c = reckon.Config{StateRate: f.Snapshots, Interest: fixed.FromFloat(f.Interest), Trusting: f.Trusting,
		MaxSpeed: fixed.FromFloat(f.MaxSpeed), Assumed: systems.Time(f.Assumed)}
	return c, c.Check()
}

// usualAudits is the default of --audits.
const usualAudits = 20

func (f *Flags) lockstep() (c lockstep.Config, err error) {
	switch {
	case f.Audits != usualAudits && !f.RelayOnly && f.Audits >= 0 && f.Audits <= 1000:
		return c, fmt.Errorf("--audits %d is for --relay-only: without it the server computes the match and checks every result; leave --audits out", f.Audits)
	case f.Wait != 0 && f.Closing != "hybrid":
		return c, fmt.Errorf("--wait %v is how long --closing hybrid waits, and --closing is %s: choose --closing hybrid, or leave --wait out", f.Wait, f.Closing)
	case f.Article && (f.Interval != 0 || f.Margin != 0):
		return c, errors.New("--article chooses interval and margin itself: leave --interval and --margin out")
	}
	c.Interval, c.Margin = f.Interval, f.Margin
	if f.Article {
		c = lockstep.Article()
	}
	c.AdaptInterval, c.Eager, c.Reliable, c.Audits, c.Wait = f.Adapt, f.Eager, f.Reliable, f.Audits, systems.Time(f.Wait)
	c.Closing = map[string]lockstep.Closing{"waiting": lockstep.Waiting, "hybrid": lockstep.Hybrid}[f.Closing]
	c.OnDemand = f.RelayOnly
	err = c.Check()
	if field := (*lockstep.FieldError)(nil); errors.As(err, &field) { // a field has the name of its flag
		err = fmt.Errorf("--%s %s: %s", strings.ToLower(field.Field), field.Value, field.Want)
	}
	return c, err
}
