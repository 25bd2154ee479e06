package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

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

// Main runs the game's command line and exits. The game is checked first; what is wrong with it is printed.
func Main(game ecs.Game) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
	Token    tokenVerb    `cmd:"" help:"Mint a connect token."`
	SyncTest syncTestVerb `cmd:"" name:"synctest" help:"Check that the game is deterministic and survives every rewind."`
	Replay   replayVerb   `cmd:"" help:"Play a recording again and check it tick by tick."`

	Common `embed:"" group:"Everywhere"`
}

// Common are the flags of every verb.
type Common struct {
	JSON       bool   `name:"json" help:"Print JSON, one object a line, instead of text."`
	Profile    string `enum:"none,cpu,mem,allocs,block,mutex,goroutine,trace,clock" default:"none" help:"Profile the run: cpu, mem, allocs, block, mutex, goroutine, trace or clock."`
	ProfileDir string `type:"path" default:"profiles" help:"Where the profile is written."`
}

// app is what a verb works with.
type app struct {
	ctx    context.Context
	game   *ecs.Game
	common Common
	out    io.Writer // results
	note   io.Writer // what was chosen, progress, warnings
}

// exit ends the parsing with a code: kong asks for it after --help.
type exit int

// run carries out a command line and returns its exit code.
func run(ctx context.Context, game *ecs.Game, args []string, out, note io.Writer) (code int) {
	if err := game.Check(); err != nil {
		fmt.Fprintf(note, "%v\n", err)
		return exitUsage
	}
	defer func() {
		if r := recover(); r != nil {
			asked, ok := r.(exit)
			if !ok {
				panic(r)
			}
			code = int(asked)
		}
	}()
	var v verbs
	parser, err := kong.New(&v, kong.Name(game.Name), kong.Description(description(game)), kong.Writers(out, note),
		kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError(),
		kong.Vars{"version": buildString()}, kong.ExplicitGroups([]kong.Group{{Key: "Everywhere", Title: "Everywhere:"}}))
	if err != nil {
		panic(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(note, "%s: %v. See %s --help\n", game.Name, err, game.Name)
		return exitUsage
	}
	a := &app{ctx: ctx, game: game, common: v.Common, out: out, note: note}
	stop, err := a.startProfile()
	if err != nil {
		return a.fail(err)
	}
	err = parsed.Run(a)
	stop()
	return a.fail(err)
}

// fail prints an error and returns the exit code that stands for it.
func (a *app) fail(err error) int {
	if err == nil {
		return exitFine
	}
	if a.common.JSON {
		a.printJSON(map[string]any{"error": err.Error()})
	} else {
		fmt.Fprintf(a.note, "%s: %v\n", a.game.Name, err)
	}
	if errors.Is(err, errFailed) {
		return exitFailed
	}
	return exitUsage
}

// say tells a person what was chosen or is going on; with --json it is quiet.
func (a *app) say(format string, args ...any) {
	if !a.common.JSON {
		fmt.Fprintf(a.note, format+"\n", args...)
	}
}

// printJSON prints one object on a line.
func (a *app) printJSON(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("cli: a result cannot be written as JSON: %v", err))
	}
	fmt.Fprintf(a.out, "%s\n", line)
}

func description(g *ecs.Game) string {
	return fmt.Sprintf(`%[1]s, a networked game of up to %[2]d players at %[3]d ticks per second.

Examples:
  %[1]s demo --for 20s          a match of bots over a bad network, checked for desyncs
  %[1]s play                    play against bots
  %[1]s serve                   run a server; it prints the line that joins it
  %[1]s synctest --ticks 6000   look for what is not deterministic`, g.Name, g.MaxPlayers, g.TickRate)
}
