// Package matches is the verb that lists decided matches.
package matches

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/matches"
)

// Verb lists the recorded matches of servers.
type Verb struct {
	File string `type:"path" default:"matches.db" help:"File of serve --matches."`
	Room string `help:"Only matches of this room. Default: all rooms."`
	Last int    `help:"Number of matches to list, newest first. Default: all."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `The table has the newest match first: players, result, how it was decided, votes for another result, and the recording.
While a server has the file open, the records come from the server, so this works at any time.

Examples:
  matches
  matches --room duel-17 --last 5
  matches --file matches.db --json`
}

// Run lists them.
func (v *Verb) Run(a *app.App) error {
	if v.Last < 0 {
		return fmt.Errorf("--last %d: give at least 1, or leave it out", v.Last)
	}
	t := app.NewTable("")
	t.AppendHeader(table.Row{"match", "room", "ended (UTC)", "length", "result", "verdict", "players", "recording"})
	t.SetColumnConfigs([]table.ColumnConfig{{Name: "result", WidthMax: 40}, {Name: "players", WidthMax: 60}})
	found := 0
	for r, err := range matches.Read(v.File, v.Room) {
		if err == nil {
			err = a.Ctx.Err()
		}
		if err != nil {
			return v.readError(err)
		}
		a.Emit("match", fieldsOf(r))
		if !a.Common.JSON {
			t.AppendRow(matchRow(r))
		}
		if found++; found == v.Last {
			break
		}
	}
	switch {
	case found > 0:
		a.Print(t.Render() + "\n")
	case v.Room != "":
		a.Logf("no matches of room %s yet", clean(v.Room))
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

// fieldsOf returns a record as fields of JSON. Numbers keep all their digits.
func fieldsOf(r matches.Record) app.Fields {
	text, err := json.Marshal(r)
	var parts map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err != nil {
		panic(fmt.Sprintf("cli: a record cannot be encoded as JSON: %v", err))
	}
	f := app.Fields{}
	for name, part := range parts {
		f[name] = part
	}
	return f
}

// matchRow returns the row of a record.
func matchRow(r matches.Record) table.Row {
	var players []string
	for _, p := range r.Players {
		players = append(players, playerText(p))
	}
	return table.Row{r.ID, clean(r.Room), r.Ended.UTC().Format(time.DateTime), r.Ended.Sub(r.Started).Round(100 * time.Millisecond),
		clean(r.Result), clean(r.Verdict), strings.Join(players, ", "), clean(r.Recording)}
}

// playerText returns a player's name with notes about the vote.
func playerText(p matches.Player) string {
	text := clean(p.Name)
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

// clean replaces unprintable characters: players and games choose these texts.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
