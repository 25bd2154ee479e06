package cli

import (
	"net"
	"reflect"
	"testing"

	"tendon/ecs"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/verify"
)

// foreign holds, for each flag that sets a strategy up, a way to give it.
var foreign = map[string][]string{
	"--interval": {"--interval", "3"}, "--adapt": {"--adapt"}, "--eager": {"--eager"}, "--margin": {"--margin=-1"}, "--closing": {"--closing", "waiting"},
	"--snapshots": {"--snapshots", "30"}, "--interest": {"--interest", "9.5"}, "--look-back": {"--look-back", "5ms"},
	"--trusting": {"--trusting"}, "--max-speed": {"--max-speed", "7"}, "--assumed": {"--assumed", "80ms"},
	"--wait": {"--wait", "5ms"}, "--article": {"--article"}, "--relay-only": {"--relay-only"}, "--audits": {"--audits", "0"}, "--reliable": {"--reliable"},
}

// Whoever gives a flag that would do nothing learns which one.
func TestAStrategyNamesTheFlagThatItDoesNotTake(t *testing.T) {
	if fields := reflect.TypeFor[syncFlags]().NumField(); len(foreign) != fields-1 {
		t.Errorf("%d flags are tried, besides --sync there are %d", len(foreign), fields-1)
	}
	for _, verb := range []string{"serve", "demo"} {
		for name, given := range foreign {
			for _, sync := range []string{"relay", "lockstep", "predict", "verify", "reckon"} {
				if verb == "demo" && (name == "--relay-only" || name == "--interest") || taken(sync, name) {
					continue
				}
				r := do(t, testGame(), append([]string{verb, "--for", "1ms", "--sync", sync}, given...)...)
				refused(t, r, "--sync "+sync+" does not take "+name+":", "leave that out")
			}
		}
	}
	refused(t, do(t, testGame(), "serve", "--sync", "relay", "--eager", "--margin", "4"), "does not take --eager, --margin: leave")
	refused(t, do(t, testGame(), "serve", "--sync", "relay", "--interest", "5"), "leave that out, or choose --sync predict or reckon\n")
	refused(t, do(t, testGame(), "serve", "--sync", "relay", "--interest", "5", "--look-back", "1ms"), "or choose --sync predict\n")
	refused(t, do(t, testGame(), "serve", "--sync", "lockstep", "--look-back", "1ms", "--trusting"), "--look-back, --trusting: leave that out; no strategy takes all of it\n")
	refused(t, do(t, testGame(), "serve", "--sync", "hope", "--eager"), "--sync hope is not a strategy", "relay lockstep predict verify reckon")
}

// taken reports whether a strategy takes a flag.
func taken(sync, name string) bool {
	switch name {
	case "--snapshots", "--interest":
		return sync == "predict" || sync == "reckon"
	case "--look-back":
		return sync == "predict"
	case "--trusting", "--max-speed", "--assumed":
		return sync == "reckon"
	case "--reliable":
		return sync == "lockstep" || sync == "verify"
	}
	return sync == "lockstep"
}

// A wait that nothing waits for is a mistake, and a value that cannot be is told of by its flag, with what can be.
func TestFlagsOfLockstepThatCannotBeAreRefusedByTheirNames(t *testing.T) {
	for _, test := range []struct {
		args []string
		says []string
	}{
		{[]string{"--wait", "5ms"}, []string{"--wait 5ms", "--closing is optimistic", "choose --closing hybrid"}},
		{[]string{"--wait", "5ms", "--closing", "waiting"}, []string{"--closing is waiting", "leave --wait out"}},
		{[]string{"--wait=-5ms", "--closing", "hybrid"}, []string{": --wait -5 ms: choose 0 to two frames' time"}},
		{[]string{"--wait", "500ms", "--closing", "hybrid"}, []string{"Wait 500 ms: choose at most two frames' time, which is 33.333333 ms at 60 ticks per second"}},
		{[]string{"--interval", "4"}, []string{": --interval 4: choose 1, 2, 3, 5, 10 or 15"}},
		{[]string{"--margin", "13"}, []string{": --margin 13: choose 1 to 12 frames, -1 for none, or 0"}},
		{[]string{"--audits", "1001"}, []string{": --audits 1001: choose 0 to 1000"}},
		{[]string{"--audits", "5"}, []string{": --audits 5 is for --relay-only", "leave --audits out"}},
		{[]string{"--article", "--margin", "2"}, []string{"leave --interval and --margin out"}},
	} {
		args := append([]string{"serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--sync", "lockstep"}, test.args...)
		refused(t, do(t, testGame(), args...), test.says...)
	}
}

// Nor can a strategy be set up with what is beyond all reason.
func TestFlagsOfPredictThatCannotBeAreRefusedByTheirNames(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--snapshots", "1001"}, "--snapshots 1001: choose 1 to 1000"}, {[]string{"--snapshots=-1"}, "--snapshots -1"},
		{[]string{"--interest=-1"}, "--interest -1: choose 0 to"}, {[]string{"--interest", "1e9"}, "--interest 1e+09: choose 0 to 1048576 world units"},
		{[]string{"--look-back", "2s"}, "--look-back 2s: choose at most 1s"},
	} {
		args := append([]string{"serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--sync", "predict"}, test.args...)
		refused(t, do(t, testGame(), args...), test.says)
	}
}

// The same for dead reckoning.
func TestFlagsOfReckonThatCannotBeAreRefusedByTheirNames(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--snapshots", "61"}, "--snapshots 61: choose 1 to 60"}, {[]string{"--interest=-1"}, "--interest -1: choose 0 to"},
		{[]string{"--max-speed=-1"}, "--max-speed -1: choose 0 to 32768"}, {[]string{"--max-speed", "40000"}, "--max-speed 40000: choose"},
		{[]string{"--assumed", "4s"}, "--assumed 4s: choose 0 to 3s"}, {[]string{"--trusting", "--max-speed", "5"}, "leave --max-speed out"},
	} {
		args := append([]string{"serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--sync", "reckon"}, test.args...)
		refused(t, do(t, testGame(), args...), test.says)
	}
}

// Nobody is let into a match of a strategy that the game is not made for, and no socket is opened: the one of the address
// that is given here is taken.
func TestAStrategyThatTheGameIsNotMadeForIsRefusedAtOnce(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	bare := testGame()
	bare.Components, bare.Systems, bare.Leave = ecs.Components(seatType), nil, nil
	bare.Join = func(w *ecs.World, p ecs.Player) {
		seatType.Put(w, w.Spawn(ecs.OwnedBy(p), seatType), ecs.Seat{Player: p})
	}
	says := []string{`--sync reckon: no component of the game "crumbs" has a Motion role: give one to`, "or choose another strategy"}
	for _, args := range [][]string{{"serve", "--listen", taken.LocalAddr().String()}, {"demo"}, {"demo", "--page"}, {"profile"}, {"lab", "--page"}} {
		refused(t, do(t, bare, append(args, "--sync", "reckon")...), says...)
	}
	refused(t, do(t, bare, "serve", "--sync", "predict"), "--sync predict: no component", "has a Lerp role")
	if r := do(t, bare, "serve", "--listen", "127.0.0.1:0", "--sync", "relay", "--for", "1ms"); r.code != exitFine {
		t.Errorf("relay needs no role: %+v", r)
	}
}

// What is given reaches the strategy.
func TestFlagsSetTheStrategyUp(t *testing.T) {
	for _, test := range []struct {
		flags syncFlags
		want  string
	}{
		{syncFlags{Sync: "lockstep", Interval: 5, Margin: lockstep.NoMargin, Closing: "hybrid", Wait: 1e7, Audits: someAudits},
			string(lockstep.New(lockstep.Config{Interval: 5, Margin: lockstep.NoMargin, Closing: lockstep.Hybrid, Wait: 1e7}).Params)},
		{syncFlags{Sync: "lockstep", Article: true, Closing: optimistic, Audits: someAudits}, string(lockstep.New(lockstep.Article()).Params)},
		{syncFlags{Sync: "predict", Snapshots: 30, LookBack: -1, Closing: optimistic, Audits: someAudits},
			string(predict.New(predict.Config{SnapshotRate: 30, MaxView: -1}).Params)},
		{syncFlags{Sync: "reckon", Snapshots: 9, Assumed: 80e6, Closing: optimistic, Audits: someAudits},
			string(reckon.New(reckon.Config{StateRate: 9, Assumed: 80e6}).Params)},
		{syncFlags{Sync: "verify", Reliable: true, Closing: optimistic, Audits: someAudits}, string(verify.New(verify.Config{Reliable: true}).Params)},
	} {
		s, err := test.flags.strategy(testGame())
		if err != nil || s.Name != test.flags.Sync || string(s.Params) != test.want {
			t.Errorf("%+v: %s with %x, %v; want %x", test.flags, s.Name, s.Params, err, test.want)
		}
	}
}
