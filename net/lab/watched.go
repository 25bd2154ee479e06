package lab

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/simnet"
	"tendon/systems"
)

// watched is a match that somebody watches: player 0 has a picture, and all that is measured is measured of it. The others
// are bots, whose pictures nobody looks at.
type watched struct {
	*match
	lab   *Live
	how   Own
	own   *player
	view  *ecs.View                // of own; nil before there is one
	ideal *ecs.View                // the truth, as own would see it
	past  [pastKept]image.Snapshot // the server's states, of tick f in slot f % pastKept
	tick  ecs.Tick                 // the newest of them, 0: none
	at    simnet.Time              // when it was computed
	minds []mind                   // by seat

	bait    *ecs.Game // the game with the trap in it, which own's client plays
	trap    trap
	fate    Desync
	since   simnet.Time // when the trap was set
	resyncs uint64      // of own by then
	fixed   bool        // the present was corrected since

	reading Reading
	before  counted
}

// pastKept is how many states of the server are kept: the picture may be older by as much, to be compared with them.
const pastKept = 128

// mind is what a bot decided in the newest tick.
type mind struct {
	tick ecs.Tick
	does ecs.InputBytes
}

// newWatched returns a match whose clients begin to connect.
func newWatched(l *Live, c *Config, e Entry) (*watched, error) {
	m, err := emptyMatch(c, e.Strategy, l.config.Profile, nil)
	if err != nil {
		return nil, err
	}
	w := &watched{match: m, lab: l, how: e.Own, minds: make([]mind, c.Players)}
	w.bait = behind(c.Game, w.trap.look)
	if w.ideal, err = ecs.NewView(c.Game); err != nil {
		return nil, err
	}
	w.ideal.Seat = 0
	m.watched = w
	return w, m.joinAll()
}

// furnish sets up the client of player 0 as the page has it.
func (w *watched) furnish(p *player, c *client.Config) {
	if p.seat != 0 {
		return
	}
	w.own, p.display.ahead = p, liveAhead
	c.Game, c.InputDelay, c.MaxPrediction = w.bait, w.how.InputDelay, w.how.MaxPrediction
	if s := w.how.Strategy; s.NewClient != nil {
		c.Strategies = []systems.Strategy{s}
	}
}

// begin lets everything be measured from now on.
func (w *watched) begin() {
	w.match.begin()
	w.before = w.count()
}

// replace lets a new client take over the seat of player 0.
func (w *watched) replace(o Own) error {
	p := w.own
	w.how, w.view, w.trap, w.fate = o, nil, trap{}, Desync{}
	p.display.frames, p.display.before = p.display.frames[:0], frame{}
	if err := p.renew(); err != nil {
		return err
	}
	p.joined, p.checked, p.presses = false, 0, presses{until: math.MaxInt64, mark: p.presses.mark, seen: p.presses.seen}
	p.begin()
	w.before = w.count()
	return nil
}

// broken returns why the client of player 0 or of a bot has ended.
func (w *watched) broken() error {
	for _, p := range w.players {
		if err := p.core.Err(); err != nil {
			return err
		}
	}
	return nil
}

// plays returns what a player does now.
func (w *watched) plays(p *player) ecs.InputBytes {
	if w.lab.due == 0 { // nobody does anything before all are in, so that all matches begin alike
		return ecs.InputBytes{}
	}
	if p == w.own {
		p.presses.mark = 0
		if !w.lab.bot {
			p.presses.mark = w.lab.mark
			return w.lab.input
		}
	}
	world, m := w.room.World(), &w.minds[p.seat]
	if f := world.Tick(); f != m.tick { // the dice are the same in the same tick of every match
		m.tick = f
		does := w.config.Game.Bot(world, p.seat, image.NewRand(w.config.Seed<<8^uint64(f)<<16^uint64(p.seat)))
		if does != world.Image().Input(p.seat) { // else it goes on with what it does, which the server may not know yet
			m.does = does
		}
	}
	return m.does
}

// took keeps the server's state.
func (w *watched) took(f *systems.FinalTick) {
	if f.World == nil || f.World.Tick() != f.Tick {
		return
	}
	f.World.Image().Save(w.state(f.Tick))
	w.tick, w.at = f.Tick, w.net.Now()
}

// state is where the server's state of a tick is kept.
func (w *watched) state(f ecs.Tick) *image.Snapshot { return &w.past[f%pastKept] }

// frame is one frame of a client's display, behind the client's own work.
func (w *watched) frame(p *player, now systems.Time) {
	if p != w.own {
		p.core.Effects(func(systems.Effect) {})
		return
	}
	if !p.joined {
		return
	}
	if w.measuring {
		_, current, _, _ := p.core.Snapshots(now)
		p.shoot(current)
	}
	again, fixes := p.last.Strategy.Resimulated, len(p.fixes.sizes)
	p.look(now)
	w.fixed = w.fixed || w.trap.sprung && len(p.fixes.sizes) > fixes
	w.before.deepest = max(w.before.deepest, int(p.last.Strategy.Resimulated-again))
	w.view = p.core.View(now)
	heard := w.config.Game.Screen.Effect
	p.core.Effects(func(e systems.Effect) {
		if heard != nil {
			heard(w.view, e)
		}
	})
	w.follow()
}

// draw paints what player 0 was shown last.
func (w *watched) draw(c ecs.Canvas) bool {
	if w.view == nil || w.config.Game.Screen.Draw == nil {
		return false
	}
	w.config.Game.Screen.Draw(c, w.view)
	return true
}

// drawTruth paints the server's state, on the way from the tick before to the last one.
func (w *watched) drawTruth(c ecs.Canvas) {
	if w.tick == 0 || w.config.Game.Screen.Draw == nil {
		return
	}
	part := (w.net.Now() - w.at).Seconds() * float64(w.config.Game.TickRate)
	now := w.state(w.tick)
	w.ideal.Update(w.state(w.tick-1), now, now, part)
	w.config.Game.Screen.Draw(c, w.ideal)
}

// avatar returns where player 0 sees the own avatar.
func (w *watched) avatar() (x, y float64, ok bool) {
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
