package server

import (
	"log/slog"
	"net/netip"
	"slices"

	"github.com/cespare/xxhash/v2"

	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// mint makes a reconnect token for this server and for those that may take the room over, or for the server to which the room moves.
func (w *worker) mint(c *conn, seat int) []byte {
	return w.mintFor(c, seat, w.servers(c.room))
}

// servers returns the servers in the tokens of a room's clients.
func (w *worker) servers(h *hostedRoom) []netip.AddrPort {
	switch {
	case len(h.target) > 0:
		return h.target
	case w.config.Others == nil:
		return w.table.public
	}
	list := append(slices.Clip(w.table.public), w.config.Others(h.name)...)
	return list[:min(len(list), netcode.MaxServers)]
}

// mintFor makes a reconnect token for servers.
func (w *worker) mintFor(c *conn, seat int, addresses []netip.AddrPort) []byte {
	return w.mintPass(c, w.reconnectPass(c, seat), addresses)
}

// reconnectPass returns the pass of a reconnect token that is made now.
func (w *worker) reconnectPass(c *conn, seat int) Pass {
	pass := c.pass
	pass.Reconnect, pass.Epoch, pass.Issued = true, c.epoch, w.table.wall.later(w.now)
	if pass.Seat == AnySeat {
		pass.Seat = seat
	}
	return pass
}

// mintPass makes a token for servers. With the pass of the connection, revocations apply to the new token as to the used one. A reconnect
// token does not become valid for much longer by that.
func (w *worker) mintPass(c *conn, pass Pass, addresses []netip.AddrPort) []byte {
	now, life := w.table.wall.later(w.now), w.config.reconnectLife()
	if c.pass.Reconnect {
		life = max(life-now.Sub(pass.Issued), reconnectLife)
	}
	token, err := Mint(Ticket{ProtocolID: ProtocolID(w.config.Room.Game.Name), Key: w.config.Keys[0], ClientID: c.client,
		Addresses: addresses, Pass: pass, Lifetime: life}, now)
	if err != nil {
		w.log.error("token cannot be made", slog.Any("error", err))
		return nil
	}
	c.servers = hashOf(addresses)
	w.sendEndpoints(c, addresses)
	return token
}

// sendEndpoints sends a connection of Config.Web the endpoints of servers, unless it sent the same list last.
func (w *worker) sendEndpoints(c *conn, servers []netip.AddrPort) {
	if !c.web {
		return
	}
	list, sum := w.endpointsOf(servers)
	if sum != 0 && sum != c.endpoints && c.link.Send(systems.Reliable, session.AppendEndpoints(nil, list)) != nil {
		sum = 0
	}
	c.endpoints = sum
}

// endpointsOf returns the list of the endpoints of servers, and its hash. Both are zero without Config.Endpoints.
func (w *worker) endpointsOf(servers []netip.AddrPort) (list []byte, sum uint64) {
	if w.config.Endpoints == nil {
		return nil, 0
	}
	if list = w.config.Endpoints(servers); len(list) > 0 {
		sum = xxhash.Sum64(list)
	}
	return list, sum
}
