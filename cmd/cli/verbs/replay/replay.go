// Package replay is the verb that plays a recording again, checks it and shows it.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/static"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/replaypage"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
	"tendon/rollback/record/cursor"
)

// Verb replays a recording.
type Verb struct {
	File   string  `arg:"" type:"path" help:"A recording of --record, a journal, or a desync bundle of --desync-dir."`
	Second string  `arg:"" name:"other" optional:"" type:"path" help:"Another recording: find the first tick and field in which the two differ."`
	Verify bool    `help:"Only compare the checksum of every tick. This is the default without a terminal."`
	To     uint64  `help:"Simulate up to this tick and show its state by component; with --field, the last tick. Default: the end."`
	Dump   bool    `help:"Print a line for each tick: inputs that changed, orders, checksum."`
	At     *uint64 `help:"Show this tick: inputs, orders, events, resources, entities with all their fields."`
	Entity string  `help:"With --at or --field: only this entity, by the name that --at prints. p0:3@90 is the entity in row 3 of player 0 that was born in tick 90; w:17@0 belongs to the world. Without @90 it is the entity that has the row in that tick."`
	Field  string  `help:"List a field over the ticks --from to --to: component.field of --entity, or resource.field."`
	From   uint64  `help:"With --field: the first tick. Default: the first of the recording."`
	Page   bool    `group:"The page" help:"Show the recording in a browser: play, step, scrub, select entities, plot fields. Two recordings stop at the first tick that differs. This is the default on a terminal."`

	Builds    string `group:"Other builds" type:"path" help:"Directory of builds that dev keeps. A recording of another build is played by that build, if it is there."`
	Redo      bool   `group:"Other builds" help:"Play the last 10 s again with the rules of this build, and show the first tick that differs. With --page, show both side by side in a browser. Needs --builds."`
	StateFile string `name:"states" hidden:"" type:"path" help:"Write the last 10 s with the state of each tick into this file."`

	app.BrowseFlags
	static.Flag
}

// Help explains the verb.
func (Verb) Help() string {
	return `A recording has the inputs and orders of a match. replay simulates it with the rules of the game and compares the
checksum of every tick. A difference is reported by tick, and by component, entity and field if the recording has an
image of that tick; the exit code is then 1. A recording that was cut off is replayed as far as it goes.

On a terminal it is then shown in a browser, on a page that no other computer can open. Of a desync bundle the page shows
the stored states of both sides beside each other. A link leads to the ticks before, as this build replays them.

--export writes the page as files for any web server, with the recording, both compared recordings, or the bundle. The
browser simulates the match. A link to the page contains the tick, the entity and the plot.

A recording has the ticks of one build. With --builds, a recording of another build is played by that build, so that all
recordings of dev can be played. With --redo too, this build plays the last 10 s again, with the inputs of the recording and
from the same state, which is carried over by the names of the fields. The old states are those of the old build.

Examples:
  replay recordings/main-20261121T101500-000000000000002a.tendonrec
  replay FILE --page                        show it in a browser
  replay FILE --verify                      only compare every tick
  replay FILE --to 600
  replay FILE --dump --to 60
  replay FILE --at 600                      everything about tick 600
  replay FILE --at 600 --entity p0:3@590    one entity with all its fields
  replay FILE --field body.Pos.X --entity p0:0 --from 500 --to 600
  replay FILE OTHER                         exit code 0: equal, 1: they differ
  replay FILE OTHER --page                  both, at the first difference
  replay FILE --export site                 the page as files
  replay FILE --builds .tendon/builds       by the build that recorded it
  replay FILE --builds .tendon/builds --redo --page`
}

// Run plays the recording.
func (v *Verb) Run(a *app.App) error {
	if err := v.check(); err != nil {
		return err
	}
	v.Page = v.Page || v.Export == "" && !v.selects() && !v.Redo && v.StateFile == "" && v.Second == "" && !a.Common.JSON && app.IsTerminal(a.Note) && app.IsTerminal(os.Stdout)
	if err := cmp.Or(v.BrowseFlags.Check(v.Page), v.Flag.Check(a.Ctx, v.Page, static.ReplayScript)); err != nil {
		return err
	}
	data, err := readFile(v.File)
	if err != nil {
		return err
	}
	if bundle.Is(data) {
		return v.openBundle(a, data)
	}
	if v.Builds != "" {
		if other, err := v.otherBuild(a, data); other || err != nil {
			return err
		}
	}
	r, err := openRecording(a, v.File, data)
	if err != nil {
		return err
	}
	switch {
	case v.StateFile != "":
		return v.states(r)
	case v.Second != "":
		return v.compare(a, r)
	case v.Field != "":
		return v.series(a, r)
	case v.At != nil:
		return v.inspect(a, r)
	}
	to := cmp.Or(ecs.Tick(v.To), r.Last().Tick)
	if to < r.Start() || to > r.Last().Tick {
		return fmt.Errorf("--to %d: the recording has the ticks %d to %d", v.To, r.Start(), r.Last().Tick)
	}
	if v.Dump {
		v.dump(a, r, to)
	}
	if v.Verify || !v.selects() {
		err = v.verify(a, r, to)
	}
	switch {
	case (v.Page || v.Export != "") && (err == nil || errors.Is(err, app.ErrFailed)):
		return errors.Join(err, v.browse(a, replaypage.Match{Name: filepath.Base(v.File), Record: r}))
	case v.To > 0 && !v.Dump && err == nil:
		return v.show(a, r, to)
	}
	return err
}

// check returns an error for flags that do not go together.
func (v *Verb) check() error {
	played := v.Verify || v.Dump || v.To > 0
	switch {
	case v.Redo && (v.Builds == "" || v.Second != "" || v.selects()):
		return errors.New("--redo compares a recording with the rules of this build: add --builds, and leave out the other flags but --page")
	case (v.Page || v.Export != "") && v.selects():
		return errors.New("the page shows everything: leave out the flags other than --page and --export")
	case v.Export != "" && v.Builds != "" && !v.Redo:
		return errors.New("--export compiles the present source, but --builds replays a recording of another build: leave one out, or add --redo")
	case v.Second != "" && v.selects():
		return errors.New("two recordings are only compared: leave the other flags out, or name one recording")
	case v.Field == "" && v.At != nil && played:
		return errors.New("--at shows one tick: leave out --to, --dump and --verify")
	case v.Field != "" && (v.Verify || v.Dump || v.At != nil):
		return errors.New("--field lists one field: leave out --at, --dump and --verify")
	case v.Field == "" && v.From > 0:
		return errors.New("--from is for --field: name the field, as in --field body.Pos.X")
	case v.Entity != "" && v.Field == "" && v.At == nil:
		return errors.New("--entity is for --at and --field: name the tick, as in --at 600")
	}
	return nil
}

// selects reports whether a flag selects an action.
func (v *Verb) selects() bool {
	return v.Verify || v.Dump || v.To > 0 || v.At != nil || v.Field != "" || v.Entity != ""
}

// browse shows one match, or two side by side, in a browser until Ctrl-C. With --export it writes the page instead.
func (v *Verb) browse(a *app.App, matches ...replaypage.Match) error {
	if v.Export != "" {
		var files []replaypage.File
		for _, m := range matches {
			files = append(files, replaypage.File{Name: m.Name, Data: m.Record.Bytes()})
		}
		return v.Replay(a, files...)
	}
	return v.serve(a, func(context.Context, string) ([]replaypage.Match, error) { return matches, nil })
}

// serve serves the page until Ctrl-C.
func (v *Verb) serve(a *app.App, open replaypage.Open) error {
	return v.BrowseFlags.Serve(a, "The match", page.Config{}, func(s *page.Server) error {
		replaypage.Register(s, "/", open)
		s.Images(a.Game)
		return nil
	}, nil)
}

// readFile reads a recording or a bundle.
func readFile(file string) ([]byte, error) {
	data, _, err := durable.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: name a recording", file)
	}
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be read: %w; name a recording", err)
	}
	return data, nil
}

// openRecording opens a recording and prints what it is. A missing end is printed and is no error.
func openRecording(a *app.App, file string, data []byte) (*record.Record, error) {
	if len(data) == 0 {
		return nil, refusal(file, record.ErrNotRecord)
	}
	r, err := record.Open(data, a.Game)
	if err == nil {
		_, err = r.WorldAt(r.Start())
	}
	if err != nil {
		return nil, refusal(file, err)
	}
	if torn := r.Torn(); torn != nil {
		a.Logf("%v; the rest is replayed", torn)
		a.Emit("torn", app.Fields{"why": torn.Error()})
	} else if !r.Ended() {
		a.Logf("the recording has no end mark: its end is missing, or the match was not over; ticks to %d are whole", r.Last().Tick)
		a.Emit("torn", app.Fields{"why": "no end mark"})
	}
	h, last := r.Header(), r.Last().Tick
	length := time.Duration(last-r.Start()) * time.Second / time.Duration(h.TickRate)
	a.Logf("%s · seed %d · %d players at most · ticks %d to %d, %v · recorded by %s", h.Game, h.Seed, h.Players, r.Start(), last, length.Round(time.Millisecond), h.Build)
	if h.Flags != "" {
		a.Logf("played with %s", h.Flags)
	}
	switches := []app.Fields{}
	for at, strategy := range r.Switches(last) {
		a.Logf("tick %d: the match continues with %s", at, app.Printable(strategy))
		switches = append(switches, app.Fields{"tick": at, "strategy": strategy})
	}
	a.Emit("recording", app.Fields{"game": h.Game, "seed": app.ID(h.Seed), "players": h.Players, "first": r.Start(), "last": last,
		"tick_rate": h.TickRate, "build": h.Build, "strategy": h.Strategy, "flags": h.Flags, "switches": switches, "images": r.Images()})
	return r, nil
}

// refusal adds the remedy to the error of a file that cannot be replayed.
func refusal(file string, err error) error {
	switch {
	case errors.Is(err, record.ErrOther):
		return fmt.Errorf("%s cannot be replayed: %w; --builds starts one that dev keeps", file, err)
	case errors.Is(err, record.ErrVersion): // it names the remedy
		return fmt.Errorf("%s cannot be replayed: %w", file, err)
	case errors.Is(err, record.ErrNotRecord):
		return fmt.Errorf("%s is not a recording: name a file that --record of serve or demo wrote", file)
	}
	return fmt.Errorf("%s cannot be replayed: %w; take another copy", file, err)
}

// verify compares every tick up to tick to.
func (v *Verb) verify(a *app.App, r *record.Record, to ecs.Tick) error {
	result, err := r.Verify(to)
	if desync := (*rollback.DesyncReport)(nil); errors.As(err, &desync) {
		a.Emit("desync", app.Fields{"report": desync})
		a.Print(desync.String() + "\n")
		why := ""
		if b := r.Header().Build; b != app.Build() {
			why = fmt.Sprintf("; build %q made the recording, and --builds plays it with a build that dev keeps", b)
		}
		return fmt.Errorf("%w: tick %d differs from the recorded one%s", app.ErrFailed, desync.Tick, why)
	}
	if err != nil {
		return err
	}
	a.Emit("verified", app.Fields{"from": result.From, "to": result.To, "images": result.Images})
	a.Print(fmt.Sprintf("ticks %d to %d come out as recorded, %s too\n", result.From, result.To, app.Counted(result.Images, "image", "images")))
	return nil
}

// show prints the state of tick to by component.
func (v *Verb) show(a *app.App, r *record.Record, to ecs.Tick) error {
	w, err := r.WorldAt(to)
	if err != nil {
		return fmt.Errorf("%w: %w", app.ErrFailed, err)
	}
	var s image.Snapshot
	w.Image().Save(&s)
	t, columns := app.NewTable("", "column", "checksum"), app.Fields{}
	for i, sum := range s.ComponentChecksums(nil) {
		name := a.Game.Schema().Columns()[i]
		columns[name] = sum.Hex()
		t.Append(name, sum.Hex())
	}
	a.Print(fmt.Sprintf("tick %d, checksum %s\n%s", to, s.Checksum().Hex(), t.Text(true)))
	a.Emit("state", app.Fields{"tick": to, "checksum": s.Checksum().Hex(), "columns": columns})
	return nil
}

// dump prints the inputs and orders of each tick.
func (v *Verb) dump(a *app.App, r *record.Record, to ecs.Tick) {
	size, schema := a.Game.Input.Size(), a.Game.Schema()
	last := make([]ecs.InputBytes, a.Game.MaxPlayers)
	for e := range r.Ticks(r.Start()+1, to) {
		if a.Ctx.Err() != nil {
			return
		}
		inputs, orders := app.Fields{}, []string{}
		var line strings.Builder
		fmt.Fprintf(&line, "%8d %s", e.Tick, e.Checksum.Hex())
		for p, in := range e.Inputs {
			text := fmt.Sprintf("%x", in[:size])
			if e.Late.Has(ecs.Player(p)) {
				text += " (substituted)"
			} else if in == last[p] {
				continue
			}
			inputs[fmt.Sprint(p)], last[p] = text, in
			fmt.Fprintf(&line, "  player %d: %s", p, text)
		}
		for _, o := range e.Orders {
			text := fmt.Sprintf("%s of player %d %q", cursor.KindNames[o.Kind], o.Player, o.Payload)
			if strategy, ok := o.Strategy(); ok {
				text = "switch to " + strategy
			} else if card, ok := image.ParseCard(o.Payload); ok && o.Kind == image.OrderJoin {
				text = strings.TrimSuffix(fmt.Sprintf("join of player %d, %s", o.Player, card.Name), ", ")
				if len(card.Data) > 0 {
					text += fmt.Sprintf(" %q", card.Data)
				}
			} else if o.Kind == image.OrderGame {
				text = fmt.Sprintf("order of player %d, %s", o.Player, schema.OrderText(o.Payload))
			} else if _, _, build, ok := image.ParseRules(o.Payload); ok && o.Kind == image.OrderRules {
				text = "change of the rules, after build " + build
			} else if o.Kind == image.OrderPause || o.Kind == image.OrderResume {
				text = cursor.KindNames[o.Kind] + source(cursor.KindNames[o.Kind], o.OfServer(), o.Player)
			}
			orders = append(orders, text)
			line.WriteString("  " + orders[len(orders)-1])
		}
		a.Print(line.String() + "\n")
		a.Emit("tick", app.Fields{"tick": e.Tick, "checksum": e.Checksum.Hex(), "inputs": inputs, "orders": orders})
	}
}
