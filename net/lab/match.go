package lab

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
)

// match is a match whose clients are measured. Only the costs depend on the machine.
type match struct {
	*matchsim.Match
	samples
	config   *Config
	strategy systems.Strategy
	profile  simnet.Profile
	players  []*player
	history  *history

	// These are what a Run and a Live do differently.
	input     func(p *player) ecs.InputBytes     // returns a player's input
	configure func(p *player, c *client.Config)  // changes a client's Config
	taken     func(f systems.FinalTick)          // receives each final tick
	frame     func(p *player, now time.Duration) // follows each frame of a client

	measuring bool
	overhead  time.Duration   // of the measurement itself, within Match.Busy
	begun     []room.PeerInfo // when measuring began
	ended     []room.PeerInfo // and when it ended
}

// newMatch returns a match without players.
func newMatch(c *Config, s systems.Strategy, p simnet.Profile) (m *match, err error) {
	m = &match{config: c, strategy: s, profile: p, history: newHistory(c.Game.TickRate, teleportSnaps*c.Snap)}
	m.reasons = map[string]uint64{}
	if err := s.Check(c.Game); err != nil {
		return nil, err
	}
	m.Match, err = matchsim.New(matchsim.Config{Game: c.Game, Strategy: s, Seed: c.Seed, Unchecked: true, FixedSeats: true,
		Clock: m.clock, Ticked: m.flush, Room: func(rc *room.Config) {
			rc.Game = matchsim.AfterSystems(c.Game, m.observe)
			rc.Sinks = []room.Sink{{Tick: m.take, NeedState: true}}
		}})
	if err != nil {
		return nil, err
	}
	m.Start()
	return m, nil
}

// newScripted returns a match of players who follow the script of c, or of bots if there is none.
func newScripted(c *Config, s systems.Strategy, p simnet.Profile) (*match, error) {
	m, err := newMatch(c, s, p)
	if err != nil {
		return nil, err
	}
	m.input = func(p *player) ecs.InputBytes {
		if c.script == nil {
			return c.Game.Bot(p.Core.World(), p.seat, p.random)
		}
		return c.script.at(1+ecs.Tick(m.Net.Now()*time.Duration(c.Game.TickRate)/time.Second), p.seat)
	}
	m.configure, m.taken = func(*player, *client.Config) {}, func(systems.FinalTick) {}
	m.frame = func(p *player, now time.Duration) {
		p.Core.Effects(func(systems.Effect) {})
		if p.joined {
			p.measure(now)
		}
	}
	return m, m.joinAll()
}

// clock returns real time, or 0 while it is not measured.
func (m *match) clock() time.Duration {
	if m.config.Clock == nil || !m.measuring {
		return 0
	}
	return m.config.Clock()
}

func (m *match) flush(now time.Duration) {
	for _, p := range m.players {
		p.down.flush(now)
	}
}

// take receives each final tick.
func (m *match) take(f systems.FinalTick) {
	begin := m.clock()
	sum := image.Checksum(0)
	if m.strategy.Needs.Exact {
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
	m.taken(f)
	m.overhead += m.clock() - begin
}

// joining is how long all clients have to join.
const joining = time.Minute

// play plays the match and measures it. It calls step with the virtual time that has passed.
func (m *match) play(step func(time.Duration) error) error {
	for !m.joined() {
		if m.Net.Now() >= joining {
			return fmt.Errorf("not all clients are in the match after %v: %s", joining, m.absent())
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
		p.end()
	}
	m.ended = m.Room.AppendPeers(nil)
	// The last pictures are judged when the history around them is known.
	return m.Play(time.Duration((ahead+1)*float64(time.Second)), step)
}

func (m *match) begin() {
	m.measuring = true
	m.begun = m.Room.AppendPeers(nil)
	for _, p := range m.players {
		p.begin()
	}
}

func (m *match) joined() bool { return m.absent() == "" }

// absent names a client that has not joined yet, "" for none.
func (m *match) absent() string {
	for i, p := range m.players {
		if !p.joined {
			return fmt.Sprintf("player %d is %v", i+1, p.Core.State())
		}
	}
	return ""
}
