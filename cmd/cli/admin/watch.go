package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"tendon/cmd/cli/page"
	"tendon/net/cost"
	"tendon/net/cost/traffic"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
)

// update is the message that a page receives once a second.
type update struct {
	Game     string             `json:"game"`
	Strategy string             `json:"strategy"`
	Build    string             `json:"build"`
	State    string             `json:"state"`
	TickRate int                `json:"tick_rate"`
	Up       int                `json:"up"`    // s
	Stats    server.Stats       `json:"stats"` // with at most rowLimit rooms
	Total    room.Stats         `json:"total"`
	In       float64            `json:"in"`  // kbit/s
	Out      float64            `json:"out"` // kbit/s
	Costs    turnCosts          `json:"costs"`
	Used     map[string]float64 `json:"used"` // share of the budget, by room
	Room     *roomView          `json:"room"` // the selected one; null: none
}

type roomView struct {
	Name    string      `json:"name"`
	Players []playerRow `json:"players"`
	Costs   turnCosts   `json:"costs"`
	Largest string      `json:"largest"` // parts of the largest turn
}

type playerRow struct {
	Player
	Peer   int     `json:"peer"`
	Name   string  `json:"name"`
	Seat   int     `json:"seat"`
	Loss   float64 `json:"loss"` // share of lost packets to the server since the last update; -1: not known yet
	In     float64 `json:"in"`   // kbit/s
	Out    float64 `json:"out"`  // kbit/s
	Margin float64 `json:"margin"`
	Made   uint64  `json:"made"` // ticks with a substituted input
}

const (
	rowLimit       = 500 // bounds the rooms in the table of a page
	updateInterval = time.Second
	selectPause    = 50 * time.Millisecond // the delay of an update after the page has selected a room
)

// viewer is one open page. It stores the counters of the last update, for rates.
type viewer struct {
	server *Server
	room   string // selected by the page; "": the first
	at     time.Time
	stats  server.Stats
	costs  cost.Report
	own    cost.Report // of the room
	peers  map[systems.Peer]server.PeerInfo
}

// watch sends updates to a page until it is closed. A page that is behind misses some. The page sends the room that it selects.
func (s *Server) watch(ctx context.Context, c *page.Conn) error {
	v, due := &viewer{server: s}, time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			message, err := json.Marshal(v.update(time.Now()))
			if err != nil {
				return err
			}
			c.Offer(message)
			due.Reset(updateInterval)
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			var selection struct {
				Room string `json:"room"`
			}
			if json.Unmarshal(m, &selection) != nil {
				return errors.New("the message is not valid: send {\"room\": NAME}")
			}
			v.room, v.own, v.peers = selection.Room, cost.Report{}, nil
			due.Reset(selectPause)
		}
	}
}

func kbits(now, before uint64, d time.Duration) float64 {
	if now < before || d <= 0 {
		return 0
	}
	return float64(now-before) * 8 / 1000 / d.Seconds()
}

func (v *viewer) update(now time.Time) update {
	s := v.server
	g := update{Game: s.config.Game.Name, Strategy: s.config.Strategy, Build: s.config.Build, State: s.state(), TickRate: s.config.Game.TickRate,
		Up: int(now.Sub(s.since).Seconds()), Costs: since(&cost.Report{}, &cost.Report{}), Used: map[string]float64{}}
	g.Stats.Table = []server.RoomStats{}
	from := s.source.Load()
	if from == nil {
		return g
	}
	st := from.Stats()
	open, past := from.Costs()
	passed := now.Sub(cmp.Or(v.at, now))
	sum := together(open, past)
	g.Stats, g.Total, g.Costs = st, st.Total(), since(&sum, &v.costs)
	g.In, g.Out = kbits(st.BytesIn, v.stats.BytesIn, passed), kbits(st.BytesOut, v.stats.BytesOut, passed)
	g.Stats.Table = append([]server.RoomStats{}, st.Table[:min(len(st.Table), rowLimit)]...)
	for _, r := range g.Stats.Table {
		if c, ok := open[r.Name]; ok {
			g.Used[r.Name] = c.Used()
		}
	}
	g.Room = v.view(from, &st, open, passed)
	v.at, v.stats, v.costs = now, st, sum
	return g
}

// view returns the view of the selected room; nil: there is none.
func (v *viewer) view(from *Source, st *server.Stats, open map[string]cost.Report, passed time.Duration) *roomView {
	name := v.room
	if name == "" && len(st.Table) > 0 {
		name = st.Table[0].Name
	}
	peers, err := from.Peers(name)
	if err != nil {
		return nil // there is no such room
	}
	costs := open[name]
	view := &roomView{Name: name, Players: []playerRow{}, Costs: since(&costs, &v.own)}
	if costs.Turns > 0 {
		view.Largest = costs.Largest.Text()
	}
	before := v.peers
	v.own, v.peers = costs, map[systems.Peer]server.PeerInfo{}
	for _, p := range peers {
		v.peers[p.Peer] = p
		view.Players = append(view.Players, player(p, before[p.Peer], name, passed))
	}
	return view
}

// player returns a row of the table of connections. before is the connection at the last update; zero: it is another one.
func player(p, before server.PeerInfo, roomName string, passed time.Duration) playerRow {
	row := playerRow{Player: playerOf(p, roomName, time.Now()), Peer: int(p.Peer), Name: p.Identity.Name, Seat: p.Seat, Loss: -1,
		Margin: p.Strategy.Margin, Made: p.Strategy.Substituted}
	if before.State == "" || before.Identity.ClientID != p.Identity.ClientID || before.Identity.Name != p.Identity.Name || p.Newest < before.Newest {
		return row
	}
	row.In, row.Out = kbits(p.Link.BytesReceived, before.Link.BytesReceived, passed), kbits(p.Link.BytesSent, before.Link.BytesSent, passed)
	if sent := float64(p.Newest - before.Newest); sent > 0 {
		row.Loss = max(0, 1-float64(p.Accepted-before.Accepted)/sent)
	}
	return row
}

// together adds the costs of rooms. Quantiles cannot be added: those of the sum are the largest of an open room, or of the
// closed rooms if none is open.
func together(open map[string]cost.Report, past cost.Report) cost.Report {
	all := past
	all.Rows, all.Bytes = slices.Clone(past.Rows), nil
	addBytes(&all, past)
	if len(open) > 0 {
		all.P50, all.P99, all.Max = 0, 0, 0
		for i := range all.Rows {
			r := &all.Rows[i]
			r.P50, r.P99, r.Max = 0, 0, 0
		}
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		add(&all, open[name])
	}
	return all
}

// addBytes adds the bytes of a room, if they are accounted.
func addBytes(all *cost.Report, r cost.Report) {
	if r.Bytes == nil {
		return
	}
	if all.Bytes == nil {
		all.Bytes = &traffic.Bytes{}
	}
	all.Bytes.Add(r.Bytes)
}

func add(all *cost.Report, r cost.Report) {
	addBytes(all, r)
	all.Budget = r.Budget
	all.Turns, all.Over, all.Busy = all.Turns+r.Turns, all.Over+r.Over, all.Busy+r.Busy
	all.P50, all.P99, all.Max = max(all.P50, r.P50), max(all.P99, r.P99), max(all.Max, r.Max)
	for _, row := range r.Rows {
		sum := all.Row(row.Phase, row.System)
		if sum == nil {
			all.Rows = append(all.Rows, row)
			continue
		}
		sum.Calls, sum.Total, sum.Self = sum.Calls+row.Calls, sum.Total+row.Total, sum.Self+row.Self
		sum.P50, sum.P99, sum.Max = max(sum.P50, row.P50), max(sum.P99, row.P99), max(sum.Max, row.Max)
	}
}

// turnCosts are the costs of a page. Turns, Busy, the Calls, Self and Share of rows, and Bytes are of the turns since the last update.
type turnCosts struct {
	cost.Report
	All uint64 `json:"all"` // turns
}

// since compares a report with an earlier one of the same rooms. If there were no turns since then, all turns count.
func since(now, before *cost.Report) turnCosts {
	if now.Turns <= before.Turns {
		before = &cost.Report{}
	}
	c := turnCosts{Report: *now, All: now.Turns}
	c.Turns, c.Busy, c.Rows = max(now.Turns-before.Turns, 1), now.Busy-before.Busy, append([]cost.Row{}, now.Rows...)
	if now.Bytes != nil {
		c.Bytes = &traffic.Bytes{}
		c.Bytes.Add(now.Bytes)
		if before.Bytes != nil {
			c.Bytes.Since(before.Bytes)
		}
		c.Bytes.Rows = c.Bytes.Largest()
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if old := before.Row(r.Phase, r.System); old != nil {
			r.Calls, r.Self = r.Calls-old.Calls, r.Self-old.Self
		}
		r.Share = float64(r.Self) / (float64(c.Turns) * float64(max(now.Budget, 1)))
	}
	return c
}
