package server

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/systems"
)

// host is a room with its connections, by peer.
type host struct {
	room     *room.Room
	place    *place
	conns    []*conn
	phase    int
	observer image.Observer // the room's; nil: nobody is told
}

// join brings a new connection into its room, which is made if it is the first.
func (w *worker) join(c *conn, at systems.Time) {
	h := c.place.host
	if h == nil {
		var err error
		if h, err = w.open(c.place, at); err != nil {
			w.log.error("room cannot be opened", slog.String("room", c.place.name), slog.Any("error", err))
			w.out.drops = append(w.out.drops, c)
			return
		}
	}
	l, err := newLink(w.config.BytesPerSecond)
	if err != nil {
		panic(fmt.Sprintf("server: Config.BytesPerSecond was checked by New: %v", err))
	}
	c.link = l
	peer, err := h.room.Enter(c, room.Identity{Seat: c.pass.Seat, Role: c.pass.Role, ClientID: c.client, Name: c.pass.Name}, at)
	if err != nil {
		w.log.info("client refused", slog.String("room", c.place.name), slog.Any("error", err))
		w.flush(c, at) // what Enter told it
		c.link = nil
		w.out.drops = append(w.out.drops, c)
		return
	}
	c.peer = peer
	h.conns[peer] = c
	w.log.info("client connected", slog.String("room", c.place.name), slog.Int("peer", int(peer)), slog.String("role", c.pass.Role.String()))
}

// open makes a room. Its State(0) is the last moment of the grid that its phase has.
func (w *worker) open(p *place, at systems.Time) (*host, error) {
	h := &host{place: p}
	for i := range w.hosts {
		if len(w.hosts[i]) < len(w.hosts[h.phase]) {
			h.phase = i
		}
	}
	c := w.config.Room
	c.Seed, c.Match, c.Sinks = randomID(), randomID(), slices.Clone(c.Sinks) // rooms must not append to the same array
	if w.config.OpenRoom != nil {
		if err := w.config.OpenRoom(p.name, &c); err != nil {
			return nil, err
		}
	}
	c.Game, c.MaxPeers = w.config.Room.Game, w.config.Room.MaxPeers // the grid and the tables are made for them
	c.MintToken = func(p systems.Peer, _ room.Identity, seat int, _ systems.Time) []byte {
		return w.mint(h.conns[p], seat)
	}
	step := w.last(at)
	for w.phase(step) != h.phase {
		step--
	}
	r, err := room.New(c, w.due(step))
	if err != nil {
		return nil, err
	}
	h.observer = c.Observer
	h.room, h.conns = r, make([]*conn, w.config.Room.MaxPeers)
	p.host = h
	w.hosts[h.phase] = append(w.hosts[h.phase], h)
	w.published.next = 0
	w.log.info("room opened", slog.String("room", p.name))
	return h, nil
}

// mint makes a token with which a connection's client may come back to its seat.
func (w *worker) mint(c *conn, seat int) []byte {
	pass := c.pass
	pass.Reconnect, pass.Epoch, pass.Issued = true, c.epoch, w.now
	if pass.Seat == AnySeat {
		pass.Seat = seat
	}
	token, err := Mint(Ticket{ProtocolID: ProtocolID(w.config.game().Name), Key: w.config.Keys[0], ClientID: c.client,
		Addresses: w.port.public, Pass: pass, Lifetime: reconnectLife}, w.now)
	if err != nil {
		w.log.error("reconnect token cannot be made", slog.Any("error", err))
		return nil
	}
	c.handed = true
	return token
}

// leave tells a room that a connection is over.
func (w *worker) leave(c *conn, meant bool, at systems.Time) {
	if c.link == nil {
		return
	}
	h := c.place.host
	if meant {
		// The sealed word that the connection is over may overtake the session's goodbye. A client that means to come
		// back sends neither, so its seat need not wait.
		h.room.Kick(c.peer, "")
	}
	h.room.Vanish(c.peer, at)
	h.conns[c.peer], c.link = nil, nil
	w.log.info("client gone", slog.String("room", c.place.name), slog.Int("peer", int(c.peer)))
}

// frame lets one room tick and collects what its connections send.
func (w *worker) frame(h *host, at systems.Time) {
	h.room.Frame(at)
	w.current = h
	h.room.Gone(w.gone)
	image.SectionSend.Enter(h.observer)
	defer image.SectionSend.Leave(h.observer)
	for _, c := range h.conns {
		if c == nil {
			continue
		}
		w.flush(c, at)
		if c.handed && c.link.Pending() == 0 {
			c.minted.Store(true)
		}
		if c.link.Dead() {
			w.log.info("client dropped", slog.String("room", h.place.name), slog.Any("error", c.link.Err()))
			h.room.Vanish(c.peer, at)
			w.drop(c)
		}
	}
}

// flush ends a connection's tick.
func (w *worker) flush(c *conn, at systems.Time) {
	if !c.stirred && at < c.flushed+quietFlush && c.link.Pending() == 0 {
		return
	}
	w.conn, c.stirred, c.flushed = c, false, at
	c.link.Flush(time.Duration(at), w.emit)
}

// dismiss ends the connection of a peer whose session has ended.
func (w *worker) dismiss(p systems.Peer, why error) {
	c := w.current.conns[p]
	w.log.info("client let go", slog.String("room", c.place.name), slog.Int("peer", int(p)), slog.Any("error", why))
	w.flush(c, w.port.at(w.now))
	w.drop(c)
}

// drop has the port end a connection that its room has forgotten.
func (w *worker) drop(c *conn) {
	c.place.host.conns[c.peer], c.link = nil, nil
	w.out.drops = append(w.out.drops, c)
}

// close forgets a room that nobody is in.
func (w *worker) close(p *place) {
	h := p.host
	if h == nil {
		return
	}
	for i, other := range w.hosts[h.phase] {
		if other == h {
			w.hosts[h.phase] = append(w.hosts[h.phase][:i], w.hosts[h.phase][i+1:]...)
			break
		}
	}
	p.host = nil
	w.published.next = 0
	w.end(h)
	st := h.room.Stats()
	st.Peers, st.Players, st.RingBytes = 0, 0, 0
	w.ended.Add(&st)
	w.log.info("room closed", slog.String("room", p.name))
}

// end says that a room is over.
func (w *worker) end(h *host) {
	h.room.Conclude()
	if w.config.CloseRoom != nil {
		w.config.CloseRoom(h.place.name, h.room)
	}
}

// notice tells everybody that the server stops in so many seconds.
func (w *worker) notice(seconds int) {
	for _, hosts := range w.hosts {
		for _, h := range hosts {
			h.room.Notice(seconds, farewell)
		}
	}
}

const farewell = "the server is shutting down"

// stop ends the worker's matches; stopped is called when every peer had time to hear of it.
func (w *worker) stop(stopped func()) {
	w.stopped, w.stopBy = stopped, w.now.Add(closeLimit)
	for _, hosts := range w.hosts {
		for _, h := range hosts {
			h.room.Close("")
		}
	}
}

// stopping looks whether the last words are said.
func (w *worker) stopping() {
	if w.stopped == nil {
		return
	}
	for _, hosts := range w.hosts {
		for _, h := range hosts {
			if !h.room.Closed() && w.now.Before(w.stopBy) {
				return
			}
		}
	}
	w.stopped()
	w.stopped = nil
	for _, hosts := range w.hosts {
		for _, h := range hosts {
			w.end(h)
		}
	}
}
