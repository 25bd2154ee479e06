// Package matches is the verb that lists decided matches.
package matches

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/clusterflags"
	"tendon/cmd/cli/matches"
)

// Verb lists the recorded matches of servers.
type Verb struct {
	File string `type:"path" help:"File of serve --matches. Default: matches.db, or with --cluster none."`
	Room string `help:"Only matches of this room. Default: all rooms."`
	Last int    `positive:"" help:"Number of matches to list, newest first. Default: all."`

	app.TableFlags     `embed:""`
	clusterflags.Flags `embed:""`
}

// Help explains the verb.
func (Verb) Help() string {
	return `The table has the newest match first: players, result, how it was decided, votes for another result, the strategies, and the
recording. A match has several strategies if the verb switch changed them.
While a server has the file open, the records come from the server, so this works at any time.

With --cluster the matches are those of all servers of the cluster. With --file too, the list has the matches of both.
This works while the servers run; with --cluster embedded, only while no server uses its directory.

Examples:
  matches
  matches --room duel-17 --last 5
  matches --file matches.db --json
  matches --cluster nats://10.0.0.1:4222 --last 20`
}

// narrow bounds the columns of a table without --wide, so that it fits a terminal.
var narrow = []table.ColumnConfig{{Name: "room", WidthMax: 12}, {Name: "result", WidthMax: 12}, {Name: "players", WidthMax: 16, WidthMaxEnforcer: text.WrapSoft}}

// Run lists them.
func (v *Verb) Run(a *app.App) error {
	if v.Last < 0 {
		return fmt.Errorf("--last %d: give at least 1, or leave it out", v.Last)
	}
	t := app.NewTable("", "match", "room", "ended (UTC)", "length", "result", "verdict", "players", "strategies", "recording")
	t.Extra = []string{"recording", "strategies", "length", "verdict"}
	if t.Configs = narrow; v.Wide {
		t.Configs = []table.ColumnConfig{{Name: "result", WidthMax: 40}, {Name: "players", WidthMax: 60}}
	}
	source, end, err := v.source(a)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	found := 0
	for r, err := range source {
		if err == nil {
			err = a.Ctx.Err()
		}
		if err != nil {
			return v.readError(err)
		}
		a.Emit("match", app.FieldsOf(r))
		if !a.Common.JSON {
			t.AppendRow(matchRow(r))
		}
		if found++; found == v.Last {
			break
		}
	}
	switch {
	case found > 0:
		a.Print(t.Text(v.Wide))
	case v.Room != "":
		a.Logf("no matches of room %s yet", app.Printable(v.Room))
	default:
		a.Logf("no matches yet")
	}
	return nil
}

// source returns the records of the file, of the cluster, or of both. The caller calls end.
func (v *Verb) source(a *app.App) (list iter.Seq2[matches.Record, error], end func() error, err error) {
	if v.Cluster == "" {
		if v.File, err = filepath.Abs(cmp.Or(v.File, "matches.db")); err == nil {
			err = v.Check()
		}
		return matches.Read(v.File, v.Room), func() error { return nil }, err
	}
	store, end, err := v.Observe(a)
	if err != nil {
		return nil, nil, err
	}
	results, err := store.Results(a.Ctx)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	list = matches.ReadStream(a.Ctx, results, v.Room)
	if v.File != "" {
		list = matches.Merge(matches.Read(v.File, v.Room), list)
	}
	return list, end, nil
}

// readError adds advice to the error of a file that cannot be listed.
func (v *Verb) readError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: a server makes it with serve --matches %s; or name another with --file", v.File, app.Quoted(v.File))
	case errors.Is(err, matches.ErrForeign):
		return fmt.Errorf("%w; name a file that serve --matches of this version wrote", err)
	case errors.Is(err, matches.ErrDamaged):
		return fmt.Errorf("%w; take another copy", err)
	case errors.Is(err, matches.ErrLocked):
		return fmt.Errorf("%w; try again, or end that process", err)
	}
	return fmt.Errorf("the matches cannot be read: %w", err)
}

// matchRow returns the row of a record.
func matchRow(r matches.Record) table.Row {
	var players []string
	for _, p := range r.Players {
		players = append(players, playerText(p))
	}
	return table.Row{r.ID, app.Printable(r.Room), r.Ended.UTC().Format(time.DateTime), r.Ended.Sub(r.Started).Round(100 * time.Millisecond),
		app.Printable(r.Result), app.Printable(r.Verdict), strings.Join(players, ", "), app.Printable(strings.Join(r.Strategies, ", then ")), app.Printable(r.Recording)}
}

// playerText returns a player's name with notes about the vote.
func playerText(p matches.Player) string {
	text := app.Printable(p.Name)
	if text == "" {
		text = fmt.Sprintf("seat %d", p.Seat)
	}
	var notes []string
	if p.Dissented {
		notes = append(notes, "dissented")
	}
	if p.Silent {
		notes = append(notes, "silent")
	}
	if p.Doubled {
		notes = append(notes, "voted twice")
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	return text
}
