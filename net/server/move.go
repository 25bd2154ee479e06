package server

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

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
		offered.Store(w.renew(h, w.servers(h), w.table.at(w.now)))
		return nil
	})
	return int(offered.Load()), err
}

// renewInterval is the interval at which the servers that may take over a room are compared with the former ones.
const renewInterval = systems.Second

// compare renews the tokens of a room if another server may take it over now. Clients that know a server too many only try it in vain.
func (w *worker) compare(h *hostedRoom, at systems.Time) {
	h.compareAt = at + renewInterval
	servers := w.servers(h)
	added := slices.ContainsFunc(servers, func(s netip.AddrPort) bool { return !slices.Contains(h.others, s) })
	if h.others = servers; added {
		w.renew(h, servers, at)
	}
}

// renew sends a new token to each client of a room whose newest one is not for the servers. It returns the number of clients that can use their
// tokens.
func (w *worker) renew(h *hostedRoom, servers []netip.AddrPort, at systems.Time) (clients int64) {
	sum, sent := hashOf(servers), false
	_, endpoints := w.endpointsOf(servers)
	for _, c := range h.conns {
		if c == nil || c.link == nil {
			continue
		}
		joins := c.servers == 0 && len(h.target) == 0 // its first tokens are sent later
		if !joins && (c.servers != sum || c.web && c.endpoints != endpoints) {
			sent = true
			if c.link.Send(systems.Reliable, session.AppendToken(nil, w.mintFor(c, h.room.SeatOf(c.peer), servers))) != nil {
				c.servers = ^sum // it differs
			}
		}
		if !c.web || c.endpoints != 0 {
			clients++
		}
	}
	if sent {
		w.flushRoom(h, at)
	}
	return clients
}

// hashOf returns a hash of addresses that is not 0.
func hashOf(servers []netip.AddrPort) uint64 {
	var b []byte
	for _, addr := range servers {
		b = addr.AppendTo(append(b, ' '))
	}
	return max(xxhash.Sum64(b), 1)
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

// commitLimit is the longest time for which Move waits for a commit.
const commitLimit = systems.Second / 10

// Move suspends the match of a room for another server, and CloseRoom receives it as with Keep. Move waits up to a tenth of a second for a commit
// that is under way, so that its ticks are sent before the suspension. The clients continue on the server that Offer named, or else try the
// servers of the tokens that they have. CloseRoom has returned when Move returns nil. Errors are those of Offer.
func (s *Server) Move(ctx context.Context, name string) error {
	var moved chan struct{}
	err := s.hosted(ctx, name, func(w *worker, h *hostedRoom) error {
		at := w.table.at(w.now)
		if h.moved == nil {
			h.moved, h.moveBy = make(chan struct{}), at+commitLimit
		}
		moved = h.moved
		w.suspend(h, at)
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-moved:
		return nil
	case <-s.done:
		return ErrStopped
	case <-ctx.Done():
		return fmt.Errorf("server: room %q was not suspended in time: %w", name, ctx.Err())
	}
}

// leave ends the calls of Move for a room.
func (h *hostedRoom) leave() {
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// suspend suspends and closes a room that moves. Before moveBy it waits for a commit that is under way.
func (w *worker) suspend(h *hostedRoom, at systems.Time) {
	if h.moved == nil || h.room.Committing() && at < h.moveBy {
		return
	}
	h.room.Suspend()
	for _, c := range h.conns {
		if c != nil {
			w.end(c, at) // after its last messages
		}
	}
	w.table.mu.Lock()
	h.given = true
	w.table.mu.Unlock()
	w.close(h)
}
