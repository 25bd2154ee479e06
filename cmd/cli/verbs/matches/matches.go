// Package matches is the verb that lists decided matches.
package matches

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/matches"
)

// Verb lists the recorded matches of servers.
type Verb struct {
	File string `type:"path" default:"matches.db" help:"File of serve --matches."`
	Room string `help:"Only matches of this room. Default: all rooms."`
	Last int    `positive:"" help:"Number of matches to list, newest first. Default: all."`

	app.TableFlags `embed:""`
}

// Help explains the verb.
func (Verb) Help() string {
	return `The table has the newest match first: players, result, how it was decided, votes for another result, the strategies, and the
recording. A match has several strategies if the verb switch changed them.
While a server has the file open, the records come from the server, so this works at any time.

Examples:
  matches
  matches --room duel-17 --last 5
  matches --file matches.db --json`
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
	found := 0
	for r, err := range matches.Read(v.File, v.Room) {
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
