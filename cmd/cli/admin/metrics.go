package admin

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
)

// metrics collects the counters of a server at each scrape. The values of all labels come from fixed lists: the engine's
// phases, the game's systems, the reasons of net/netcode. Rooms and players are counted and never named: their names come
// from outside, and their number is not bounded.
type metrics struct{ server *Server }

// Describe sends nothing: the metrics follow from the game.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends all metrics.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	s := m.server
	c := collection{out}
	c.gauge("info", "Always 1; the labels describe the server.", 1, "game", s.config.Game.Name, "strategy", s.config.Strategy, "build", s.config.Build)
	ready := 0.0
	if s.state() == stateReady {
		ready = 1
	}
	c.gauge("ready", "1 if the server accepts players.", ready)
	from := s.source.Load()
	if from == nil {
		return
	}
	c.gauge("journals_quarantined", "Journals that could not be recovered, in the folder quarantine at the start.", float64(from.Quarantined))
	stats := from.Stats()
	all := stats.Total()
	c.server(&stats, &all)
	c.costs(together(from.Costs()))
}

// collection sends metrics to the registry. The names of metrics get the prefix tendon_. Labels are names and values
// alternately.
type collection struct{ out chan<- prometheus.Metric }

func (c collection) send(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	c.out <- prometheus.MustNewConstMetric(prometheus.NewDesc("tendon_"+name, help, names, nil), kind, value, values...)
}

func (c collection) gauge(name, help string, value float64, labels ...string) {
	c.send(prometheus.GaugeValue, name, help, value, labels)
}

func (c collection) counter(name, help string, value float64, labels ...string) {
	c.send(prometheus.CounterValue, name, help, value, labels)
}

func (c collection) counters(name, help, label string, values map[string]uint64) {
	for value, n := range values {
		c.counter(name, help, float64(n), label, value)
	}
}

func (c collection) server(s *server.Stats, all *room.Stats) {
	c.gauge("clients", "Connections.", float64(s.Clients))
	c.gauge("clients_max", "Maximum number of connections.", float64(s.MaxClients))
	c.gauge("players", "Seats taken, in all rooms.", float64(all.Players))
	c.counters("connections_total", "Connections by event.", "event", map[string]uint64{"made": s.Joined, "replaced": s.Replaced,
		"timed_out": s.TimedOut, "left": s.Left, "dropped": s.Dropped})
	c.counters("turned_away_total", "Refused connections with a token, by reason.", "reason", map[string]uint64{"token_past": s.TokensPast, "token_early": s.TokensEarly,
		"token_bad": s.TokensBad, "full": s.Full, "unrecorded": s.Unrecorded, "banned": s.Banned, "room": all.Refused})

	c.gauge("bans", "Banned clients.", float64(s.Bans))
	c.counter("expelled_total", "Clients expelled for lying, flooding or framing.", float64(s.Expelled))

	c.counters("packets_total", "Datagrams received, and payload packets sent.", "direction", map[string]uint64{"in": s.PacketsIn, "out": s.PacketsOut})
	c.counters("bytes_total", "Bytes of these packets.", "direction", map[string]uint64{"in": s.BytesIn, "out": s.BytesOut})
	refused := map[string]uint64{"flood": s.PacketsFlood, "inbox_full": s.PacketsLost, "unsent": s.PacketsUnsent, "malformed": s.Malformed}
	for reason := netcode.DropShort; reason <= netcode.DropChallenge; reason++ {
		refused[reason.String()] += s.Netcode[reason]
	}
	c.counters("packets_refused_total", "Packets that had no effect, by reason.", "reason", refused)

	c.gauge("rooms", "Open rooms.", float64(s.Rooms))
	c.gauge("rooms_max", "Maximum number of rooms.", float64(s.MaxRooms))
	for eighths, n := range all.Lateness {
		c.counter("ticks_total", "Ticks of all rooms by their lateness in eighths of a tick; 8 is a tick and more.", float64(n), "eighths", strconv.Itoa(eighths))
	}
	c.counter("ticks_late_total", "Ticks that were more than one tick late.", float64(all.Late))
	c.gauge("tick_late_max_seconds", "Largest lateness of a tick.", float64(all.MostLate)/float64(systems.Second))
	c.counter("frames_deferred_total", "Frames that deferred due ticks to the next frame.", float64(all.Deferred))
	c.counter("given_up_seconds_total", "Time by which ticks were moved because the server stood still or was too slow, all rooms.", float64(all.GivenUp)/float64(systems.Second))
	c.counter("frames_unwritten_total", "Frames in which a journal could not be written.", float64(all.Unwritten))
	c.counter("images_total", "Images of worlds made for joining clients.", float64(all.Images))
	c.counter("resyncs_total", "Images sent because a state differed or a peer was too far behind.", float64(all.Resyncs))
	c.gauge("ring_bytes", "Memory of all rooms' snapshots.", float64(all.RingBytes))
	c.counter("crashes_total", "Rooms whose rules panicked.", float64(s.Crashes))
	c.counters("worker_turns_total", "Turns of the workers.", "when", map[string]uint64{"in_time": s.Turns - s.LateTurns, "late": s.LateTurns})
}

func (c collection) costs(all cost.Report) {
	c.gauge("turn_budget_seconds", "Budget of a room's turn.", all.Budget.Seconds())
	c.counter("turns_total", "Turns of all rooms.", float64(all.Turns))
	c.counter("turns_over_budget_total", "Turns that exceeded the budget.", float64(all.Over))
	c.counter("turns_seconds_total", "Duration of all turns.", all.Busy.Seconds())
	c.quantiles("turn_seconds", "Duration of a room's turn, in the open room where it is longest.", all.P50, all.P99, all.Max)
	for i := range all.Rows {
		r := &all.Rows[i]
		row := []string{"phase", r.Phase, "system", r.System}
		c.counter("cost_calls_total", "Calls of a phase or system.", float64(r.Calls), row...)
		c.counter("cost_seconds_total", "Time in a phase or system, without nested sections.", r.Self.Seconds(), row...)
		c.quantiles("cost_seconds", "Duration of a call with nested sections, in the open room where it is longest.", r.P50, r.P99, r.Max, row...)
	}
}

func (c collection) quantiles(name, help string, p50, p99, most time.Duration, labels ...string) {
	for quantile, value := range map[string]time.Duration{"0.5": p50, "0.99": p99, "1": most} {
		c.gauge(name, help, value.Seconds(), append(labels[:len(labels):len(labels)], "quantile", quantile)...)
	}
}
