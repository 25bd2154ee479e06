package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/net/server"
)

// report prints statistics until the context is done. After each use of the last command to join, it prints a new one.
func (v *Verb) report(ctx context.Context, a *app.App, h *host.Host) error {
	if v.KeyFile != "" && !v.Verbose && !a.Common.JSON && a.Live() {
		app.Watch(ctx, a, func() {}, func() string {
			s := h.Stats()
			text := renderRooms(s)
			if s.TokensEarly > 0 {
				text += v.refusal() + "\n"
			}
			return text
		})
		return nil
	}
	var failed error
	began := h.Stats()
	invited, second, early := began.Joined-began.Replaced, 0, began.TokensEarly > 0
	var full noRoom
	app.Every(ctx, time.Second, func() {
		s := h.Stats()
		second++
		logStats(a, s, second, time.Now())
		full.log(a, s, second)
		if !early && s.TokensEarly > 0 {
			early = true
			a.Logf("%s", v.refusal())
			a.Emit("token_refused", app.Fields{"reason": v.refusal()})
		}
		if joined := s.Joined - s.Replaced; v.KeyFile == "" && joined > invited {
			invited = joined
			failed = errors.Join(failed, v.invite(a, h))
		}
	})
	return failed
}

// refusal describes a token that an earlier server may have accepted, and the remedy.
func (v *Verb) refusal() string {
	if v.Journal != "" || v.Cluster != "" {
		return "a client's token was used before this server began, or is older than the record of used tokens: mint a new one"
	}
	return "a client's token was minted before this server began, and may have been used: mint a new one, or record used tokens with --journal"
}

// noRoom reports that clients were refused because of --max-rooms, at most once a minute.
type noRoom struct {
	refused uint64 // at the last report
	next    int    // second from which there may be another one
}

func (n *noRoom) log(a *app.App, s server.Stats, second int) {
	if s.NoRoom == n.refused || second < n.next {
		return
	}
	n.refused, n.next = s.NoRoom, second+60
	a.Logf("a client of a further room was refused: the server has %s, as many as --max-rooms allows", app.Counted(s.MaxRooms, "room", "rooms"))
	a.Emit("rooms_full", app.Fields{"max_rooms": s.MaxRooms, "refused": s.NoRoom})
}

// logStats reports the load at a second of the run: each second as JSON, every 30 s as a line of text if there are clients.
func logStats(a *app.App, s server.Stats, second int, now time.Time) {
	a.Emit("stats", app.Fields{"stats": s})
	if second%30 == 0 && s.Clients > 0 {
		late, most := uint64(0), time.Duration(0)
		for _, r := range s.Table {
			late, most = late+r.Late, max(most, time.Duration(r.MostLate))
		}
		a.Logf("%s %s · %s, by up to %v", now.UTC().Format(time.DateTime), summary(s), app.Counted(int(late), "late tick", "late ticks"), most.Round(time.Microsecond))
	}
}

// summary describes the load in one line.
func summary(s server.Stats) string {
	return fmt.Sprintf("%d of %d rooms · %d of %d clients · %d packets in, %d out, %d refused", s.Rooms, s.MaxRooms, s.Clients, s.MaxClients,
		s.PacketsIn, s.PacketsOut, s.PacketsRefused)
}

// renderRooms returns the live table of the first rooms.
func renderRooms(s server.Stats) string {
	t := app.NewTable(summary(s), "room", "tick", "peers", "players", "MiB", "late ticks", "most late", "images", "resyncs")
	t.Extra = []string{"resyncs", "images", "most late", "late ticks"}
	t.Configs = []table.ColumnConfig{{Name: "room", WidthMax: 24}}
	for _, r := range s.Table[:min(len(s.Table), 40)] {
		t.AppendRow(table.Row{r.Name, r.Tick, r.Peers, r.Players, fmt.Sprintf("%.1f", float64(r.RingBytes)/(1<<20)),
			r.Late, time.Duration(r.MostLate).Round(time.Microsecond), r.Images, r.Resyncs})
	}
	return t.Text(false)
}
