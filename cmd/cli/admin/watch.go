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

// glance is what a page is told about once a second.
type glance struct {
	Game     string    `json:"game"`
	Strategy string    `json:"strategy"`
	Build    string    `json:"build"`
	State    string    `json:"state"`
	TickRate int       `json:"tick_rate"`
	Up       int       `json:"up"` // s
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
	Left     int       `json:"left"` // rooms that the table leaves out
	Room     *roomView `json:"room"` // the one that the page looks at; null: none
}

// roomRow is a line of the table of rooms.
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

// roomView is what is shown of one room.
type roomView struct {
	Name    string      `json:"name"`
	Players []playerRow `json:"players"`
	Costs   turnCosts   `json:"costs"`
	Largest string      `json:"largest"` // what the largest turn was doing
}

// playerRow is a line of the table of a room's connections.
type playerRow struct {
	Peer    int     `json:"peer"`
	Name    string  `json:"name"`
	Seat    int     `json:"seat"`
	State   string  `json:"state"`
	Ping    float64 `json:"ping"` // ms
	Loss    float64 `json:"loss"` // share of the packets to the server, lately; −1: not known yet
	In      float64 `json:"in"`   // kbit/s
	Out     float64 `json:"out"`  // kbit/s
	Margin  float64 `json:"margin"`
	Made    uint64  `json:"made"` // ticks for which the server had to make up an input
	Desyncs uint64  `json:"desyncs"`
}

const (
	// rowLimit bounds the rooms that a page is told of.
	rowLimit = 500
	// glanceInterval is how often it is.
	glanceInterval = time.Second
	// chosenPause is when it is after it chose a room, and has not changed its mind.
	chosenPause = 50 * time.Millisecond
)

// watcher is one page that looks on. It keeps what it needs for rates.
type watcher struct {
	server *Server
	room   string // that the page looks at; "": the first
	at     time.Time
	stats  server.Stats
	costs  cost.Report
	own    cost.Report // of the room
	peers  map[systems.Peer]server.PeerInfo
}

// watch tells a page what goes on, until it is gone. What the page says is which room it looks at.
func (s *Server) watch(ctx context.Context, c *page.Conn) error {
	w := &watcher{server: s}
	ticker := time.NewTicker(glanceInterval)
	defer ticker.Stop()
	if err := w.tell(c); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			ticker.Reset(glanceInterval)
			if err := w.tell(c); err != nil {
				return err
			}
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			var wish struct {
				Room string `json:"room"`
			}
			if json.Unmarshal(m, &wish) != nil {
				return errors.New("say which room: {\"room\": NAME}")
			}
			w.choose(wish.Room)
			ticker.Reset(chosenPause)
		}
	}
}

// tell sends a glance, unless the page is behind.
func (w *watcher) tell(c *page.Conn) error {
	message, err := json.Marshal(w.look(time.Now()))
	if err == nil {
		c.Offer(message)
	}
	return err
}

// choose looks at another room.
func (w *watcher) choose(room string) {
	w.room, w.own, w.peers = room, cost.Report{}, nil
}

// kbits is a rate in kbit/s.
func kbits(now, before uint64, d time.Duration) float64 {
	if now < before || d <= 0 {
		return 0
	}
	return float64(now-before) * 8 / 1000 / d.Seconds()
}

// look makes a glance.
func (w *watcher) look(now time.Time) glance {
	s := w.server
	g := glance{Game: s.config.Game.Name, Strategy: s.config.Strategy, Build: s.config.Build, State: s.state(), TickRate: s.config.Game.TickRate,
		Up: int(now.Sub(s.since).Seconds()), Table: []roomRow{}, Costs: turnCosts{Rows: []costRow{}}}
	from := s.source.Load()
	if from == nil {
		return g
	}
	st := from.Stats()
	open, past := from.Costs()
	passed := time.Duration(0)
	if !w.at.IsZero() {
		passed = now.Sub(w.at)
	}
	all, sum := st.Total(), together(open, past)
	g.Rooms, g.MaxRooms, g.Clients, g.Players = st.Rooms, st.MaxRooms, st.Clients, all.Players
	g.In, g.Out = kbits(st.BytesIn, w.stats.BytesIn, passed), kbits(st.BytesOut, w.stats.BytesOut, passed)
	g.Packets = kbits(st.PacketsIn+st.PacketsOut, w.stats.PacketsIn+w.stats.PacketsOut, passed) * 1000 / 8
	g.Refused, g.Late, g.MostLate, g.Rings = st.PacketsRefused, all.Late, millis(all.MostLate), all.RingBytes
	g.Budget, g.Costs = micros(sum.Budget), lately(&sum, &w.costs)
	for _, r := range st.Table[:min(len(st.Table), rowLimit)] {
		row := roomRow{Name: r.Name, Tick: uint64(r.Tick), Players: r.Players, Peers: r.Peers, Late: r.Late, MostLate: millis(r.MostLate),
			Resyncs: r.Resyncs, Rings: r.RingBytes}
		if c, ok := open[r.Name]; ok {
			row.Used = c.Used()
		}
		g.Table = append(g.Table, row)
	}
	g.Left = len(st.Table) - len(g.Table)
	g.Room = w.lookAt(from, &st, open, passed)
	w.at, w.stats, w.costs = now, st, sum
	return g
}

func millis(t systems.Time) float64 { return float64(t) / 1e6 }

// lookAt makes the view of the room that was chosen; nil if there is none.
func (w *watcher) lookAt(from *Source, st *server.Stats, open map[string]cost.Report, passed time.Duration) *roomView {
	name := w.room
	if name == "" && len(st.Table) > 0 {
		name = st.Table[0].Name
	}
	if name == "" {
		return nil
	}
	peers, err := from.Peers(name)
	if err != nil {
		return nil // it is over
	}
	v := &roomView{Name: name, Players: []playerRow{}}
	costs := open[name]
	v.Costs = lately(&costs, &w.own)
	if costs.Turns > 0 {
		v.Largest = costs.Largest.Text()
	}
	w.own = costs
	seen := map[systems.Peer]server.PeerInfo{}
	for _, p := range peers {
		seen[p.Peer] = p
		v.Players = append(v.Players, w.player(&p, passed))
	}
	w.peers = seen
	return v
}

// player makes a line of the table of connections.
func (w *watcher) player(p *server.PeerInfo, passed time.Duration) playerRow {
	row := playerRow{Peer: int(p.Peer), Name: p.Identity.Name, Seat: p.Seat, State: p.State, Ping: millis(p.RTT), Loss: -1,
		Margin: p.Strategy.Margin, Made: p.Strategy.Substituted, Desyncs: p.Strategy.Desyncs}
	before, known := w.peers[p.Peer]
	if !known || before.Identity != p.Identity || p.Newest < before.Newest {
		return row
	}
	row.In, row.Out = kbits(p.Link.BytesReceived, before.Link.BytesReceived, passed), kbits(p.Link.BytesSent, before.Link.BytesSent, passed)
	if sent := float64(p.Newest - before.Newest); sent > 0 {
		row.Loss = max(0, 1-float64(p.Accepted-before.Accepted)/sent)
	}
	return row
}
