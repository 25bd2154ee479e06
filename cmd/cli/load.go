package cli

import (
	"errors"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
)

// load is a match of bots over the simulated network, in virtual time and on one goroutine, whose costs are accounted:
// the same loadConfig gives the same match, tick by tick. Every client has a ledger of its own. Under the session lies
// the message floor of the network: sealing and sockets are not in it.
type load struct {
	config loadConfig
	net    *simnet.Network
	room   *room.Room
	node   simnet.NodeID // the server's
	server *cost.Ledger
	guests []*guest
	byPeer []*guest // nil: gone
}

// loadConfig describes a load.
type loadConfig struct {
	game     *ecs.Game
	strategy systems.Strategy
	profile  simnet.Profile
	players  int
	seed     uint64
	allocs   bool // count allocations, which makes times mean nothing
}

// guest is one client of a load.
type guest struct {
	load   *load
	seat   int
	core   *client.Core
	node   simnet.NodeID
	ledger *cost.Ledger
	dice   *ecs.Rand
	peer   systems.Peer
	run    int // counts its connections
	served int // the last of them that the server heard of
}

// displayRate is how many frames a second every client shows.
const displayRate = 60

func newLoad(c loadConfig) (*load, error) {
	l := &load{config: c, net: simnet.New(simnet.Config{Seed: c.seed})}
	var err error
	if l.server, err = cost.New(cost.Config{Game: c.game, Name: "server", Allocs: c.allocs}); err != nil {
		return nil, err
	}
	l.node = l.net.AddNode(simnet.Clock{})
	if l.room, err = room.New(room.Config{Game: c.game, Seed: c.seed, Strategy: c.strategy, Match: c.seed<<1 | 1, Observer: l.server}, 0); err != nil {
		return nil, err
	}
	l.net.OnMessage(l.node, l.receive)
	gone := func(p systems.Peer, _ error) { l.byPeer[p] = nil }
	l.net.Every(l.node, 0, c.game.TickRate, func(_ int64, now simnet.Time) {
		l.room.Frame(systems.Time(now))
		l.room.Gone(gone)
	})
	for i := range c.players {
		if err := l.join(i); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *load) join(i int) error {
	c := &l.config
	g := &guest{load: l, seat: i, dice: image.NewRand(c.seed<<8 + uint64(i))}
	var err error
	if g.ledger, err = cost.New(cost.Config{Game: c.game, Name: "client", Allocs: c.allocs}); err != nil {
		return err
	}
	g.core, err = client.NewCore(client.Config{Game: c.game, Strategies: []systems.Strategy{c.strategy}, Dial: g.dial,
		Name: fmt.Sprintf("bot %d", i+1), Observer: g.ledger})
	if err != nil {
		return err
	}
	g.node = l.net.AddNode(simnet.Clock{Offset: time.Duration(i+1) * time.Second})
	l.guests = append(l.guests, g)
	if err := l.net.Connect(g.node, l.node, c.profile); err != nil {
		return err
	}
	l.net.OnMessage(g.node, func(_ simnet.NodeID, ch simnet.Channel, message []byte, now simnet.Time) {
		g.core.Receive(channelOf(ch), message, systems.Time(now))
	})
	phase := time.Second / displayRate * time.Duration(2*i+1) / time.Duration(2*c.players) // displays do not keep step
	l.net.Every(g.node, l.net.LocalNow(g.node)+phase, displayRate, g.frame)
	return nil
}

// receive hands the room a message. The first of a connection, which is reliable, makes the room let it in.
func (l *load) receive(from simnet.NodeID, ch simnet.Channel, message []byte, now simnet.Time) {
	g := l.guests[int(from)-1] // nodes are numbered as they were added, the server's first
	if g.served != g.run {
		if ch != simnet.Reliable {
			return // of the connection before
		}
		peer, err := l.room.Enter(&end{g, g.run, l.node, g.node}, room.Identity{Seat: g.seat, ClientID: uint64(g.seat) + 1}, systems.Time(now))
		if g.served = g.run; err != nil {
			return // it was told
		}
		for len(l.byPeer) <= int(peer) {
			l.byPeer = append(l.byPeer, nil)
		}
		g.peer, l.byPeer[peer] = peer, g
	}
	if l.byPeer[g.peer] == g {
		l.room.Receive(g.peer, channelOf(ch), message, systems.Time(now))
	}
}

// frame is one frame of a display. The bot thinks outside of it: what a player does is no cost of the game.
func (g *guest) frame(_ int64, at simnet.Time) {
	now := systems.Time(at)
	if g.core.State() == client.Live {
		g.core.SetInput(g.load.config.game.Bot(g.core.World(), ecs.Player(g.seat), g.dice))
	}
	_ = g.core.Frame(now) // play looks for it
	g.core.View(now)
	g.core.Effects(func(systems.Effect) {})
}

// The pace of a load, in virtual time.
const (
	loadSlice  = 100 * time.Millisecond // between two looks at whether to stop
	loadJoin   = time.Minute            // for all to come into the match
	loadSettle = 2 * time.Second        // from then until costs count
)

// prepare plays until all are in the match and it has settled, and forgets what that cost.
func (l *load) prepare(step func(time.Duration) error) error {
	for !l.live() {
		if l.net.Now() >= loadJoin {
			return fmt.Errorf("not all bots came into the match within %v: choose a better --net", loadJoin)
		}
		if err := l.play(loadSlice, step); err != nil {
			return err
		}
	}
	if err := l.play(loadSettle, step); err != nil {
		return err
	}
	for _, c := range l.ledgers() {
		c.Reset()
	}
	return nil
}

// play lets virtual time go by.
func (l *load) play(d time.Duration, step func(time.Duration) error) error {
	for until := l.net.Now() + d; l.net.Now() < until; {
		before := l.net.Now()
		l.net.RunUntil(min(before+loadSlice, until))
		if err := step(l.net.Now() - before); err != nil {
			return err
		}
		for _, g := range l.guests {
			if err := g.core.Err(); err != nil {
				return fmt.Errorf("bot %d ended: %w", g.seat+1, err)
			}
		}
	}
	return nil
}

func (l *load) live() bool {
	for _, g := range l.guests {
		if g.core.State() != client.Live {
			return false
		}
	}
	return true
}

// ledgers are all, the server's first.
func (l *load) ledgers() []*cost.Ledger {
	list := []*cost.Ledger{l.server}
	for _, g := range l.guests {
		list = append(list, g.ledger)
	}
	return list
}

// reports returns what the server has cost, and a client, the mean of all. The ledgers are not to be used any more.
func (l *load) reports() (server, clients cost.Report) {
	for _, g := range l.guests[1:] {
		l.guests[0].ledger.Merge(g.ledger)
	}
	return l.server.Report(), l.guests[0].ledger.Report()
}

// end is one end of a guest's connection.
type end struct {
	guest    *guest
	run      int
	from, to simnet.NodeID
}

var errReplaced = errors.New("the connection was replaced")

func (g *guest) dial([]byte) (session.Transport, error) {
	g.run++
	g.load.net.Reconnect(g.node, g.load.node)
	return &end{g, g.run, g.node, g.load.node}, nil
}

// Send puts a message on its way to the other end.
func (e *end) Send(ch systems.Channel, message []byte) error {
	if e.run != e.guest.run {
		return errReplaced
	}
	return e.guest.load.net.Send(e.from, e.to, floorOf(ch), message)
}

// Room is what a link has at rest, in bytes.
func (e *end) Room() int { return 160 << 10 }

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
