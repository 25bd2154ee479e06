//go:build !js

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/verbs/backend"
	"tendon/cmd/cli/verbs/bots"
	"tendon/cmd/cli/verbs/demo"
	"tendon/cmd/cli/verbs/dev"
	"tendon/cmd/cli/verbs/drain"
	"tendon/cmd/cli/verbs/join"
	labverb "tendon/cmd/cli/verbs/lab"
	"tendon/cmd/cli/verbs/matches"
	"tendon/cmd/cli/verbs/moderate"
	"tendon/cmd/cli/verbs/play"
	"tendon/cmd/cli/verbs/profile"
	"tendon/cmd/cli/verbs/replay"
	"tendon/cmd/cli/verbs/serve"
	"tendon/cmd/cli/verbs/synctest"
	"tendon/cmd/cli/verbs/token"
	"tendon/cmd/cli/verbs/watch"
	"tendon/cmd/cli/verbs/web"
	"tendon/ecs"
	"tendon/ecs/image"
)

// Run runs the game's command line and exits. It checks the game first and prints what is wrong with it. Ctrl-C, SIGTERM
// and SIGHUP end a verb in order; a second one ends the process at once.
func (p Program) Run() {
	ctx, stop := app.EndContext()
	code := p.run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type verbs struct {
	Demo     demo.Verb        `cmd:"" help:"Play a match of bots on a bad network, all in this process, and check for desyncs."`
	Serve    serve.Verb       `cmd:"" help:"Run a server."`
	Join     join.Verb        `cmd:"" help:"Join a server: in a window, as a bot, or without either."`
	Watch    watch.Verb       `cmd:"" help:"Watch a match that a server broadcasts, and verify every tick."`
	Play     play.Verb        `cmd:"" help:"Serve, add bots, and play in a window, all in this process."`
	Dev      dev.Verb         `cmd:"" help:"Play, and continue the match with a new build when a file is saved."`
	Bots     bots.Verb        `cmd:"" help:"Load a server with rooms of bots."`
	Backend  backend.Verb     `cmd:"" help:"Queue players, match them, and give them connect tokens."`
	Token    token.Verb       `cmd:"" help:"Mint a connect token."`
	Drain    drain.Verb       `cmd:"" help:"Move the rooms of a server to the other servers of its cluster, or list the servers."`
	Players  moderate.Players `cmd:"" help:"List the players and banned clients of a running server, with evidence."`
	Kick     moderate.Kick    `cmd:"" help:"Remove a player from a running server."`
	Ban      moderate.Ban     `cmd:"" help:"Ban a player from a running server for a time, or end a ban."`
	Switch   moderate.Switch  `cmd:"" help:"Change the sync strategy of a room of a running server."`
	Pause    moderate.Pause   `cmd:"" help:"Pause the match of a room of a running server."`
	Resume   moderate.Resume  `cmd:"" help:"Let a paused match continue."`
	Lab      labverb.Verb     `cmd:"" help:"Compare sync strategies on simulated networks."`
	SyncTest synctest.Verb    `cmd:"" name:"synctest" help:"Check that the game is deterministic and survives every rewind."`
	Web      web.Verb         `cmd:"" help:"Compile the game for browsers, and serve it."`
	Matches  matches.Verb     `cmd:"" help:"List decided matches."`
	Replay   replay.Verb      `cmd:"" help:"Play a recording again and check it tick by tick."`
	Profile  profile.Verb     `cmd:"" help:"Measure the cost of each phase and system of a tick, or compare two measurements."`

	app.Common `embed:"" group:"Everywhere"`
}

// run runs the command line of a game.
func run(ctx context.Context, game *ecs.Game, args []string, out, note io.Writer) int {
	return Program{Game: *game}.run(ctx, args, out, note)
}

func (p Program) run(ctx context.Context, args []string, out, note io.Writer) int {
	game := &p.Game
	if err := checkGame(game); err != nil {
		fmt.Fprintln(note, err)
		return app.ExitUsage
	}
	a := app.New(ctx, game, out, note)
	a.Gates, a.Match = p.Gates, p.Match
	a.Args = args
	code := runVerb(a, args)
	if err := a.LostResults(); err != nil {
		a.Write(a.Note, fmt.Sprintf("%s: %v\n", a.Game.Name, err))
		return app.ExitUsage
	}
	return code
}

func runVerb(a *app.App, args []string) int {
	command, code := parse(a, args)
	if command == nil {
		return code
	}
	if a.Common.TickRate != 0 {
		game := *a.Game
		game.TickRate = a.Common.TickRate
		a.Game = &game
		if err := game.Check(); err != nil {
			return a.ExitCode(err)
		}
	}
	stop, err := a.Profile(a.Common.PprofKind, a.Common.ProfileDir)
	if err == nil {
		err = errors.Join(command.Run(a), stop())
	}
	return a.ExitCode(err)
}

// checkGame checks the game and plays its first ticks with every seat taken. The engine panics on some mistakes during a
// match, such as a component that is used but not listed. Here they are errors.
func checkGame(game *ecs.Game) (err error) {
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
	var orders []image.Order
	for p := range game.MaxPlayers {
		orders = append(orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)})
	}
	for range 3 {
		w.Step(ecs.TickInputs{Orders: orders})
		orders = nil
	}
	return nil
}

// exit is the panic value by which kong ends parsing after it printed the help.
type exit int

// parse parses the command line. If there is no verb to run, it returns the exit code.
func parse(a *app.App, args []string) (command *kong.Context, code int) {
	defer func() {
		if r := recover(); r != nil {
			status, ok := r.(exit)
			if !ok {
				panic(r)
			}
			command, code = nil, int(status)
		}
	}()
	var v verbs
	parser, err := kong.New(&v, kong.Name(a.Program), kong.Description(description(a)), kong.Writers(a.Out, a.Note),
		kong.Exit(func(code int) { panic(exit(code)) }), syncflags.Vars(a.Game), kong.Vars{"version": version(a, args)},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.ExplicitGroups([]kong.Group{{Key: "Everywhere", Title: "Everywhere:"}}))
	if err != nil {
		panic(fmt.Sprintf("cli: the grammar is wrong: %v", err))
	}
	for _, verb := range parser.Model.Leaves(false) {
		verb.Detail = strings.Replace(verb.Detail, "\nExamples:\n", "\nExamples, after "+a.Program+":\n", 1)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	args = attachNegatives(args)
	command, err = parser.Parse(args)
	if err == nil {
		err = cmp.Or(checkPaths(command, args), checkZeros(command))
	}
	if err != nil {
		text := err.Error()
		if strings.Contains(text, "<EOL>") { // the end of the command line
			text = args[len(args)-1] + " needs a value"
		}
		fmt.Fprintf(a.Note, "%s: %s; see %s%s --help\n", a.Game.Name, text, a.Program, verbName(command, err))
		return nil, app.ExitUsage
	}
	a.Common = v.Common
	return command, app.ExitFine
}

// negative matches a number below zero.
var negative = regexp.MustCompile(`^-[0-9.]`)

// attachNegatives rewrites --flag -5 to --flag=-5. kong would take -5 for a flag, and the error would not name the value.
func attachNegatives(args []string) (list []string) {
	for i, arg := range args {
		if i > 0 && negative.MatchString(arg) && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			list[len(list)-1] += "=" + arg
			continue
		}
		list = append(list, arg)
	}
	return list
}

// verbName returns the verb of a command line after a blank; "": it has none.
func verbName(command *kong.Context, err error) string {
	if wrong := (*kong.ParseError)(nil); errors.As(err, &wrong) {
		command = wrong.Context
	}
	if command == nil || command.Selected() == nil {
		return ""
	}
	return " " + command.Selected().Name
}

// checkPaths refuses an empty file, directory or network profile, such as an unset variable of the shell. For kong it is the same as a
// flag that was left out.
func checkPaths(command *kong.Context, args []string) error {
	for _, f := range command.Flags() {
		flag := "--" + f.Name
		i := slices.Index(args, flag)
		if !slices.Contains(args, flag+"=") && (i < 0 || i+1 == len(args) || args[i+1] != "") {
			continue
		}
		switch {
		case f.Tag.Type == "path":
			return fmt.Errorf("%s is empty: name a file or directory, or leave it out", flag)
		case f.Name == "net":
			return fmt.Errorf("%s is empty: name a profile from P0 to P12, or leave it out", flag)
		}
	}
	return nil
}

// checkZeros refuses 0 for a flag with the tag positive. The verb would take it for a flag that was left out.
func checkZeros(command *kong.Context) error {
	for _, f := range command.Flags() {
		if f.Tag.Has("positive") && f.Set && f.Target.IsZero() {
			return fmt.Errorf("--%s 0: give at least 1, or leave it out", f.Name)
		}
	}
	return nil
}

// version returns the output of --version.
func version(a *app.App, args []string) string {
	if !slices.Contains(args, "--json") {
		return a.Game.Name + " " + app.Build()
	}
	return strings.TrimSuffix(app.JSONLine("version", app.Fields{"game": a.Game.Name, "build": app.Build()}), "\n")
}

func description(a *app.App) string {
	return fmt.Sprintf(`%s, a networked game of up to %d players at %d ticks per second.

Examples:
  %[4]s demo --for 20s         bots on a bad network, checked for desyncs
  %[4]s play                   play against bots
  %[4]s dev                    change the rules while you play
  %[4]s serve                  run a server; it prints how to join
  %[4]s matches                list what serve --matches recorded
  %[4]s synctest --ticks 6000  find what is not deterministic`, a.Game.Name, a.Game.MaxPlayers, a.Game.TickRate, a.Program)
}
