package server

import (
	"fmt"
	"log/slog"
	"slices"

	"tendon/net/netcode"
	"tendon/net/session"
)

// OnStop selects what becomes of the running matches when the server stops.
type OnStop uint8

// The values of OnStop.
const (
	// End ends them. Clients receive session.CodeShutdown.
	End OnStop = iota
	// Keep stops them after their last tick, for the next process. Clients receive session.CodeRestarting and reconnect until that
	// process answers. CloseRoom receives rooms whose Suspended returns true: their matches are not over. Pending votes
	// are not decided. The next process finds the results when it replays the journals.
	Keep
	// Finish lets them continue until their players have left. Until then the server refuses further rooms and players, but not
	// clients that reconnect. See Server.End.
	Finish
	onStops
)

// String returns the name, as the flag --on-stop spells it.
func (o OnStop) String() string {
	if o >= onStops {
		return "unknown"
	}
	return [onStops]string{"end", "keep", "finish"}[o]
}

// UnmarshalText reads a name. It is the inverse of String.
func (o *OnStop) UnmarshalText(name []byte) error {
	for *o = range onStops {
		if o.String() == string(name) {
			return nil
		}
	}
	return fmt.Errorf("%q is unknown: choose keep, finish or end", name)
}

// code is the reason that clients receive.
func (o OnStop) code() session.Code {
	if o == Keep {
		return session.CodeRestarting
	}
	return session.CodeShutdown
}

// End ends the matches of a server that lets them finish. It has an effect with OnStop Finish only, after the context of Run is done.
func (s *Server) End() { s.end() }

// stage is a part of the life of a server.
type stage uint8

const (
	serving   stage = iota
	finishing       // only clients that reconnect are admitted
	closing         // no client is
)

func (t *connTable) refuse(from stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage = from
}

// stops reports whether a client is refused because the server stops, and how.
func (t *connTable) stops(pass *Pass) (netcode.Action, bool) {
	switch {
	case t.stage == closing && t.config.OnStop == Keep:
		return netcode.Ignore, true // the client repeats its request until the next process answers
	case t.stage == closing, t.stage == finishing && (!pass.Reconnect || t.rooms[pass.Room] == nil):
		return netcode.Deny, true
	}
	return 0, false
}

func (w *worker) close(h *hostedRoom) {
	if h.room == nil {
		return
	}
	if w.conclude(h); h.room == nil {
		return
	}
	w.remove(h)
	h.leave()
	w.log.info("room closed", slog.String("room", h.name))
}

func (w *worker) conclude(h *hostedRoom) {
	defer w.recovered(h)
	if !h.room.Suspended() {
		h.room.Conclude()
	}
	if w.config.CloseRoom != nil {
		w.config.CloseRoom(h.name, h.room)
	}
}

// stop ends or suspends the matches of the worker. It calls done once the last messages of every session are sent.
func (w *worker) stop(done func()) {
	w.stopped, w.stopBy = done, w.now.Add(closeLimit)
	for _, h := range slices.Backward(w.rooms) { // a room that crashes is removed
		w.shut(h)
	}
}

func (w *worker) shut(h *hostedRoom) {
	defer w.recovered(h)
	if w.config.OnStop == Keep {
		h.room.Suspend()
		return
	}
	h.room.Close("")
}

func (w *worker) stopping() {
	if w.stopped == nil {
		return
	}
	if w.now.Before(w.stopBy) && (len(w.ending) > 0 || len(w.opening) > 0 || slices.ContainsFunc(w.rooms, func(h *hostedRoom) bool { return !h.room.Closed() })) {
		return
	}
	w.stopped()
	w.stopped = nil
	for _, h := range slices.Backward(w.rooms) {
		w.conclude(h)
	}
}
