package lab

import (
	"fmt"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
)

// match is a room and its clients on the message floor of the simulated network, with everything that is measured of
// them. What happens in it is determined by the Config; only what is said of costs depends on the machine.
type match struct {
	config   *Config
	strategy systems.Strategy
	profile  simnet.Profile
	script   *Script
	net      *simnet.Network
	room     *room.Room
	server   simnet.NodeID
	players  []*player
	byNode   []*player    // by NodeID
	byPeer   []*serverEnd // by Peer; nil: gone
	truth    *truth
	watched  *watched // by somebody; nil: nobody is there to see it

	measuring bool
	busy      time.Duration // of the server, real time, while measuring
	noting    time.Duration // of it, what the lab itself took
	begun     []peerInfo    // when measuring began
	ended     []peerInfo    // and when it ended
}

type peerInfo = room.PeerInfo

func newMatch(c *Config, s systems.Strategy, p simnet.Profile, script *Script) (*match, error) {
	m, err := emptyMatch(c, s, p, script)
	if err == nil {
		err = m.joinAll()
	}
	return m, err
}

// emptyMatch returns a match that nobody has joined.
func emptyMatch(c *Config, s systems.Strategy, p simnet.Profile, script *Script) (*match, error) {
	if err := s.Check(c.Game); err != nil {
		return nil, err
	}
	m := &match{config: c, strategy: s, profile: p, script: script, net: simnet.New(simnet.Config{Seed: c.Seed}),
		truth: newTruth(c.Game.TickRate, c.Teleport)}
	m.server = m.net.AddNode(simnet.Clock{})
	var err error
	m.room, err = room.New(room.Config{Game: behind(c.Game, m.watch), Seed: c.Seed, Strategy: s, Match: c.Seed<<1 | 1,
		Sinks: []room.Sink{{Tick: m.taken, NeedState: true}}}, 0)
	if err != nil {
		return nil, err
	}
	m.net.OnMessage(m.server, m.receive)
	gone := func(p systems.Peer, _ error) { m.byPeer[p] = nil }
	m.net.Every(m.server, 0, c.Game.TickRate, func(_ int64, now simnet.Time) {
		begin := m.clock()
		m.room.Frame(systems.Time(now))
		m.busy += m.clock() - begin
		m.room.Gone(gone)
		for _, p := range m.players {
			p.down.flush(now)
		}
	})
	return m, nil
}

// behind returns a copy of a game in which look runs at the end of the last system, for one peer alone; the others play
// what the author wrote. No system is added, since peers agree on which there are.
func behind(g *ecs.Game, look func(*ecs.World)) *ecs.Game {
	copied := *g
	copied.Systems = slices.Clone(g.Systems)
	if n := len(g.Systems); n > 0 {
		run := g.Systems[n-1].Run
		copied.Systems[n-1].Run = func(w *ecs.World) {
			run(w)
			look(w)
		}
	}
	return &copied
}

func (m *match) joinAll() error {
	for i := range m.config.Players {
		if err := m.join(i); err != nil {
			return err
		}
	}
	return nil
}

// clock is real time, or 0 where nobody measures it.
func (m *match) clock() time.Duration {
	if m.config.Clock == nil || !m.measuring {
		return 0
	}
	return m.config.Clock()
}

// taken notes a final tick. What that takes is not the server's cost.
func (m *match) taken(f systems.FinalTick) {
	begin := m.clock()
	sum := image.Checksum(0)
	if m.strategy.Needs.Exact {
		sum = f.State.Checksum()
	}
	m.truth.add(f, m.net.Now(), sum)
	for _, p := range m.players {
		if int(p.seat) < len(f.Inputs) {
			if fired := p.presses.use(f.Inputs[p.seat], f.Tick); fired != nil && m.measuring {
				fired.judge(&p.shots.seen, f.Tick)
			}
		}
	}
	if m.watched != nil {
		m.watched.took(&f)
	}
	m.noting += m.clock() - begin
}

// receive hands the room a message. The first reliable one of a new connection makes the room let it in.
func (m *match) receive(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
	p := m.byNode[from]
	if p.server.connection != p.connection {
		if ch != simnet.Reliable {
			return // of the connection before
		}
		end := &serverEnd{player: p, connection: p.connection}
		p.server = end
		peer, err := m.room.Enter(end, room.Identity{Seat: int(p.seat), ClientID: uint64(p.seat) + 1}, systems.Time(now))
		if end.peer, end.open = peer, err == nil; end.open {
			for len(m.byPeer) <= int(peer) {
				m.byPeer = append(m.byPeer, nil)
			}
			m.byPeer[peer] = end
		}
	}
	if end := p.server; end.open && m.byPeer[end.peer] == end {
		begin := m.clock()
		m.room.Receive(end.peer, channelOf(ch), payload, systems.Time(now))
		m.busy += m.clock() - begin
	}
}

// slice is how much virtual time goes by between two looks at whether to stop.
const slice = 100 * time.Millisecond

// joining is how long all clients have to come into the match.
const joining = time.Minute

// play plays the match and measures it. step is told how much virtual time has gone by.
func (m *match) play(step func(time.Duration) error) error {
	for !m.live() {
		if m.net.Now() >= joining {
			return fmt.Errorf("not all clients are in the match after %v: %s", joining, m.absent())
		}
		if err := m.run(slice, step); err != nil {
			return err
		}
	}
	if err := m.run(m.config.Settle, step); err != nil {
		return err
	}
	m.begin()
	if err := m.run(m.config.For, step); err != nil {
		return err
	}
	m.measuring = false
	for _, p := range m.players {
		p.end()
	}
	m.ended = m.room.AppendPeers(nil)
	// What was shown last is judged when the truth around it is known.
	return m.run(time.Duration((ahead+1)*float64(time.Second)), step)
}

func (m *match) begin() {
	m.measuring = true
	m.begun = m.room.AppendPeers(nil)
	for _, p := range m.players {
		p.begin()
	}
}

func (m *match) run(d time.Duration, step func(time.Duration) error) error {
	for until := m.net.Now() + d; m.net.Now() < until; {
		before := m.net.Now()
		m.net.RunUntil(min(before+slice, until))
		if err := step(m.net.Now() - before); err != nil {
			return err
		}
		for i, p := range m.players {
			if err := p.core.Err(); err != nil {
				return &brokenError{player: i + 1, why: err}
			}
		}
	}
	return nil
}

// brokenError says that a client has ended against its will.
type brokenError struct {
	player int
	why    error
}

func (e *brokenError) Error() string { return fmt.Sprintf("player %d ended: %v", e.player, e.why) }

func (m *match) live() bool { return m.absent() == "" }

// absent says who was never in the match.
func (m *match) absent() string {
	for i, p := range m.players {
		if !p.joined {
			return fmt.Sprintf("player %d is %v", i+1, p.core.State())
		}
	}
	return ""
}
