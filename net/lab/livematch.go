package lab

import (
	"math"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/rollback"
	"tendon/systems"
)

// liveMatch is a match of a Live. Only the picture of player 0 is measured; the others are bots.
type liveMatch struct {
	*match
	lab      *Live
	settings Own
	own      *player
	view     *ecs.View           // of own; nil before there is one
	ideal    *ecs.View           // the server's state, as own would see it
	states   *rollback.Snapshots // the server's
	bots     []decision          // by seat
	desync   plantedDesync

	reading Reading
	before  liveCounters
}

// statesKept is the number of the server's states that are kept, to compare the client's with.
const statesKept = 128

// decision is a bot's input in the newest tick.
type decision struct {
	tick  ecs.Tick
	input ecs.InputBytes
}

// newLiveMatch returns a match whose clients begin to connect.
func newLiveMatch(l *Live, c *Config, e Entry) (*liveMatch, error) {
	m, err := newMatch(c, e.Strategy, l.config.Profile)
	if err != nil {
		return nil, err
	}
	w := &liveMatch{match: m, lab: l, settings: e.Own, states: rollback.NewSnapshots(statesKept), bots: make([]decision, c.Players)}
	w.desync.game = matchsim.AfterSystems(c.Game, w.desync.apply)
	if w.ideal, err = ecs.NewView(c.Game); err != nil {
		return nil, err
	}
	w.ideal.Seat = 0
	m.hooks = hooks{input: w.input, client: w.configure, tick: w.keep, frame: w.frame}
	return w, m.joinAll()
}

// configure sets up the clients. Player 0's has the settings of the page.
func (w *liveMatch) configure(p *player, c *client.Config) {
	if p.measured = p.seat == 0; !p.measured {
		return
	}
	w.own, p.display.ahead = p, liveAhead
	c.Game, c.InputDelay, c.MaxPrediction = w.desync.game, w.settings.InputDelay, w.settings.MaxPrediction
	if s := w.settings.Strategy; s.NewClient != nil {
		c.Strategies = []systems.Strategy{s}
	}
}

// begin begins the measurements.
func (w *liveMatch) begin() {
	w.match.begin()
	w.before = w.count()
}

// replace gives the seat of player 0 to a new client.
func (w *liveMatch) replace(o Own) error {
	p := w.own
	w.settings, w.view = o, nil
	w.desync.fault, w.desync.report = fault{}, Desync{}
	p.display.frames, p.display.before = p.display.frames[:0], frame{}
	if err := p.Restart(); err != nil {
		return err
	}
	p.joined, p.exact.checked = false, 0
	p.inputs = latency{until: math.MaxInt64, mark: p.inputs.mark, seen: p.inputs.seen}
	p.begin()
	w.before = w.count()
	return nil
}

// input returns a player's input.
func (w *liveMatch) input(p *player) ecs.InputBytes {
	if w.lab.due == 0 { // until all clients have joined, so that all matches begin alike
		return ecs.InputBytes{}
	}
	if p == w.own {
		p.inputs.mark = 0
		if !w.lab.bot {
			p.inputs.mark = w.lab.mark
			return w.lab.input
		}
	}
	world, d := w.Room.World(), &w.bots[p.seat]
	if f := world.Tick(); f != d.tick { // the same tick of every match has the same random numbers
		d.tick = f
		in := w.config.Game.Bot(world, p.seat, image.NewRand(w.config.Seed<<8^uint64(f)<<16^uint64(p.seat)))
		if in != world.Image().Input(p.seat) { // the server may not have the newest input yet
			d.input = in
		}
	}
	return d.input
}

// keep keeps the server's state.
func (w *liveMatch) keep(f systems.FinalTick) {
	if f.World != nil && f.World.Tick() == f.Tick {
		w.states.Save(f.World)
	}
}

// frame follows each frame of a client.
func (w *liveMatch) frame(p *player, now time.Duration) {
	if p != w.own {
		p.Core.Effects(func(systems.Effect) {})
		return
	}
	if !p.joined {
		return
	}
	resimulated, corrections := p.last.Strategy.Resimulated, len(p.corrections.sizes)
	p.measure(now)
	w.desync.corrected = w.desync.corrected || w.desync.applied && len(p.corrections.sizes) > corrections
	w.before.deepest = max(w.before.deepest, int(p.last.Strategy.Resimulated-resimulated))
	w.view = p.Core.View(now)
	effect := w.config.Game.Screen.Effect
	p.Core.Effects(func(e systems.Effect) {
		if effect != nil {
			effect(w.view, e)
		}
	})
	w.followDesync()
}

// draw draws player 0's last picture.
func (w *liveMatch) draw(c ecs.Canvas) bool {
	if w.view == nil || w.config.Game.Screen.Draw == nil {
		return false
	}
	w.config.Game.Screen.Draw(c, w.view)
	return true
}

// drawServer draws the server's state, interpolated from the tick before to the last one.
func (w *liveMatch) drawServer(c ecs.Canvas) {
	now, ok := w.states.At(w.history.tick)
	if !ok || w.config.Game.Screen.Draw == nil {
		return
	}
	before, _ := w.states.At(w.history.tick - 1)
	part := (w.Net.Now() - w.history.at).Seconds() * w.history.rate
	w.ideal.Update(before, now, now, part)
	w.config.Game.Screen.Draw(c, w.ideal)
}

// avatar returns the position of player 0's avatar in its picture.
func (w *liveMatch) avatar() (x, y float64, ok bool) {
	if w.view == nil {
		return 0, 0, false
	}
	w.view.Sim.Image().Motions(func(e ecs.Entity, m ecs.Motion) bool {
		if ok = e.Owner() == ecs.OwnedBy(w.own.seat); ok {
			x, y = m.Pos.X.Float(), m.Pos.Y.Float()
		}
		return !ok
	})
	return x, y, ok
}
