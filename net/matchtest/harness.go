package matchtest

import (
	"errors"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// Harness is a room and clients on the message floor of a simulated network. Everything in it is determined by its
// Config and the calls; it belongs to one goroutine.
type Harness struct {
	Net     *simnet.Network
	Room    *room.Room
	Clients []*Client
	// Journal is the room's; nil without Config.Journal.
	Journal *Journal
	// Rewritten counts the ticks that a room which was started again computed otherwise than the one before it.
	Rewritten int

	config Config
	game   *ecs.Game
	server simnet.NodeID
	byNode []*Client // by NodeID
	byPeer []*serverLink
	sums   []ecs.Checksum      // by tick; of the server's states
	states *rollback.Snapshots // the last of them, for who is told states
	faults map[*ecs.World]fault
	gone   func(systems.Peer, error)
	begun  bool
}

// Config describes a match. Zero values stand for defaults where a field names one.
type Config struct {
	// Game is what is played. Required. The harness plays a copy of it.
	Game *ecs.Game
	// Strategy keeps the peers in step. Required.
	Strategy systems.Strategy
	// Seed starts the network, the world and the bots.
	Seed uint64
	// Room changes the room's Config before the room is made; nil: it stays as it is.
	Room func(*room.Config)
	// Journal makes the room keep its match in memory, so that it can Crash and Recover.
	Journal bool
	// Unchecked leaves out the comparison of states, which costs the server a hash per tick.
	Unchecked bool
}

// fault is a planted mistake: in tick, and in every tick of that number that is simulated again, f changes the world.
type fault struct {
	tick ecs.Tick
	f    func(*ecs.World)
}

// New returns a match that has not begun: time is 0.
func New(c Config) (*Harness, error) {
	h := &Harness{config: c, Net: simnet.New(simnet.Config{Seed: c.Seed}), faults: map[*ecs.World]fault{}}
	if c.Game == nil {
		return nil, errors.New("matchtest: Config.Game is nil")
	}
	h.game = h.faulty(c.Game)
	h.server = h.Net.AddNode(simnet.Clock{})
	if c.Journal {
		h.Journal = new(Journal)
	}
	if err := h.open(nil); err != nil {
		return nil, err
	}
	h.gone = func(p systems.Peer, _ error) { h.byPeer[p] = nil }
	h.Net.OnMessage(h.server, h.atServer)
	return h, nil
}

// open makes the room, for a new match or for one that is gone on with.
func (h *Harness) open(resume *room.Resume) error {
	rc := room.Config{Game: h.game, Seed: h.config.Seed, Strategy: h.config.Strategy, Match: h.config.Seed<<1 | 1, Resume: resume}
	if h.config.Room != nil {
		h.config.Room(&rc)
	}
	if !h.config.Unchecked {
		rc.Sinks = append(rc.Sinks, room.Sink{Tick: h.note, NeedState: true})
	}
	if h.Journal != nil {
		if err := h.Journal.Attach(&rc); err != nil {
			return err
		}
	}
	r, err := room.New(rc, systems.Time(h.Net.LocalNow(h.server)))
	if err == nil {
		h.Room, h.states = r, rollback.NewSnapshots(statesKept)
	}
	return err
}

// statesKept is how many of the server's states are kept to compare with: more than any way takes ticks.
const statesKept = 256

// faulty returns a copy of the game whose last system is followed by the planted faults. Its name stays, and so does
// the game's fingerprint.
func (h *Harness) faulty(g *ecs.Game) *ecs.Game {
	game := *g
	game.Systems = append([]ecs.System(nil), g.Systems...)
	if len(game.Systems) == 0 {
		return &game
	}
	last := &game.Systems[len(game.Systems)-1]
	run := last.Run
	last.Run = func(w *ecs.World) {
		run(w)
		if len(h.faults) > 0 {
			if planted, ok := h.faults[w]; ok && planted.tick == w.Tick() {
				planted.f(w)
			}
		}
	}
	return &game
}

// note remembers the checksum of a final state. A tick that is final for the second time must be what it was the first
// time, for whoever confirmed it.
func (h *Harness) note(f systems.FinalTick) {
	for ecs.Tick(len(h.sums)) <= f.Tick {
		h.sums = append(h.sums, 0)
	}
	old, sum := h.sums[f.Tick], f.State.Checksum()
	h.sums[f.Tick] = sum
	if !h.config.Strategy.Needs.Exact && f.World.Tick() == f.Tick {
		h.states.Save(f.World)
	}
	if old == 0 || old == sum {
		return
	}
	h.Rewritten++
	for _, c := range h.Clients {
		if c.furthest >= f.Tick {
			c.Rewritten++
		}
	}
}

// begin starts the server's ticks; clients that were there before tick before it at the same instant.
func (h *Harness) begin() {
	h.Net.Every(h.server, 0, h.game.TickRate, func(_ int64, now simnet.Time) {
		h.Room.Frame(systems.Time(now))
		h.Room.Gone(h.gone)
	})
}

// RunUntil plays until a moment of true time.
func (h *Harness) RunUntil(t time.Duration) {
	if !h.begun {
		h.begun = true
		h.begin()
	}
	h.Net.RunUntil(t)
}

// Run plays on for a while.
func (h *Harness) Run(d time.Duration) { h.RunUntil(h.Net.Now() + d) }

// Checksum returns the checksum of the server's state of a tick; ok is false for a tick it has not computed.
func (h *Harness) Checksum(f ecs.Tick) (sum ecs.Checksum, ok bool) {
	if f == 0 || f >= ecs.Tick(len(h.sums)) {
		return 0, false
	}
	return h.sums[f], true
}

// Crash ends the room at once, as a kill or a power cut does: nobody is told, and what is under way to it is lost. The
// last writes of its journal are lost too; a kill loses none. Time goes on.
func (h *Harness) Crash(writes int) {
	h.Journal.Cut(writes)
	h.Net.Crash(h.server)
	h.disconnect()
}

// disconnect makes the room's process deaf to every connection there is: it has not the keys of any.
func (h *Harness) disconnect() {
	clear(h.byPeer)
	for _, c := range h.Clients {
		c.server = &serverLink{harness: h, client: c, connection: c.connection, refused: true}
	}
}

// Recover begins a room in the place of the one that crashed, with the match that is in the journal.
func (h *Harness) Recover() error {
	resume, err := h.Journal.Resume()
	if err != nil {
		return err
	}
	h.disconnect() // who knocked meanwhile was not heard
	h.Net.Restart(h.server, true)
	return h.open(resume)
}

// atServer hands the room a message. The first reliable one of a new connection makes the room let it in.
func (h *Harness) atServer(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
	c := h.byNode[from]
	if c.server.connection != c.connection {
		if ch != simnet.Reliable {
			return // sealed under the keys of a connection that is gone
		}
		link := &serverLink{harness: h, client: c, connection: c.connection}
		peer, err := h.Room.Enter(link, c.identity, systems.Time(now))
		c.server, link.peer, link.refused = link, peer, err != nil
		if !link.refused {
			for len(h.byPeer) <= int(peer) {
				h.byPeer = append(h.byPeer, nil)
			}
			h.byPeer[peer] = link
		}
	}
	if link := c.server; !link.refused && h.byPeer[link.peer] == link {
		h.Room.Receive(link.peer, channelOf(ch), payload, systems.Time(now))
	}
}

// serverLink is the server's end of a client's connection.
type serverLink struct {
	harness    *Harness
	client     *Client
	connection int
	peer       systems.Peer
	refused    bool
	second     time.Duration // the running second of bytes
	bytes      int           // sent in it
	most       int           // the most sent in one second
	largest    int           // bytes of the largest message
}

var errClosed = errors.New("matchtest: the connection was replaced")

// Send puts a message on its way to the client.
func (l *serverLink) Send(ch systems.Channel, message []byte) error {
	if l.connection != l.client.connection {
		return errClosed
	}
	n := l.harness.Net
	if second := n.Now() / time.Second; second != l.second {
		l.second, l.bytes = second, 0
	}
	l.bytes += len(message)
	l.most, l.largest = max(l.most, l.bytes), max(l.largest, len(message))
	return n.Send(l.harness.server, l.client.node, floorOf(ch), message)
}

// Room is what a link of production has at rest. The simulated network holds more.
func (l *serverLink) Room() int { return linkRoom }

// linkRoom is net/link's default queue.
const linkRoom = 160 << 10

// clientLink is the client's end of a connection.
type clientLink struct {
	client     *Client
	connection int
}

// Send puts a message on its way to the server.
func (l *clientLink) Send(ch systems.Channel, message []byte) error {
	c := l.client
	if l.connection != c.connection {
		return errClosed
	}
	return c.harness.Net.Send(c.node, c.harness.server, floorOf(ch), message)
}

// Room is what a link of production has at rest.
func (l *clientLink) Room() int { return linkRoom }

var (
	_ session.Transport = (*serverLink)(nil)
	_ session.Transport = (*clientLink)(nil)
)

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

// Err returns what went wrong so far: a client whose state differed from the server's, or that ended against its will.
func (h *Harness) Err() error {
	var errs []error
	for i, c := range h.Clients {
		if c.Mismatches > 0 {
			errs = append(errs, fmt.Errorf("client %d differed from the server at %d of %d confirmed ticks, first at tick %d", i, c.Mismatches, c.Checked, c.FirstMismatch))
		}
		if c.Rewritten > 0 {
			errs = append(errs, fmt.Errorf("client %d had confirmed %d ticks that are others now", i, c.Rewritten))
		}
		if c.Core != nil && c.Core.Err() != nil && !c.left {
			errs = append(errs, fmt.Errorf("client %d ended: %w", i, c.Core.Err()))
		}
	}
	return errors.Join(errs...)
}
