package lab

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
)

// player is a client in a match, with its display and what is noted of it.
type player struct {
	match      *match
	seat       ecs.Player
	core       *client.Core
	node       simnet.NodeID
	connection int // counts the connections that it made
	server     *serverEnd
	up, down   meter
	dice       *ecs.Rand // of a bot
	display    display
	presses    presses
	fixes      corrections
	shots      shots
	busy       time.Duration // in Frame and Receive, real time
	paid       time.Duration // of it, up to the last Frame
	costs      []float64     // of each Frame with the messages before it, in ns of real time
	turns      int           // Frames

	begun   client.Stats // when measuring began
	ended   client.Stats // and when it ended
	upward  Traffic      // until then
	inward  Traffic
	frames  int
	last    client.Stats // of the frame before
	window  []float64    // ticks predicted, by frame
	away    int          // frames in which it was not in the match
	joined  bool         // it was in the match
	stalls  stalls
	checked ecs.Tick // the newest confirmed state that was compared
	desyncs uint64
	shown   ecs.InputBytes // the own input in the newest state of the picture before
}

// stalls counts the ticks that could not be computed, by reason.
type stalls struct {
	since   simnet.Time // of the running one
	running bool
	longest time.Duration
	reasons [4]uint64 // by systems.StallReason
}

// displayHz is how many frames a second every client shows.
const displayHz = 60

// clockOf gives every client a clock of its own: they begin anywhere, and gain or lose up to 50 µs a second.
func clockOf(i int) simnet.Clock {
	return simnet.Clock{Offset: time.Duration(i+1) * 1700 * time.Millisecond, DriftPPM: int64(i*37%101 - 50)}
}

func (m *match) join(i int) error {
	c := m.config
	p := &player{match: m, seat: ecs.Player(i), server: &serverEnd{}, dice: image.NewRand(c.Seed<<8 + uint64(i))}
	rate := float64(c.Game.TickRate)
	p.display = display{truth: m.truth, seat: p.seat, rate: rate, hz: displayHz, snap: c.Snap, limit: milliseconds(c.Cap), ahead: ahead}
	if err := p.renew(); err != nil {
		return err
	}
	p.node = m.net.AddNode(clockOf(i))
	for len(m.byNode) <= int(p.node) {
		m.byNode = append(m.byNode, nil)
	}
	m.byNode[p.node] = p
	m.players = append(m.players, p)
	if err := m.net.Connect(p.node, m.server, m.profile); err != nil {
		return err
	}
	m.net.OnMessage(p.node, p.receive)
	// Displays are at phases of their own between the server's ticks.
	phase := time.Second / displayHz * time.Duration(2*i+1) / time.Duration(2*c.Players)
	m.net.Every(p.node, m.net.LocalNow(p.node)+phase, displayHz, p.frame)
	return nil
}

// renew gives the player a new client, which connects in its first Frame.
func (p *player) renew() (err error) {
	m := p.match
	c := client.Config{Game: m.config.Game, Strategies: []systems.Strategy{m.strategy}, Dial: p.dial, Name: fmt.Sprintf("player %d", int(p.seat)+1)}
	if m.watched != nil {
		m.watched.furnish(p, &c)
	}
	p.core, err = client.NewCore(c)
	return err
}

func (p *player) dial([]byte) (session.Transport, error) {
	p.connection++
	p.match.net.Reconnect(p.node, p.match.server)
	return &clientEnd{player: p, connection: p.connection}, nil
}

func (p *player) receive(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
	p.up.heard(channelOf(ch), len(payload))
	begin := p.match.clock()
	p.core.Receive(channelOf(ch), payload, systems.Time(now))
	p.busy += p.match.clock() - begin
}

// frame is one frame of the display.
func (p *player) frame(_ int64, local simnet.Time) {
	m, now := p.match, systems.Time(local)
	if p.joined {
		in := p.plays()
		p.core.SetInput(in)
		if m.watched == nil || m.watched.own == p {
			p.shots.due = p.presses.give(in, m.net.Now()) || p.shots.due
		}
	}
	begin := m.clock()
	_ = p.core.Frame(now) // its error is looked at by the match
	p.busy += m.clock() - begin
	if m.measuring {
		p.costs = append(p.costs, float64(p.busy-p.paid))
	}
	p.paid = p.busy
	p.turns++
	p.up.flush(m.net.Now())
	p.joined = p.joined || p.core.State() == client.Live
	if m.watched != nil {
		m.watched.frame(p, now)
		return
	}
	p.core.Effects(func(systems.Effect) {})
	if p.joined {
		if m.measuring {
			_, current, _, _ := p.core.Snapshots(now)
			p.shoot(current)
		}
		p.look(now)
	}
}

// plays returns what the player does now: what the script says of the server's next tick, or what the bot makes of what
// the client knows.
func (p *player) plays() ecs.InputBytes {
	g := p.match.config.Game
	if w := p.match.watched; w != nil {
		return w.plays(p)
	}
	if p.match.config.Bots {
		return g.Bot(p.core.World(), p.seat, p.dice)
	}
	return p.match.script.At(1+ecs.Tick(p.match.net.Now()*time.Duration(g.TickRate)/time.Second), p.seat)
}

// look measures what is shown.
func (p *player) look(now systems.Time) {
	m := p.match
	s := p.core.Stats()
	previous, current, confirmed, alpha := p.core.Snapshots(now)
	if m.measuring {
		p.fixes.look(previous, current, s.Strategy, s.Resyncs)
	}
	p.compare(confirmed)
	v := p.core.View(now)
	p.press(v)
	p.presses.confirmUpTo(s.Strategy.Confirmed, m.net.Now())
	if m.measuring && v.Tick > 0 {
		p.display.shows(v, m.truth.now(m.net.Now()), moment(previous, current, alpha), m.config.Players)
		p.shots.shown.look(v.Sim, p.seat)
		p.window = append(p.window, float64(s.Strategy.Present)-float64(s.Strategy.Confirmed))
		p.stall(s.Strategy)
		if s.State != client.Live {
			p.away++
		}
	}
	p.last = s
	p.display.judge()
}

// moment returns which one is shown a part of the way from one state to the next, in ticks.
func moment(previous, current *image.Snapshot, part float64) float64 {
	if previous.Empty() {
		previous = current
	}
	from, to := float64(previous.Tick()), float64(current.Tick())
	return from + part*(to-from)
}

// press tells what the picture holds of the player's doings. With no part of the way to the newest state, it is the state
// before that is shown.
func (p *player) press(v *ecs.View) {
	in := v.Sim.Image().Input(p.seat)
	if v.Alpha > 0 {
		p.presses.show(in, p.match.net.Now())
	} else {
		p.presses.show(p.shown, p.match.net.Now())
	}
	p.shown = in
}

// stall notes the ticks that could not be computed since the frame before.
func (p *player) stall(now systems.ClientStats) {
	q, t := &p.stalls, p.match.net.Now()
	lost := now.Stalls - p.last.Strategy.Stalls
	if lost > 0 {
		reason := max(now.Stalled, p.last.Strategy.Stalled)
		q.reasons[min(int(reason), len(q.reasons)-1)] += lost
	}
	is := lost > 0 || now.Stalled != systems.NotStalled
	if is && !q.running {
		q.since = t - time.Second/displayHz // it should have been here by now
	}
	if is {
		q.longest = max(q.longest, t-q.since)
	}
	q.running = is
}

// compareEvery is how many ticks lie between two confirmed states that are compared with the server's.
const compareEvery = 10

// compare counts a confirmed state that is not the server's, where the strategy says that it must be.
func (p *player) compare(confirmed *image.Snapshot) {
	if !p.match.strategy.Needs.Exact || confirmed.Empty() || confirmed.Tick() < p.checked+compareEvery {
		return
	}
	p.checked = confirmed.Tick()
	if want, ok := p.match.truth.checksum(p.checked); ok && want != confirmed.Checksum() {
		p.desyncs++
	}
}

// begin forgets all that was noted so far.
func (p *player) begin() {
	p.begun = p.core.Stats()
	p.last = p.begun
	p.presses.from, p.presses.until = p.match.net.Now(), math.MaxInt64
	p.turns = 0
	p.display.begun = p.match.truth.now(p.match.net.Now())
	p.up.begin()
	p.down.begin()
	_, shows := p.core.Strategy().(systems.Presenter)
	p.fixes = corrections{truth: p.match.truth, seat: p.seat, ownOnly: shows}
	p.display.inputs.ownOnly, p.display.inputs.seat = shows, p.seat
}

// end keeps what was counted so far.
func (p *player) end() {
	p.ended, p.upward, p.inward, p.frames = p.core.Stats(), p.up.traffic, p.down.traffic, p.turns
	p.presses.until = p.match.net.Now()
}

// clientEnd is the client's end of a connection.
type clientEnd struct {
	player     *player
	connection int
}

// serverEnd is the server's end of a client's connection.
type serverEnd struct {
	player     *player
	connection int
	peer       systems.Peer
	open       bool
}

var errReplaced = errors.New("lab: the connection was replaced")

// linkRoom is net/link's default queue, in bytes.
const linkRoom = 160 << 10

// Send puts a message on its way to the server.
func (e *clientEnd) Send(ch systems.Channel, message []byte) error {
	p := e.player
	if e.connection != p.connection {
		return errReplaced
	}
	p.up.send(ch, len(message))
	if ch == systems.Reliable {
		p.down.heard(ch, len(message))
	}
	return p.match.net.Send(p.node, p.match.server, floorOf(ch), message)
}

// Room is what a link of production has at rest.
func (e *clientEnd) Room() int { return linkRoom }

// Send puts a message on its way to the client.
func (e *serverEnd) Send(ch systems.Channel, message []byte) error {
	p := e.player
	if e.connection != p.connection {
		return errReplaced
	}
	p.down.send(ch, len(message))
	return p.match.net.Send(p.match.server, p.node, floorOf(ch), message)
}

// Room is what a link of production has at rest.
func (e *serverEnd) Room() int { return linkRoom }

func channelOf(ch simnet.Channel) systems.Channel {
	if ch == simnet.Reliable {
		return systems.Reliable
	}
	return systems.Datagram
}

func floorOf(ch systems.Channel) simnet.Channel {
	if ch == systems.Reliable {
		return simnet.Reliable
	}
	return simnet.Datagram
}
