package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"tendon/ecs"
)

// The exit codes of every verb.
const (
	exitFine   = 0
	exitFailed = 1 // the check failed: a desync, a difference
	exitUsage  = 2 // wrong use or environment
)

// errFailed is wrapped by the error of a verb whose check failed, after it has said how.
var errFailed = errors.New("check failed")

// errInterrupted ends a check that was told to stop: it is no success, since nothing was proven.
var errInterrupted = errors.New("interrupted before the end, so nothing is proven: run it again")

// Main runs the game's command line and exits. The game is checked first; what is wrong with it is printed. Ctrl-C,
// SIGTERM and SIGHUP end a verb in order; a second one ends the process at once.
func Main(game ecs.Game) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	code := run(ctx, &game, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// verbs is the command line's grammar.
type verbs struct {
	Demo     demoVerb     `cmd:"" help:"Play a match of bots over a bad network, all in this process, and check that nobody desyncs."`
	Serve    serveVerb    `cmd:"" help:"Run a server."`
	Join     joinVerb     `cmd:"" help:"Join a server: in a window, as a bot, or without either."`
	Play     playVerb     `cmd:"" help:"Serve, add bots, and play in a window, all in this process."`
	Bots     botsVerb     `cmd:"" help:"Load a server with rooms of bots."`
	Token    tokenVerb    `cmd:"" help:"Mint a connect token."`
	Lab      labVerb      `cmd:"" help:"Measure sync strategies against each other on simulated networks."`
	SyncTest syncTestVerb `cmd:"" name:"synctest" help:"Check that the game is deterministic and survives every rewind."`
	Matches  matchesVerb  `cmd:"" help:"List decided matches, beside a running server too."`
	Replay   replayVerb   `cmd:"" help:"Play a recording again and check it tick by tick."`
	Costs    profileVerb  `cmd:"" name:"profile" help:"Measure what each phase and system of a tick costs, or compare two measurements."`

	Common `embed:"" group:"Everywhere"`
}

// Common are the flags of every verb.
type Common struct {
	JSON       bool   `name:"json" help:"Print JSON, one object a line, instead of text."`
	Profile    string `enum:"none,cpu,mem,allocs,block,mutex,goroutine,trace,clock" default:"none" help:"Profile the run: cpu, mem, allocs, block, mutex, goroutine, trace or clock."`
	TickRate   int    `help:"Run the game at this many ticks a second instead of its own; every peer of a match needs the same."`
	ProfileDir string `type:"path" default:"profiles" help:"Where the profile is written."`
}

// app is what a verb works with. Goroutines may print side by side.
type app struct {
	ctx     context.Context
	game    *ecs.Game
	program string // how this process was started
	common  Common

	printing sync.Mutex
	out      *results
	note     io.Writer // what was chosen, progress, warnings
}

// run carries out a command line and returns its exit code.
func run(ctx context.Context, game *ecs.Game, args []string, out, note io.Writer) int {
	if err := tryOut(game); err != nil {
		fmt.Fprintf(note, "%v\n", err)
		return exitUsage
	}
	a := &app{ctx: ctx, game: game, program: program(), out: &results{to: out}, note: note}
	return a.written(a.carryOut(args))
}

// carryOut is run without a look at what became of the results.
func (a *app) carryOut(args []string) int {
	verb, code := a.parse(args)
	if verb == nil {
		return code
	}
	if err := a.setRate(); err != nil {
		return a.fail(err)
	}
	stop, err := a.startProfile()
	if err != nil {
		return a.fail(err)
	}
	err = verb.Run(a)
	stop()
	return a.fail(err)
}

// setRate lets the game run at the rate that was asked for.
func (a *app) setRate() error {
	if a.common.TickRate == 0 {
		return nil
	}
	game := *a.game
	game.TickRate = a.common.TickRate
	a.game = &game
	return game.Check()
}

// tryTicks is how long a game is tried out before a verb runs.
const tryTicks = 3

// tryOut checks the game and plays its first ticks with every seat taken, so that what the engine refuses while a match
// runs, a component that is used and not listed above all, is a sentence here and no panic of some goroutine later.
func tryOut(game *ecs.Game) (err error) {
	defer func() {
		if r := recover(); r != nil {
			text, ok := r.(string)
			if !ok || !strings.HasPrefix(text, "ecs: ") {
				panic(r)
			}
			err = errors.New(text)
		}
	}()
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		return err
	}
	var orders []ecs.Order
	for p := range game.MaxPlayers {
		orders = append(orders, ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(p)})
	}
	for range tryTicks {
		w.Step(ecs.TickInputs{Orders: orders})
		orders = nil
	}
	return nil
}

// exit is what kong's wish to end the process becomes: it has printed the help.
type exit int

// parse reads the command line; without a verb to run it returns the exit code.
func (a *app) parse(args []string) (verb *kong.Context, code int) {
	defer func() {
		if r := recover(); r != nil {
			asked, ok := r.(exit)
			if !ok {
				panic(r)
			}
			verb, code = nil, int(asked)
		}
	}()
	var v verbs
	parser, err := kong.New(&v, kong.Name(a.game.Name), kong.Description(a.description()), kong.Writers(a.out, a.note),
		kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ExplicitGroups([]kong.Group{{Key: "Everywhere", Title: "Everywhere:"}}))
	if err != nil {
		panic(fmt.Sprintf("cli: the grammar is wrong: %v", err))
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	args = joined(args)
	verb, err = parser.Parse(args)
	if err == nil {
		err = named(verb, args)
	}
	if err != nil {
		fmt.Fprintf(a.note, "%s: %v; see %s%s --help\n", a.game.Name, err, a.program, asked(verb, err))
		return nil, exitUsage
	}
	a.common = v.Common
	return verb, exitFine
}

// negative is a number below zero, which a flag may be followed by.
var negative = regexp.MustCompile(`^-[0-9.]`)

// joined writes --flag -5 as --flag=-5, which alone is not taken for a flag -5, so that it is the value that is refused.
func joined(args []string) (list []string) {
	for i, arg := range args {
		if last := len(list) - 1; i > 0 && negative.MatchString(arg) && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			list[last] += "=" + arg
			continue
		}
		list = append(list, arg)
	}
	return list
}

// asked returns the verb of a command line, behind a space, or nothing if it has none.
func asked(verb *kong.Context, err error) string {
	if wrong := (*kong.ParseError)(nil); errors.As(err, &wrong) {
		verb = wrong.Context
	}
	if verb == nil || verb.Selected() == nil {
		return ""
	}
	return " " + verb.Selected().Name
}

// named demands that a file or directory that is given has a name: an empty one is a shell's variable that is not set,
// and would pass for one that was not given.
func named(verb *kong.Context, args []string) error {
	for _, f := range verb.Flags() {
		flag := "--" + f.Name
		i := slices.Index(args, flag)
		if f.Tag.Type == "path" && (slices.Contains(args, flag+"=") || i >= 0 && i+1 < len(args) && args[i+1] == "") {
			return fmt.Errorf("%s is empty: name a file or directory, or leave it out", flag)
		}
	}
	return nil
}

// results is the standard output.
type results struct {
	to  io.Writer
	err error // the first
}

// Write writes what it can. A reader who has gone away is no reason to stop, nor an error.
func (r *results) Write(b []byte) (int, error) {
	n, err := r.to.Write(b)
	if err != nil && r.err == nil && !errors.Is(err, syscall.EPIPE) {
		r.err = err
	}
	return n, err
}

// unwritten is an error if results are lost.
func (a *app) unwritten() error {
	a.printing.Lock()
	defer a.printing.Unlock()
	if a.out.err == nil {
		return nil
	}
	return fmt.Errorf("the results could not be written: %w; make room on the disk, or write them elsewhere", a.out.err)
}

// written returns the exit code of a verb whose results may be lost.
func (a *app) written(code int) int {
	err := a.unwritten()
	if err == nil {
		return code
	}
	a.print(a.note, fmt.Sprintf("%s: %v\n", a.game.Name, err))
	return max(code, exitUsage)
}

// fail prints an error and returns the exit code that stands for it.
func (a *app) fail(err error) int {
	if err == nil {
		return exitFine
	}
	a.emit("error", fields{"error": err.Error()})
	a.say("%s: %v", a.game.Name, err)
	if errors.Is(err, errFailed) {
		return exitFailed
	}
	return exitUsage
}

// say tells a person what was chosen or is going on; with --json it is quiet.
func (a *app) say(format string, args ...any) {
	if !a.common.JSON {
		a.print(a.note, fmt.Sprintf(format, args...)+"\n")
	}
}

// tell prints a result for a person; with --json it is quiet.
func (a *app) tell(text string) {
	if !a.common.JSON {
		a.print(a.out, text)
	}
}

// fields is what a line of JSON says.
type fields map[string]any

// emit prints one object on a line, if --json was given. Its event says what it is.
func (a *app) emit(event string, f fields) {
	if !a.common.JSON {
		return
	}
	object := fields{"event": event}
	maps.Copy(object, f)
	line, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("cli: a result cannot be written as JSON: %v", err))
	}
	a.print(a.out, string(line)+"\n")
}

// print writes a text in one piece. What the standard output did not take is found by written.
func (a *app) print(to io.Writer, text string) {
	a.printing.Lock()
	defer a.printing.Unlock()
	_, _ = io.WriteString(to, text)
}

// until returns the context of work that lasts d, or until Ctrl-C if d is 0.
func (a *app) until(d time.Duration) (context.Context, context.CancelFunc, error) {
	switch {
	case d < 0:
		return nil, nil, fmt.Errorf("--for %v: give a time above 0, or leave it out", d)
	case d == 0:
		ctx, cancel := context.WithCancel(a.ctx)
		return ctx, cancel, nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, d)
	return ctx, cancel, nil
}

// chooseSeed returns a seed that a person can type again.
func chooseSeed(asked uint64) uint64 {
	if asked != 0 {
		return asked
	}
	return 1 + rand.Uint64N(1e9)
}

func (a *app) description() string {
	return fmt.Sprintf(`%s, a networked game of up to %d players at %d ticks per second.

Examples:
  %[4]s demo --for 20s          a match of bots over a bad network, checked for desyncs
  %[4]s play                    play against bots
  %[4]s serve                   run a server; it prints the line that joins it
  %[4]s matches                 list what serve --matches matches.db recorded
  %[4]s synctest --ticks 6000   look for what is not deterministic`, a.game.Name, a.game.MaxPlayers, a.game.TickRate, a.program)
}
