package server

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// Move gives a room up for another server with the same keys, whose addresses are to. The clients receive tokens for that server
// and connect to it while they play here. After the time lead the match is suspended, and CloseRoom receives it as with Keep. The
// clients then continue on the other server, whose OpenRoom must wait for the match. lead should be a few round trips; a client
// that needs longer to connect misses some ticks.
//
// Without addresses, the clients try the servers of the tokens that they have. It returns ErrNoRoom if there is no such room.
func (s *Server) Move(ctx context.Context, name string, to []netip.AddrPort, lead time.Duration) error {
	if len(to) > netcode.MaxServers {
		return fmt.Errorf("server: a token has at most %d addresses, not %d", netcode.MaxServers, len(to))
	}
	return s.hosted(ctx, name, func(w *worker, h *hostedRoom) error {
		at := w.table.at(w.now)
		if len(to) == 0 {
			w.hand(h, at)
			return nil
		}
		h.leave, h.target = at+systems.Time(lead), to
		for _, c := range h.conns {
			if c != nil && c.link != nil {
				_ = c.link.Send(systems.Reliable, session.AppendToken(nil, w.mint(c, h.room.SeatOf(c.peer))))
			}
		}
		w.flushRoom(h, at)
		return nil
	})
}

// hand suspends the match of a room for another server, and ends its connections after their last messages.
func (w *worker) hand(h *hostedRoom, at systems.Time) {
	h.room.Suspend()
	for _, c := range h.conns {
		if c != nil {
			w.end(c, at)
		}
	}
	w.close(h)
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	h.given = true
}
