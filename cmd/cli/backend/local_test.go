package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/net/netcode"
)

// local is a service that runs without a listener, in a bubble of synctest.
type local struct {
	*Service
	t    *testing.T
	kill func() // ends Run
}

// startLocal runs a service until the test ends or kill is called.
func startLocal(t *testing.T, log Log, d Directory, queues []queue.Queue) *local {
	t.Helper()
	s, err := New(Config{Game: "crumbs", Key: netcode.Key{1}, Queues: queues, Directory: d})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if err := s.Run(ctx, log); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return &local{s, t, func() { cancel(); synctest.Wait() }}
}

// send sends a request, decodes the reply and returns its status.
func (l *local) send(method, path, body string, answer any) int {
	l.t.Helper()
	r, w := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body)), httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
		l.t.Errorf("%s: %v", w.Body, err)
	}
	return w.Code
}

// queue makes a ticket and returns its id.
func (l *local) queue(player, queue string) string {
	l.t.Helper()
	var made api.Ticket
	if code := l.send(http.MethodPost, "/v1/tickets", fmt.Sprintf(`{"player":%q,"queue":%q}`, player, queue), &made); code != http.StatusCreated {
		l.t.Fatalf("status %d", code)
	}
	return made.ID
}

// get reads a ticket. It has no state if it does not exist.
func (l *local) get(id string) (answer api.Ticket) {
	l.t.Helper()
	l.send(http.MethodGet, "/v1/tickets/"+id, "", &answer)
	return answer
}

// passed waits until the match functions were called.
func passed() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// The next backend keeps matched tickets for two minutes, also after a long pause. It cancels tickets of a queue that is gone. A last line
// of the log that is not whole is left out.
func TestTheNextBackendKeepsMatchedTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := &memory{}, directory(4, "one")
		l := startLocal(t, log, d, append(pair(), queue.Queue{Name: "gone", Players: 2}))
		ann, eve := l.queue("ann", "duel"), l.queue("eve", "gone")
		l.queue("bob", "duel")
		passed()
		before := l.get(ann)
		if before.Match == nil {
			t.Fatalf("%+v", before)
		}
		l.kill()
		log.events = append(log.events, `{"kind":"ticket","at":`...)
		time.Sleep(time.Hour)
		l = startLocal(t, log, d, pair())
		time.Sleep(keepEnded - time.Second)
		if got := l.get(ann); got.Match == nil || got.Match.Room != before.Match.Room {
			t.Errorf("%+v", got)
		}
		if got := l.get(eve); got.State != queue.Cancelled || !strings.Contains(got.Reason, "no such queue") {
			t.Errorf("%+v", got)
		}
		time.Sleep(3 * time.Second)
		if got := l.get(ann); got.State != "" {
			t.Errorf("%+v", got)
		}
	})
}

// A matched ticket without a server is kept while a player of the match asks for it. The match moves to a server that starts later.
func TestAMatchWithoutAServerIsKeptWhileAPlayerAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := directory(4, "one")
		l := startLocal(t, &memory{}, d, pair())
		ids := []string{l.queue("ann", "duel"), l.queue("bob", "duel")}
		passed()
		room := l.get(ids[0]).Match.Room
		d.set(func() { d.list = nil })
		for range 20 {
			time.Sleep(30 * time.Second)
			if got := l.get(ids[0]); got.State != queue.Matched || got.Match != nil {
				t.Fatalf("%+v", got)
			}
		}
		two := directory(4, "x", "two").list[1]
		d.set(func() { d.list = append(d.list, two) })
		for _, id := range ids {
			if got := l.get(id); got.Match == nil || got.Match.Room != room || got.Match.Addresses[0] != "127.0.0.1:7002" {
				t.Errorf("%+v", got)
			}
		}
		time.Sleep(keepEnded + 2*time.Second)
		if got := l.get(ids[0]); got.State != "" {
			t.Errorf("%+v", got)
		}
	})
}

// A request that waits for a ticket ends with the term of the backend.
func TestAWaitEndsWithTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLocal(t, &memory{}, directory(4, "one"), pair())
		id := l.queue("ann", "duel")
		code := 0
		go func() { code = l.send(http.MethodGet, "/v1/tickets/"+id+"?wait=30", "", &api.Ticket{}) }()
		passed()
		if code != 0 {
			t.Fatalf("status %d at once", code)
		}
		l.kill()
		if code != http.StatusServiceUnavailable {
			t.Errorf("status %d", code)
		}
	})
}

// A player may make 16 tickets in two minutes.
func TestAFurtherTicketOfAPlayerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLocal(t, &memory{}, directory(4, "one"), pair())
		for range 16 {
			l.send(http.MethodDelete, "/v1/tickets/"+l.queue("ann", "duel"), "", &api.Ticket{})
		}
		var refused api.Error
		if code := l.send(http.MethodPost, "/v1/tickets", `{"player":"ann","queue":"duel"}`, &refused); code != http.StatusTooManyRequests || refused.Error != queue.ErrOften.Error() {
			t.Errorf("%d %s", code, refused.Error)
		}
		l.queue("bob", "duel")
		time.Sleep(keepEnded + 2*time.Second)
		l.queue("ann", "duel")
	})
}

// Several servers outside of a cluster have no directory of rooms, so a request for players names one of them. A single one needs no name.
func TestBackfillOutsideOfACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			servers, refused []string
			accepted, at     string
		}{
			{[]string{"127.0.0.1:7001", "127.0.0.1:7002"}, []string{"", `,"server":"127.0.0.1:7003"`}, `,"server":"127.0.0.1:7002"`, "127.0.0.1:7002"},
			{[]string{"127.0.0.1:7001"}, nil, "", "127.0.0.1:7001"},
		} {
			l := startLocal(t, &memory{}, NewStatic(c.servers, 4, "", nil), pair())
			put := func(server string, want int) {
				t.Helper()
				var answer api.Error
				if code := l.send(http.MethodPut, "/v1/backfill/old", `{"queue":"duel","seats":1`+server+`}`, &answer); code != want || want != 200 && !strings.Contains(answer.Error, "/v1/rooms") {
					t.Errorf("%q: %d %s", server, code, answer.Error)
				}
			}
			for _, server := range c.refused {
				put(server, http.StatusBadRequest)
			}
			put(c.accepted, http.StatusOK)
			id := l.queue("ann", "duel")
			passed()
			if got := l.get(id); got.Match == nil || got.Match.Room != "old" || got.Match.Addresses[0] != c.at {
				t.Errorf("%+v", got)
			}
			l.kill()
		}
	})
}

// A player who was matched with an open room is not sent to another server when the room has ended.
func TestAnOpenRoomIsNotMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := directory(4, "one", "two")
		d.open["old"] = "two"
		l := startLocal(t, &memory{}, d, pair())
		if code := l.send(http.MethodPut, "/v1/backfill/old", `{"queue":"duel","seats":1,"server":"two"}`, &api.Backfill{}); code != http.StatusOK {
			t.Fatalf("status %d", code)
		}
		id := l.queue("ann", "duel")
		passed()
		d.set(func() { delete(d.open, "old"); d.list = d.list[:1] })
		if got := l.get(id); got.State != queue.Matched || got.Match != nil || !strings.Contains(got.Reason, "has ended") {
			t.Errorf("%+v", got)
		}
		d.set(func() { d.open["old"] = "one" })
		if got := l.get(id); got.Match == nil || got.Match.Addresses[0] != "127.0.0.1:7001" {
			t.Errorf("%+v", got)
		}
		l.send(http.MethodPut, "/v1/backfill/old", `{"queue":"duel","seats":2}`, &api.Backfill{})
		d.set(func() { delete(d.open, "old") })
		time.Sleep(moveTime)
		var gone api.Error
		if code := l.send(http.MethodGet, "/v1/tickets/"+id, "", &gone); code != http.StatusNotFound || !strings.Contains(gone.Error, "make a new ticket") {
			t.Errorf("%d %+v", code, gone)
		}
		if code := l.send(http.MethodPut, "/v1/backfill/old", `{"queue":"duel","seats":1}`, &gone); code != http.StatusNotFound || !strings.Contains(gone.Error, "is not open") {
			t.Errorf("%d %+v", code, gone)
		}
		next := l.queue("bob", "duel")
		passed()
		if got := l.get(next); got.State != queue.Queued {
			t.Errorf("%+v is sent to a room that has ended", got)
		}
	})
}

// A request without a handler gets a reply in JSON, which names the paths or the methods.
func TestUnknownRequestsGetAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLocal(t, &memory{}, directory(4, "one"), pair())
		for _, c := range []struct {
			method, path string
			status       int
			text         string
		}{{http.MethodGet, "/v1/ticket", http.StatusNotFound, "/v1/openapi.json"}, {http.MethodGet, "/", http.StatusNotFound, "/v1/openapi.json"},
			{http.MethodPut, "/v1/tickets/7", http.StatusMethodNotAllowed, "DELETE, GET, HEAD"}, {http.MethodGet, "/v1/tickets", http.StatusMethodNotAllowed, "POST"}} {
			var reply api.Error
			if code := l.send(c.method, c.path, "", &reply); code != c.status || !strings.Contains(reply.Error, c.text) {
				t.Errorf("%+v: %d %+v", c, code, reply)
			}
		}
	})
}

// The number of rooms that request players is bounded. A room with a request can replace it.
func TestARequestIsReplacedAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := directory(4, "one")
		for i := range maxOpen + 1 {
			d.open[fmt.Sprint("r", i)] = "one"
		}
		l := startLocal(t, &memory{}, d, pair())
		put := func(room, seats, want int) {
			t.Helper()
			if code := l.send(http.MethodPut, fmt.Sprint("/v1/backfill/r", room), fmt.Sprintf(`{"queue":"duel","seats":%d}`, seats), &api.Error{}); code != want {
				t.Errorf("room %d: %d, want %d", room, code, want)
			}
		}
		for i := range maxOpen {
			put(i, 1, http.StatusOK)
		}
		put(maxOpen, 1, http.StatusServiceUnavailable)
		put(7, 2, http.StatusOK)
		put(7, 0, http.StatusOK)
		put(maxOpen, 1, http.StatusOK)
	})
}
