package cli

import (
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/systems"
	"tendon/systems/interp"
	"tendon/systems/lockstep"
	"tendon/systems/motion"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// strategyFlags holds, for each flag of a strategy, a way to set it and the strategies that accept it.
var strategyFlags = map[string]struct {
	args   []string
	accept string
}{
	"--interval": {[]string{"--interval", "3"}, "lockstep"}, "--adapt": {[]string{"--adapt"}, "lockstep"}, "--eager": {[]string{"--eager"}, "lockstep"},
	"--margin": {[]string{"--margin=-1"}, "lockstep"}, "--closing": {[]string{"--closing", "waiting"}, "lockstep"},
	"--wait": {[]string{"--wait", "5ms"}, "lockstep"}, "--article": {[]string{"--article"}, "lockstep"},
	"--relay-only": {[]string{"--relay-only"}, "lockstep"}, "--audits": {[]string{"--audits", "0"}, "lockstep"},
	"--dissent-replays": {[]string{"--dissent-replays", "1"}, "lockstep"},
	"--reliable":        {[]string{"--reliable"}, "lockstep verify"},
	"--snapshots":       {[]string{"--snapshots", "30"}, "predict reckon"}, "--interest": {[]string{"--interest", "9.5"}, "predict reckon"},
	"--look-back": {[]string{"--look-back", "5ms"}, "predict"}, "--trusting": {[]string{"--trusting"}, "reckon"},
	"--max-speed": {[]string{"--max-speed", "7"}, "predict reckon"}, "--assumed": {[]string{"--assumed", "80ms"}, "reckon"},
	"--literal": {[]string{"--literal"}, "reckon"}, "--dynamic": {[]string{"--dynamic"}, "reckon"}, "--terrain": {[]string{"--terrain"}, "reckon"},
	"--smoothing": {[]string{"--smoothing", "stepping"}, "predict"}, "--always": {[]string{"--always"}, "predict"},
	"--pairs": {[]string{"--pairs"}, "predict reckon"},
}

// A flag that would have no effect is refused by name.
func TestAStrategyRefusesFlagsOfOthersByName(t *testing.T) {
	race.OneGoroutine(t)
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[syncflags.Flags]()), func(f reflect.StructField) bool { return f.Anonymous })
	if len(strategyFlags) != len(fields)-1 {
		t.Errorf("%d flags are tested; besides --sync there are %d", len(strategyFlags), len(fields)-1)
	}
	for _, verb := range []string{"serve", "demo"} {
		for name, flag := range strategyFlags {
			for _, sync := range []string{"relay", "lockstep", "predict", "verify", "reckon"} {
				if verb == "demo" && (name == "--relay-only" || name == "--interest" || name == "--pairs") || strings.Contains(flag.accept, sync) {
					continue
				}
				r := do(t, crumbs.Game(), append([]string{verb, "--for", "1ms", "--sync", sync}, flag.args...)...)
				refused(t, r, "--sync "+sync+" does not accept "+name+":", "leave that out")
			}
		}
	}
	refused(t, do(t, crumbs.Game(), "serve", "--sync", "relay", "--eager", "--margin", "4"), "does not accept --eager, --margin: leave")
	refused(t, do(t, crumbs.Game(), "serve", "--sync", "relay", "--interest", "5"), "leave that out, or choose --sync predict or reckon\n")
	refused(t, do(t, crumbs.Game(), "serve", "--sync", "relay", "--interest", "5", "--look-back", "1ms"), "or choose --sync predict\n")
	refused(t, do(t, crumbs.Game(), "serve", "--sync", "lockstep", "--look-back", "1ms", "--trusting"), "--look-back, --trusting: leave that out; no strategy accepts all of it\n")
	refused(t, do(t, crumbs.Game(), "serve", "--sync", "hope", "--eager"), "--sync hope is not a strategy", "relay lockstep predict verify reckon")
}

// refusedBySync fails unless serve with each of these flags of a strategy is refused with every text.
func refusedBySync(t *testing.T, sync string, flags map[string][]string) {
	t.Helper()
	for args, texts := range flags {
		r := do(t, crumbs.Game(), append([]string{"serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--sync", sync}, strings.Fields(args)...)...)
		refused(t, r, texts...)
	}
}

func TestFlagsOfAStrategyOutOfRangeAreRefusedByName(t *testing.T) {
	refusedBySync(t, "lockstep", map[string][]string{
		"--wait 5ms":                         {"--wait 5ms", "--closing is optimistic", "choose --closing hybrid"},
		"--wait 5ms --closing waiting":       {"--closing is waiting", "leave --wait out"},
		"--wait=-5ms --closing hybrid":       {": --wait -5 ms: choose 0 to two frames' time"},
		"--wait 500ms --closing hybrid":      {"Wait 500 ms: choose at most two frames' time, which is 33.333333 ms at 60 ticks per second"},
		"--interval 4":                       {": --interval 4: choose 1, 2, 3, 5, 10 or 15"},
		"--margin 13":                        {": --margin 13: choose 1 to 12 frames, -1 for none, or 0"},
		"--audits 1001":                      {": --audits 1001: choose 0 to 1000"},
		"--audits 5":                         {": --audits 5 is for --relay-only", "leave --audits out"},
		"--relay-only --dissent-replays 101": {": --dissent-replays 101: choose 0 to 100"},
		"--dissent-replays 1":                {": --dissent-replays 1 is for --relay-only", "leave --dissent-replays out"},
		"--article --margin 2":               {"leave --interval and --margin out"},
	})
	refusedBySync(t, "predict", map[string][]string{
		"--snapshots 1001": {"--snapshots 1001: give 1 to 1000"}, "--snapshots=-1": {"--snapshots -1"},
		"--interest=-1": {"--interest -1: give 0 to"}, "--interest 1e9": {"--interest 1e+09: give 0 to 1.048576e+06"},
		"--look-back 2s": {"--look-back 2s: give at most 1s"}, "--pairs": {"--pairs is for --interest: give a radius"},
	})
	refusedBySync(t, "reckon", map[string][]string{
		"--snapshots 61": {"--snapshots 61: give 1 to 60"}, "--interest=-1": {"--interest -1: give 0 to"},
		"--max-speed=-1": {"--max-speed -1: give 0 to 32768"}, "--max-speed 40000": {"--max-speed 40000: give"},
		"--assumed 4s": {"--assumed 4s: give 0s to 3s"}, "--trusting --max-speed 5": {"leave --max-speed out"},
	})
}

// A strategy that the game does not support is refused before a socket is opened: the address is in use here.
func TestAStrategyThatTheGameIsNotMadeForIsRefusedAtOnce(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	bare := crumbs.Game()
	bare.Components, bare.Systems, bare.Leave = ecs.Components(crumbs.Seats), nil, nil
	bare.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		crumbs.Seats.Put(w, w.Spawn(ecs.OwnedBy(p), crumbs.Seats), ecs.Seat{Player: p})
	}
	says := []string{`--sync reckon: no component of the game "crumbs" has a Motion role: give one to`, "or choose another strategy"}
	for _, args := range [][]string{{"serve", "--listen", taken.LocalAddr().String()}, {"demo"}, {"demo", "--page"}, {"profile"}, {"lab", "--page"}} {
		refused(t, do(t, bare, append(args, "--sync", "reckon")...), says...)
	}
	refused(t, do(t, bare, "serve", "--sync", "predict"), "--sync predict: no component", "has a Lerp role")
	if r := do(t, bare, "serve", "--listen", "127.0.0.1:0", "--sync", "relay", "--for", "1ms"); r.code != app.ExitFine {
		t.Errorf("relay needs no role: %+v", r)
	}
}

// A verb plays a game with private data with a strategy that hides it, and refuses the others.
func TestAGameWithPrivateDataIsPlayedWithAStrategyThatHidesIt(t *testing.T) {
	g := *crumbs.Game()
	g.Events = append(slices.Clone(g.Events), ecs.NewEvent[struct{ Card uint8 }]("drew").Private())
	refused(t, do(t, &g, "serve", "--sync", "relay"), "--sync relay: the game", "choose verify, predict or reckon")
	if r := do(t, &g, "serve", "--help"); !strings.Contains(r.out, `--sync="predict"`) {
		t.Errorf("the help: %s", r.out)
	}
	if r := do(t, &g, "serve", "--listen", "127.0.0.1:0", "--for", "1ms"); r.code != app.ExitFine {
		t.Errorf("serve without --sync: %+v", r)
	}
	if list := syncflags.For(&g); len(list) != 3 {
		t.Errorf("%d strategies can play the game", len(list))
	}
}

// syncFlagsOf parses a command line of syncflags.Flags.
func syncFlagsOf(t *testing.T, args string) (f syncflags.Flags) {
	t.Helper()
	parser, err := kong.New(&f, syncflags.Vars(crumbs.Game()))
	if err == nil {
		_, err = parser.Parse(strings.Fields(args))
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The flags configure the strategy, and the text that is stored in a recording is the same flags.
func TestFlagsConfigureTheStrategy(t *testing.T) {
	for args, want := range map[string]systems.Strategy{
		"--sync relay": relay.Strategy,
		"--sync lockstep --interval 5 --margin=-1 --closing hybrid --wait 10ms": lockstep.New(lockstep.Config{Interval: 5, Margin: lockstep.NoMargin, Closing: lockstep.Hybrid, Wait: 1e7}),
		"--sync lockstep --article":                      lockstep.New(lockstep.Article()),
		"--sync predict --snapshots 30 --look-back=-1ns": predict.New(predict.Config{SnapshotRate: 30, MaxView: -1}),
		"--sync reckon --snapshots 9 --assumed 80ms":     reckon.New(reckon.Config{StateRate: 9, Assumed: 80e6}),
		"--sync reckon --literal --dynamic": reckon.New(reckon.Config{Records: motion.SendConfig{Reading: motion.Instant, Turn: fixed.Half, Near: 20 * fixed.One},
			Remotes: motion.RemoteConfig{Deadline: motion.RestartAlways}}),
		"--sync predict --smoothing projective --always":    predict.New(predict.Config{Smoothing: interp.Projective, Unconditional: true}),
		"--sync predict --max-speed 7 --smoothing stepping": predict.New(predict.Config{Smoothing: interp.Stepping, MaxSpeed: fixed.FromInt(7)}),
		"--sync predict --interest 9.5 --pairs":             predict.New(predict.Config{Interest: 1, PairList: true}),
		"--sync verify --reliable":                          verify.New(verify.Config{Reliable: true}),
	} {
		f := syncFlagsOf(t, args)
		s, err := f.Strategy(crumbs.Game())
		if err != nil || s.Name != want.Name || string(s.Params) != string(want.Params) {
			t.Errorf("%s: %s with %x, %v; want %x", args, s.Name, s.Params, err, want.Params)
		}
		if text := f.CommandLine(); text != args {
			t.Errorf("the flags %s are stored as %s", args, text)
		}
	}
	for _, args := range []string{"reckon --literal", "reckon --dynamic", "reckon --terrain", "predict --smoothing stepping", "predict --always", "predict --max-speed 7"} {
		f := syncFlagsOf(t, "--sync "+args)
		s, err := f.Strategy(crumbs.Game())
		if i := slices.IndexFunc(syncflags.All, func(all systems.Strategy) bool { return all.Name == s.Name }); err != nil || string(s.Params) == string(syncflags.All[i].Params) {
			t.Errorf("%s does not reach a client: %v", args, err)
		}
	}
	for name, flag := range strategyFlags {
		f := syncFlagsOf(t, strings.Join(flag.args, " "))
		if want := "--sync relay " + strings.Join(flag.args, " "); f.CommandLine() != want {
			t.Errorf("%s is stored as %s, want %s", name, f.CommandLine(), want)
		}
	}
}

// The audits of a server that only relays must not be predictable, and each room has other ones.
func TestEachRelayOnlyServerHasItsOwnSecretAudits(t *testing.T) {
	f := syncFlagsOf(t, "--sync lockstep --relay-only --audits 500")
	s, err := f.Strategy(crumbs.Game())
	if err != nil {
		t.Fatal(err)
	}
	seeds := map[uint64]bool{0: true} // 0 is the seed of a Config that sets none
	for range 3 {
		world, err := ecs.NewWorld(crumbs.Game(), 1)
		if err != nil {
			t.Fatal(err)
		}
		server, err := s.NewServer(systems.ServerConfig{World: world, Peers: 2})
		if err != nil {
			t.Fatal(err)
		}
		settings := reflect.ValueOf(server).Elem().FieldByName("settings")
		if audits := settings.FieldByName("Audits").Int(); audits != 500 {
			t.Errorf("%d of 1000 results are audited, want 500", audits)
		}
		seeds[settings.FieldByName("AuditSeed").Uint()] = true
	}
	if len(seeds) != 4 {
		t.Errorf("the audits of 3 servers have the seeds %v", seeds)
	}
}
