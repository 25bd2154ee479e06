package backend

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/playpage"
	"tendon/net/cluster"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/web"
)

// finish returns the reply about a ticket. A matched one has a new token.
func (s *Service) finish(ctx context.Context, f found) (api.Ticket, error) {
	t := api.Ticket{ID: f.status.Ticket.ID, Player: f.status.Ticket.Player, Queue: f.status.Ticket.Queue, State: f.status.State,
		Since: time.UnixMilli(f.status.Ticket.Since).UTC(), Waiting: f.waiting, Missing: f.missing, Reason: f.reason}
	if t.State != queue.Matched {
		return t, nil
	}
	if f.banned != nil {
		return t, f.banned
	}
	at, err := s.locate(ctx, &f.status)
	if err != nil {
		return t, err
	}
	if at.ID == "" {
		t.Reason = "the server of the match does not answer, and no other one has a place yet"
		if f.status.Seat == queue.AnySeat {
			t.Reason = "the match that requested the player has ended, or its server does not answer"
		}
		return t, nil
	}
	t.Match, err = s.mint(&f.status, at)
	return t, err
}

// mint returns the place of a ticket on a server, with a new token. The client connects to another server of the token if that one does
// not answer.
func (s *Service) mint(t *queue.Status, at cluster.Server) (*api.Match, error) {
	now := time.Now()
	ticket := server.Ticket{ProtocolID: server.ProtocolID(s.config.Game), Key: s.config.Key, ClientID: ClientID(t.Ticket.Player), Lifetime: s.config.Life,
		Pass: server.Pass{Room: t.Room, Seat: t.Seat, Name: t.Ticket.Name, Data: t.Ticket.Card}}
	own := addresses(nil, at)
	ticket.Addresses = own
	if len(own) > 0 && !s.alone() { // the servers of a cluster redirect clients
		ticket.Addresses = addresses(own, cluster.Spread(s.usable(), t.Room)...)
	}
	token, err := server.Mint(ticket, now)
	if err != nil {
		return nil, wrong(http.StatusBadGateway, "no token can be minted for server %.64q: %v", at.Name, err)
	}
	m := &api.Match{Room: t.Room, Seat: t.Seat, ClientID: ticket.ClientID, Addresses: texts(own), Token: tokens.Text(token), Expires: now.Add(s.config.Life).UTC()}
	if at.Web != "" {
		_, m.Invitation, _ = strings.Cut(playpage.Link(token, at.Web, "", web.ParseHashes(at.WebHashes)), "#join=")
	}
	return m, nil
}

// addresses appends the addresses of servers to a list, each once, up to netcode.MaxServers.
func addresses(list []netip.AddrPort, servers ...cluster.Server) []netip.AddrPort {
	for _, v := range servers {
		for _, text := range v.Addresses {
			if len(list) == netcode.MaxServers {
				return list
			}
			if address, err := tokens.Address(text); err == nil && !slices.Contains(list, address) {
				list = append(list, address)
			}
		}
	}
	return list
}

func texts(list []netip.AddrPort) (out []string) {
	for _, a := range list {
		out = append(out, a.String())
	}
	return out
}

// owner returns the server that has a room open, if it opens the tokens of the backend.
func (s *Service) owner(ctx context.Context, room string) (owner cluster.Server, open bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	if owner, open, err = s.config.Directory.Owner(ctx, room); err != nil {
		err = wrong(http.StatusServiceUnavailable, "the cluster does not answer: %v", err)
	}
	return owner, open && owner.Opens(s.key), err
}

// locate returns the server of a match: the one that has the room open, else the one with its place. If that is dead or drains, the
// match moves to another one. The ID is "" if all are full. A room that requested players does not move: see core.requested.
func (s *Service) locate(ctx context.Context, t *queue.Status) (cluster.Server, error) {
	owner, open, err := s.owner(ctx, t.Room)
	if err != nil || open {
		return owner, err
	}
	var at cluster.Server
	var gone error
	err = s.do(ctx, func(c *core) {
		now, servers := time.Now(), s.usable()
		status, _ := c.state.Get(t.Ticket.ID)
		has := func(id string) func(cluster.Server) bool {
			return func(s cluster.Server) bool { return s.ID == id }
		}
		i := slices.IndexFunc(servers, has(status.Server))
		if status.Seat == queue.AnySeat {
			at, gone = c.requested(now, &status, servers)
			return
		}
		if i < 0 && status.Room == t.Room {
			id := newChoice(&c.places, servers).next()
			if id != "" {
				c.places.add(t.Room, id, now)
				i = slices.IndexFunc(servers, has(id))
			}
			if id != "" || now.Sub(time.UnixMilli(status.Ended)) > keepEnded/2 { // renewed at most once a minute
				c.apply(c.state.Move(now.UnixMilli(), t.Room, id))
			}
		}
		if i >= 0 {
			at = servers[i]
		}
	})
	if err != nil { // the function may still be called
		return cluster.Server{}, err
	}
	return at, gone
}

// requested returns the server of a room that requested players and is not open in the directory. Without a cluster, it is the server of
// the request, or the only one. Otherwise the ID is "", and after moveTime the room receives no further player, and the error is errGone.
func (c *core) requested(now time.Time, t *queue.Status, servers []cluster.Server) (cluster.Server, error) {
	if c.service.alone() {
		i := slices.IndexFunc(servers, func(s cluster.Server) bool { return s.ID == t.Server })
		if i < 0 && len(servers) == 1 {
			i = 0
		}
		if i >= 0 {
			return servers[i], nil
		}
	}
	if now.Sub(time.UnixMilli(t.Ended)) <= moveTime {
		return cluster.Server{}, nil
	}
	if event, err := c.state.Backfill(now.UnixMilli(), queue.Open{Room: t.Room, Queue: t.Ticket.Queue}, 0); err == nil {
		c.apply(event)
	}
	return cluster.Server{}, errGone
}

// errGone is the error of a ticket whose match has ended before the player came.
var errGone = wrong(http.StatusNotFound, "the match that requested the player has ended, or its server does not answer: make a new ticket")
