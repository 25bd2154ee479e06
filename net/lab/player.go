package lab

import (
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
	random      *ecs.Rand // of its bot
	up, down    meter
	display     display
	inputs      latency
	corrections corrections
	shots       shots

	counted client.Stats   // when the counts restarted
	last    client.Stats   // of the frame before
	paid    time.Duration  // Client.Busy at the last frame
	stalled time.Duration  // when the current stall began; 0: none
	checked ecs.Tick       // the newest state that was compared with the server's
	newest  ecs.InputBytes // the own input in the newest state of the last picture
}

const displayHz = 60 // frames per second of every client

// join adds a player, whose clock has its own offset and gains or loses up to 50 µs per second.
func (m *match) join(seat ecs.Player, profile simnet.Profile) (err error) {
	c, i := m.config, int(seat)
	p := &player{match: m, seat: seat, random: image.NewRand(c.Seed<<8 + uint64(i))}
	p.display = display{samples: &m.samples, history: m.history, seat: seat, snap: c.Snap, limit: milliseconds(usualCap), ahead: ahead, frames: make([]frame, 1)}
	p.inputs.samples = &m.samples
	m.players = append(m.players, p)
	p.Client, err = m.Add(matchsim.Plan{Profile: profile, Hz: displayHz, Frame: p.frame, Traffic: p.traffic,
		Clock: simnet.Clock{Offset: time.Duration(i+1) * 1700 * time.Millisecond, DriftPPM: int64(i*37%101 - 50)},
		// Frames of clients are at different phases between the server's ticks.
		Phase: time.Second / displayHz * time.Duration(2*i+1) / time.Duration(2*c.Players),
		Change: func(cc *client.Config) {
			if m.live != nil {
				m.live.configure(cc)
			}
		}})
	return err
}

// joined reports whether the client has been live.
func (p *player) joined() bool { return p.FirstLive > 0 }

// measured reports whether the player's pictures are measured.
func (p *player) measured() bool { return int(p.seat) < p.match.measured }

// traffic counts a message of the client's connection.
func (p *player) traffic(down bool, _ systems.Channel, message []byte) {
	m := &p.up
	if down {
		m = &p.down
	}
	m.payload += uint64(len(message))
}

// frame is one frame of the client.
func (p *player) frame(_ *matchsim.Client, now time.Duration) {
	m := p.match
	if p.joined() {
		in := m.input(p)
		p.Core.SetInput(in)
		p.shots.due = p.measured() && p.inputs.give(in, m.Net.Now(), m.measuring) || p.shots.due
	}
	p.Frame(now)
	if m.measuring && p.measured() {
		m.costs = append(m.costs, float64(p.Busy-p.paid))
	}
	p.paid = p.Busy
	p.up.observe(m.Net.Now(), m.Net.Counters(p.Node, m.Server))
	p.down.observe(m.Net.Now(), m.Net.Counters(m.Server, p.Node))
	switch {
	case !p.joined() || !p.measured():
	case m.live != nil:
		m.live.measure(now)
	default:
		p.measure(now)
	}
	p.Core.Effects(func(systems.Effect) {})
}

// measure fires the shots that are due and measures the picture.
func (p *player) measure(now time.Duration) {
	m, s := p.match, p.Core.Stats()
	previous, current, confirmed, alpha := p.Core.Snapshots(now)
	if m.measuring {
		_, p.display.ownOnly = p.Core.Strategy().(systems.Replicated)
		p.shoot(current, &s)
		p.corrections.look(previous, current, &s, &p.last)
	}
	p.compare(confirmed)
	v := p.Core.View(now)
	p.showInput(v)
	p.inputs.confirmUpTo(s.Strategy.Confirmed, m.Net.Now())
	if m.measuring && v.Tick > 0 {
		p.display.show(v, m.history.now(m.Net.Now()), moment(previous, current, alpha), m.config.Players)
		p.shots.client.look(v.Sim, p.seat)
		m.window = append(m.window, float64(s.Strategy.Present)-float64(s.Strategy.Confirmed))
		p.countStalls(s.Strategy)
		if s.State != client.Live {
			m.away++
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
		p.newest = in
	}
	p.inputs.show(p.newest, p.match.Net.Now())
	p.newest = in
}

// countStalls counts the ticks that could not be computed since the frame before.
func (p *player) countStalls(now systems.ClientStats) {
	m, was, t := p.match, &p.last.Strategy, p.match.Net.Now()
	lost := now.Stalls - was.Stalls
	if lost > 0 {
		m.reasons[max(now.Stalled, was.Stalled).String()] += lost
	}
	if lost == 0 && now.Stalled == systems.NotStalled {
		p.stalled = 0
		return
	}
	if p.stalled == 0 {
		p.stalled = t - time.Second/displayHz // the tick was due by then
	}
	m.longestStall = max(m.longestStall, t-p.stalled)
}

const compareEvery = 10 // ticks between two confirmed states that are compared with the server's

// compare counts a confirmed state that differs from the server's, if the strategy requires that they are equal. The server's
// checksum is 0 in a tick of a strategy that does not require it.
func (p *player) compare(confirmed *image.Snapshot) {
	if !p.match.strategy.Needs.Exact || confirmed.Empty() || confirmed.Tick() < p.checked+compareEvery {
		return
	}
	p.checked = confirmed.Tick()
	if past, ok := p.match.history.ticks.At(p.checked); ok && past.sum != 0 && past.sum != confirmed.Checksum() {
		p.match.desyncs++
	}
}

// begin begins the measurements.
func (p *player) begin() {
	p.restart()
	p.last = p.counted
	p.corrections = corrections{display: &p.display}
}

// restart restarts the counts of the client and its connection.
func (p *player) restart() {
	p.up.begin()
	p.down.begin()
	p.counted = p.Core.Stats()
	p.display.begun = p.match.history.now(p.match.Net.Now())
}

// count adds the counts since restart to the samples.
func (p *player) count() {
	m, now, before := p.match, p.Core.Stats(), &p.counted.Strategy
	m.stalled += now.Strategy.Stalls - before.Stalls
	m.stalls += now.Strategy.Episodes - before.Episodes
	m.resimulated += now.Strategy.Resimulated - before.Resimulated
	m.resyncs += now.Resyncs - p.counted.Resyncs
	m.rtt += milliseconds(now.RTT)
	m.playout += milliseconds(now.Strategy.Playout)
	m.up.add(&p.up)
	m.down.add(&p.down)
}

// corrections finds the resimulations that changed the present. It compares a client's state of a tick with the same
// client's state of that tick one frame later, before any error smoothing.
type corrections struct {
	*display
	tick   ecs.Tick
	places []shownEntity // in the state of tick, by row
}

// look compares the present states with those of the frame before.
func (c *corrections) look(previous, current *image.Snapshot, now, before *client.Stats) {
	resynced := now.Resyncs != before.Resyncs || now.Strategy.Snaps != before.Strategy.Snaps
	// Where other entities are received, some of the own ones may be received too, such as shots in dead reckoning. The
	// client must then have counted a correction itself.
	if !c.ownOnly || resynced || now.Strategy.Rollbacks != before.Strategy.Rollbacks ||
		now.Strategy.Corrections != before.Strategy.Corrections {
		again := current
		if !previous.Empty() && previous.Tick() == c.tick {
			again = previous
		}
		if size := c.moved(again); size > tiny {
			c.sizes = append(c.sizes, size)
			switch {
			case resynced:
				c.causes.Resync++
			case now.Strategy.Substituted > before.Strategy.Substituted:
				c.causes.Substituted++
			default:
				c.causes.Remote++
			}
		}
	}
	c.tick, c.places = 0, c.places[:0]
	if current.Empty() {
		return
	}
	c.tick = current.Tick()
	for e := range current.Entities {
		if m, ok := current.Motion(e); ok && (!c.ownOnly || e.Owner() == ecs.OwnedBy(c.seat)) {
			c.places = append(c.places, shownEntity{entity: e, pos: vecOf(m.Pos)})
		}
	}
}

// moved returns the largest distance that an entity was moved in a state, 0 if it is of another tick.
func (c *corrections) moved(s *image.Snapshot) (most float64) {
	if s.Empty() || s.Tick() != c.tick {
		return 0
	}
	for i := range c.places {
		if k := c.history.tracks[c.places[i].entity]; k != nil && k.teleportedNear(float64(c.history.tick), 0, c.history.rate) {
			continue // a teleport is no misprediction
		}
		if m, ok := s.Motion(c.places[i].entity); ok {
			most = max(most, vecOf(m.Pos).sub(c.places[i].pos).len())
		}
	}
	return most
}
