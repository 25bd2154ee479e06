package server

import (
	"log/slog"
	"slices"

	"tendon/ecs/image"
	"tendon/net/link"
	"tendon/net/room"
	"tendon/systems"
)

// join adds a new connection to its room, which is made for the first one.
func (w *worker) join(c *conn, at systems.Time) {
	h := c.room
	if h.room == nil {
		if err := w.open(h, at); err != nil {
			w.log.error("room cannot be opened", slog.String("room", h.name), slog.Any("error", err))
			w.out.drop(c)
			return
		}
	}
	c.link, c.emit = link.New(), func(packet []byte) { w.out.packet(c, packet, 0) }
	peer, err := h.room.Enter(c.link, room.Identity{Seat: c.pass.Seat, Role: c.pass.Role, ClientID: c.client, Name: c.pass.Name}, at)
	if err != nil {
		w.log.info("client refused", slog.String("room", h.name), slog.Any("error", err))
		c.link.Flush(at, c.emit) // sends the refusal
		c.link = nil
		w.out.drop(c)
		return
	}
	c.peer = peer
	h.conns[peer] = c
	w.log.info("client connected", slog.String("room", h.name), slog.Int("peer", int(peer)), slog.String("role", c.pass.Role.String()))
}

// open makes a room. Its State(0) is at the last step of its phase.
func (w *worker) open(h *hostedRoom, at systems.Time) error {
	for i := range w.rooms {
		if len(w.rooms[i]) < len(w.rooms[h.phase]) {
			h.phase = i
		}
	}
	c := w.config.Room
	c.Seed, c.Match, c.Sinks = randomID(), randomID(), slices.Clone(c.Sinks) // rooms must not append to the same array
	if w.config.OpenRoom != nil {
		if err := w.config.OpenRoom(h.name, &c); err != nil {
			return err
		}
	}
	c.Game, c.MaxPeers = w.config.Room.Game, w.config.Room.MaxPeers // the grid and the tables are made for them
	c.MintToken = func(p systems.Peer, _ room.Identity, seat int, _ systems.Time) []byte {
		return w.mint(h.conns[p], seat)
	}
	step := w.grid.last(at)
	for w.grid.phase(step) != h.phase {
		step--
	}
	r, err := room.New(c, w.grid.due(step))
	if err != nil {
		return err
	}
	h.room, h.observer = r, c.Observer
	h.gone = func(p systems.Peer, why error) { // of a peer whose session has ended
		c := h.conns[p]
		w.log.info("session ended", slog.String("room", h.name), slog.Int("peer", int(p)), slog.Any("error", why))
		c.link.Flush(w.table.at(w.now), c.emit)
		w.drop(c)
	}
	w.rooms[h.phase] = append(w.rooms[h.phase], h)
	w.publishAt = 0
	w.log.info("room opened", slog.String("room", h.name))
	return nil
}

func (w *worker) mint(c *conn, seat int) []byte {
	pass := c.pass
	pass.Reconnect, pass.Epoch, pass.Issued = true, c.epoch, w.now
	if pass.Seat == AnySeat {
		pass.Seat = seat
	}
	token, err := Mint(Ticket{ProtocolID: ProtocolID(w.config.Room.Game.Name), Key: w.config.Keys[0], ClientID: c.client,
		Addresses: w.table.public, Pass: pass, Lifetime: reconnectLife}, w.now)
	if err != nil {
		w.log.error("reconnect token cannot be made", slog.Any("error", err))
		return nil
	}
	c.sentToken = true
	return token
}

func (w *worker) leave(c *conn, byClient bool, at systems.Time) {
	if c.link == nil {
		return
	}
	h := c.room
	if byClient { // a client that means to reconnect sends no disconnect packet, so the seat need not be kept
		h.room.Kick(c.peer, "")
	}
	h.room.Vanish(c.peer, at)
	h.conns[c.peer], c.link = nil, nil
	w.log.info("client gone", slog.String("room", c.room.name), slog.Int("peer", int(c.peer)))
}

// frame computes the due ticks of one room and collects the packets of its connections.
func (w *worker) frame(h *hostedRoom, at systems.Time) {
	h.room.Frame(at)
	h.room.Gone(h.gone)
	image.SectionSend.Enter(h.observer)
	defer image.SectionSend.Leave(h.observer)
	for _, c := range h.conns {
		if c == nil {
			continue
		}
		c.link.Flush(at, c.emit)
		if c.sentToken && c.link.Pending() == 0 {
			c.hasToken.Store(true)
		}
		if c.link.Err() != nil {
			w.log.info("client dropped", slog.String("room", h.name), slog.Any("error", c.link.Err()))
			h.room.Vanish(c.peer, at)
			w.drop(c)
		}
	}
}

// drop has the table end a connection that its room has removed.
func (w *worker) drop(c *conn) {
	c.room.conns[c.peer], c.link = nil, nil
	w.out.drop(c)
}

func (w *worker) close(h *hostedRoom) {
	if h.room == nil {
		return
	}
	w.rooms[h.phase] = slices.DeleteFunc(w.rooms[h.phase], func(r *hostedRoom) bool { return r == h })
	w.publishAt = 0
	w.end(h)
	st := h.room.Stats()
	st.Peers, st.Players, st.RingBytes = 0, 0, 0
	w.past.Add(&st)
	h.room = nil
	w.log.info("room closed", slog.String("room", h.name))
}

func (w *worker) end(h *hostedRoom) {
	h.room.Conclude()
	if w.config.CloseRoom != nil {
		w.config.CloseRoom(h.name, h.room)
	}
}

// stop ends the matches of the worker. It calls done once the last messages of every session are sent.
func (w *worker) stop(done func()) {
	w.stopped, w.stopBy = done, w.now.Add(closeLimit)
	for _, h := range slices.Concat(w.rooms...) {
		h.room.Close("")
	}
}

func (w *worker) stopping() {
	if w.stopped == nil {
		return
	}
	rooms := slices.Concat(w.rooms...)
	if w.now.Before(w.stopBy) && slices.ContainsFunc(rooms, func(h *hostedRoom) bool { return !h.room.Closed() }) {
		return
	}
	w.stopped()
	w.stopped = nil
	for _, h := range rooms {
		w.end(h)
	}
}
