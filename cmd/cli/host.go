package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
	"tendon/systems/relay"
)

// strategies are the sync strategies that --sync takes.
var strategies = []systems.Strategy{relay.Strategy}

// strategyNamed returns the strategy of that name.
func strategyNamed(name string) (systems.Strategy, error) {
	known := ""
	for _, s := range strategies {
		if s.Name == name {
			return s, nil
		}
		known += " " + s.Name
	}
	return systems.Strategy{}, fmt.Errorf("--sync %s is not a strategy of this build; it has%s", name, known)
}

// host is a server that runs in this process, with the checksums of its last ticks.
type host struct {
	*server.Server
	key    netcode.Key
	addr   netip.AddrPort // where clients find it
	game   *ecs.Game
	truth  *truth
	cancel context.CancelFunc
	ended  chan error
}

// hostConfig is what a verb chooses of a host.
type hostConfig struct {
	sync     string
	listen   string
	public   []netip.AddrPort
	key      netcode.Key
	previous *netcode.Key // accepted too, while the key is being changed
	maxRooms int
	workers  int
	seed     uint64 // 0: a random one for each room
	record   string // directory for recordings; "": none
	logger   *slog.Logger
	socket   server.Socket
	truth    bool // keep checksums for comparison
	observer func() ecs.Observer
}

// startHost opens a server and lets it run.
func startHost(a *app, c hostConfig) (*host, error) {
	strategy, err := strategyNamed(c.sync)
	if err != nil {
		return nil, err
	}
	if c.record != "" {
		if err := writable(c.record); err != nil {
			return nil, fmt.Errorf("recordings cannot be written: %w; choose another --record", err)
		}
	}
	h := &host{key: c.key, game: a.game, ended: make(chan error, 1)}
	if c.truth {
		h.truth = newTruth()
	}
	keys := []netcode.Key{c.key}
	if c.previous != nil {
		keys = append(keys, *c.previous)
	}
	recorders := &recorders{dir: c.record, app: a, open: map[string]*recorder{}}
	h.Server, err = server.New(server.Config{
		Room:     room.Config{Game: a.game, Strategy: strategy},
		OpenRoom: func(name string, rc *room.Config) error { return h.openRoom(c, recorders, name, rc) },
		CloseRoom: func(name string, _ *room.Room) {
			recorders.close(name)
		},
		Address: c.listen, Socket: c.socket, Public: c.public, Keys: keys, MaxRooms: c.maxRooms, Workers: c.workers,
		Logger: c.logger,
	})
	if err != nil {
		return nil, err
	}
	if h.addr, err = netip.ParseAddrPort(h.Addr().String()); err != nil {
		return nil, fmt.Errorf("the server's own address %v is not one: %w", h.Addr(), err)
	}
	if len(c.public) > 0 {
		h.addr = c.public[0]
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	go func() { h.ended <- h.Run(ctx) }()
	return h, nil
}

// openRoom hangs recordings and checksums on a new room.
func (h *host) openRoom(c hostConfig, rs *recorders, name string, rc *room.Config) error {
	if c.seed != 0 {
		rc.Seed = c.seed
	}
	if c.observer != nil {
		rc.Observer = c.observer()
	}
	var rec *recorder
	if c.record != "" {
		var err error
		if rec, err = rs.start(name, rc.Seed); err != nil {
			return err
		}
	}
	if rec == nil && h.truth == nil {
		return nil
	}
	rc.Taken = func(f systems.FinalTick) {
		if h.truth != nil {
			h.truth.add(f.Tick, f.State.Checksum())
		}
		if rec != nil {
			rec.take(f)
		}
	}
	return nil
}

// stop ends the server, which tells its clients.
func (h *host) stop() error {
	h.cancel()
	return <-h.ended
}

// ticket mints a token for this host.
func (h *host) ticket(to netip.AddrPort, pass server.Pass, life time.Duration) ([]byte, error) {
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(h.game.Name), Key: h.key, Addresses: []netip.AddrPort{to},
		Pass: pass, Lifetime: life}, time.Now())
}

// randomKey returns a key for one run.
func randomKey() (k netcode.Key) {
	rand.Read(k[:]) // never fails
	return k
}

// truth remembers the server's checksum of recent ticks, for clients in the same process to compare with.
type truth struct {
	mu    sync.Mutex
	ticks [truthTicks]ecs.Tick
	sums  [truthTicks]ecs.Checksum
	last  ecs.Checksum
	moves uint64 // ticks whose checksum differed from the one before
}

const truthTicks = 4096

func newTruth() *truth { return &truth{} }

func (t *truth) add(f ecs.Tick, sum ecs.Checksum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks[f%truthTicks], t.sums[f%truthTicks] = f, sum
	if sum != t.last {
		t.moves++
	}
	t.last = sum
}

// at returns the server's checksum of tick f; ok is false if it is not known.
func (t *truth) at(f ecs.Tick) (sum ecs.Checksum, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sums[f%truthTicks], f > 0 && t.ticks[f%truthTicks] == f
}

func (t *truth) changes() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moves
}

// listenUDP opens a socket of the loopback interface.
func listenUDP() (*net.UDPConn, netip.AddrPort, error) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("no socket on the loopback interface: %w", err)
	}
	return conn, conn.LocalAddr().(*net.UDPAddr).AddrPort(), nil
}

// recorders writes a file for each open room.
type recorders struct {
	mu   sync.Mutex
	dir  string
	app  *app
	open map[string]*recorder
}

func (rs *recorders) start(name string, seed uint64) (*recorder, error) {
	r, err := newRecorder(rs.dir, name, rs.app.game, seed)
	if err != nil {
		return nil, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.open[name] = r
	rs.app.say("recording room %s into %s", name, r.path)
	return r, nil
}

func (rs *recorders) close(name string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.open[name]
	if r == nil {
		return
	}
	delete(rs.open, name)
	if err := r.close(); err != nil && !errors.Is(err, os.ErrClosed) {
		rs.app.say("the recording %s is not whole: %v", r.path, err)
	}
}
