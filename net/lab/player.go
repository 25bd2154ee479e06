package lab

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/simnet"
	"tendon/systems"
)

// player is a client in a match, with its measurements.
type player struct {
	*matchsim.Client
	match       *match
	seat        ecs.Player
	measured    bool      // its view is measured
	random      *ecs.Rand // of its bot
	up, down    meter
	display     display
	inputs      latency
	corrections corrections
	shots       shots
	stalls      stalls
	cost        cost
	exact       exact

	measurement
	last   client.Stats   // of the frame before
	window []float64      // ticks predicted, by frame
	away   int            // frames in which it was not live
	joined bool           // it has been live
	newest ecs.InputBytes // the own input in the newest state of the last picture
}

// measurement holds the counters at the begin and the end of the measured time.
type measurement struct{ begun, ended counters }

// counters are the counts of a client and its connection.
type counters struct {
	stats    client.Stats
	up, down traffic
	turns    int // frames
}

func (p *player) counters() counters {
	return counters{stats: p.Core.Stats(), up: p.up.traffic, down: p.down.traffic, turns: p.cost.turns}
}

// cost is the real time of a client's frames.
type cost struct {
	frames []float64     // of each frame with the messages before it, in ns
	paid   time.Duration // Client.Busy at the last frame
	turns  int           // frames
}

// exact compares confirmed states with the server's, where the strategy demands that they are equal.
type exact struct {
	checked ecs.Tick // the newest state that was compared
	desyncs uint64
}

// stalls counts the ticks that could not be computed, by reason.
type stalls struct {
	since   time.Duration // of the current stall
	running bool
	longest time.Duration
	reasons [4]uint64 // by systems.StallReason
}

// displayHz is the number of frames per second of every client.
const displayHz = 60

// clockOf returns the clock of client i. Each has its own offset, and gains or loses up to 50 µs per second.
func clockOf(i int) simnet.Clock {
	return simnet.Clock{Offset: time.Duration(i+1) * 1700 * time.Millisecond, DriftPPM: int64(i*37%101 - 50)}
}

func (m *match) join(i int) error {
	c := m.config
	p := &player{match: m, seat: ecs.Player(i), measured: true, random: image.NewRand(c.Seed<<8 + uint64(i))}
	p.display = display{history: m.history, seat: p.seat, rate: float64(c.Game.TickRate), hz: displayHz, snap: c.Snap, limit: milliseconds(c.Cap), ahead: ahead}
	m.players = append(m.players, p)
	// Frames of clients are at different phases between the server's ticks.
	phase := time.Second / displayHz * time.Duration(2*i+1) / time.Duration(2*c.Players)
	var err error
	p.Client, err = m.Add(matchsim.Plan{Profile: m.profile, Clock: clockOf(i), Hz: displayHz, Phase: phase, Frame: p.frame, Traffic: p.traffic,
		Change: func(cc *client.Config) {
			cc.Game, cc.Name = c.Game, fmt.Sprintf("player %d", i+1)
			if m.hooks.client != nil {
				m.hooks.client(p, cc)
			}
		}})
	return err
}

// traffic counts a message of the client's connection.
func (p *player) traffic(t matchsim.Transfer, ch systems.Channel, size int) {
	switch t {
	case matchsim.SentUp:
		p.up.send(ch, size)
		p.down.acknowledge(ch, size)
	case matchsim.SentDown:
		p.down.send(ch, size)
	case matchsim.ReceivedDown:
		p.up.acknowledge(ch, size)
	}
}

// frame is one frame of the client.
func (p *player) frame(_ *matchsim.Client, now time.Duration) {
	m := p.match
	if p.joined {
		in := m.hooks.input(p)
		p.Core.SetInput(in)
		if p.measured {
			p.shots.due = p.inputs.give(in, m.Net.Now()) || p.shots.due
		}
	}
	p.Frame(now)
	if m.measuring {
		p.cost.frames = append(p.cost.frames, float64(p.Busy-p.cost.paid))
	}
	p.cost.paid = p.Busy
	p.cost.turns++
	p.up.flush(m.Net.Now())
	p.joined = p.joined || p.Live()
	m.hooks.frame(p, now)
}

// measure measures what a client of a Run shows in a frame.
func (m *match) measure(p *player, now time.Duration) {
	p.Core.Effects(func(systems.Effect) {})
	if p.joined {
		p.measure(now)
	}
}

// measure fires the shots that are due and measures the picture.
func (p *player) measure(now time.Duration) {
	m := p.match
	if m.measuring {
		_, current, _, _ := p.Core.Snapshots(now)
		p.shoot(current)
	}
	s := p.Core.Stats()
	previous, current, confirmed, alpha := p.Core.Snapshots(now)
	if m.measuring {
		p.corrections.look(previous, current, s.Strategy, s.Resyncs)
	}
	p.compare(confirmed)
	v := p.Core.View(now)
	p.showInput(v)
	p.inputs.confirmUpTo(s.Strategy.Confirmed, m.Net.Now())
	if m.measuring && v.Tick > 0 {
		p.display.show(v, m.history.now(m.Net.Now()), moment(previous, current, alpha), m.config.Players)
		p.shots.client.look(v.Sim, p.seat)
		p.window = append(p.window, float64(s.Strategy.Present)-float64(s.Strategy.Confirmed))
		p.countStalls(s.Strategy)
		if s.State != client.Live {
			p.away++
		}
	}
	p.last = s
	p.display.judge()
}

// moment returns the moment, in ticks, that lies a part of the way from one state to the next.
func moment(previous, current *image.Snapshot, part float64) float64 {
	if previous.Empty() {
		previous = current
	}
	from, to := float64(previous.Tick()), float64(current.Tick())
	return from + part*(to-from)
}

// showInput follows the player's input in the picture. With no part of the way to the newest state, the picture shows the
// state before.
func (p *player) showInput(v *ecs.View) {
	in := v.Sim.Image().Input(p.seat)
	if v.Alpha > 0 {
		p.inputs.show(in, p.match.Net.Now())
	} else {
		p.inputs.show(p.newest, p.match.Net.Now())
	}
	p.newest = in
}

// countStalls counts the ticks that could not be computed since the frame before.
func (p *player) countStalls(now systems.ClientStats) {
	q, t := &p.stalls, p.match.Net.Now()
	lost := now.Stalls - p.last.Strategy.Stalls
	if lost > 0 {
		reason := max(now.Stalled, p.last.Strategy.Stalled)
		q.reasons[min(int(reason), len(q.reasons)-1)] += lost
	}
	stalled := lost > 0 || now.Stalled != systems.NotStalled
	if stalled && !q.running {
		q.since = t - time.Second/displayHz // the tick was due by then
	}
	if stalled {
		q.longest = max(q.longest, t-q.since)
	}
	q.running = stalled
}

// compareEvery is the number of ticks between two confirmed states that are compared with the server's.
const compareEvery = 10

// compare counts a confirmed state that differs from the server's, where the strategy demands that they are equal.
func (p *player) compare(confirmed *image.Snapshot) {
	if !p.match.strategy.Needs.Exact || confirmed.Empty() || confirmed.Tick() < p.exact.checked+compareEvery {
		return
	}
	p.exact.checked = confirmed.Tick()
	if want, ok := p.match.history.checksum(p.exact.checked); ok && want != confirmed.Checksum() {
		p.exact.desyncs++
	}
}

// begin resets the measurements.
func (p *player) begin() {
	p.up.begin()
	p.down.begin()
	p.cost.turns = 0
	p.begun = p.counters()
	p.last = p.begun.stats
	now := p.match.Net.Now()
	p.inputs.from, p.inputs.until = now, newLatency().until
	p.display.begun = p.match.history.now(now)
	_, presents := p.Core.Strategy().(systems.Presenter)
	p.corrections = corrections{history: p.match.history, seat: p.seat, ownOnly: presents}
	p.display.inputs.ownOnly, p.display.inputs.seat = presents, p.seat
}

// end ends the measurements.
func (p *player) end() {
	p.ended = p.counters()
	p.inputs.until = p.match.Net.Now()
}
