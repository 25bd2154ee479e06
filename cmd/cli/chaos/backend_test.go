//go:build linux

package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/ecs/race"
	"tendon/net/server"
)

// fleet starts the servers and the backends of a cluster.
type fleet struct {
	t      *testing.T
	nats   string   // addresses of its NATS servers
	joined []string // flags of all its processes
}

// newFleet starts NATS servers.
func newFleet(t *testing.T, count int) *fleet {
	t.Helper()
	nodes, _ := startNATS(t, count, 0)
	var urls []string
	for _, n := range nodes {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", n.config.Port))
	}
	list := strings.Join(urls, ",")
	dir := t.TempDir()
	key, operators := filepath.Join(dir, "server.key"), filepath.Join(dir, "admin.token")
	if _, err := server.GenerateKey(key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(operators, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &fleet{t, list, []string{"--json", "--key-file", key, "--cluster", list, "--admin-token-file", operators}}
}

func (f *fleet) serve(port int, flags ...string) *process {
	line := append([]string{"serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--admin", "127.0.0.1:0"}, f.joined...)
	return launch(f.t, "server", serverRole, nil, append(line, flags...)...)
}

// backend starts the backend, and returns it with its URL when it listens.
func (f *fleet) backend() (p *process, url string) {
	p = launch(f.t, "backend", serverRole, nil, append([]string{"backend", "--listen", "127.0.0.1:0", "--queue", "duel=2"}, f.joined...)...)
	until(f.t, "the backend listens", p, func() bool { return p.last("backend") != nil })
	return p, fmt.Sprint(p.last("backend")["url"])
}

// A backend and servers find each other in a cluster. Players who queue enter one room, which the backend lists. While the only server is
// full, tickets wait and say why. They are matched when a second server has joined. A kick reaches the server of the player.
func TestABackendUsesTheServersOfACluster(t *testing.T) {
	if !race.Long {
		t.Skip("starts six processes: set TENDON_LONG")
	}
	free, f := ports(t, 2), newFleet(t, 1)
	first := f.serve(free[0], "--max-rooms", "1")
	backend, url := f.backend()
	until(t, "the server listens", backend, func() bool { return first.last("listening") != nil })
	c := &api.Client{URL: url}
	join := func(player string) *process {
		return launch(t, player, serverRole, nil, "join", "--json", "--backend", url, "--queue", "duel", "--player", player, "--bot")
	}
	ann := join("ann")
	join("bob")
	var rooms api.Rooms
	until(t, "the backend lists a room of two clients", ann, func() bool {
		rooms = api.Rooms{}
		return call(url+"/v1/rooms", nil, &rooms) == nil && len(rooms.Rooms) == 1 && len(rooms.Rooms[0].Clients) == 2
	})
	if s := rooms.Servers; len(s) != 1 || s[0].Error != "" || s[0].MaxRooms != 1 || s[0].ID != rooms.Rooms[0].Server {
		t.Errorf("%+v", rooms)
	}
	eve, dan := submit(t, c, "eve"), submit(t, c, "dan")
	until(t, "a ticket says that all rooms are taken", backend, func() bool {
		got, err := c.Get(t.Context(), eve, 0)
		return err == nil && got.State == "queued" && strings.Contains(got.Reason, "rooms of all servers are taken")
	})
	f.serve(free[1], "--max-rooms", "1")
	until(t, "the second server has the match", backend, func() bool {
		a, failed := c.Get(t.Context(), eve, 0)
		b, err := c.Get(t.Context(), dan, 0)
		return failed == nil && err == nil && a.Match != nil && b.Match != nil && a.Match.Room == b.Match.Room && a.Match.Seat != b.Match.Seat &&
			strings.HasSuffix(a.Match.Addresses[0], fmt.Sprint(":", free[1]))
	})
	var done api.Sanctioned
	if err := call(url+"/v1/kick", api.Sanction{Player: "ann", Reason: "test"}, &done); err != nil || len(done.Servers) == 0 || len(done.Failed) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	select {
	case <-ann.ended:
	case <-time.After(backLimit):
		t.Fatalf("the kicked player is still there: %s", ann.text())
	}
}

// The server of a match dies before its players connect. Their tokens also name the other server, where they enter the same room.
func TestTokensNameTheOtherServers(t *testing.T) {
	if !race.Long {
		t.Skip("starts five processes: set TENDON_LONG")
	}
	f, servers := newFleet(t, 1), map[string]*process{}
	for _, port := range ports(t, 2) {
		servers[fmt.Sprintf("127.0.0.1:%d", port)] = f.serve(port)
	}
	backend, url := f.backend()
	var rooms api.Rooms
	until(t, "the backend lists both servers", backend, func() bool {
		rooms = api.Rooms{}
		return call(url+"/v1/rooms", nil, &rooms) == nil && len(rooms.Servers) == 2
	})
	c := &api.Client{URL: url}
	tickets := []string{submit(t, c, "ann"), submit(t, c, "bob")}
	var matches []*api.Match
	for _, id := range tickets {
		until(t, "the players are matched", backend, func() bool {
			got, err := c.Get(t.Context(), id, 0)
			if err == nil && got.Match != nil {
				matches = append(matches, got.Match)
			}
			return err == nil && got.Match != nil
		})
	}
	dead := matches[0].Addresses[0]
	servers[dead].kill()
	var player *process
	for _, m := range matches {
		player = launch(t, "player", serverRole, nil, "join", m.Addresses[0], "--token", m.Token, "--json", "--bot")
	}
	until(t, "both players are in the room", player, func() bool {
		rooms = api.Rooms{}
		return call(url+"/v1/rooms", nil, &rooms) == nil && len(rooms.Rooms) == 1 && rooms.Rooms[0].Room == matches[0].Room && len(rooms.Rooms[0].Clients) == 2
	})
	for _, s := range rooms.Servers {
		if s.ID == rooms.Rooms[0].Server && s.Addresses[0] == dead {
			t.Errorf("the room is on the dead server: %+v", rooms)
		}
	}
}

// asker sends requests to backends. A backend that was killed may leave one without a reply.
var asker = &http.Client{Timeout: 10 * time.Second}

// call sends a GET request, or with a body a POST request, and reads the reply.
func call(url string, body, reply any) error {
	send := func() (*http.Response, error) { return asker.Get(url) }
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = func() (*http.Response, error) { return asker.Post(url, "application/json", bytes.NewReader(text)) }
	}
	r, err := send()
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(reply)
}

// submit makes a ticket of a player.
func submit(t *testing.T, c *api.Client, player string) string {
	t.Helper()
	for end := time.Now().Add(backLimit); ; time.Sleep(20 * time.Millisecond) {
		ticket, err := c.Submit(t.Context(), api.TicketRequest{Player: player, Queue: "duel"}, player)
		if err == nil {
			return ticket.ID
		}
		if !errors.Is(err, api.ErrUnavailable) || time.Now().After(end) { // the backend may not decide matches yet
			t.Fatal(err)
		}
	}
}

// until waits until a condition holds, at most backLimit, or until a process ends.
func until(t *testing.T, what string, p *process, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(backLimit); !ok(); time.Sleep(20 * time.Millisecond) {
		if !p.alive() || time.Now().After(end) {
			t.Fatalf("not true: %s\n%s", what, p.text())
		}
	}
}
