// Package syncflags has the flags that choose a sync strategy and configure it.
package syncflags

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/interp"
	"tendon/systems/lockstep"
	"tendon/systems/motion"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// registered is the one list of strategies, with a usual name of the method and the settings that flags make.
var registered = []struct {
	systems.Strategy
	method    string
	configure func(*Flags) (systems.Strategy, error)
}{
	{relay.Strategy, " (rollback)", func(*Flags) (systems.Strategy, error) { return relay.Strategy, nil }},
	{lockstep.Strategy, "", (*Flags).lockstep},
	{predict.Strategy, " (prediction and reconciliation)", (*Flags).predict},
	{verify.Strategy, "", func(f *Flags) (systems.Strategy, error) { return verify.New(verify.Config{Reliable: f.Reliable}), nil }},
	{reckon.Strategy, " (dead reckoning)", (*Flags).reckon},
}

var (
	// All are the sync strategies that --sync accepts, as a client uses them: the server's settings reach the client
	// in the handshake.
	All []systems.Strategy

	names []string // of All

	// The values of --smoothing and --closing.
	smoothings = map[string]interp.Smoothing{
		"decaying": interp.Decaying, "stepping": interp.Stepping, "projective": interp.Projective, "jumping": interp.Jumping,
	}
	closings = map[string]lockstep.Closing{"optimistic": lockstep.Optimistic, "waiting": lockstep.Waiting, "hybrid": lockstep.Hybrid}
)

func init() {
	for _, r := range registered {
		All, names = append(All, r.Strategy), append(names, r.Name)
	}
}

// For returns the strategies that can play a game: those that hide its private data, or all if it has none. A game may lack what one
// of them needs: see CheckGame.
func For(g *ecs.Game) []systems.Strategy {
	return slices.DeleteFunc(slices.Clone(All), func(s systems.Strategy) bool { return !s.HidesIn(g) })
}

// Vars returns the variables in the help and in the defaults of Flags, for a game. The default strategy is the first that can play
// it.
func Vars(g *ecs.Game) kong.Vars {
	var list []string
	for _, r := range registered {
		list = append(list, r.Name+r.method)
	}
	last := len(list) - 1
	sync := names[0]
	if i := slices.IndexFunc(All, func(s systems.Strategy) bool { return s.Check(g) == nil }); i >= 0 {
		sync = names[i]
	}
	return kong.Vars{"strategies": strings.Join(list[:last], ", ") + " or " + list[last], "sync": sync}
}

// Flags choose the sync strategy of a server and configure it. The struct is the one table of these flags. Its tags
// give the help, the check of flags that a strategy does not accept, and the text stored in a recording. The help of a flag
// begins with the strategies that accept it.
type Flags struct {
	Sync string `default:"${sync}" help:"Sync strategy: ${strategies}."`
	FrameFlags
	ReplicationFlags
}

// FrameFlags are the flags of lockstep and verify.
type FrameFlags struct {
	Interval       int           `group:"Lockstep and verify" help:"lockstep: frames per sync packet, 1, 2, 3, 5, 10 or 15. More means fewer packets and more delay. Default: 2."`
	Adapt          bool          `group:"Lockstep and verify" help:"lockstep: adapt the interval to the connections of the clients."`
	Eager          bool          `group:"Lockstep and verify" help:"lockstep: end an interval at every frame in which an input changes."`
	Margin         int           `group:"Lockstep and verify" help:"lockstep: frames in a client's jitter buffer, 1 to 12, or --margin=-1 for none. Default: adapted to the jitter."`
	Closing        string        `group:"Lockstep and verify" enum:"optimistic,waiting,hybrid" default:"optimistic" help:"lockstep: optimistic closes a frame at its deadline. waiting closes it when all inputs have arrived. hybrid also closes it when --wait is over."`
	Wait           time.Duration `group:"Lockstep and verify" help:"lockstep: longest wait of --closing hybrid, such as 20ms, at most two frames. Default: 0. Only with --closing hybrid."`
	Article        bool          `group:"Lockstep and verify" help:"lockstep: the settings of Cloud Wu's article on frame sync, for comparison: 5 frames per packet, no jitter buffer, no catching up."`
	RelayOnly      bool          `group:"Lockstep and verify" help:"lockstep: do not simulate on the server. Players vote on results. The server computes a match if checksums differ, no result has a majority, a result is audited, or all players have left. With --journal, a restarted server computes each match again from tick 0."`
	Audits         int           `group:"Lockstep and verify" default:"20" help:"lockstep: with --relay-only, number of accepted results per 1000 that the server replays. Without --relay-only the server checks every result."`
	DissentReplays int           `group:"Lockstep and verify" help:"lockstep: with --relay-only, maximum number of replays that one player can cause by voting against a majority, 0 to 100. A vote that the replay confirms does not count. Players with a wrong checksum cause none. Default: 0. Results with dissenters are then recorded as disputed."`
	Reliable       bool          `group:"Lockstep and verify" help:"lockstep, verify: send everything on the reliable channel, for networks that drop other packets."`
}

// ReplicationFlags are the flags of predict and reckon.
type ReplicationFlags struct {
	Snapshots int           `group:"Predict and reckon" positive:"" help:"predict, reckon: snapshots per second to each client. Fewer cost less and show remote entities later. predict: 1 to 1000, default 20. reckon: 1 to 60, default 5."`
	Interest  float64       `group:"Predict and reckon" help:"predict, reckon: radius, in world units, of a player's relevance set. Default: every client receives all entities."`
	LookBack  time.Duration `group:"Predict and reckon" help:"predict: limit of lag compensation, at most 1s, or --look-back=-1ns for none. Default: 250ms."`
	Trusting  bool          `group:"Predict and reckon" help:"reckon: accept every position that a client sends for its avatars."`
	MaxSpeed  float64       `group:"Predict and reckon" help:"predict, reckon: maximum speed in world units per second. predict shows an entity that was more than twice as fast as teleported; default: no limit. reckon refuses faster motion of an avatar; default: the game's own limit, if it has one."`
	Assumed   time.Duration `group:"Predict and reckon" help:"reckon: assume this latency for every message, at most 3s, instead of estimating clocks. Default: clocks are estimated."`
	Literal   bool          `group:"Predict and reckon" help:"reckon: follow Cloud Wu's article on position sync word for word, for comparison. A record is sent when the present position is wrong. Each record restarts the correction, which takes a second."`
	Dynamic   bool          `group:"Predict and reckon" help:"reckon: send more records of an entity that turns, and fewer of one that is more than 20 world units away from every player."`
	Terrain   bool          `group:"Predict and reckon" help:"reckon: extrapolate by the gravity and the floor of the game. A correction across an obstacle of the game jumps."`
	Smoothing string        `group:"Predict and reckon" enum:"decaying,stepping,projective,jumping" default:"decaying" help:"predict: how a client shows a correction. decaying: by an offset that decays. stepping: by a tenth at each step. projective: by projective velocity blending. jumping: at once."`
	Always    bool          `group:"Predict and reckon" help:"predict: a client resimulates at every snapshot, not only after a misprediction."`
	Pairs     bool          `group:"Predict and reckon" help:"predict, reckon: find near entities by a list of pairs instead of a grid, which is faster while entities move slowly. Only with --interest."`
}

type syncFlag struct {
	name      string   // with its dashes
	accepting []string // the strategies that accept it
	value     any
	given     bool // its value is not the default
}

// wordStart is where kong puts a dash into the name of a field.
var wordStart = regexp.MustCompile(`([a-z])([A-Z])`)

// dashed returns the name of a field as the name of its flag.
func dashed(field string) string {
	return strings.ToLower(wordStart.ReplaceAllString(field, "$1-$2"))
}

// table returns the flags besides --sync with their values.
func (f *Flags) table() (list []syncFlag) {
	values := reflect.ValueOf(f).Elem()
	for _, field := range reflect.VisibleFields(values.Type()) {
		if field.Anonymous || field.Name == "Sync" {
			continue
		}
		value := values.FieldByIndex(field.Index)
		given := !value.IsZero()
		if usual, ok := field.Tag.Lookup("default"); ok {
			given = fmt.Sprint(value) != usual
		}
		name := "--" + dashed(field.Name)
		accepting, _, _ := strings.Cut(field.Tag.Get("help"), ":")
		list = append(list, syncFlag{name, strings.Split(accepting, ", "), value.Interface(), given})
	}
	return list
}

// CommandLine returns the flags that are not at their defaults, as they are typed: --sync lockstep --interval 5.
func (f *Flags) CommandLine() string {
	text := "--sync " + f.Sync
	for _, flag := range f.table() {
		value := fmt.Sprint(flag.value)
		if flag.given {
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

// Check returns an error if --sync does not accept the name.
func Check(name string) error {
	if !slices.Contains(names, name) {
		return fmt.Errorf("--sync %s is not a strategy of this build: choose one of %s", name, strings.Join(names, " "))
	}
	return nil
}

// Strategy returns the strategy that the flags describe. It fails if a flag has no effect or is out of range, or if the
// game lacks what the strategy needs.
func (f *Flags) Strategy(g *ecs.Game) (systems.Strategy, error) {
	if err := Check(f.Sync); err != nil {
		return systems.Strategy{}, err
	}
	i := slices.Index(names, f.Sync)
	if err := f.checkAccepted(); err != nil {
		return systems.Strategy{}, err
	}
	s, err := registered[i].configure(f)
	if err == nil {
		err = CheckGame(s, g)
	}
	return s, err
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
	others := slices.Clone(names)
	for _, flag := range f.table() {
		if flag.given && !slices.Contains(flag.accepting, f.Sync) {
			refused = append(refused, flag.name)
			others = slices.DeleteFunc(others, func(name string) bool { return !slices.Contains(flag.accepting, name) })
		}
	}
	if len(refused) == 0 {
		return nil
	}
	choice := ", or choose --sync " + strings.Join(others, " or ")
	if len(others) == 0 {
		choice = "; no strategy accepts all of it"
	}
	return fmt.Errorf("--sync %s does not accept %s: leave that out%s", f.Sync, strings.Join(refused, ", "), choice)
}

// replication checks the flags that predict and reckon share.
func (f *Flags) replication(maxSnapshots int) error {
	if f.Pairs && f.Interest == 0 {
		return errors.New("--pairs is for --interest: give a radius, or leave --pairs out")
	}
	return cmp.Or(app.InRange("--snapshots", cmp.Or(f.Snapshots, 1), 1, maxSnapshots), app.InRange("--interest", f.Interest, 0, 1<<20),
		app.InRange("--max-speed", f.MaxSpeed, 0, motion.MaxVelocity.Float()))
}

func (f *Flags) predict() (systems.Strategy, error) {
	err := f.replication(1000)
	if err == nil && f.LookBack > time.Second {
		err = fmt.Errorf("--look-back %v: give at most 1s", f.LookBack)
	}
	return predict.New(predict.Config{SnapshotRate: f.Snapshots, Interest: fixed.FromFloat(f.Interest), PairList: f.Pairs,
		MaxView: systems.Time(f.LookBack), MaxSpeed: fixed.FromFloat(f.MaxSpeed), Unconditional: f.Always, Smoothing: smoothings[f.Smoothing]}), err
}

func (f *Flags) reckon() (systems.Strategy, error) {
	err := cmp.Or(f.replication(60), app.InRange("--assumed", f.Assumed, 0, 3*time.Second))
	if err == nil && f.Trusting && f.MaxSpeed != 0 {
		err = errors.New("--trusting accepts any speed: leave --max-speed out")
	}
	c := reckon.Config{StateRate: f.Snapshots, Interest: fixed.FromFloat(f.Interest), PairList: f.Pairs, Trusting: f.Trusting,
		MaxSpeed: fixed.FromFloat(f.MaxSpeed), Assumed: systems.Time(f.Assumed), Terrain: f.Terrain}
	if f.Literal {
		c.Records.Reading, c.Remotes.Deadline = motion.Instant, motion.RestartAlways
	}
	if f.Dynamic {
		c.Records.Turn, c.Records.Near = fixed.Half, 20*fixed.One
	}
	return reckon.New(c), err
}

func (f *Flags) lockstep() (s systems.Strategy, err error) {
	switch {
	case f.Audits != 20 && !f.RelayOnly && f.Audits >= 0 && f.Audits <= 1000:
		return s, fmt.Errorf("--audits %d is for --relay-only: without it the server computes the match and checks every result; leave --audits out", f.Audits)
	case f.DissentReplays != 0 && !f.RelayOnly:
		return s, fmt.Errorf("--dissent-replays %d is for --relay-only: without it the server checks every result; leave --dissent-replays out", f.DissentReplays)
	case f.Wait != 0 && f.Closing != "hybrid":
		return s, fmt.Errorf("--wait %v is how long --closing hybrid waits, and --closing is %s: choose --closing hybrid, or leave --wait out", f.Wait, f.Closing)
	case f.Article && (f.Interval != 0 || f.Margin != 0):
		return s, errors.New("--article chooses interval and margin itself: leave --interval and --margin out")
	}
	c := lockstep.Config{Interval: f.Interval, Margin: f.Margin}
	if f.Article {
		c = lockstep.Article()
	}
	c.AdaptInterval, c.Eager, c.Reliable, c.Audits, c.DissentReplays, c.Wait = f.Adapt, f.Eager, f.Reliable, f.Audits, f.DissentReplays, systems.Time(f.Wait)
	c.Closing = closings[f.Closing]
	c.OnDemand = f.RelayOnly
	err = c.Check()
	if field := (*lockstep.FieldError)(nil); errors.As(err, &field) { // a field has the name of its flag
		err = fmt.Errorf("--%s %s: %s", dashed(field.Field), field.Value, field.Want)
	}
	s = lockstep.New(c)
	if f.RelayOnly {
		s.NewServer = func(sc systems.ServerConfig) (systems.Server, error) {
			var seed [8]byte
			rand.Read(seed[:]) // never fails
			room := c
			room.AuditSeed = binary.LittleEndian.Uint64(seed[:])
			return lockstep.New(room).NewServer(sc)
		}
	}
	return s, err
}
