package server

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"

	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// Offer sends the clients of a room tokens for another server with the same keys, whose 1 to netcode.MaxServers addresses are to. They
// connect to it while they play here, and wait there until its OpenRoom has the match. All tokens that are made later are for that
// server, until Offer is called without addresses. Offer returns the number of connections that can follow, also of spectators. Connections
// of Config.Web can if Config.Endpoints returns an address of the other server. The error is ErrNoRoom if the room is not open, ErrStopped,
// or wraps that of ctx.
func (s *Server) Offer(ctx context.Context, name string, to []netip.AddrPort) (clients int, err error) {
	if len(to) > netcode.MaxServers {
		return 0, fmt.Errorf("server: a token has at most %d addresses, not %d", netcode.MaxServers, len(to))
	}
	var offered atomic.Int64 // by a call that may run after ctx is done
	err = s.hosted(ctx, name, func(w *worker, h *hostedRoom) error {
		h.target = to
		offered.Store(w.sendTokens(h))
		return nil
	})
	return int(offered.Load()), err
}

// Renew sends the clients of a room new tokens, after a change of the addresses that Config.Others or Config.Endpoints returns. Errors are
// those of Offer.
func (s *Server) Renew(ctx context.Context, name string) error {
	return s.hosted(ctx, name, func(w *worker, h *hostedRoom) error {
		w.sendTokens(h)
		return nil
	})
}

// sendTokens sends each client of a room a reconnect token. It returns the number of clients that can use one.
func (w *worker) sendTokens(h *hostedRoom) (clients int64) {
	for _, c := range h.conns {
		if c == nil || c.link == nil {
			continue
		}
		_ = c.link.Send(systems.Reliable, session.AppendToken(nil, w.mint(c, h.room.SeatOf(c.peer))))
		if !c.web || c.endpoints != 0 {
			clients++
		}
	}
	w.flushRoom(h, w.table.at(w.now))
	return clients
}

// Waiting returns the number of connections that wait for a room that is being opened, and whether the room is open. Errors are those of
// Offer, ErrNoRoom if no client has asked for the room.
func (s *Server) Waiting(ctx context.Context, name string) (clients int, open bool, err error) {
	var waiting atomic.Int64
	var opened atomic.Bool
	err = s.call(ctx, name, func(_ *worker, h *hostedRoom) error {
		waiting.Store(int64(len(h.joining)))
		opened.Store(h.room != nil)
		return nil
	})
	return int(waiting.Load()), opened.Load(), err
}

// Move suspends the match of a room for another server, and CloseRoom receives it as with Keep. The clients continue on the server that
// Offer named, or else try the servers of the tokens that they have. After it, CloseRoom has returned. Errors are those of Offer.
func (s *Server) Move(ctx context.Context, name string) error {
	return s.hosted(ctx, name, func(w *worker, h *hostedRoom) error {
		h.room.Suspend()
		at := w.table.at(w.now)
		for _, c := range h.conns {
			if c != nil {
				w.end(c, at) // after its last messages
			}
		}
		w.close(h)
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		h.given = true
		return nil
	})
}
