package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/cluster"
	"tendon/net/netcode"
	"tendon/net/server"
)

// running is a service that runs, with its HTTP server.
type running struct {
	*Service
	api.Client
	t    testing.TB
	kill func() error // ends Run at once and returns its error
}

// pair is a queue of matches of two.
func pair() []queue.Queue { return []queue.Queue{{Name: "duel", Players: 2}} }

// directory returns servers with a number of rooms each.
func directory(rooms int, ids ...string) *fakeDirectory {
	d := &fakeDirectory{open: map[string]string{}}
	for i, id := range ids {
		d.list = append(d.list, cluster.Server{ID: id, Name: id, Addresses: []string{"127.0.0.1:" + []string{"7001", "7002", "7003"}[i]}, MaxRooms: rooms})
	}
	return d
}

// start runs a service with a log until the test ends or kill is called.
func start(t testing.TB, log Log, c Config) *running {
	t.Helper()
	if c.Queues == nil {
		c.Queues = pair()
	}
	c.Game, c.Key = "crumbs", netcode.Key{1}
	if c.Interval == 0 {
		c.Interval = time.Millisecond
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, log) }()
	h := httptest.NewServer(s.Handler())
	r := &running{Service: s, Client: api.Client{URL: h.URL, HTTP: h.Client(), Retry: time.Millisecond}, t: t}
	done := false
	r.kill = func() (err error) {
		if !done {
			done = true
			cancel()
			err = <-ended
			h.Close()
		}
		return err
	}
	t.Cleanup(func() { _ = r.kill() })
	for !s.Active() {
		select {
		case err := <-ended:
			ended <- err
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	return r
}

// queue makes a ticket and returns its id.
func (r *running) queue(player string) string {
	r.t.Helper()
	t, err := r.Submit(r.t.Context(), api.TicketRequest{Player: player, Queue: "duel"}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return t.ID
}

// until reads a ticket until ok accepts it.
func (r *running) until(id string, ok func(api.Ticket) bool) api.Ticket {
	r.t.Helper()
	for {
		t, err := r.Get(r.t.Context(), id, time.Second)
		if err != nil {
			r.t.Fatal(err)
		}
		if ok(t) {
			return t
		}
		time.Sleep(time.Millisecond)
	}
}

func matched(t api.Ticket) bool { return t.Match != nil }

// memory is a Log. Its copies share the events.
type memory struct {
	events []byte
	before func() error // called before each append. Optional
	doubt  atomic.Bool  // another process may append events
}

func (m *memory) Leased() bool { return !m.doubt.Load() }

func (m *memory) Reached() bool { return true }

func (m *memory) Recovered(context.Context) ([]byte, error) { return m.events, nil }

func (m *memory) Append(_ context.Context, events []byte, begins bool) error {
	if m.before != nil {
		if err := m.before(); err != nil {
			return err
		}
	}
	if begins {
		m.events = nil
	}
	m.events = append(m.events[:len(m.events):len(m.events)], events...)
	return nil
}

// serversOf returns the addresses of the token of a match.
func serversOf(t testing.TB, m *api.Match) []netip.AddrPort {
	t.Helper()
	token, ok := tokens.Decode(m.Token)
	if !ok {
		t.Fatal("not a token")
	}
	parsed, err := netcode.ParseConnectToken(token)
	if err != nil || parsed.ProtocolID != server.ProtocolID("crumbs") {
		t.Fatal(parsed, err)
	}
	return parsed.Servers()
}

// seatOf describes the seat of a match, after a check that its token begins with the addresses of the match.
func seatOf(t testing.TB, m *api.Match) string {
	t.Helper()
	if list := serversOf(t, m); len(m.Addresses) == 0 || fmt.Sprint(list[:len(m.Addresses)]) != fmt.Sprint(m.Addresses) {
		t.Fatal(list, m.Addresses)
	}
	return fmt.Sprint(m.Room, " ", m.Seat, " ", m.ClientID, " ", m.Addresses)
}

// Two players who queue receive tokens for two seats of one room.
func TestTwoPlayersReceiveTheSeatsOfARoom(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: directory(4, "one")})
	first := r.queue("ann")
	if got := r.until(first, func(api.Ticket) bool { return true }); got.State != queue.Queued || got.Waiting != 1 {
		t.Errorf("%+v", got)
	}
	second := r.queue("bob")
	a, b := r.until(first, matched), r.until(second, matched)
	if a.Match.Room != b.Match.Room || a.Match.Seat == b.Match.Seat || a.Match.ClientID != ClientID("ann") {
		t.Errorf("%+v\n%+v", a.Match, b.Match)
	}
	again := r.until(first, matched)
	if seatOf(t, a.Match) != seatOf(t, again.Match) || seatOf(t, a.Match) == seatOf(t, b.Match) {
		t.Errorf("the seat differs between two replies, or is given twice: %s, %s, %s", seatOf(t, a.Match), seatOf(t, again.Match), seatOf(t, b.Match))
	}
}

// A backend that dies between the match and the reply with the token continues with the same seats. One that dies before the match
// is stored makes it again. In both cases no ticket is lost, and no seat is given twice.
func TestAKilledBackendContinuesWithTheSameSeats(t *testing.T) {
	dir := t.TempDir()
	open := func() *File {
		f, err := OpenFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	log := open()
	r := start(t, log, Config{Directory: directory(4, "one")})
	ids := []string{r.queue("ann"), r.queue("bob"), r.queue("eve")}
	before := map[string]string{}
	for _, id := range ids[:2] {
		before[id] = seatOf(t, r.until(id, matched).Match)
	}
	if err := r.kill(); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	torn := open()
	if err := torn.Append(t.Context(), nil, false); err == nil {
		t.Error("a log can be written before it is read")
	}
	_ = torn.Close()
	appendTo(t, torn.path, `{"kind":"ticket","at":`) // the process died while it wrote

	if passes, err := Check(torn.path, pair()); err != nil || passes != 1 {
		t.Errorf("the log has %d passes, %v", passes, err)
	}
	alone := []queue.Queue{{Name: "duel", Players: 2, Match: func(queue.View) []queue.Proposal { return nil }}}
	if _, err := Check(torn.path, alone); !errors.Is(err, queue.ErrDiffers) {
		t.Error(err)
	}
	log = open()
	defer log.Close()
	r = start(t, log, Config{Directory: directory(4, "one")})
	for _, id := range ids[:2] {
		if seat := seatOf(t, r.until(id, matched).Match); seat != before[id] {
			t.Errorf("the seat was %s, and is %s after the restart", before[id], seat)
		}
	}
	if passes, err := Check(filepath.Join(dir, beforeName), pair()); err != nil || passes != 1 {
		t.Errorf("the log before has %d passes, %v", passes, err)
	}
	fourth := r.queue("dan")
	a, b := r.until(ids[2], matched), r.until(fourth, matched)
	if before[ids[0]] == seatOf(t, a.Match) || a.Match.Room != b.Match.Room || strings.Contains(before[ids[0]], a.Match.Room) {
		t.Errorf("the next match is in %s and %s, after %v", a.Match.Room, b.Match.Room, before)
	}
}

// A log that refuses the event of a match leaves the tickets waiting, and no reply shows the match.
func TestNoReplyDependsOnAnEventThatIsNotStored(t *testing.T) {
	log := &memory{}
	blocked := false
	r := start(t, log, Config{Directory: directory(4, "one"), Interval: time.Hour})
	ids := []string{r.queue("ann"), r.queue("bob")}
	stored := len(log.events)
	if err := r.do(t.Context(), func(c *core) {
		log.before = func() error { return cluster.ErrLost }
		c.passes(time.Now())
		blocked = len(c.lines) > 0
	}); !errors.Is(err, ErrInactive) || !blocked {
		t.Fatal(err, blocked)
	}
	if err := r.kill(); !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
	if len(log.events) != stored {
		t.Fatal("the match is stored")
	}
	log.before = nil
	r = start(t, log, Config{Directory: directory(4, "one")})
	for _, id := range ids {
		r.until(id, matched)
	}
}

// While another process may decide, a request without an event appends to the log. The request is refused if the append fails.
func TestAnOldStateIsNotShown(t *testing.T) {
	log := &memory{}
	var appends atomic.Int32
	var conflict atomic.Bool
	log.before = func() error {
		if appends.Add(1); conflict.Load() {
			return errors.New("another process has appended")
		}
		return nil
	}
	r := start(t, log, Config{Directory: directory(4, "one"), Interval: time.Hour})
	id := r.queue("ann")
	for _, doubt := range []bool{false, true} {
		log.doubt.Store(doubt)
		before := appends.Load()
		if _, err := r.Get(t.Context(), id, 0); err != nil || appends.Load() > before != doubt {
			t.Errorf("in doubt %v: %d appends, %v", doubt, appends.Load()-before, err)
		}
	}
	conflict.Store(true)
	if _, err := r.Get(t.Context(), id, 0); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("a reply from a state that may be old: %v", err)
	}
}

// A repeated request returns the same ticket. A player who waits already is refused, with the id of the ticket.
func TestDuplicateTickets(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: directory(4, "one")})
	request := api.TicketRequest{Player: "ann", Queue: "duel"}
	first, err := r.Submit(t.Context(), request, "key")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Submit(t.Context(), request, "key"); err != nil || again.ID != first.ID {
		t.Error(again, err)
	}
	refused := (*api.RefusedError)(nil)
	if _, err := r.Submit(t.Context(), request, "other"); !errors.As(err, &refused) || refused.Status != http.StatusConflict || refused.ID != first.ID {
		t.Error(err)
	}
	if got, err := r.Cancel(t.Context(), first.ID); err != nil || got.State != queue.Cancelled {
		t.Error(got, err)
	}
	if second, err := r.Submit(t.Context(), request, "other"); err != nil || second.ID == first.ID {
		t.Error(second, err)
	}
}

// While all servers are full, tickets wait and their replies say so. A place that is free again is given to the next match. A room that
// is open counts once.
func TestAFullServer(t *testing.T) {
	d := directory(1, "one")
	r := start(t, &memory{}, Config{Directory: d})
	var ids []string
	for _, player := range []string{"a", "b", "c", "d"} {
		ids = append(ids, r.queue(player))
	}
	room := r.until(ids[0], matched).Match.Room
	full := func(x api.Ticket) bool { return strings.Contains(x.Reason, "all rooms of all servers are taken (1)") }
	for _, id := range ids[2:] {
		if got := r.until(id, full); got.State != queue.Queued {
			t.Errorf("%+v", got)
		}
	}
	d.set(func() { d.list[0].Rooms, d.open[room] = 1, "one" }) // the players came
	if got := r.until(ids[2], full); got.State != queue.Queued {
		t.Errorf("%+v", got)
	}
	d.set(func() {
		d.list = append(d.list, cluster.Server{ID: "two", Addresses: []string{"127.0.0.1:7002"}, MaxRooms: 1})
	})
	if a, b := r.until(ids[2], matched).Match, r.until(ids[3], matched).Match; a.Room != b.Room || a.Room == room || a.Addresses[0] != "127.0.0.1:7002" {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// If the server of a match dies before its players come, all of them receive the same other one. A match that is open elsewhere is
// followed.
func TestAMatchMovesFromADeadServer(t *testing.T) {
	d := directory(2, "one")
	r := start(t, &memory{}, Config{Directory: d})
	ids := []string{r.queue("ann"), r.queue("bob")}
	room := r.until(ids[0], matched).Match.Room
	d.set(func() { d.list = nil })
	r.until(ids[0], func(x api.Ticket) bool {
		return x.State == queue.Matched && x.Match == nil && strings.Contains(x.Reason, "does not answer")
	})
	two, three := directory(2, "x", "two", "three").list[1], directory(2, "x", "two", "three").list[2]
	d.set(func() { d.list = []cluster.Server{two, three} })
	for _, id := range ids { // three has more space for the second one
		if m := r.until(id, matched).Match; m.Room != room || m.Addresses[0] != "127.0.0.1:7002" {
			t.Errorf("%+v", m)
		}
	}
	d.set(func() { d.list, d.open[room] = []cluster.Server{two, three}, "three" })
	if m := r.until(ids[1], matched).Match; m.Addresses[0] != "127.0.0.1:7003" {
		t.Errorf("%+v", m)
	}
}

// A token has the addresses of the match's server, and then those of the other servers of the cluster that can run the match.
func TestATokenHasTheServersOfTheCluster(t *testing.T) {
	d := directory(4, "one", "two", "three")
	for i := range 4 {
		d.list = append(d.list, d.list[0])
		d.list[3+i].ID, d.list[3+i].Addresses = fmt.Sprint("unusable", i), []string{fmt.Sprint("127.0.0.1:800", i)}
	}
	d.list[2].Addresses = append(d.list[2].Addresses, "127.0.0.1:7004", "127.0.0.1:7001")
	d.list[3].MaxRooms, d.list[4].Draining, d.list[5].Protocol, d.list[6].Keys = 0, true, 9, []string{"another"}
	r := start(t, &memory{}, Config{Directory: d, Protocol: 1})
	id := r.queue("ann")
	r.queue("bob")
	room := r.until(id, matched).Match.Room
	d.set(func() { d.open[room] = "two" })
	m := r.until(id, matched).Match
	want := []string{"127.0.0.1:7002"}
	for _, s := range cluster.Spread(d.list[:3], room) {
		if s.ID != "two" {
			want = append(want, s.Addresses[:min(len(s.Addresses), 2)]...)
		}
	}
	if got := fmt.Sprint(serversOf(t, m)); got != fmt.Sprint(want) || fmt.Sprint(m.Addresses) != "[127.0.0.1:7002]" {
		t.Errorf("the token is for %s, want %s; the reply has %v", got, want, m.Addresses)
	}
	d.set(func() { d.open[room] = "unusable3" })
	if m := r.until(id, matched).Match; m.Addresses[0] == "127.0.0.1:8003" {
		t.Errorf("the owner has another key: %+v", m)
	}
	d.set(func() { d.open[room] = "two" })
	d.set(func() {
		for i := range netcode.MaxServers {
			d.list = append(d.list, cluster.Server{ID: fmt.Sprint("more", i), Addresses: []string{fmt.Sprint("127.0.0.1:", 9000+i)}, MaxRooms: 4})
		}
	})
	if list := serversOf(t, r.until(id, matched).Match); len(list) != netcode.MaxServers || list[0].Port() != 7002 {
		t.Errorf("the token is for %v", list)
	}
	r = start(t, &memory{}, Config{Directory: NewStatic([]string{"127.0.0.1:7001", "127.0.0.1:7002"}, 4, "", nil)})
	id = r.queue("ann")
	r.queue("bob")
	if list := serversOf(t, r.until(id, matched).Match); len(list) != 1 {
		t.Errorf("servers outside of a cluster: the token is for %v", list)
	}
}

// outage is a log that accepts no events while off is set.
type outage struct {
	memory
	off atomic.Bool
}

func (o *outage) Reached() bool { return !o.off.Load() }

// A ticket about which no request is received is cancelled, so that no player is matched with one who has left. The time of an outage, in which
// requests are refused, does not count.
func TestAnAbandonedTicketIsCancelled(t *testing.T) {
	log := &outage{}
	r := start(t, log, Config{Directory: directory(4, "one"), Abandon: 10 * time.Minute})
	id := r.queue("ann")
	if _, changed, err := r.find(t.Context(), id, caller{full: true}, time.Second); changed == nil || err != nil { // a request that ended
		t.Fatal(err)
	}
	if err := r.do(t.Context(), func(c *core) {
		now := time.Now()
		for _, off := range []bool{false, true} {
			log.off.Store(off)
			c.swept = now
			if off { // the log refuses requests for twenty minutes, in which sweep is called
				for range 20 * 60 {
					now = now.Add(time.Second)
					c.sweep(now)
				}
			} else { // a write is repeated for two hours
				now = now.Add(2 * time.Hour)
				c.sweep(now)
			}
			if c.state.Len(queue.Queued) != 1 {
				t.Errorf("the ticket is cancelled after an outage; sweep was called in it: %v", off)
			}
		}
		log.off.Store(false)
		for c.state.Len(queue.Queued) > 0 {
			now = now.Add(time.Second)
			c.sweep(now)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if got := r.until(id, func(api.Ticket) bool { return true }); got.State != queue.Cancelled || !strings.Contains(got.Reason, "no request") {
		t.Errorf("%+v", got)
	}
}

// A room that requests players receives the next one. A request without a queue or seats is refused, and 0 seats end it.
func TestBackfill(t *testing.T) {
	d := directory(4, "one", "two")
	d.open["old.room"] = "two"
	r := start(t, &memory{}, Config{Directory: d})
	put := func(body string) (int, string) {
		t.Helper()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, r.URL+"/v1/backfill/old.room", strings.NewReader(body))
		response, err := r.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		return response.StatusCode, string(text)
	}
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{{`{"queue":"duel","seats":1,"server":"two"}`, 200, `"seats":1`}, {`{"queue":"duel","seats":3}`, 400, ""}, {`{"queue":"none","seats":1}`, 404, "no such queue"},
		{`{"queue":"duel"}`, 400, "seats is missing"}, {`{"queue":"duel","seats":null}`, 400, "seats is missing"}, {`{"seats":1}`, 400, "queue is missing"}} {
		if status, text := put(c.body); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", c.body, status, text, c.status, c.want)
		}
	}
	if m := r.until(r.queue("ann"), matched).Match; m.Room != "old.room" || m.Seat != queue.AnySeat || m.Addresses[0] != "127.0.0.1:7002" {
		t.Errorf("%+v", m)
	}
	open := func() (n int) {
		if err := r.do(t.Context(), func(c *core) { n = c.state.Open("") }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// The player may not be connected yet.
	if status, text := put(`{"queue":"duel","seats":2,"server":"two"}`); status != http.StatusOK || !strings.Contains(text, `"seats":1`) {
		t.Errorf("a repeated request: %d %s", status, text)
	}
	before := open()
	if status, text := put(`{"queue":"duel","seats":0}`); status != http.StatusOK || before != 1 || open() != 0 {
		t.Errorf("0 seats: %d %s; %d rooms requested players, then %d", status, text, before, open())
	}
	var refused api.Error
	if status := r.post("/v1/tickets", `{"player":"bob"}`, &refused); status != http.StatusBadRequest || !strings.Contains(refused.Error, "queue is missing") {
		t.Errorf("a ticket without a queue: %d %s", status, refused.Error)
	}
}

// The client of a player cancels the ticket when the player gives up, and otherwise returns the token.
func TestTheClientWaitsAndCancels(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: directory(4, "one")})
	ctx, cancel := context.WithCancel(t.Context())
	var id string
	_, err := r.Wait(ctx, api.TicketRequest{Player: "ann", Queue: "duel"}, func(x api.Ticket) { id = x.ID; cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := r.until(id, func(api.Ticket) bool { return true }); got.State != queue.Cancelled {
		t.Errorf("%+v", got)
	}
	r.queue("bob")
	if got, err := r.Wait(t.Context(), api.TicketRequest{Player: "ann", Queue: "duel"}, func(api.Ticket) {}); err != nil || got.Match == nil {
		t.Errorf("%+v, %v", got, err)
	}
}
