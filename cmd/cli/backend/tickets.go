package backend

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/net/cluster"
	"tendon/net/server"
	"tendon/net/wire"
)

// MaxQueue is the maximum length of the name of a queue, in bytes.
const MaxQueue = maxText

const (
	maxText       = 64 // bytes of a queue, a party, a key, a server, and a name or a text of an attribute
	maxAttributes = 32
	maxWait       = 30 * time.Second
	findLimit     = 3 * time.Second // for the owner of a room
	// moveTime is the time after a match for which its room may be without an owner, because its server has died.
	moveTime = 10 * time.Second
)

// ClientID returns the client id of a player in connect tokens. It depends on the player alone, so a ban also applies to later tokens.
func ClientID(player string) uint64 {
	sum := sha256.Sum256([]byte(player))
	return max(binary.LittleEndian.Uint64(sum[:]), 1)
}

// submit serves POST /v1/tickets.
func (s *Service) submit(_ http.ResponseWriter, r *http.Request, by caller) (int, any, error) {
	var body api.TicketRequest
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	if !by.full && body.Player == "" {
		body.Player = by.player
	}
	t := queue.Ticket{ID: rand.Text()[:20], Player: body.Player, Client: ClientID(body.Player), Queue: body.Queue, Key: r.Header.Get("Idempotency-Key"), Name: body.Name, Card: body.Card,
		Attributes: body.Attributes, Party: body.Party, PartySize: body.PartySize}
	if err := checkTicket(&t); err != nil {
		return 0, nil, err
	}
	if !by.full && (t.Player != by.player || len(t.Card) > 0 || len(t.Attributes) > 0) {
		return 0, nil, wrong(http.StatusForbidden, "a player may not choose another player, a card or attributes: a program with a key may")
	}
	var refused error
	var f found
	status, now := http.StatusOK, time.Now()
	err := s.do(r.Context(), func(c *core) {
		earlier, event, err := c.state.Submit(now.UnixMilli(), t)
		if refused = err; err != nil {
			return
		}
		if earlier == nil {
			status, earlier = http.StatusCreated, &t
			c.apply(event)
			c.waiting[t.Queue]++
			c.seen[t.ID] = now
		}
		f, _ = c.ticket(earlier.ID)
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return 0, nil, err
	}
	reply, err := s.finish(r.Context(), f)
	return status, reply, err
}

var errNoQueue = wrong(http.StatusBadRequest, "queue is missing: send the name of a queue of the backend")

// checkTicket checks the texts of a ticket.
func checkTicket(t *queue.Ticket) error {
	if err := checkPlayer(t.Player); err != nil {
		return err
	}
	if t.Queue == "" {
		return errNoQueue
	}
	for name, text := range map[string]string{"queue": t.Queue, "party": t.Party, "Idempotency-Key": t.Key} {
		if wire.Clip(text, maxText) != text {
			return wrong(http.StatusBadRequest, "%s is not valid: send at most %d bytes of UTF-8 without control or invisible characters", name, maxText)
		}
	}
	if len(t.Attributes) > maxAttributes {
		return wrong(http.StatusBadRequest, "there are %d attributes, want at most %d", len(t.Attributes), maxAttributes)
	}
	for name := range t.Attributes {
		if len(name) > maxText || len(t.Attributes.Text(name)) > maxText {
			return wrong(http.StatusBadRequest, "the attribute %.64q or its text is longer than %d bytes", name, maxText)
		}
	}
	pass := server.Pass{Room: "any", Seat: server.AnySeat, Name: t.Name, Data: t.Card, Issued: time.Now()}
	if err := pass.Validate(); err != nil {
		return wrong(http.StatusBadRequest, "%v", err)
	}
	return nil
}

func checkPlayer(player string) error {
	if !validPlayer(player) {
		return wrong(http.StatusBadRequest, "player is not valid: send %s", playerForm)
	}
	return nil
}

// playerForm describes the valid ids of players.
var playerForm = fmt.Sprintf("1 to %d bytes of UTF-8 without control or invisible characters", maxPlayer)

// validPlayer reports whether an id of a player is valid. The decoder of JSON replaces each invalid byte by U+FFFD, so that two players
// could have the same id. wire.Clip removes that character.
func validPlayer(player string) bool { return player != "" && wire.Clip(player, maxPlayer) == player }

// found is a ticket as the state has it.
type found struct {
	status  queue.Status
	waiting int
	missing int
	reason  string
	banned  error // of a matched player
}

// ticket returns a ticket.
func (c *core) ticket(id string) (found, bool) {
	status, ok := c.state.Get(id)
	if !ok {
		return found{}, false
	}
	f := found{status: status, reason: status.Reason}
	if status.State == queue.Queued {
		f.waiting, f.missing, f.reason = c.waiting[status.Ticket.Queue], c.state.Missing(status.Ticket), c.short[status.Ticket.Queue]
	}
	if status.State == queue.Matched {
		f.banned = c.state.Banned(time.Now().UnixMilli(), ClientID(status.Ticket.Player))
	}
	return f, true
}

// find returns a ticket that the caller may read. If the caller waits for some time, it also returns a channel that is closed when the
// ticket changes. The request keeps a ticket that waits from being cancelled.
func (s *Service) find(ctx context.Context, id string, by caller, wait time.Duration) (found, <-chan struct{}, error) {
	var f found
	var changed <-chan struct{}
	var ok bool
	err := s.do(ctx, func(c *core) {
		f, ok = c.ticket(id)
		if ok = ok && (by.full || f.status.Ticket.Player == by.player); !ok || f.status.State != queue.Queued {
			return
		}
		c.seen[id] = time.Now().Add(wait)
		if wait > 0 {
			changed = c.watch(id)
		}
	})
	switch {
	case err != nil:
		return found{}, nil, err
	case !ok:
		return found{}, nil, queue.ErrTicket
	}
	return f, changed, nil
}

// get serves GET /v1/tickets/{id}.
func (s *Service) get(_ http.ResponseWriter, r *http.Request, by caller) (int, any, error) {
	id, wait := r.PathValue("id"), time.Duration(0)
	if text := r.URL.Query().Get("wait"); text != "" {
		seconds, err := strconv.Atoi(text)
		if wait = time.Duration(seconds) * time.Second; err != nil || wait < 0 || wait > maxWait {
			return 0, nil, wrong(http.StatusBadRequest, "wait is %.20q: want 0 to %d seconds", text, maxWait/time.Second)
		}
	}
	now := s.term.Load()
	if now == nil {
		return 0, nil, ErrInactive
	}
	f, changed, err := s.find(r.Context(), id, by, wait)
	if err == nil && changed != nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-changed:
		case <-now.ended:
		case <-timer.C:
		case <-r.Context().Done():
		}
		f, _, err = s.find(r.Context(), id, by, 0)
	}
	if err != nil {
		return 0, nil, err
	}
	reply, err := s.finish(r.Context(), f)
	return http.StatusOK, reply, err
}

// cancel serves DELETE /v1/tickets/{id}.
func (s *Service) cancel(_ http.ResponseWriter, r *http.Request, by caller) (int, any, error) {
	id := r.PathValue("id")
	if _, _, err := s.find(r.Context(), id, by, 0); err != nil {
		return 0, nil, err
	}
	var f found
	var refused error
	err := s.do(r.Context(), func(c *core) {
		event, err := c.state.Cancel(time.Now().UnixMilli(), id, "the player left")
		if refused = err; err == nil {
			c.apply(event)
			f, _ = c.ticket(id)
		}
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return 0, nil, err
	}
	reply, err := s.finish(r.Context(), f)
	return http.StatusOK, reply, err
}

// backfill serves PUT /v1/backfill/{room}.
func (s *Service) backfill(_ http.ResponseWriter, r *http.Request, _ caller) (int, any, error) {
	var body api.Backfill
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	room := r.PathValue("room")
	pass := server.Pass{Room: room, Seat: server.AnySeat, Issued: time.Now()}
	if err := pass.Validate(); err != nil {
		return 0, nil, wrong(http.StatusBadRequest, "the room is not valid: %v", err)
	}
	if body.Queue == "" {
		return 0, nil, errNoQueue
	}
	if body.Seats == nil {
		return 0, nil, wrong(http.StatusBadRequest, "seats is missing: send the number of free seats, or 0 to end the request")
	}
	if len(body.Server) > maxText {
		return 0, nil, wrong(http.StatusBadRequest, "server has %d bytes, want at most %d", len(body.Server), maxText)
	}
	if servers := s.usable(); *body.Seats > 0 && s.alone() && len(servers) > 1 && !slices.ContainsFunc(servers, func(v cluster.Server) bool { return v.ID == body.Server }) {
		return 0, nil, wrong(http.StatusBadRequest, "server is %.64q: want the address of the server that has the room, one of the servers in GET /v1/rooms", body.Server)
	}
	if *body.Seats > 0 && !s.alone() {
		_, open, err := s.owner(r.Context(), room)
		if err == nil && !open {
			err = wrong(http.StatusNotFound, "room %.64q is not open on a server of the cluster with the key of the backend", room)
		}
		if err != nil {
			return 0, nil, err
		}
	}
	var refused error
	err := s.do(r.Context(), func(c *core) {
		*body.Seats, refused = c.backfill(time.Now(), queue.Open{Room: room, Queue: body.Queue, Seats: *body.Seats, Server: body.Server})
	})
	if err == nil {
		err = refused
	}
	return http.StatusOK, body, err
}

// forPlayer returns the client id of a sanction.
func forPlayer(o *api.Sanction) (uint64, error) {
	if (o.Player == "") == (o.ClientID == 0) {
		return 0, errors.New("send either player, or a client_id of 1 or more")
	}
	if o.Player == "" {
		return o.ClientID, nil
	}
	return ClientID(o.Player), checkPlayer(o.Player)
}
