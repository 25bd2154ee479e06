package admin

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"tendon/cmd/cli/page"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/systems"
)

// update is the message that a page receives once a second.
type update struct {
	serverInfo
	Rooms    int       `json:"rooms"`
	MaxRooms int       `json:"max_rooms"`
	Clients  int       `json:"clients"`
	Players  int       `json:"players"`
	In       float64   `json:"in"`  // kbit/s
	Out      float64   `json:"out"` // kbit/s
	Packets  float64   `json:"packets"`
	Refused  uint64    `json:"refused"`
	Late     uint64    `json:"late"`
	MostLate float64   `json:"most_late"` // ms
	Rings    int       `json:"rings"`     // bytes
	Budget   float64   `json:"budget"`    // µs
	Costs    turnCosts `json:"costs"`
	Table    []roomRow `json:"table"`
	Left     int       `json:"left"` // rooms that the table omits
	Room     *roomView `json:"room"` // the selected one; null: none
}

// serverInfo describes the server.
type serverInfo struct {
	Game     string `json:"game"`
	Strategy string `json:"strategy"`
	Build    string `json:"build"`
	State    string `json:"state"`
	TickRate int    `json:"tick_rate"`
	Up       int    `json:"up"` // s
}

// roomRow is a row of the table of rooms.
type roomRow struct {
	Name     string  `json:"name"`
	Tick     uint64  `json:"tick"`
	Players  int     `json:"players"`
	Peers    int     `json:"peers"`
	Late     uint64  `json:"late"`
	MostLate float64 `json:"most_late"` // ms
	Resyncs  uint64  `json:"resyncs"`
	Rings    int     `json:"rings"` // bytes
	Used     float64 `json:"used"`  // share of the budget
}

// roomView is the selected room.
type roomView struct {
	Name    string      `json:"name"`
	Players []playerRow `json:"players"`
	Costs   turnCosts   `json:"costs"`
	Largest string      `json:"largest"` // parts of the largest turn
}

// playerRow is a row of the table of a room's connections.
type playerRow struct {
	Peer    int     `json:"peer"`
	Name    string  `json:"name"`
	Seat    int     `json:"seat"`
	State   string  `json:"state"`
	Ping    float64 `json:"ping"` // ms
	Loss    float64 `json:"loss"` // share of lost packets to the server since the last update; -1: not known yet
	In      float64 `json:"in"`   // kbit/s
	Out     float64 `json:"out"`  // kbit/s
	Margin  float64 `json:"margin"`
	Made    uint64  `json:"made"` // ticks with a substituted input
	Desyncs uint64  `json:"desyncs"`
}

const (
	// rowLimit bounds the rooms in the table of a page.
	rowLimit       = 500
	updateInterval = time.Second
	// selectPause is the delay of an update after the page has selected a room.
	selectPause = 50 * time.Millisecond
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

// watch sends updates to a page until it is closed. The page sends the room that it selects.
func (s *Server) watch(ctx context.Context, c *page.Conn) error {
	v := &viewer{server: s}
	ticker := time.NewTicker(updateInterval)
	defer ticker.Stop()
	if err := v.send(c); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			ticker.Reset(updateInterval)
			if err := v.send(c); err != nil {
				return err
			}
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
			v.selectRoom(selection.Room)
			ticker.Reset(selectPause)
		}
	}
}

// send sends an update, unless the page is behind.
func (v *viewer) send(c *page.Conn) error {
	message, err := json.Marshal(v.update(time.Now()))
	if err == nil {
		c.Offer(message)
	}
	return err
}

// selectRoom selects another room.
func (v *viewer) selectRoom(room string) {
	v.room, v.own, v.peers = room, cost.Report{}, nil
}

// kbits returns a rate in kbit/s.
func kbits(now, before uint64, d time.Duration) float64 {
	if now < before || d <= 0 {
		return 0
	}
	return float64(now-before) * 8 / 1000 / d.Seconds()
}

// update returns the update of this moment.
func (v *viewer) update(now time.Time) update {
	s := v.server
	g := update{serverInfo: serverInfo{Game: s.config.Game.Name, Strategy: s.config.Strategy, Build: s.config.Build, State: s.state(),
		TickRate: s.config.Game.TickRate, Up: int(now.Sub(s.since).Seconds())}, Table: []roomRow{}, Costs: turnCosts{Rows: []costRow{}}}
	from := s.source.Load()
	if from == nil {
		return g
	}
	st := from.Stats()
	open, past := from.Costs()
	passed := time.Duration(0)
	if !v.at.IsZero() {
		passed = now.Sub(v.at)
	}
	all, sum := st.Total(), together(open, past)
	g.Rooms, g.MaxRooms, g.Clients, g.Players = st.Rooms, st.MaxRooms, st.Clients, all.Players
	g.In, g.Out = kbits(st.BytesIn, v.stats.BytesIn, passed), kbits(st.BytesOut, v.stats.BytesOut, passed)
	g.Packets = kbits(st.PacketsIn+st.PacketsOut, v.stats.PacketsIn+v.stats.PacketsOut, passed) * 1000 / 8
	g.Refused, g.Late, g.MostLate, g.Rings = st.PacketsRefused, all.Late, millis(all.MostLate), all.RingBytes
	g.Budget, g.Costs = micros(sum.Budget), since(&sum, &v.costs)
	for _, r := range st.Table[:min(len(st.Table), rowLimit)] {
		row := roomRow{Name: r.Name, Tick: uint64(r.Tick), Players: r.Players, Peers: r.Peers, Late: r.Late, MostLate: millis(r.MostLate),
			Resyncs: r.Resyncs, Rings: r.RingBytes}
		if c, ok := open[r.Name]; ok {
			row.Used = c.Used()
		}
		g.Table = append(g.Table, row)
	}
	g.Left = len(st.Table) - len(g.Table)
	g.Room = v.view(from, &st, open, passed)
	v.at, v.stats, v.costs = now, st, sum
	return g
}

func millis(t systems.Time) float64 { return float64(t) / 1e6 }

// view returns the view of the selected room; nil: there is none.
func (v *viewer) view(from *Source, st *server.Stats, open map[string]cost.Report, passed time.Duration) *roomView {
	name := v.room
	if name == "" && len(st.Table) > 0 {
		name = st.Table[0].Name
	}
	if name == "" {
		return nil
	}
	peers, err := from.Peers(name)
	if err != nil {
		return nil // the room is closed
	}
	view := &roomView{Name: name, Players: []playerRow{}}
	costs := open[name]
	view.Costs = since(&costs, &v.own)
	if costs.Turns > 0 {
		view.Largest = costs.Largest.Text()
	}
	v.own = costs
	seen := map[systems.Peer]server.PeerInfo{}
	for _, p := range peers {
		seen[p.Peer] = p
		view.Players = append(view.Players, v.player(&p, passed))
	}
	v.peers = seen
	return view
}

// player returns a row of the table of connections.
func (v *viewer) player(p *server.PeerInfo, passed time.Duration) playerRow {
	row := playerRow{Peer: int(p.Peer), Name: p.Identity.Name, Seat: p.Seat, State: p.State, Ping: millis(p.RTT), Loss: -1,
		Margin: p.Strategy.Margin, Made: p.Strategy.Substituted, Desyncs: p.Strategy.Desyncs}
	before, known := v.peers[p.Peer]
	if !known || before.Identity != p.Identity || p.Newest < before.Newest {
		return row
	}
	row.In, row.Out = kbits(p.Link.BytesReceived, before.Link.BytesReceived, passed), kbits(p.Link.BytesSent, before.Link.BytesSent, passed)
	if sent := float64(p.Newest - before.Newest); sent > 0 {
		row.Loss = max(0, 1-float64(p.Accepted-before.Accepted)/sent)
	}
	return row
}
