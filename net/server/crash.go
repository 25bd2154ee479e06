package server

import (
	"fmt"
	"log/slog"
	"slices"

	"tendon/net/session"
)

// Crash describes a room whose rules, or whose strategy, panicked.
type Crash struct {
	Room  string
	Match uint64
	Panic *session.Panic
}

// recovered recovers from a panic of a room, and ends the room. Every call of a method of a room is below a deferred call of
// it.
func (w *worker) recovered(h *hostedRoom) {
	if value := recover(); value != nil {
		w.crash(h, value)
	}
}

// crash ends a room: its clients receive the reason, and its sinks are closed. A panic of a method that the end needs is
// ignored.
func (w *worker) crash(h *hostedRoom, value any) {
	r := h.room
	w.turns.Crashes++
	attempt(func() { w.remove(h) })
	c := Crash{Room: h.name, Match: h.match, Panic: session.NewPanic(value, nil)}
	attempt(func() { c.Panic.Tick = r.World().Tick() })
	attempt(func() { r.Abort(fmt.Sprintf("the rules of the game failed in tick %d", c.Panic.Tick)) })
	for _, conn := range slices.Clone(h.conns) {
		if conn != nil {
			w.end(conn, w.table.at(w.now))
		}
	}
	w.log.error("room panicked", slog.String("room", h.name), slog.Uint64("match", h.match), slog.Any("error", c.Panic), slog.String("stack", string(c.Panic.Stack)))
	if w.config.Crashed != nil {
		w.config.Crashed(c)
	}
	if w.config.CloseRoom != nil {
		w.config.CloseRoom(h.name, r)
	}
	h.leave()
}

func attempt(f func()) {
	defer func() { _ = recover() }()
	f()
}

// remove removes a room from the worker. A client that joins afterwards gets a new one.
func (w *worker) remove(h *hostedRoom) {
	w.rooms = slices.DeleteFunc(w.rooms, func(r *hostedRoom) bool { return r == h })
	w.publishAt = 0
	r := h.room
	h.room, h.target = nil, nil
	st := r.Stats()
	st.Peers, st.Players, st.RingBytes = 0, 0, 0
	w.past.Add(&st)
}
