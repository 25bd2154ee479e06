package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"syscall"

	"tendon/ecs/image"
	"tendon/net/link"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/wire"
	"tendon/systems"
)

// join adds a new connection to its room. The first connection opens the room and waits until it is open. A client without a
// reconnect token receives one at once. Its own token is used, so it could not return if the server were killed now.
func (w *worker) join(c *conn, at systems.Time) {
	h := c.room
	w.connect(c)
	if w.excluded(c, at) {
		return
	}
	if !c.pass.Reconnect {
		pass := w.reconnectPass(c, c.pass.Seat)
		pass.Issued = c.pass.Issued                                                                         // until the client is in the room
		_ = c.link.Send(systems.Reliable, session.AppendToken(nil, w.mintPass(c, pass, w.servers(c.room)))) // the link is new
	}
	if !w.stopBy.IsZero() {
		w.refuse(c, w.config.OnStop.code(), "", at)
		return
	}
	if h.room != nil {
		w.enter(c, at)
		return
	}
	if h.joining = append(h.joining, c); !slices.Contains(w.opening, h) {
		w.open(h, at)
	}
}

// excluded refuses a client that was banned or kicked since its token was issued.
func (w *worker) excluded(c *conn, at systems.Time) bool {
	text, excluded := w.table.excludes(c, w.now)
	if excluded {
		w.refuse(c, session.CodeKicked, text, at)
	}
	return excluded
}

// enter adds a new connection to its room, which is open.
func (w *worker) enter(c *conn, at systems.Time) {
	h := c.room
	defer func() {
		if value := recover(); value != nil {
			w.crash(h, value)
			w.end(c, at)
		}
	}()
	peer, err := h.room.Enter(c.link, room.Identity{Seat: c.pass.Seat, Role: c.pass.Role, ClientID: c.client, Name: c.pass.Name, Data: c.pass.Data, Bot: c.pass.Bot}, at)
	if err != nil {
		w.log.info("client refused", slog.String("room", h.name), slog.Any("error", err))
		w.end(c, at)
		return
	}
	c.peer = peer
	h.conns[peer] = c
	w.log.info("client connected", slog.String("room", h.name), slog.Int("peer", int(peer)), slog.String("role", c.pass.Role.String()))
	w.messages(c, at)
}

// connect makes the link of a new connection.
func (w *worker) connect(c *conn) {
	c.link, c.emit = link.New(), func(packet []byte) { w.out.packet(c, packet, 0) }
}

// open begins to open a room. OpenRoom runs on its own goroutine, since it waits for the disk.
func (w *worker) open(h *hostedRoom, at systems.Time) {
	c := w.config.Room
	c.Seed, c.Match, c.Sinks = randomID(), randomID(), slices.Clone(c.Sinks) // rooms must not append to the same array
	settle := func(w *worker) { w.settle(h) }
	c.Wake = func() { h.worker.queue.call(settle) }
	w.opening, h.stood = append(w.opening, h), w.table.clock.lost()
	if w.config.OpenRoom == nil {
		w.opened(h, &c, nil, at)
		return
	}
	go func() {
		err := openRoom(w.config, h.name, &c)
		h.worker.queue.call(func(w *worker) { w.opened(h, &c, err, w.table.at(w.now)) })
	}()
}

// openRoom calls OpenRoom. A panic of it is an error.
func openRoom(config *Config, name string, c *room.Config) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v", errPanic, value)
		}
	}()
	return config.OpenRoom(name, c)
}

// errStopping is the reason of a room that is not made because the server stops or its clients have left.
var errStopping = errors.New("server: no client waits for the room, or the server stops")

// errStood is the reason of a room that is not made because the process stood still since its OpenRoom began. Another server may have the room.
var errStood = errors.New("server: the process stood still while the room was being opened")

// errPanic is wrapped by the error of a room whose rules or OpenRoom panicked.
var errPanic = errors.New("panic")

// opened makes a room after OpenRoom returned err, and adds the connections that wait for it.
func (w *worker) opened(h *hostedRoom, c *room.Config, err error, at systems.Time) {
	joining := h.joining
	h.joining = nil
	w.opening = slices.DeleteFunc(w.opening, func(o *hostedRoom) bool { return o == h })
	if err == nil && (len(joining) == 0 || !w.stopBy.IsZero()) {
		err = errStopping
	}
	if err == nil && w.config.StoodStill != nil && h.stood != w.table.clock.lost() {
		err = errStood
	}
	if (err == errStopping || err == errStood) && w.config.CloseRoom != nil {
		w.config.CloseRoom(h.name, nil)
	}
	if err == nil {
		err = w.make(h, c, at)
	}
	if err != nil && len(joining) > 0 && !errors.As(err, new(*Elsewhere)) {
		w.log.error("room cannot be opened", slog.String("room", h.name), slog.Any("error", err))
	}
	if h.room == nil { // its place is for another one
		w.table.mu.Lock()
		h.given = true
		w.table.mu.Unlock()
	}
	for _, conn := range joining {
		if h.room != nil {
			if !w.excluded(conn, at) { // while it waited
				w.enter(conn, at)
			}
			continue
		}
		var other *Elsewhere
		if errors.As(err, &other) {
			_ = conn.link.Send(systems.Reliable, session.AppendToken(nil, w.mintPass(conn, conn.pass, other.Addresses))) // the newest one
			conn.pass.Reconnect = false                                                                                  // it has its token
			w.refuse(conn, session.CodeRestarting, "", at)
			continue
		}
		w.refuse(conn, w.refusal(err), openText(err), at)
	}
	if h.room != nil { // a match that moved here continues in this turn
		w.frame(h, at)
	}
}

// Elsewhere is the error of Config.OpenRoom for a room that is on another server with the same keys. The clients that wait for the
// room receive tokens for that server, and reconnect to it.
type Elsewhere struct {
	Addresses []netip.AddrPort // of that server, at least one
}

// Error returns the first address.
func (e *Elsewhere) Error() string {
	return fmt.Sprintf("server: the room is on server %v", e.Addresses[0])
}

// openText is shown to a client whose room cannot be opened, after the sentence of the code. It is the reason if that is one of the
// host, and contains no path.
func openText(err error) string {
	is := func(kinds ...error) bool {
		return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
	}
	switch {
	case is(syscall.ENOSPC, syscall.EDQUOT):
		return "the disk of the server is full"
	case is(syscall.EMFILE, syscall.ENFILE):
		return "the server has too many open files"
	case is(syscall.EIO, syscall.EROFS, fs.ErrNotExist, fs.ErrPermission):
		return "the server cannot write its files"
	}
	return ""
}

// refusal returns the code for a client whose room cannot be opened.
func (w *worker) refusal(err error) session.Code {
	var why *session.Error
	switch {
	case errors.Is(err, errStopping):
		return w.config.OnStop.code()
	case errors.Is(err, errStood):
		return session.CodeRestarting
	case errors.As(err, &why):
		return why.Code
	case errors.Is(err, errPanic):
		return session.CodeInternal
	}
	return session.CodeUnavailable
}

// make makes a room. Its State(0) is at the last tick of the worker.
func (w *worker) make(h *hostedRoom, c *room.Config, at systems.Time) (err error) {
	h.match = c.Match
	defer func() { // every OpenRoom has its CloseRoom
		switch value := recover(); {
		case value != nil:
			err = fmt.Errorf("%w: %v", errPanic, value)
			w.crash(h, value)
		case err != nil && w.config.CloseRoom != nil:
			w.config.CloseRoom(h.name, nil)
		}
	}()
	c.Game, c.MaxPeers, c.KeepSeat = w.config.Room.Game, w.config.Room.MaxPeers, w.config.Room.KeepSeat // the grid, the tables and the tokens are made for them
	c.MintToken = func(p systems.Peer, _ room.Identity, seat int, _ systems.Time) []byte {
		return w.mint(h.conns[p], seat)
	}
	c.Sinks = append(c.Sinks, room.Sink{Expelled: func(e room.Expulsion) { w.expel(h.conns[e.Peer], e) }})
	r, err := room.New(*c, w.grid.lastTick(at))
	if err != nil {
		return err
	}
	h.room, h.observer = r, c.Observer
	w.table.mu.Lock()
	h.given = false
	w.table.mu.Unlock()
	h.gone = func(p systems.Peer, why error) { // of a peer whose session has ended
		w.log.info("session ended", slog.String("room", h.name), slog.Int("peer", int(p)), slog.Any("error", why))
		w.end(h.conns[p], w.table.at(w.now))
	}
	w.rooms = append(w.rooms, h)
	w.publishAt = 0
	w.log.info("room opened", slog.String("room", h.name))
	return nil
}

func (w *worker) leave(c *conn, byClient bool, at systems.Time) {
	h := c.room
	i := slices.Index(h.joining, c)
	if i >= 0 {
		h.joining = slices.Delete(h.joining, i, i+1)
	}
	if c.link == nil || c.endBy != 0 || i >= 0 { // it is not in the room
		c.link = nil
		return
	}
	defer w.recovered(h)
	if byClient { // a client that means to reconnect sends no disconnect packet, so the seat need not be kept
		h.room.Kick(c.peer, "")
	}
	h.room.Vanish(c.peer, at)
	h.conns[c.peer], c.link = nil, nil
	w.log.info("client gone", slog.String("room", c.room.name), slog.Int("peer", int(c.peer)))
}

// frame computes the due ticks of one room and collects the packets of its connections.
func (w *worker) frame(h *hostedRoom, at systems.Time) {
	defer w.recovered(h)
	if h.moved != nil {
		if w.settle(h); h.room == nil {
			return
		}
	}
	h.room.Frame(at)
	h.room.Gone(h.gone)
	w.flushRoom(h, at)
	if w.config.Others != nil && at >= h.compareAt {
		w.compare(h, at)
	}
}

// settle sends the messages that were held for a commit. It suspends a room that moves.
func (w *worker) settle(h *hostedRoom) {
	if h.room == nil {
		return
	}
	defer w.recovered(h)
	at := w.table.at(w.now)
	if h.room.Settle() {
		w.flushRoom(h, at)
	}
	w.suspend(h, at)
}

// flushRoom collects the packets of the connections of a room.
func (w *worker) flushRoom(h *hostedRoom, at systems.Time) {
	image.SectionSend.Enter(h.observer)
	defer image.SectionSend.Leave(h.observer)
	for _, c := range h.conns {
		if c == nil {
			continue
		}
		c.link.Flush(at, c.emit)
		if c.servers != 0 && c.link.Pending() == 0 {
			c.hasToken.Store(true)
		}
		if c.link.Err() != nil {
			if errors.Is(c.link.Err(), link.ErrStream) {
				h.room.Expel(c.peer, room.CauseFraming)
			}
			w.log.info("client dropped", slog.String("room", h.name), slog.Any("error", c.link.Err()))
			h.room.Vanish(c.peer, at)
			h.conns[c.peer], c.link = nil, nil
			w.out.drop(c)
		}
	}
}

// flood expels a client that sends far too many packets.
func (w *worker) flood(c *conn) {
	defer w.recovered(c.room)
	c.room.room.Expel(c.peer, room.CauseFlooding)
}

// refuse ends a new connection with a reason. A client that joined with a reconnect token and is to join the next process receives
// another one.
func (w *worker) refuse(c *conn, code session.Code, text string, at systems.Time) {
	if code == session.CodeRestarting && c.pass.Reconnect {
		_ = c.link.Send(systems.Reliable, session.AppendToken(nil, w.mint(c, c.pass.Seat)))
	}
	// The link has room, since only tokens and endpoints were sent before.
	_ = c.link.Send(systems.Reliable, session.AppendRefusal(nil, code, w.config.Room.Game.Fingerprint(), text))
	w.end(c, at)
}

// oldPackets is the number of packets, all of them malformed, after which a client may count as one of protocol 3 or older.
const oldPackets = 3

// refuseOld refuses a client that sends packets of an older protocol. Packets of protocol 3 begin with one byte instead of the
// two-byte number, so the packets of the refusal are sent without their first byte.
func (w *worker) refuseOld(c *conn, packet []byte, at systems.Time) {
	st := c.link.Stats()
	if c.endBy != 0 || st.Malformed < oldPackets || st.Malformed < st.PacketsReceived || !isOld(packet) {
		return
	}
	c.room.room.Vanish(c.peer, at)
	w.connect(c)
	w.refuse(c, session.CodeVersion, fmt.Sprintf("server has protocol %d", session.Version), at)
	c.emit = func(packet []byte) { w.out.packet(c, packet[1:], 0) }
}

// isOld reports whether a packet is well-formed in protocol 3.
func isOld(packet []byte) bool {
	_, parts, err := wire.OpenEnvelope(append([]byte{0}, packet...))
	for more := err == nil; more; {
		_, _, more = parts.Next()
	}
	return err == nil && parts.Err() == nil
}

// end ends a connection that its room does not have any more: after its last messages are acknowledged, at the latest after
// closeLimit. A disconnect packet that is sent with them might arrive first.
func (w *worker) end(c *conn, at systems.Time) {
	if h := c.room; h.conns[c.peer] == c {
		h.conns[c.peer] = nil
	}
	c.endBy = at + closeLimit
	w.ending = append(w.ending, c)
}

// finish sends the messages of connections that wait for their room, and the last messages of connections that end. The table
// then ends those that have received them.
func (w *worker) finish(at systems.Time) {
	for _, h := range w.opening {
		for _, c := range h.joining {
			c.link.Flush(at, c.emit)
		}
	}
	w.ending = slices.DeleteFunc(w.ending, func(c *conn) bool {
		if c.link == nil {
			return true // the client has ended it
		}
		if c.link.Flush(at, c.emit); c.link.Err() == nil && c.link.Pending() > 0 && at < c.endBy {
			return false
		}
		c.link = nil
		w.out.drop(c)
		return true
	})
}
