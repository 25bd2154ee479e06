package matchsim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// reliableQueue is the number of segments that a simulated reliable channel holds. A small message takes a whole segment there,
// so this is the number of messages of 26 bytes in link.QueueBytes.
const reliableQueue = 1 << 14

// Match is a room and its clients on a simulated network. It belongs to one goroutine.
type Match struct {
	Net     *simnet.Network
	Room    *room.Room
	Server  simnet.NodeID // of the room, in Net
	Game    *ecs.Game     // a copy of Config.Game: the one that is played
	Clients []*Client
	// Journal stores the room's match. It is nil without Config.Journal.
	Journal *Journal
	// Rewritten counts the ticks that a recovered room computed differently from the room before it.
	Rewritten int
	// Busy is the real time spent in the room, by Config.Clock.
	Busy time.Duration

	config  Config
	byPeer  map[systems.Peer]*end // without the peers that the room has removed
	sums    []image.Checksum      // of the server's states, by tick
	states  *rollback.Snapshots   // the server's newest, for clients that receive states
	world   *ecs.World            // of states
	known   []*rollback.Snapshots // by seat + 1: the same as its holder may know them; nil if nothing is private
	faults  map[*ecs.World]fault
	gone    func(systems.Peer, error)
	started bool
	packet  []byte // to be sent by a link
}

// Config describes a match. Zero values stand for defaults where a field names one.
type Config struct {
	// Game is what is played. Required. The match plays a copy of it.
	Game *ecs.Game
	// Strategy keeps the peers in step. Required.
	Strategy systems.Strategy
	// Strategies are those that the room's Switch may choose, and all clients have. Optional.
	Strategies []systems.Strategy
	// Seed is the seed of the network, of the world and of the bots.
	Seed uint64
	// Room changes the room's Config before the room is made. Optional.
	Room func(*room.Config)
	// Journal makes the room store its match in memory, so that it can Crash and Recover.
	Journal bool
	// Unchecked leaves out the comparison of states, which costs the server a checksum per tick.
	Unchecked bool
	// FixedSeats seats client i on seat i. By default each client takes any free seat.
	FixedSeats bool
	// Clock returns real time since any fixed moment, for Match.Busy and Client.Busy. Optional: without it both stay 0.
	Clock func() time.Duration
	// Links makes each connection a net/link over datagrams of the network, with congestion control, as between a real client and a
	// real server. Without Links the network has a reliable channel of its own, and nothing limits a sender's rate.
	Links bool
	// Ticked is called after each frame of the room. Optional.
	Ticked func(now time.Duration)
}

// fault changes the world after every simulation of one tick.
type fault struct {
	tick ecs.Tick
	f    func(*ecs.World)
}

// New returns a match at time 0. The room's ticks begin with Start or with the first Run.
func New(c Config) (*Match, error) {
	if c.Game == nil {
		return nil, errors.New("matchsim: Config.Game is nil")
	}
	m := &Match{config: c, Net: simnet.New(simnet.Config{Seed: c.Seed, ReliableQueue: reliableQueue}),
		byPeer: map[systems.Peer]*end{}, faults: map[*ecs.World]fault{}}
	m.Game = AfterSystems(c.Game, m.applyFault)
	m.Server = m.Net.AddNode(simnet.Clock{})
	if c.Journal {
		m.Journal = new(Journal)
	}
	if err := m.open(nil); err != nil {
		return nil, err
	}
	m.gone = func(p systems.Peer, _ error) { delete(m.byPeer, p) }
	m.Net.OnMessage(m.Server, m.atServer)
	return m, nil
}

// open makes the room, for a new match or for one that is resumed.
func (m *Match) open(resume *room.Resume) error {
	rc := room.Config{Game: m.Game, Seed: m.config.Seed, Strategy: m.config.Strategy, Strategies: m.config.Strategies, Match: m.config.Seed<<1 | 1, Resume: resume}
	if m.config.Room != nil {
		m.config.Room(&rc)
	}
	if !m.config.Unchecked {
		rc.Sinks = append(rc.Sinks, room.Sink{Tick: m.record, NeedState: true})
	}
	if m.Journal != nil {
		if err := m.Journal.Attach(&rc); err != nil {
			return err
		}
	}
	r, err := room.New(rc, m.Net.LocalNow(m.Server))
	if err == nil {
		m.Room = r
		m.states, m.known = rollback.NewSnapshots(statesKept), nil
		for range m.Game.MaxPlayers + 1 {
			if m.Game.Schema().HasPrivate() {
				m.known = append(m.known, rollback.NewSnapshots(statesKept))
			}
		}
	}
	return err
}

// AfterSystems returns a copy of g that runs f after its last system, in every tick that any world of the copy
// computes. The copy has the same systems by name, so its peers are compatible with those of g. A game without systems
// never runs f.
func AfterSystems(g *ecs.Game, f func(*ecs.World)) *ecs.Game {
	game := *g
	game.Systems = slices.Clone(g.Systems)
	if n := len(game.Systems); n > 0 {
		run := game.Systems[n-1].Run
		game.Systems[n-1].Run = func(w *ecs.World) {
			run(w)
			f(w)
		}
		game.Systems[n-1].Parallel = nil // f may change anything
	}
	return &game
}

func (m *Match) applyFault(w *ecs.World) {
	if planted, ok := m.faults[w]; ok && planted.tick == w.Tick() {
		planted.f(w)
	}
}

// Start begins the room's ticks, if they have not begun. At equal instants, clients that joined before Start run
// before the room.
func (m *Match) Start() {
	if m.started {
		return
	}
	m.started = true
	m.Net.Every(m.Server, 0, m.Game.TickRate, func(_ int64, now time.Duration) {
		begin := m.clock()
		m.Room.Frame(now)
		m.Busy += m.clock() - begin
		m.Room.Gone(m.gone)
		m.flush(now)
		if m.config.Ticked != nil {
			m.config.Ticked(now)
		}
	})
}

func (m *Match) clock() time.Duration {
	if m.config.Clock == nil {
		return 0
	}
	return m.config.Clock()
}

// RunUntil runs the match until a moment of true time.
func (m *Match) RunUntil(t time.Duration) {
	m.Start()
	m.Net.RunUntil(t)
}

// Run runs the match for d.
func (m *Match) Run(d time.Duration) { m.RunUntil(m.Net.Now() + d) }

// Slice is the longest virtual time between two calls of Play's step.
const Slice = 100 * time.Millisecond

// EndedError reports a client that ended without Leave.
type EndedError struct {
	Client int // index in Match.Clients
	Err    error
}

// Error gives the client and its error.
func (e *EndedError) Error() string { return fmt.Sprintf("client %d ended: %v", e.Client, e.Err) }

// Unwrap returns Err.
func (e *EndedError) Unwrap() error { return e.Err }

// Play runs the match for d in slices. After each slice it calls step with the virtual time that passed, and returns
// step's error, or an EndedError if a client has ended.
func (m *Match) Play(d time.Duration, step func(time.Duration) error) error {
	for until := m.Net.Now() + d; m.Net.Now() < until; {
		before := m.Net.Now()
		m.RunUntil(min(before+Slice, until))
		if err := step(m.Net.Now() - before); err != nil {
			return err
		}
		if err := m.Ended(); err != nil {
			return err
		}
	}
	return nil
}

// Ended returns an EndedError for the first client that ended without Leave, or nil.
func (m *Match) Ended() error {
	for _, c := range m.Clients {
		if err := c.ended(); err != nil {
			return err
		}
	}
	return nil
}

// ended returns an EndedError if the client ended without Leave, or nil.
func (c *Client) ended() error {
	if c.Core == nil || c.Left || c.Core.Err() == nil {
		return nil
	}
	return &EndedError{Client: c.Number, Err: c.Core.Err()}
}

// Crash ends the room at once, as a kill or a power cut does: clients receive no notice, and messages in flight to the
// room are lost. The last writes of its journal are lost too; 0 for a kill. Virtual time goes on.
func (m *Match) Crash(writes int) {
	m.Journal.Cut(writes)
	m.Net.Crash(m.Server)
	m.disconnect()
}

// disconnect makes the room reject every existing connection: a new process does not have the keys of any.
func (m *Match) disconnect() {
	clear(m.byPeer)
	for _, c := range m.Clients {
		c.server = &end{client: c, connection: c.connection}
	}
}

// Recover starts a room in the place of the one that crashed, with the match in the journal.
func (m *Match) Recover() error {
	resume, err := m.Journal.Resume()
	if err != nil {
		return err
	}
	m.disconnect() // connections attempted during the outage failed
	m.Net.Restart(m.Server, true)
	return m.open(resume)
}

// Err reports the failures so far: clients whose state differed from the server's, whose confirmed ticks changed, or
// that ended without Leave.
func (m *Match) Err() error {
	var errs []error
	for i, c := range m.Clients {
		if c.Mismatches > 0 {
			errs = append(errs, fmt.Errorf("client %d differed from the server at %d of %d confirmed ticks, first at tick %d", i, c.Mismatches, c.Checked, c.FirstMismatch))
		}
		if c.Rewritten > 0 {
			errs = append(errs, fmt.Errorf("client %d had confirmed and could prove %d ticks that the recovered room changed", i, c.Rewritten))
		}
		errs = append(errs, c.ended())
	}
	return errors.Join(errs...)
}
