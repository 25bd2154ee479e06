package admin

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
)

// metrics collects the counters of a server at each scrape. The values of all labels come from fixed lists: the engine's
// phases, the game's systems, the reasons of net/netcode. Rooms and players are counted and never named: their names come
// from outside, and their number is not bounded.
type metrics struct{ server *Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("tendon_"+name, help, labels, nil)
}

var (
	infoMetric        = describe("info", "Always 1; the labels describe the server.", "game", "strategy", "build")
	readyMetric       = describe("ready", "1 if the server accepts players.")
	roomsMetric       = describe("rooms", "Open rooms.")
	roomsMaxMetric    = describe("rooms_max", "Maximum number of rooms.")
	clientsMetric     = describe("clients", "Connections.")
	clientsMaxMetric  = describe("clients_max", "Maximum number of connections.")
	playersMetric     = describe("players", "Seats taken, in all rooms.")
	connectionsMetric = describe("connections_total", "Connections by event.", "event")
	turnedAwayMetric  = describe("turned_away_total", "Refused connections with a token, by reason.", "reason")
	packetsMetric     = describe("packets_total", "Datagrams received, and payload packets sent.", "direction")
	bytesMetric       = describe("bytes_total", "Bytes of these packets.", "direction")
	refusedMetric     = describe("packets_refused_total", "Packets that had no effect, by reason.", "reason")
	ticksMetric       = describe("ticks_total", "Ticks of all rooms by their lateness in eighths of a tick; 8 is a tick and more.", "eighths")
	lateMetric        = describe("ticks_late_total", "Ticks that were more than one tick late.")
	mostLateMetric    = describe("tick_late_max_seconds", "Largest lateness of a tick.")
	deferredMetric    = describe("frames_deferred_total", "Frames that deferred due ticks to the next frame.")
	unwrittenMetric   = describe("frames_unwritten_total", "Frames in which a journal could not be written.")
	imagesMetric      = describe("images_total", "Images of worlds made for joining clients.")
	resyncsMetric     = describe("resyncs_total", "Images sent because a state differed or a peer was too far behind.")
	ringsMetric       = describe("ring_bytes", "Memory of all rooms' snapshots.")
	workerMetric      = describe("worker_turns_total", "Turns of the workers.", "when")

	turnMetric     = describe("turn_seconds", "Duration of a room's turn, in the open room where it is longest.", "quantile")
	budgetMetric   = describe("turn_budget_seconds", "Budget of a room's turn.")
	turnsMetric    = describe("turns_total", "Turns of all rooms.")
	overMetric     = describe("turns_over_budget_total", "Turns that exceeded the budget.")
	busyMetric     = describe("turns_seconds_total", "Duration of all turns.")
	selfMetric     = describe("cost_seconds_total", "Time in a phase or system, without nested sections.", "phase", "system")
	callsMetric    = describe("cost_calls_total", "Calls of a phase or system.", "phase", "system")
	quantileMetric = describe("cost_seconds", "Duration of a call with nested sections, in the open room where it is longest.", "phase", "system", "quantile")
)

// Describe sends one metric, so that the registry can identify the collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) { out <- infoMetric }

// Collect sends all metrics.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	s := m.server
	c := collection{out}
	c.gauge(infoMetric, 1, s.config.Game.Name, s.config.Strategy, s.config.Build)
	c.gauge(readyMetric, flag(s.state() == ready))
	from := s.source.Load()
	if from == nil {
		return
	}
	c.server(from)
	c.costs(from)
}

// collection sends metrics to the registry.
type collection struct{ out chan<- prometheus.Metric }

func (c collection) gauge(d *prometheus.Desc, value float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (c collection) counter(d *prometheus.Desc, value uint64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

// flag returns 1 for true.
func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// server sends the counters of the server and its rooms.
func (c collection) server(from *Source) {
	st := from.Stats()
	all := st.Total()
	c.gauge(roomsMetric, float64(st.Rooms))
	c.gauge(roomsMaxMetric, float64(st.MaxRooms))
	c.gauge(clientsMetric, float64(st.Clients))
	c.gauge(clientsMaxMetric, float64(st.MaxClients))
	c.counter(connectionsMetric, st.Joined, "made")
	c.counter(connectionsMetric, st.Replaced, "replaced")
	c.counter(connectionsMetric, st.TimedOut, "timed_out")
	c.counter(connectionsMetric, st.Left, "left")
	c.counter(connectionsMetric, st.Dropped, "dropped")
	c.counter(turnedAwayMetric, st.TokensPast, "token_past")
	c.counter(turnedAwayMetric, st.TokensBad, "token_bad")
	c.counter(turnedAwayMetric, st.Full, "full")
	c.counter(turnedAwayMetric, all.Refused, "room")
	c.counter(packetsMetric, st.PacketsIn, "in")
	c.counter(packetsMetric, st.PacketsOut, "out")
	c.counter(bytesMetric, st.BytesIn, "in")
	c.counter(bytesMetric, st.BytesOut, "out")
	for reason := netcode.DropShort; reason <= netcode.DropChallenge; reason++ {
		c.counter(refusedMetric, st.Netcode[reason], reason.String())
	}
	c.counter(refusedMetric, st.PacketsFlood, "flood")
	c.counter(refusedMetric, st.PacketsLost, "inbox_full")
	c.counter(refusedMetric, st.PacketsUnsent, "unsent")
	c.counter(refusedMetric, st.Malformed, "malformed")
	c.counter(workerMetric, st.Turns-st.LateTurns, "in_time")
	c.counter(workerMetric, st.LateTurns, "late")
	c.rooms(&all)
}

// rooms sends the sums of all rooms.
func (c collection) rooms(all *room.Stats) {
	c.gauge(playersMetric, float64(all.Players))
	for eighths, n := range all.Lateness {
		c.counter(ticksMetric, n, fmt.Sprint(eighths))
	}
	c.counter(lateMetric, all.Late)
	c.gauge(mostLateMetric, float64(all.MostLate)/float64(systems.Second))
	c.counter(deferredMetric, all.Deferred)
	c.counter(unwrittenMetric, all.Unwritten)
	c.counter(imagesMetric, all.Images)
	c.counter(resyncsMetric, all.Resyncs)
	c.gauge(ringsMetric, float64(all.RingBytes))
}

// costs sends the costs of ticks.
func (c collection) costs(from *Source) {
	open, past := from.Costs()
	all := together(open, past)
	seconds := func(d *prometheus.Desc, kind prometheus.ValueType, t time.Duration, labels ...string) {
		c.out <- prometheus.MustNewConstMetric(d, kind, t.Seconds(), labels...)
	}
	seconds(budgetMetric, prometheus.GaugeValue, all.Budget)
	seconds(busyMetric, prometheus.CounterValue, all.Busy)
	c.counter(turnsMetric, all.Turns)
	c.counter(overMetric, all.Over)
	for i, t := range []time.Duration{all.P50, all.P99, all.Max} {
		seconds(turnMetric, prometheus.GaugeValue, t, quantiles[i])
	}
	for i := range all.Rows {
		r := &all.Rows[i]
		c.counter(callsMetric, r.Calls, r.Phase, r.System)
		seconds(selfMetric, prometheus.CounterValue, r.Self, r.Phase, r.System)
		for i, t := range []time.Duration{r.P50, r.P99, r.Max} {
			seconds(quantileMetric, prometheus.GaugeValue, t, r.Phase, r.System, quantiles[i])
		}
	}
}

var quantiles = []string{"0.5", "0.99", "1"}
