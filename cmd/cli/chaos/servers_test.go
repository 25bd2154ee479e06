//go:build linux

package chaos

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/server"
)

// service is a game server, which is started again after each end.
type service struct {
	*process
	name    string
	address netip.AddrPort
	links   []*proxy // to each NATS server
	args    []string
	world   *world

	mu    sync.Mutex
	rooms map[string]bool // of the newest statistics
}

func (s *service) start(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	s.rooms = map[string]bool{}
	s.mu.Unlock()
	s.process = launch(t, s.name, serverRole, s.event, s.args...)
}

// event receives an event of the process.
func (s *service) event(name string, e event) {
	switch name {
	case "stats":
		stats, _ := e["stats"].(map[string]any)
		table, _ := stats["table"].([]any)
		rooms := map[string]bool{}
		for _, r := range table {
			if r, ok := r.(map[string]any); ok {
				rooms[fmt.Sprint(r["name"])] = true
			}
		}
		s.mu.Lock()
		s.rooms = rooms
		s.mu.Unlock()
	case "journal":
		if resumed, _ := e["resumed"].(bool); resumed {
			tick, _ := e["tick"].(float64)
			returned, _ := e["returned"].(float64)
			s.world.resumed(s, fmt.Sprint(e["room"]), ecs.Tick(tick), int(returned))
		}
	case "crash":
		s.world.checker.fail("%s: the rules panicked: %v", s.name, e)
	}
}

// owned returns the rooms of the server.
func (s *service) owned() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms
}

// world is a cluster with clients.
type world struct {
	t       *testing.T
	checker *checker
	nodes   []*node
	routes  [][]*proxy
	servers []*service
	key     netcode.Key
	*players

	mu    sync.Mutex
	floor map[string]ecs.Tick // by room: the newest tick that a client had confirmed when its server had ended
	taken int                 // takeovers
	moved gaps                // of the planned moves of the present fault
	usual []time.Duration     // gaps of the other rooms at the same times
}

// resumed checks that a match goes on after the newest tick that a client had confirmed when its last server ended.
func (w *world) resumed(s *service, room string, tick ecs.Tick, returned int) {
	w.mu.Lock()
	floor := w.floor[room]
	w.taken++
	w.mu.Unlock()
	if tick < floor {
		w.checker.fail("%s continues room %s after tick %d, but tick %d is confirmed", s.name, room, tick, floor)
	}
	if returned > 0 {
		w.checker.fail("%s continues room %s with %d ticks that clients returned", s.name, room, returned)
	}
}

// ended stores which ticks are confirmed, after a server has ended.
func (w *world) ended(rooms map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for room := range rooms {
		w.floor[room] = w.checker.newest(room)
	}
}

// size is the size of a world.
type size struct {
	nodes, servers, rooms, seats int
	disk                         int // size of the file system of one NATS server, in MiB
	flags                        []string
	listen                       func(netip.AddrPort) (client.Socket, error) // client.DialConfig.Listen
}

// newWorld starts a cluster and its clients, and waits until they play.
func newWorld(t *testing.T, z size) *world {
	t.Helper()
	w := &world{t: t, checker: newChecker(), floor: map[string]ecs.Tick{}}
	began := time.Now()
	w.nodes, w.routes = startNATS(t, z.nodes, z.disk)
	keyFile := filepath.Join(t.TempDir(), "server.key")
	var err error
	if w.key, err = server.GenerateKey(keyFile); err != nil {
		t.Fatal(err)
	}
	free := ports(t, z.servers*(1+z.nodes))
	for i := range z.servers {
		s := &service{name: fmt.Sprintf("server%d", i), address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(free[0])), world: w}
		free = free[1:]
		var urls []string
		for k := range w.nodes {
			n := w.nodes[(i+k)%len(w.nodes)]
			l := newProxy(t, free[0], n.config.Port)
			s.links = append(s.links, l)
			urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", free[0]))
			free = free[1:]
		}
		s.args = append([]string{"serve", "--json", "--listen", s.address.String(), "--key-file", keyFile, "--cluster", strings.Join(urls, ","),
			"--keep-seat", "5m", "--sync", "relay"}, z.flags...)
		w.servers = append(w.servers, s)
		s.start(t)
	}
	for _, s := range w.servers {
		for deadline := time.Now().Add(time.Minute); s.last("listening") == nil; time.Sleep(10 * time.Millisecond) {
			if !s.alive() || time.Now().After(deadline) {
				t.Fatalf("%s does not listen: %v\n%s\n%s", s.name, s.last("error"), s.text(), w.nodes[0].log())
			}
		}
	}
	t.Logf("the servers listen after %v", time.Since(began).Round(time.Millisecond))
	var list []*player
	for i := range z.rooms {
		var addresses []netip.AddrPort
		for k := range w.servers {
			addresses = append(addresses, w.servers[(i+k)%len(w.servers)].address)
		}
		for seat := range z.seats {
			list = append(list, enter(t, w.checker, w.key, z.listen, roomName(i), seat, i*z.seats+seat, addresses...))
		}
	}
	w.players = play(t, list)
	w.mark()
	if missing := w.await(time.Minute); missing != nil {
		t.Fatalf("%d clients do not play:\n  %s\n%s\n%s", len(missing), summary(missing), w.texts(), w.checker.text())
	}
	t.Logf("%d clients play after %v", len(list), time.Since(began).Round(time.Millisecond))
	return w
}

// texts returns the last lines of all processes.
func (w *world) texts() (text string) {
	for _, s := range w.servers {
		text += s.text() + "\n"
	}
	for _, n := range w.nodes {
		text += n.config.Name + ":\n" + n.log() + "\n"
	}
	return text
}

// stop sends SIGTERM to a server and waits for its end.
func (s *service) stop() {
	s.signal(syscall.SIGTERM)
	<-s.ended
}
