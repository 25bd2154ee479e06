package swarm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/journals"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim/halves"
	"tendon/net/server"
	"tendon/net/simnet"
	"tendon/systems"
)

var (
	serverHost = netip.MustParseAddr("10.0.0.1")
	serverAddr = netip.AddrPortFrom(serverHost, 7777)
)

// world is a server and its clients on a simulated network.
type world struct {
	t        *testing.T
	schedule Schedule
	began    time.Time
	net      *simnet.DatagramNet
	strategy systems.Strategy
	app      *app.App
	log      bytes.Buffer // of the server
	dir      string       // of the journals
	disk     disk
	dirs     int
	wrong    atomic.Int64 // how far the clock of the server's host is from the right time
	build    string       // of the server's program; empty: this one
	judge    judge

	process *process
	past    []*process
	clients []*player
	frozen  gate   // of the server's process
	done    []int  // of each fault: 0, 1 if it has begun, 2 if it is over
	stuck   bool   // faults do not end
	later   func() // called once after 5 s; optional
}

// process is one process of the server.
type process struct {
	*host.Host
	journals *journals.Store
	socket   *socket
	ended    chan error // of Stop; nil while it runs
}

// player is a client and its process.
type player struct {
	*client.Client
	plan   Client
	host   netip.Addr
	port   uint16
	socket *simnet.PacketConn
	next   time.Time // of the next frame
	away   time.Time // until then its process stands still
	moves  int       // of its address

	match int      // matches before the present one
	past  ecs.Tick // ticks that were confirmed in them
}

// must panics on an error of the harness: t.Fatal would leave the bubble with its goroutines.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// newWorld starts the server of a schedule. It must be called in a bubble of testing/synctest.
func newWorld(t *testing.T, s Schedule) *world {
	i := slices.IndexFunc(syncflags.All, func(k systems.Strategy) bool { return k.Name == s.Sync })
	if err := s.check(); err != nil || i < 0 {
		t.Fatalf("schedule: strategy %q: %v", s.Sync, err)
	}
	w := &world{t: t, schedule: s, began: time.Now(), net: simnet.NewDatagramNet(simnet.Config{Seed: s.Seed, SocketBuffer: 1 << 10}),
		strategy: syncflags.All[i], dir: filepath.Join(t.TempDir(), "journals"), done: make([]int, len(s.Faults))}
	w.app = app.New(context.Background(), halves.Dots(), &w.log, &w.log)
	w.disk.struck, w.disk.safe = map[Kind]int{}, map[string]int64{}
	w.judge = judge{world: w, joins: map[*player]uint64{}, lossy: map[*player]uint64{}, moved: map[*player]time.Duration{}, facts: map[fact]image.Checksum{}, seats: map[*player]int{}, last: map[*player]ecs.Tick{}, done: map[*player]ecs.Tick{}, changes: map[int]bool{}}
	w.start()
	return w
}

// clock returns the time of the server's host.
func (w *world) clock() time.Time { return time.Now().Round(0).Add(time.Duration(w.wrong.Load())) }

// start begins a process of the server.
func (w *world) start() {
	w.t.Helper()
	conn, err := w.net.Listen(serverAddr)
	must(err)
	p := &process{socket: &socket{PacketConn: conn, gate: &w.frozen}}
	c := host.Config{Config: server.Config{Socket: p.socket, Workers: w.schedule.Workers, MaxRooms: 8, Clock: w.clock},
		Flags: &host.Flags{Flags: syncflags.Flags{Sync: w.strategy.Name}}, Strategy: w.strategy, Seed: w.schedule.Seed | 1}
	c.Room.KeepSeat = 2 * longest
	if w.schedule.Journal {
		var sync journals.Sync
		must(sync.UnmarshalText([]byte(cmp.Or(w.schedule.Fsync, "100ms"))))
		if err := c.OpenJournals(w.app, journals.Config{Dir: w.dir, Build: w.build, Sync: sync, Quarantine: true, RefuseOthers: true, Disk: w.disk.open, Clock: w.clock}); err != nil {
			panic(fmt.Sprintf("%v\n%s", err, &w.log))
		}
		p.journals, c.OnStop = c.Journals, server.Keep
		w.judge.recovered(p.journals.Waiting())
	}
	if p.Host, err = host.Start(w.app, c); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, &w.log))
	}
	w.process = p
}

// end ends the server's process by a fault. A killed process sends and writes nothing any more.
func (w *world) end(by Kind) {
	p := w.process
	w.judge.ends(by)
	p.ended = make(chan error, 1)
	if by != stop && by != update {
		_ = p.socket.Close()
		old := w.dir
		w.dirs++
		w.dir = fmt.Sprintf("%s-%d", strings.TrimRight(old, "-0123456789"), w.dirs)
		w.copyFiles(w.dir, old, by == power)
	}
	w.past = append(w.past, p)
	stop := func() error {
		err := p.Stop()
		if p.journals != nil {
			err = errors.Join(err, p.journals.Close())
		}
		return err
	}
	go func() { p.ended <- stop() }()
}

// join adds the client of a plan.
func (w *world) join(plan Client) {
	w.t.Helper()
	n := len(w.clients) + 1
	p := &player{plan: plan, host: netip.AddrFrom4([4]byte{10, 1, 0, byte(n)}), next: time.Now()}
	w.route(p, nil)
	token, err := w.process.Token(serverAddr, server.Pass{Room: fmt.Sprintf("room%d", plan.Room), Seat: server.AnySeat})
	must(err)
	p.Client, err = client.Dial(client.DialConfig{Token: token,
		Config: client.Config{Game: w.app.Game, Strategies: syncflags.All, Bot: true, BotSeed: w.schedule.Seed + uint64(n), Name: fmt.Sprintf("player %d", n),
			Notice: func(_ int, text string) { w.judge.noticed(p, text) }},
		Listen: func(netip.AddrPort) (client.Socket, error) {
			p.port++
			s, err := w.net.Listen(netip.AddrPortFrom(p.host, 40000+p.port))
			p.socket = s
			return s, err
		}})
	must(err)
	w.clients = append(w.clients, p)
}

// route lays the client's link, changed by a fault.
func (w *world) route(p *player, change func(*simnet.Path)) {
	profile, _ := simnet.ByName(p.plan.Profile)
	if change != nil {
		change(&profile.Up)
		change(&profile.Down)
	}
	must(w.net.Route(p.host, serverHost, profile))
}

// run plays until a time since the beginning, with the faults that begin and end meanwhile.
func (w *world) run(until time.Duration) {
	w.t.Helper()
	for w.t.Context().Err() == nil {
		now := time.Since(w.began)
		if now >= until {
			return
		}
		for i, c := range w.schedule.Clients {
			if i == len(w.clients) && now >= time.Duration(c.Joins) {
				w.join(c)
			}
		}
		if w.later != nil && now > 5*time.Second {
			w.later()
			w.later = nil
		}
		for i := range w.schedule.Faults {
			w.apply(i, now)
		}
		next := w.began.Add(until)
		for _, p := range w.clients {
			if !p.next.After(time.Now()) {
				w.frame(p)
			}
			if p.next.Before(next) {
				next = p.next
			}
		}
		time.Sleep(min(max(time.Until(next), 0), 20*time.Millisecond))
	}
}

// frame computes a frame of a client.
func (w *world) frame(p *player) {
	now := time.Now()
	p.next = now.Add(time.Second / time.Duration(p.plan.Hz))
	if now.Before(p.away) {
		p.next = p.away
		return
	}
	if err := p.Frame(now); err != nil {
		w.judge.stopped(p, err)
		return
	}
	p.View(now)
	p.Effects(func(systems.Effect) {})
	w.judge.observe(p)
}

// close ends all processes.
func (w *world) close() {
	for _, p := range w.clients {
		p.Close()
	}
	w.end(stop)
	for _, p := range w.past {
		if err := <-p.ended; err != nil && !errors.Is(err, net.ErrClosed) && p.socket.gate == &w.frozen {
			w.t.Logf("a process of the server ended with %v", err)
		}
	}
	w.net.Close()
}
