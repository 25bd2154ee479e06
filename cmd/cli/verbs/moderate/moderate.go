// Package moderate has the verbs that control a running server: they list, remove and ban players, and change the sync
// strategy of a room. They use its admin server.
package moderate

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/server"
)

// Players lists the players of a running server, and its banned clients.
type Players struct {
	Port `embed:""`
	Room string `help:"Only the players of this room. Default: all rooms."`
}

// Help explains the verb.
func (Players) Help() string {
	return `The first table has a row for each connection. Refused inputs were outside the window or not valid. Malformed messages
could not be used. Limited messages and flood packets exceeded a rate limit. Desyncs are checksums that differed from the
server's; the table shows the last one and the server's.

The second table has a row for each banned client, with the evidence of the moment of the ban. The cause is lying, flooding
or framing if the server expelled the client, and operator if the ban is from the verb ban.

The exit code is 1 if there is no such room.

Examples:
  players 127.0.0.1:9090 --admin-token-file FILE
  players 127.0.0.1:9090 --admin-token-file FILE --room duel-17 --json`
}

// Run lists them.
func (v *Players) Run(a *app.App) error {
	path := "/players"
	if v.Room != "" {
		path += "?room=" + url.QueryEscape(v.Room)
	}
	var answer admin.Players
	if err := v.request(a, path, nil, &answer); err != nil {
		return err
	}
	t := newTable(29, "client id", "state", "ping")
	for _, p := range answer.Players {
		a.Emit("player", app.FieldsOf(p))
		t.AppendRow(table.Row{p.ClientID, app.Printable(p.State), fmt.Sprintf("%.0f ms", p.RTT), evidenceText(&p.Evidence)})
	}
	show(a, t, "no players")
	t = newTable(27, "client id", "banned for", "cause")
	for _, b := range answer.Bans {
		a.Emit("ban", app.FieldsOf(b))
		why := evidenceText(&b.Evidence)
		if b.Reason != "" {
			why = app.Printable(b.Reason) + "\n" + why
		}
		t.AppendRow(table.Row{b.ClientID, max(time.Until(b.Until).Round(time.Second), 0), app.Printable(string(b.Cause)), why})
	}
	show(a, t, "no client is banned")
	return nil
}

func show(a *app.App, t *app.Table, empty string) {
	if t.Length() == 0 {
		a.Logf("%s", empty)
	} else {
		a.Print(t.Text(true))
	}
}

// Kick removes a player.
type Kick struct {
	Port     `embed:""`
	ClientID uint64 `required:"" placeholder:"N" help:"Number of the client: players lists them."`
	Reason   string `help:"Text for the player, at most 200 bytes."`
}

// Help explains the verb.
func (Kick) Help() string {
	return `The session of the client ends at once, and its present tokens are refused. The client can connect again with a token
that is made later; to prevent that, use ban. After a restart of serve the present tokens work again. In a cluster, only
this server refuses them; with /v1/kick of the backend, all servers do. The exit code is 1 if the client is not
connected; its present tokens are refused in this case as well.

Examples:
  kick 127.0.0.1:9090 --admin-token-file FILE --client-id 7
  kick 127.0.0.1:9090 --admin-token-file FILE --client-id 7 --reason rude`
}

// Run removes the player.
func (v *Kick) Run(a *app.App) error { return v.sanction(a, "/kick", nil, "kicked", "was removed") }

func (v *Kick) sanction(a *app.App, path string, seconds *int64, event, text string) error {
	if v.ClientID == 0 {
		return errors.New("--client-id 0: no client has this number; players lists the connected clients")
	}
	body := admin.Sanction{ClientID: v.ClientID, Seconds: seconds, Reason: v.Reason}
	if err := v.request(a, path, body, &body); err != nil {
		return err
	}
	a.Print(fmt.Sprintf("client %d %s\n", v.ClientID, text))
	a.Emit(event, app.FieldsOf(body))
	return nil
}

// Ban bans a player.
type Ban struct {
	Kick `embed:""`
	For  time.Duration `required:"" placeholder:"24h" help:"How long the client is banned, such as 10m or 24h, connected or not, rounded up to seconds. 0 ends the ban."`
}

// Help explains the verb.
func (Ban) Help() string {
	return `Every token of the client is refused, old or new, and the client receives the reason and the time that is left. A
connection that it has ends at once. An earlier ban of the client is replaced; --for 0 ends it. A backend neither ends nor
shortens the ban. Bans survive a restart of serve --journal. The exit code is 1 if there is no ban to end,
or if the ban is in effect and cannot be saved.

Examples:
  ban 127.0.0.1:9090 --admin-token-file FILE --client-id 7 --for 24h
  ban 127.0.0.1:9090 --admin-token-file FILE --client-id 7 --for 0`
}

// Run bans the player.
func (v *Ban) Run(a *app.App) error {
	if err := app.InRange("--for", v.For, 0, server.MaxBanTime); err != nil {
		return err
	}
	seconds := int64(math.Ceil(v.For.Seconds()))
	if seconds == 0 {
		return v.sanction(a, "/ban", &seconds, "unbanned", "is not banned any more")
	}
	return v.sanction(a, "/ban", &seconds, "banned", fmt.Sprintf("is banned for %v", time.Duration(seconds)*time.Second))
}

// Switch changes the sync strategy of a room.
type Switch struct {
	Port `embed:""`
	Room string `default:"main" help:"Name of the room."`
	Sync string `required:"" help:"Sync strategy: ${strategies}."`
}

// Help explains the verb.
func (Switch) Help() string {
	return `The match continues from its present state with the other strategy, in its default settings. Players keep their connections
and seats. Each loads the state once and plays again in less than a second on a usual connection. Recordings and journals
contain the change. The strategy of serve --sync keeps the settings of serve. The exit code is 1 if there is no such room,
or if the strategy cannot change: the game may lack what the strategy needs.

If the match is paused, the strategy changes when the match continues. The change is lost if the server ends or the room moves
before that. A server that is killed within a tick after the answer can lose it, too.

Examples:
  switch 127.0.0.1:9090 --admin-token-file FILE --sync lockstep
  switch 127.0.0.1:9090 --admin-token-file FILE --room duel-17 --sync predict`
}

// Run changes the strategy.
func (v *Switch) Run(a *app.App) error {
	if err := syncflags.Check(v.Sync); err != nil {
		return err
	}
	c := admin.Change{Room: v.Room, Strategy: v.Sync}
	if err := v.request(a, "/switch", c, &c); err != nil {
		return err
	}
	when := ""
	if c.Paused {
		when = " when it is resumed"
	}
	a.Print(fmt.Sprintf("room %s continues with %s%s\n", app.Printable(c.Room), app.Printable(c.Strategy), when))
	a.Emit("switched", app.FieldsOf(c))
	return nil
}

// Pause pauses the match of a room.
type Pause struct {
	Port `embed:""`
	Room string `default:"main" help:"Name of the room."`
}

// Help explains the verb.
func (Pause) Help() string {
	return `The server computes no tick of the match until resume, or until serve --pause-time is over. Every client shows the last
moment. Players may connect meanwhile, and join afterwards. Recordings and journals contain the pause. The exit code is 1 if
there is no such room, or if its match cannot be paused now.

Examples:
  pause 127.0.0.1:9090 --admin-token-file FILE
  pause 127.0.0.1:9090 --admin-token-file FILE --room duel-17`
}

// Run pauses the match.
func (v *Pause) Run(a *app.App) error { return v.set(a, true, "paused", "is paused") }

func (v *Pause) set(a *app.App, on bool, event, does string) error {
	p := admin.Pause{Room: v.Room, On: &on}
	if err := v.request(a, "/pause", p, &p); err != nil {
		return err
	}
	a.Print(fmt.Sprintf("the match of room %s %s\n", app.Printable(p.Room), does))
	a.Emit(event, app.Fields{"room": p.Room})
	return nil
}

// Resume lets a paused match continue.
type Resume struct {
	Pause `embed:""`
}

// Help explains the verb.
func (Resume) Help() string {
	return `The match continues at once, as if no time had passed. The exit code is 1 if there is no such room, or if its match is not
paused.

Examples:
  resume 127.0.0.1:9090 --admin-token-file FILE`
}

// Run lets the match continue.
func (v *Resume) Run(a *app.App) error { return v.set(a, false, "resumed", "continues") }

// newTable returns a table of at most 80 columns, whose last column is wide enough for lines of evidence.
func newTable(width int, columns ...string) *app.Table {
	t := app.NewTable("", append(columns, "evidence")...)
	t.Configs = []table.ColumnConfig{{Name: "evidence", WidthMax: width, WidthMaxEnforcer: wrapLines}}
	t.Style().Options.SeparateRows = true
	return t
}

// wrapLines wraps each line at words; text.WrapSoft alone would join short lines.
func wrapLines(lines string, width int) string {
	var wrapped []string
	for line := range strings.SplitSeq(lines, "\n") {
		wrapped = append(wrapped, strings.TrimRight(text.WrapSoft(line, width), " "))
	}
	return strings.Join(wrapped, "\n")
}

// evidenceText returns the evidence in lines. Counters of 0 are left out.
func evidenceText(e *server.Evidence) string {
	if e.Room == "" {
		return "not connected"
	}
	lines := []string{"room " + app.Printable(e.Room)}
	if e.Seat >= 0 {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("seat %d, %s", e.Seat, app.Printable(e.Name)), ", "))
	}
	lines = append(lines, fmt.Sprintf("%.1f kbit/s", e.Kbits))
	for _, c := range []struct {
		n    uint64
		name string
	}{{e.RefusedInputs, "refused inputs"}, {e.Malformed, "malformed messages"}, {e.Limited, "limited messages"}, {e.Floods, "flood packets"}, {e.Desyncs, "desyncs"}} {
		if c.n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s", c.n, c.name))
		}
	}
	if e.DesyncTick > 0 {
		lines = append(lines, fmt.Sprintf("last in tick %d:", e.DesyncTick), fmt.Sprintf("sent %016x", e.Claim), fmt.Sprintf("own  %016x", e.Own))
	}
	return strings.Join(lines, "\n")
}
