package lab

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// match is a match whose clients are measured. Only the costs depend on the machine.
type match struct {
	*matchsim.Match
	samples
	config   *Config
	strategy systems.Strategy
	players  []*player
	measured int // the first players are measured
	history  *history
	live     *liveMatch          // of a Live, else nil
	states   *rollback.Snapshots // the server's, of a Live
	world    *ecs.World          // whose states they are

	measuring bool
	desyncs   uint64          // confirmed states that differed
	overhead  time.Duration   // of the measurement itself, within Match.Busy
	begun     []room.PeerInfo // when measuring began
	ended     []room.PeerInfo // and when it ended
}

// newMatch returns a match whose clients begin to connect. o observes the room. Optional.
func newMatch(c *Config, s systems.Strategy, p simnet.Profile, measured int, o image.Observer) (m *match, err error) {
	m = &match{config: c, strategy: s, measured: measured, history: newHistory(c.Game.TickRate, teleportSnaps*c.Snap)}
	m.reasons = map[string]uint64{}
	if err := s.Check(c.Game); err != nil {
		return nil, err
	}
	m.Match, err = matchsim.New(matchsim.Config{Game: c.Game, Strategy: s, Strategies: c.Strategies, Seed: c.Seed, Unchecked: true, FixedSeats: true, Clock: m.clock, Links: true,
		Room: func(rc *room.Config) {
			rc.Game = matchsim.AfterSystems(c.Game, m.observe)
			rc.Observer = o
			rc.Sinks = []room.Sink{{Tick: m.take, NeedState: true}}
		}})
	if err != nil {
		return nil, err
	}
	m.Start()
	for i := range c.Players {
		if err := m.join(ecs.Player(i), p); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *match) input(p *player) ecs.InputBytes {
	c := m.config
	switch {
	case m.live != nil:
		return m.live.input(p)
	case c.Bots:
		return c.Game.Think(p.Core.World(), p.seat, p.random, p.Core.Orders())
	}
	return c.script.at(1+ecs.Tick(m.Net.Now()*time.Duration(c.Game.TickRate)/time.Second), p.seat)
}

// clock returns real time, or 0 while it is not measured.
func (m *match) clock() time.Duration {
	if !m.measuring {
		return 0
	}
	return m.config.Clock()
}

// take receives each final tick.
func (m *match) take(f systems.FinalTick) {
	begin := m.clock()
	sum := image.Checksum(0)
	if m.Room.Strategy().Needs.Exact {
		sum = f.State.Checksum()
	}
	m.history.add(f, m.Net.Now(), sum)
	for _, p := range m.players {
		if int(p.seat) < len(f.Inputs) {
			if fired := p.inputs.use(f.Inputs[p.seat], f.Tick); fired != nil && m.measuring {
				fired.resolve(&p.shots.server, f.Tick)
			}
		}
	}
	if m.states != nil && f.World != nil && f.World.Tick() == f.Tick {
		if m.world != f.World { // a new strategy computes a new world, and a view shows states of one world
			m.world = f.World
			m.states.Clear()
		}
		m.states.Save(f.World)
	}
	m.overhead += m.clock() - begin
}

const joining = time.Minute // how long all clients have to join

// play plays the match and measures it. It calls step with the virtual time that has passed.
func (m *match) play(step func(time.Duration) error) error {
	for p := m.absent(); p != nil; p = m.absent() {
		if m.Net.Now() >= joining {
			return fmt.Errorf("not all clients are in the match after %v: player %d is %v", joining, p.seat+1, p.Core.State())
		}
		if err := m.Play(matchsim.Slice, step); err != nil {
			return err
		}
	}
	if err := m.Play(m.config.Settle, step); err != nil {
		return err
	}
	m.begin()
	if err := m.Play(m.config.For, step); err != nil {
		return err
	}
	m.measuring = false
	for _, p := range m.players {
		p.count()
	}
	m.ended = m.Room.AppendPeers(nil)
	// The last pictures are judged when the history around them is known.
	return m.Play(afterwards, step)
}

func (m *match) begin() {
	m.measuring = true
	m.begun = m.Room.AppendPeers(nil)
	for _, p := range m.players {
		p.begin()
	}
}

// absent returns a player who has not joined yet, nil for none.
func (m *match) absent() *player {
	for _, p := range m.players {
		if !p.joined() {
			return p
		}
	}
	return nil
}
