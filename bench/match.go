package main

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// courier delivers the messages of one peer after a delay.
type courier struct {
	delay systems.Time
	now   systems.Time
	queue []parcel
	free  []parcel
}

type parcel struct {
	due  systems.Time
	ch   systems.Channel
	text []byte
}

// Send implements systems.Outbox for a client.
func (c *courier) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	var p parcel
	if n := len(c.free); n > 0 {
		p, c.free = c.free[n-1], c.free[:n-1]
	}
	c.queue = append(c.queue, parcel{c.now + c.delay, ch, append(p.text[:0], message...)})
}

// deliver passes on the messages that are due.
func (c *courier) deliver(now systems.Time, to func(ch systems.Channel, message []byte, now systems.Time) error) {
	c.now = now
	n := 0
	for ; n < len(c.queue) && c.queue[n].due <= now; n++ {
		if err := to(c.queue[n].ch, c.queue[n].text, now); err != nil {
			panic(err)
		}
		c.free = append(c.free, c.queue[n])
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
}

// match is a match of the halves of a strategy in virtual time, with a constant delay each way. It has no sessions,
// seals and sockets.
type match struct {
	game     *ecs.Game
	server   systems.Server
	clients  []systems.Client
	worlds   []*ecs.World // the clients'
	up, down []courier
	f        int64
	input    func(player int) ecs.InputBytes
	messages int // to clients
	bytes    int // in them
}

// newMatch returns a match in which every seat is taken up to players.
func newMatch(s systems.Strategy, game *ecs.Game, players int, delay systems.Time) *match {
	m := &match{game: game, clients: make([]systems.Client, players), up: make([]courier, players), down: make([]courier, players)}
	var err error
	if m.server, err = s.NewServer(systems.ServerConfig{World: mustWorld(game), Peers: players}); err != nil {
		panic(err)
	}
	for i := range m.clients {
		m.up[i].delay, m.down[i].delay = delay, delay
		m.worlds = append(m.worlds, mustWorld(game))
		if m.clients[i], err = s.NewClient(systems.ClientConfig{World: m.worlds[i], Seat: i, Params: s.Params}); err != nil {
			panic(err)
		}
		m.clients[i].Load(0, 0, 2*delay)
		m.server.Open(systems.Peer(i), i, 0, 0, m)
		m.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(i)}, m)
	}
	return m
}

func mustWorld(g *ecs.Game) *ecs.World {
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		panic(err)
	}
	return w
}

// joins returns the orders by which so many players join.
func joins(players int) (orders []image.Order) {
	for p := range players {
		orders = append(orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)})
	}
	return orders
}

// Send implements systems.Outbox for the server.
func (m *match) Send(to systems.Peer, ch systems.Channel, message []byte) {
	m.messages, m.bytes = m.messages+1, m.bytes+len(message)
	m.down[to].Send(to, ch, message)
}

func (m *match) now() systems.Time { return systems.TickTime(0, ecs.Tick(m.f), m.game.TickRate) }

// playClient plays a tick of one client.
func (m *match) playClient(i int) {
	c, now := m.clients[i], m.now()
	m.down[i].deliver(now, c.Receive)
	c.SetInput(m.input(i))
	c.Frame(now)
	m.up[i].now = now
	c.Send(now, &m.up[i])
	c.Effects(func(systems.Effect) {})
}

// playClients begins a tick and plays it for all clients.
func (m *match) playClients() {
	m.f++
	for i := range m.clients {
		m.playClient(i)
	}
}

// playServer plays a tick of the server.
func (m *match) playServer() {
	now := m.now()
	for i := range m.up {
		m.up[i].deliver(now, func(ch systems.Channel, message []byte, now systems.Time) error {
			return m.server.Receive(systems.Peer(i), ch, message, now, m)
		})
		m.down[i].now = now
	}
	m.server.Tick(now)
	m.server.Send(now, m)
}

// play plays so many ticks.
func (m *match) play(ticks int) {
	for range ticks {
		m.playClients()
		m.playServer()
	}
}
