package cli

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

var everyVerb = []string{"profile", "demo", "serve", "join", "watch", "play", "dev", "web", "bots", "lab", "backend", "token", "drain", "synctest", "matches", "replay", "players", "kick", "ban", "switch", "pause", "resume"}

// The package documentation lists every verb.
func TestThePackageDocumentsEveryVerb(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range everyVerb {
		if !strings.Contains(string(page), "\n//\t"+verb+" ") {
			t.Errorf("doc.go does not list %s", verb)
		}
	}
	if verbs := reflect.TypeFor[verbs]().NumField() - 1; len(everyVerb) != verbs { // but for Common
		t.Errorf("%d verbs are tested, there are %d", len(everyVerb), verbs)
	}
}

func TestTheHelpOfEveryVerbHasExamples(t *testing.T) {
	for _, verb := range everyVerb {
		r := do(t, crumbs.Game(), verb, "--help")
		if r.code != app.ExitFine || !strings.Contains(r.out, "Examples, after "+app.Program()+":\n\n    "+verb) || !strings.HasPrefix(r.out, "Usage: "+app.Program()+" "+verb) || r.note != "" {
			t.Errorf("%s --help: exit code %d, note %q, out:\n%s", verb, r.code, r.note, r.out)
		}
	}
}

// Every verb that plays has the same flags for the network.
func TestEveryVerbThatPlaysTakesANetwork(t *testing.T) {
	for _, verb := range []string{"play", "join", "dev", "bots", "demo", "lab", "profile"} {
		r := do(t, crumbs.Game(), verb, "--help")
		for _, flag := range []string{"--net=", "--rtt=", "--jitter=", "--loss="} {
			if !strings.Contains(r.out, "\n      "+flag) {
				t.Errorf("%s has no %s:\n%s", verb, flag, r.out)
			}
		}
	}
}

// A command line without arguments prints the help.
func TestWithoutArgumentsTheHelpIsPrinted(t *testing.T) {
	r, asked := do(t, crumbs.Game()), do(t, crumbs.Game(), "--help")
	if r != asked || r.code != app.ExitFine || !strings.Contains(r.out, "Examples:") {
		t.Errorf("%+v\nwith --help: %+v", r, asked)
	}
	for _, verb := range everyVerb {
		if !strings.Contains(r.out, "\n  "+verb+" ") {
			t.Errorf("the help does not list %s:\n%s", verb, r.out)
		}
	}
}

func TestWrongUseIsOneSentenceAndExitCode2(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"demo", "--nonsense"}, {"frobnicate"}, {"replay"}, {"token", "127.0.0.1:7777"}, {"demo", "--for", "soon"},
		{"synctest", "--profile", "everything"}, {"synctest", "--policy", "some"}, {"demo", "--for=-1s"}, {"demo", "--bots", "99"},
		{"demo", "--loss", "101"}, {"demo", "--loss", "NaN"}, {"demo", "--rtt=-1s"}, {"synctest", "--ticks", "0"},
		{"synctest", "--depth", "1000"}, {"demo", "--sync", "hope"}, {"serve", "--old-key-file", "x"},
		{"serve", "--listen", "127.0.0.1:0", "--for=-1s"}, {"serve", "--listen", "127.0.0.1:0", "--max-rooms=-1"},
		{"serve", "--listen", "127.0.0.1:0", "--workers=-1"}, {"play", "--bots", "99"},
	} {
		r := do(t, crumbs.Game(), args...)
		if r.code != app.ExitUsage || strings.Count(r.note, "\n") != 1 || r.out != "" {
			t.Errorf("%q: exit code %d, note %q, out %q", args, r.code, r.note, r.out)
		}
	}
}

// For these flags, 0 is not the same as a flag that was left out.
func TestZeroIsRefusedWhereTheHelpSaysOneOrMore(t *testing.T) {
	for _, args := range []string{"demo --sync predict --snapshots 0", "serve --sync reckon --snapshots=0", "demo --tick-rate 0", "matches --last 0", "drain a --rooms 0"} {
		refused(t, do(t, crumbs.Game(), strings.Fields(args)...), " 0: give at least 1, or leave it out")
	}
	for _, args := range []string{"matches --last=-1", "drain a --rooms=-1"} {
		refused(t, do(t, crumbs.Game(), strings.Fields(args)...), " -1: give at least 1, or leave it out")
	}
}

// The error names the help of the verb.
func TestWrongUsePointsToTheHelpOfTheVerb(t *testing.T) {
	for args, want := range map[string]string{"demo --nonsense": "demo --help", "serve --max-rooms x": "serve --help", "replay": "replay --help", "--nonsense": app.Program() + " --help", "frobnicate": app.Program() + " --help"} {
		refused(t, do(t, crumbs.Game(), strings.Fields(args)...), "see "+app.Program(), want)
	}
}

// An empty name is an unset variable of the shell, and not a flag that was left out.
func TestAnEmptyNameOfAFileIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"join", "127.0.0.1:7777", "--token", "x", "--bot", "--log", ""}, {"serve", "--journal", ""}, {"serve", "--record="},
		{"serve", "--matches", ""}, {"matches", "--file", ""}, {"demo", "--profile-dir", ""},
	} {
		refused(t, do(t, crumbs.Game(), args...), " is empty: name a file or directory", args[0]+" --help")
	}
}

// A flag without an effect is a mistake.
func TestFlagsWithoutAnEffectAreRefused(t *testing.T) {
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--fsync", "always"), "--fsync always", "--journal")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--on-stop", "keep"), "--on-stop keep is for --journal", "finish or end")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--other-build", "refuse"), "--other-build", "--journal")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--pauses", "3"), "--pauses 3 is for --pause players")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--workers", "1025"), "--workers 1025: give 1 to 1024")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--max-rooms", "65537"), "--max-rooms 65537: give 1 to 65536")
	refused(t, do(t, crumbs.Game(), "replay", "FILE", "--redo"), "--redo", "add --builds")
	refused(t, do(t, crumbs.Game(), "dev", "--headless", "--windows", "9"), "--windows 9 --bots 1: give 1 to ")
	refused(t, do(t, crumbs.Game(), "dev", "--headless", "--relay-only", "--sync", "lockstep"), "--relay-only is for serve")
	refused(t, do(t, crumbs.Game(), "serve", "--on-stop", "hope"), "choose keep, finish or end", "serve --help")
}

// fullDisk refuses every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// The exit code shows that results are lost.
func TestResultsThatCannotBeWrittenAreAnError(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "server.key")
	if r := do(t, crumbs.Game(), "token", "127.0.0.1:7777", "--key-file", key, "--new-key"); r.code != app.ExitFine {
		t.Fatal(r.note)
	}
	for _, args := range [][]string{
		{"token", "127.0.0.1:7777", "--key-file", key}, {"token", "127.0.0.1:7777", "--key-file", key, "--json"}, {"--help"},
		{"serve", "--help"}, {"synctest", "--ticks", "80"}, {"synctest", "--ticks", "80", "--json"}, {"serve", "--listen", "127.0.0.1:0"},
	} {
		note := newPipe()
		code := run(t.Context(), crumbs.Game(), args, fullDisk{}, note)
		if said := note.String(); code != app.ExitUsage || !strings.Contains(said, "the results could not be written") || strings.Contains(said, "goroutine ") {
			t.Errorf("%q: exit code %d, %q", args, code, said)
		}
	}
	note := newPipe() // a desync that could not be printed
	if code := run(t.Context(), desyncingGame(), []string{"synctest", "--ticks", "80"}, fullDisk{}, note); code != app.ExitUsage {
		t.Errorf("a desync that cannot be printed: exit code %d, %s", code, note)
	}
}

// A mistake in the game is reported before anything starts.
func TestAMistakeInTheGameIsOneSentence(t *testing.T) {
	g := crumbs.Game()
	g.TickRate = 0
	r := do(t, g, "synctest")
	if r.code != app.ExitUsage || strings.Count(r.note, "\n") != 1 || !strings.Contains(r.note, "TickRate") {
		t.Errorf("%+v", r)
	}
}

// parseEvents fails unless every line is a JSON object with an event.
func parseEvents(t *testing.T, out string) (names []string) {
	t.Helper()
	for line := range strings.Lines(out) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.text("event") == "" {
			t.Errorf("%q is no event: %v", line, err)
		}
		names = append(names, e.text("event"))
	}
	return names
}

func TestEachLineOfJSONIsAnEvent(t *testing.T) {
	key := filepath.Join(t.TempDir(), "server.key")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"synctest", "--ticks", "80", "--seed", "3"}, app.ExitFine, "result"},
		{[]string{"token", "127.0.0.1:7777", "--key-file", key, "--new-key"}, app.ExitFine, "token"},
		{[]string{"token", "127.0.0.1:7777", "--key-file", key, "--new-key"}, app.ExitUsage, "error"},
		{[]string{"replay", key}, app.ExitUsage, "error"},
		{[]string{"serve", "--listen", "nowhere"}, app.ExitUsage, "error"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--for", "1ms"}, app.ExitFine, "listening"},
	} {
		r := do(t, crumbs.Game(), append(test.args, "--json")...)
		if names := parseEvents(t, r.out); r.code != test.code || !slices.Contains(names, test.want) || r.note != "" {
			t.Errorf("%q: exit code %d, events %q, note %q", test.args, r.code, names, r.note)
		}
	}
}

func TestADesyncIsAnEventToo(t *testing.T) {
	r := do(t, desyncingGame(), "synctest", "--ticks", "80", "--json")
	if names := parseEvents(t, r.out); r.code != app.ExitFailed || !slices.Equal(names, []string{"start", "desync", "error"}) {
		t.Errorf("exit code %d, %q", r.code, names)
	}
}

func TestEachProfileWritesItsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet") // it is made
	for name, file := range map[string]string{"cpu": "cpu.pprof", "mem": "mem.pprof", "allocs": "mem.pprof", "block": "block.pprof", "mutex": "mutex.pprof",
		"goroutine": "goroutine.pprof", "trace": "trace.out", "clock": "clock.pprof"} {
		r := do(t, crumbs.Game(), "synctest", "--ticks", "80", "--profile", name, "--profile-dir", dir)
		if r.code != app.ExitFine || !strings.Contains(r.note, filepath.Join(dir, file)) {
			t.Errorf("--profile %s: %+v", name, r)
		}
		path := filepath.Join(dir, file)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("--profile %s: %v", name, err)
		}
		if err := os.Remove(path); err != nil { // mem and allocs have the same name
			t.Error(err)
		}
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("profiles left %q", left)
	}
}

// A disk that is full when a profile ends is an error.
func TestAProfileThatIsNotWrittenIsAnError(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	for name, file := range map[string]string{"cpu": "cpu.pprof", "trace": "trace.out"} {
		dir := t.TempDir()
		if err := os.Symlink("/dev/full", filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		r := do(t, crumbs.Game(), "synctest", "--ticks", "80", "--profile", name, "--profile-dir", dir)
		if r.code != app.ExitUsage || !strings.Contains(r.note, file+" is not whole: ") || !strings.Contains(r.note, "free space") {
			t.Errorf("--profile %s: %+v", name, r)
		}
	}
}

// A log file, a pipe or a test is not a terminal, regardless of the environment.
func TestOnlyATerminalGetsEscapeSequences(t *testing.T) {
	for _, colour := range []string{"", "1"} {
		t.Setenv("NO_COLOR", colour)
		for _, args := range [][]string{
			{"--help"}, {"serve", "--help"}, {"synctest", "--ticks", "80"}, {"--nonsense"}, {"replay", "nothing"},
			{"serve", "--listen", "127.0.0.1:0", "--for", "1ms", "-v"},
		} {
			if r := do(t, crumbs.Game(), args...); strings.ContainsAny(r.out+r.note, "\x1b\r") {
				t.Errorf("NO_COLOR=%q %q: %q", colour, args, r.out+r.note)
			}
		}
	}
}

// A component that is used and not listed is the most common mistake. The first tick that uses it finds it.
func TestAnUnlistedComponentIsASentence(t *testing.T) {
	g := crumbs.Game()
	g.Components = g.Components[:2]
	r := do(t, g, "synctest", "--ticks", "80")
	if r.code != app.ExitUsage || strings.Count(r.note, "\n") != 1 || !strings.Contains(r.note, `"wear" is used but not listed`) {
		t.Errorf("exit code %d: %s", r.code, r.note)
	}
}

func TestTheVersionNamesTheGameAndTheTarget(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"demo", "--version"}} {
		r := do(t, crumbs.Game(), args...)
		if r.code != 0 || !strings.HasPrefix(r.out, crumbs.Game().Name+" ") || !strings.Contains(r.out, runtime.GOOS+"/"+runtime.GOARCH) {
			t.Errorf("%q: exit %d, %q", args, r.code, r.out)
		}
		r = do(t, crumbs.Game(), append(args, "--json")...)
		var line map[string]string
		if err := json.Unmarshal([]byte(r.out), &line); err != nil || r.code != 0 || line["event"] != "version" || line["game"] != crumbs.Game().Name {
			t.Errorf("%q with --json: exit %d, %q", args, r.code, r.out)
		}
	}
}

// A server that cannot start leaves no socket open.
func TestAServerThatCannotStartClosesItsSockets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--web", address, "--record", filepath.Join(file, "recordings")); r.code == 0 {
		t.Fatal("the server starts without a folder for its recordings")
	}
	if r := do(t, crumbs.Game(), "serve", "--listen", "192.0.2.1:7777", "--web", address); r.code == 0 {
		t.Fatal("the server starts at an address of another host")
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	l.Close()
}
