//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tendon/cmd/cli/backend"
	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/internal/tokens"
	"tendon/ecs/race"
	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/netcode"
)

// entrant is a player with one ticket.
type entrant struct {
	request api.TicketRequest
	id      string     // of the ticket
	logged  *place     // in the log at the first kill after the match, or nil
	match   *api.Match // the first one received, or nil
}

// place is a seat in a room.
type place struct {
	room string
	seat int
}

// pair is two backends of one cluster. Kills end the backend that decides matches.
type pair struct {
	*fleet
	ctx       context.Context // ends shortly before the deadline of the test
	ports     []int
	processes []*process
	clients   []*api.Client
	store     *jetstream.Store
	entrants  map[string]*entrant // by player

	killed  *process // the last one that was killed
	kills   int
	queued  int // kills while tickets were queued
	matched int // kills while tickets were matched and no player had their tokens
}

// newPair starts two backends, and waits until one of them decides and the other one waits.
func newPair(t *testing.T, f *fleet) *pair {
	t.Helper()
	p := &pair{fleet: f, ctx: t.Context(), ports: ports(t, 2), processes: make([]*process, 2), entrants: map[string]*entrant{}}
	if end, ok := t.Deadline(); ok {
		ctx, cancel := context.WithDeadline(t.Context(), end.Add(-10*time.Second))
		t.Cleanup(cancel)
		p.ctx = ctx
	}
	for i, port := range p.ports {
		p.clients = append(p.clients, &api.Client{URL: fmt.Sprintf("http://127.0.0.1:%d", port)})
		p.start(i)
	}
	p.until("one backend decides", func() bool { return p.active() >= 0 })
	c, err := nats.Connect(f.nats)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if p.store, err = jetstream.Open(p.ctx, jetstream.Config{Connection: c, Present: true}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) start(i int) {
	p.processes[i] = launch(p.t, fmt.Sprint("backend", i), serverRole, nil, append([]string{"backend", "--listen", fmt.Sprintf("127.0.0.1:%d", p.ports[i]),
		"--queue", "duel=2", "--queue", "squad=4", "--token-life", "10m"}, p.joined...)...)
}

// until waits until a condition holds, until the deadline of the test, or until a process ends that was not killed.
func (p *pair) until(what string, ok func() bool) {
	p.t.Helper()
	for !ok() {
		if late := p.pause(); late != nil || slices.ContainsFunc(p.processes, func(b *process) bool { return b != p.killed && !b.alive() }) {
			text := ""
			for _, b := range p.processes {
				text += fmt.Sprintf("\n%s\nalive: %t; error: %v", b.text(), b.alive(), b.last("error"))
			}
			p.t.Fatalf("not true: %s (%v)%s", what, late, text)
		}
	}
}

// pause waits between two attempts. It fails after the deadline of the test.
func (p *pair) pause() error {
	select {
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// active returns the index of the backend that decides matches, or -1 if it is not exactly one.
func (p *pair) active() int {
	ready := []int{}
	for i, c := range p.clients {
		r, err := asker.Get(c.URL + "/readyz")
		if err != nil {
			continue
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			ready = append(ready, i)
		}
	}
	if len(ready) != 1 {
		return -1
	}
	return ready[0]
}

// rooms returns the servers and rooms, or nothing if no backend decides.
func (p *pair) rooms() (list api.Rooms) {
	if i := p.active(); i < 0 || call(p.clients[i].URL+"/v1/rooms", nil, &list) != nil {
		return api.Rooms{}
	}
	return list
}

// ask calls f with the client of each backend in turn, until one decides matches.
func (p *pair) ask(first int, f func(c *api.Client) (api.Ticket, error)) (api.Ticket, error) {
	for i := first; ; i++ {
		ticket, err := f(p.clients[i%len(p.clients)])
		if !errors.Is(err, api.ErrUnavailable) {
			return ticket, err
		}
		if late := p.pause(); late != nil {
			return ticket, fmt.Errorf("%w: %w", late, err)
		}
	}
}

// submit makes the tickets of players at the same time. Every second request, from the first on, is sent to both backends with the
// same key. The returned function waits for the replies.
func (p *pair) submit(list ...api.TicketRequest) (wait func()) {
	p.t.Helper()
	replies, failed := make([][2]api.Ticket, len(list)), make([][2]error, len(list))
	var all sync.WaitGroup
	for i, r := range list {
		for n := range 2 - i%2 {
			all.Go(func() {
				replies[i][n], failed[i][n] = p.ask(n, func(c *api.Client) (api.Ticket, error) { return c.Submit(p.ctx, r, r.Player) })
			})
		}
	}
	return func() {
		p.t.Helper()
		all.Wait()
		for i, r := range list {
			e := &entrant{request: r, id: replies[i][0].ID}
			p.entrants[r.Player] = e
			for n := range 2 - i%2 {
				if err := failed[i][n]; err != nil {
					p.t.Fatalf("the ticket of %s: %v", r.Player, err)
				}
				p.check(e, replies[i][n])
			}
		}
	}
}

// check compares a reply about a ticket with those before.
func (p *pair) check(e *entrant, got api.Ticket) {
	p.t.Helper()
	switch m := got.Match; {
	case got.ID != e.id || got.Player != e.request.Player || got.State == queue.Cancelled:
		p.t.Fatalf("%s has ticket %s, and the reply is %+v", e.request.Player, e.id, got)
	case m == nil:
	case e.logged != nil && *e.logged != place{m.Room, m.Seat}:
		p.t.Fatalf("%s had %+v before the kill, and has %+v", e.request.Player, *e.logged, m)
	case e.match != nil && (m.Room != e.match.Room || m.Seat != e.match.Seat || m.ClientID != e.match.ClientID):
		p.t.Fatalf("%s had %+v, and has %+v", e.request.Player, e.match, m)
	case e.match == nil:
		e.match = m
	}
}

// get returns the ticket of a player. A ticket that does not exist is a failure.
func (p *pair) get(player string) api.Ticket {
	p.t.Helper()
	e := p.entrants[player]
	got, err := p.ask(0, func(c *api.Client) (api.Ticket, error) { return c.Get(p.ctx, e.id, 0) })
	if err != nil {
		p.t.Fatalf("ticket %s of %s: %v", e.id, player, err)
	}
	p.check(e, got)
	return got
}

// tokens gets the tokens of players, who are matched.
func (p *pair) tokens(players ...string) {
	p.t.Helper()
	for _, player := range players {
		p.until("the ticket of "+player+" has a token", func() bool { return p.get(player).Match != nil })
	}
}

// duplicate sends a second request of a player who waits. The one with the key of the first request returns the same ticket. The one
// with another key is refused, and the error names the ticket.
func (p *pair) duplicate(player string) {
	p.t.Helper()
	e := p.entrants[player]
	again := func(key string) (api.Ticket, error) {
		return p.ask(1, func(c *api.Client) (api.Ticket, error) { return c.Submit(p.ctx, e.request, key) })
	}
	if got, err := again(player); err != nil || got.ID != e.id {
		p.t.Errorf("the same request of %s again: %+v, %v; want ticket %s", player, got, err, e.id)
	}
	got, err := again("another key")
	if refused := (*api.RefusedError)(nil); !errors.As(err, &refused) || refused.ID != e.id {
		p.t.Errorf("another request of %s: %+v, %v; want a refusal with ticket %s", player, got, err, e.id)
	}
}

// ticketLog is the content of the log of the backends.
type ticketLog struct {
	text    []byte
	tickets map[string]string // players, by ticket
	places  map[string]place  // by matched ticket
	servers map[string]string // their IDs, by room
	wrong   []string          // tickets that were made twice, matched twice or cancelled
}

// log reads the log from NATS. It contains the events of all owners.
func (p *pair) log() *ticketLog {
	p.t.Helper()
	l := &ticketLog{tickets: map[string]string{}, places: map[string]place{}, servers: map[string]string{}}
	for complete := false; !complete; {
		complete, l.text = true, nil
		before := uint64(0)
		for e, err := range p.store.Read(p.ctx, backend.LogRoom, 1, math.MaxUint64) {
			if complete = err == nil && e.Before == before; !complete { // a replica is behind
				break
			}
			before = e.Sequence
			if e.Kind == cluster.KindData {
				l.text = append(l.text, e.Body...)
			}
		}
		if !complete && p.pause() != nil {
			p.t.Fatal("the log of the backends cannot be read")
		}
	}
	for e, err := range queue.Events(l.text) {
		if err != nil {
			p.t.Fatal(err)
		}
		switch e.Kind {
		case queue.KindTicket:
			if l.tickets[e.Ticket.ID] != "" {
				l.wrong = append(l.wrong, e.Ticket.ID)
			}
			l.tickets[e.Ticket.ID] = e.Ticket.Player
		case queue.KindCancel:
			l.wrong = append(l.wrong, e.ID+": "+e.Reason)
		case queue.KindMove:
			l.servers[e.Matches[0].Room] = e.Matches[0].Server
		case queue.KindPass:
			for _, m := range e.Matches {
				l.servers[m.Room] = m.Server
				for i, id := range m.Tickets {
					if _, ok := l.places[id]; ok {
						l.wrong = append(l.wrong, id)
					}
					l.places[id] = place{m.Room, m.FirstSeat + i}
				}
			}
		}
	}
	return l
}

// has reports whether the ticket of a player is in the log, and whether it is matched there.
func (l *ticketLog) has(player string) (known, matched bool) {
	for id, name := range l.tickets {
		if name == player {
			_, matched = l.places[id]
			return true, matched
		}
	}
	return false, false
}

// sorted returns the players whose tickets are queued in the log, and those whose tickets are matched.
func (l *ticketLog) sorted(list []api.TicketRequest) (queued, matched []string) {
	for _, r := range list {
		switch known, placed := l.has(r.Player); {
		case placed:
			matched = append(matched, r.Player)
		case known:
			queued = append(queued, r.Player)
		}
	}
	return queued, matched
}

// kill ends the backend that decides, with SIGKILL, and waits until the other one decides. It then starts the first one again, and waits until
// that one waits for its turn.
func (p *pair) kill() {
	p.t.Helper()
	i, other := 0, 0
	p.until("one backend decides, and the other one refuses requests with the reason", func() bool {
		if i = p.active(); i < 0 {
			return false
		}
		other = 1 - i
		_, err := p.clients[other].Get(p.ctx, "none", 0)
		return errors.Is(err, api.ErrUnavailable) && strings.Contains(err.Error(), "does not decide matches now")
	})
	p.waits(other)
	l, queued, matched := p.log(), 0, 0
	for _, e := range p.entrants {
		at, ok := l.places[e.id]
		if !ok {
			queued++
			continue
		}
		if e.match == nil {
			matched++
		}
		if e.logged == nil {
			e.logged = &at
		}
	}
	p.killed = p.processes[i]
	p.killed.kill()
	p.until("the other backend decides", func() bool { return p.processes[other].last("backend_decides") != nil && p.active() == other })
	p.kills++
	p.t.Logf("kill %d of backend %d: %d tickets were queued, %d were matched without a token", p.kills, i, queued, matched)
	if queued > 0 {
		p.queued++
	}
	if matched > 0 {
		p.matched++
	}
	p.start(i)
	p.waits(i)
}

// waits waits until a backend reports that the other one decides.
func (p *pair) waits(i int) {
	p.t.Helper()
	p.until(fmt.Sprintf("backend %d waits", i), func() bool { return p.processes[i].last("backend_waits") != nil })
}

// requests returns the requests of new players for a queue.
func requests(name string, count int) (list []api.TicketRequest) {
	for i := range count {
		list = append(list, api.TicketRequest{Player: fmt.Sprint(name, i), Queue: name})
	}
	return list
}

func names(list []api.TicketRequest) (players []string) {
	for _, r := range list {
		players = append(players, r.Player)
	}
	return players
}

// In a cluster of three NATS servers, the active backend is killed five times:
//
//   - while tickets are queued
//   - while tickets are matched and their players have no token
//   - while all servers are full
//
// Each time the other backend continues. No ticket is lost, no seat is given twice, and each reply about a ticket agrees with those before.
func TestTheActiveBackendIsKilled(t *testing.T) {
	if !race.Long {
		t.Skip("starts ten processes, and restarts a backend five times: set TENDON_LONG")
	}
	const most = 4 // rooms of each server
	free, f := ports(t, 3), newFleet(t, 3)
	var addresses []string
	serve := func(port int) {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
		f.serve(port, "--max-rooms", fmt.Sprint(most))
	}
	serve(free[0])
	serve(free[1])
	p := newPair(t, f)
	p.until("the backend lists both servers", func() bool { return len(p.rooms().Servers) == 2 })

	// Three of the four players of a match are queued. Two of them are a party. The third one sends the request while the backend is killed.
	squad := requests("squad", 4)
	for i := range 2 {
		squad[i].Party, squad[i].PartySize = "friends", 2
	}
	p.submit(squad[:2]...)()
	third := p.submit(squad[2])
	p.kill()
	third()
	for _, r := range squad[:3] {
		if got := p.get(r.Player); got.State != queue.Queued {
			t.Errorf("after the kill: %+v", got)
		}
		p.duplicate(r.Player)
	}

	// Matches are made, and no player asks for a token before the kill. After it, half of the players request tokens. The others request them after another kill.
	duel := requests("duel", 20)
	matched := func(list []api.TicketRequest) {
		t.Helper()
		p.until("the tickets are matched", func() bool { _, matched := p.log().sorted(list); return len(matched) == len(list) })
	}
	p.submit(duel[:8]...)()
	matched(duel[:8])
	p.kill()
	p.tokens(names(duel[:4])...)
	p.submit(squad[3])()
	matched(squad)
	p.kill()
	p.tokens(append(names(squad), names(duel[:8])...)...)

	// The servers have places for three more matches. The other players wait, and each backend returns the reason.
	p.submit(duel[8:]...)()
	var waiting []string
	p.until("six players are matched", func() bool {
		var matched []string
		waiting, matched = p.log().sorted(duel[8:])
		return len(waiting) == 6 && len(matched) == 6
	})
	refused := func() {
		t.Helper()
		for _, player := range waiting {
			p.until(player+" receives the reason", func() bool {
				got := p.get(player)
				if got.State != queue.Queued {
					t.Fatalf("all servers are full: %+v", got)
				}
				return strings.Contains(got.Reason, "rooms of all servers are taken")
			})
		}
	}
	refused()
	p.kill()
	refused()
	for _, player := range waiting {
		p.duplicate(player)
	}
	serve(free[2])
	matched(duel[8:])
	p.kill()
	p.tokens(names(duel[8:])...)

	// All tickets have a place of their own.
	taken, l := map[place]string{}, p.log()
	for player, e := range p.entrants {
		m := e.match
		at := place{m.Room, m.Seat}
		if l.tickets[e.id] != player || l.places[e.id] != at {
			t.Errorf("the log has %+v for %s, and the reply was %+v", l.places[e.id], player, m)
		}
		if other := taken[at]; other != "" {
			t.Errorf("%s and %s have seat %d of room %s", player, other, m.Seat, m.Room)
		}
		taken[at] = player
		if m.ClientID != backend.ClientID(player) || len(m.Addresses) != 1 || !slices.Contains(addresses, m.Addresses[0]) {
			t.Errorf("%s has client id %d and addresses %q", player, m.ClientID, m.Addresses)
		}
		token, err := tokens.Parse(m.Token)
		if err == nil {
			_, err = netcode.ParseConnectToken(token)
		}
		if err != nil {
			t.Errorf("the token of %s: %v", player, err)
		}
	}
	all := len(squad) + len(duel)
	if len(p.entrants) != all || len(taken) != all || len(l.tickets) != all || len(l.places) != all || len(l.wrong) > 0 {
		t.Errorf("%d players have %d seats; the log has %d tickets and %d seats; made or matched twice, or cancelled: %q", len(p.entrants), len(taken), len(l.tickets), len(l.places), l.wrong)
	}
	p.until("the backend lists the servers", func() bool { return len(p.rooms().Servers) == len(addresses) })
	used := map[string]int{} // rooms, by the ID of the server
	for _, id := range l.servers {
		used[id]++
	}
	for _, s := range p.rooms().Servers {
		if used[s.ID] > most {
			t.Errorf("%s has %d matches, want at most %d", s.Addresses[0], used[s.ID], most)
		}
	}
	if a, b := p.entrants["squad0"].match, p.entrants["squad1"].match; a.Room != b.Room {
		t.Errorf("the party is in rooms %s and %s", a.Room, b.Room)
	}
	if p.kills < 5 || p.matched == 0 || p.queued == 0 {
		t.Errorf("%d kills, %d while tickets were queued, %d while tickets were matched without a token", p.kills, p.queued, p.matched)
	}
	file := filepath.Join(t.TempDir(), "tickets.log")
	if err := os.WriteFile(file, l.text, 0o600); err != nil {
		t.Fatal(err)
	}
	if passes, err := backend.Check(file, []queue.Queue{{Name: "duel", Players: 2}, {Name: "squad", Players: 4}}); err != nil || passes < 4 {
		t.Errorf("%d passes, %v", passes, err)
	}

	// The server accepts the tokens of a match that another backend made.
	room := p.entrants["duel0"].match.Room
	for _, r := range duel {
		if m := p.entrants[r.Player].match; m.Room == room {
			launch(t, r.Player, serverRole, nil, "join", m.Addresses[0], "--token", m.Token, "--json", "--bot")
		}
	}
	p.until("both players are in the room", func() bool {
		return slices.ContainsFunc(p.rooms().Rooms, func(r api.Room) bool { return r.Room == room && len(r.Clients) == 2 })
	})
}
