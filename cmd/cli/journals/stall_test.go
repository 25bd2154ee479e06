package journals

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/matchsim/halves"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/relay"
)

// house is a server in virtual time, on a simulated network. Each room has a journal and a client.
type house struct {
	t *testing.T
	events
	dir     string
	game    *ecs.Game
	disk    *smallDisk
	net     *simnet.DatagramNet
	store   *Store
	server  *server.Server
	stop    func() // keeps the matches
	clients []*client.Client
	before  map[string]room.Stats
	tick    map[string]ecs.Tick // confirmed on the clients, at the same moment
	since   time.Time
}

var houseAddr = netip.MustParseAddrPort("10.0.0.1:7777")

func (h *house) config(s Sync) Config {
	return Config{Dir: h.dir, Game: h.game, Strategy: relay.Strategy.Name, Params: relay.Strategy.Params, Sync: s, Quarantine: true, Report: h.add, Disk: h.disk.open}
}

// inHouse runs a test with a server whose rooms have played for two seconds, and closes the server.
func inHouse(t *testing.T, rooms int, s Sync, test func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, dir: filepath.Join(t.TempDir(), "journals"), game: halves.Dots(), disk: bigDisk(), net: simnet.NewDatagramNet(simnet.Config{Seed: 7})}
		defer h.net.Close()
		h.disk.faults = map[string]error{}
		h.start(s, rooms)
		defer func() {
			h.disk.change(func() { h.disk.stall, h.disk.faults, h.disk.room = 0, nil, -1 })
			h.stop()
		}()
		test(h)
	})
}

// start starts a server in the directory, and a client in each room.
func (h *house) start(s Sync, rooms int) {
	h.t.Helper()
	var err error
	if h.store, err = Open(h.config(s)); err != nil {
		h.t.Fatal(err)
	}
	socket, err := h.net.Listen(houseAddr)
	if err != nil {
		h.t.Fatal(err)
	}
	c := server.Config{Room: room.Config{Game: h.game, Strategy: relay.Strategy}, Socket: socket, Keys: []netcode.Key{{1}}, Workers: 2,
		OnStop: server.Keep, OpenRoom: h.store.Open, CloseRoom: func(name string, r *room.Room) { h.store.Keep(name, worldOf(r)) }, UsedTokens: h.store.UsedTokens()}
	if h.server, err = server.New(c); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.server.Run(ctx) }()
	h.stop = func() {
		for _, c := range h.clients {
			c.Close()
		}
		h.clients = nil
		cancel()
		if err := errors.Join(<-ended, h.store.Close()); err != nil {
			h.t.Error(err)
		}
	}
	for i := range rooms {
		h.join(fmt.Sprintf("room%02d", i), i)
	}
	h.pass(2 * time.Second)
}

func worldOf(r *room.Room) *ecs.World {
	if r == nil {
		return nil
	}
	return r.World()
}

// join adds a client for a room.
func (h *house) join(name string, number int) *client.Client {
	h.t.Helper()
	token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(h.game.Name), Key: netcode.Key{1}, ClientID: uint64(number) + 1,
		Addresses: []netip.AddrPort{houseAddr}, Pass: server.Pass{Room: name, Seat: server.AnySeat}, Lifetime: time.Hour}, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	host, port := netip.AddrFrom4([4]byte{10, 1, 0, byte(number)}), uint16(40000)
	profile, _ := simnet.ByName("P1")
	if err := h.net.Route(host, houseAddr.Addr(), profile); err != nil {
		h.t.Fatal(err)
	}
	c, err := client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: halves.Dots(), Strategies: []systems.Strategy{relay.Strategy}, Bot: true},
		Listen: func(netip.AddrPort) (client.Socket, error) {
			port++
			return h.net.Listen(netip.AddrPortFrom(host, port))
		}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.clients = append(h.clients, c)
	return c
}

// pass plays for a time, with 15 frames a second for every client.
func (h *house) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Second / 15)
		for _, c := range h.clients {
			_ = c.Frame(time.Now()) // State has the end
		}
	}
}

// begin begins to count missed ticks.
func (h *house) begin() {
	h.before, h.tick, h.since = map[string]room.Stats{}, map[string]ecs.Tick{}, time.Now()
	for i, c := range h.clients {
		name := fmt.Sprintf("room%02d", i)
		h.tick[name] = c.Core.Stats().Strategy.Confirmed
		h.before[name] = h.stats(name)
	}
}

func (h *house) stats(name string) (s room.Stats) {
	h.t.Helper()
	if err := h.server.Do(context.Background(), name, func(r *room.Room) { s = r.Stats() }); err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return s
}

// wantTicks checks that the rooms, apart from some, missed no tick since begin, and that their clients received the ticks in time.
func (h *house) wantTicks(what string, behind time.Duration, apart ...string) {
	h.t.Helper()
	due := ecs.Tick(time.Since(h.since) * 60 / time.Second)
	for i, c := range h.clients {
		name := fmt.Sprintf("room%02d", i)
		if strings.Contains(strings.Join(apart, " "), name) {
			continue
		}
		was, is := h.before[name], h.stats(name)
		if is.Tick < was.Tick+due-1 || is.Late > was.Late || is.Deferred > was.Deferred || is.GivenUp > was.GivenUp {
			h.t.Fatalf("%s: %s computed %d ticks of %d, %d late, %d deferred, %v given up", what, name, is.Tick-was.Tick, due,
				is.Late-was.Late, is.Deferred-was.Deferred, is.GivenUp-was.GivenUp)
		}
		if confirmed := c.Core.Stats().Strategy.Confirmed; c.State() != client.Live || confirmed+ecs.Tick(behind*60/time.Second)+15 < is.Tick {
			h.t.Fatalf("%s: the client of %s is %v, and has confirmed tick %d of %d", what, name, c.State(), confirmed, is.Tick)
		}
	}
}

// rooms returns the number of rooms of a house, on two workers.
func rooms() int {
	if race.Enabled {
		return 12
	}
	return 100
}

// A disk on which each call takes 400 ms, or 1.3 s, delays no tick of a room. Without Always its clients also receive the ticks.
func TestASlowDiskDelaysNoRoom(t *testing.T) {
	for _, stall := range []time.Duration{400 * time.Millisecond, 1300 * time.Millisecond} {
		inHouse(t, rooms(), Sync(100*time.Millisecond), func(h *house) {
			h.begin()
			h.disk.change(func() { h.disk.stall = stall })
			for range 4 {
				h.pass(time.Second / 2)
				h.wantTicks(stall.String(), 250*time.Millisecond)
			}
			if n, e := h.count(Slow); n < 1 || n > 2 {
				t.Errorf("%v: reported %d times: %v", stall, n, e.Err)
			}
			h.disk.change(func() { h.disk.stall = 0 })
			h.pass(stall + time.Second)
			h.wantTicks("after "+stall.String(), 0)
			if n, _ := h.count(Failed); n != 0 {
				t.Errorf("%v: %d journals failed", stall, n)
			}
			for _, j := range h.store.rooms() {
				if err := h.server.Do(context.Background(), j.room, func(*room.Room) {
					if j.behind {
						t.Errorf("%v: the journal of %s is still behind", stall, j.room)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A sync that hangs on one journal delays no room, and no sync of another journal. It is reported once.
func TestASyncThatHangsDelaysNoOtherJournal(t *testing.T) {
	inHouse(t, 20, Sync(100*time.Millisecond), func(h *house) {
		h.disk.change(func() { h.disk.hang = "room03" })
		h.begin()
		h.pass(3 * time.Second)
		h.wantTicks("a sync that hangs", 0)
		for _, j := range h.store.rooms() {
			h.disk.mu.Lock()
			size := h.disk.synced[j.path]
			h.disk.mu.Unlock()
			late := h.stats(j.room).Tick - h.last(j.path, size)
			if late > 20 && j.room != "room03" || late < 100 && j.room == "room03" {
				t.Errorf("the journal of %s is synced except for the last %d ticks", j.room, late)
			}
		}
		if n, e := h.count(Slow); n != 1 || e.Room != "room03" {
			t.Errorf("reported %d times: %+v", n, e)
		}
		h.disk.change(func() { h.disk.hang = "" })
		h.pass(time.Minute)
	})
}

// With Always, rooms compute their ticks on a disk on which each call takes 200 ms. Clients receive a tick as confirmed only after
// it survives a power cut.
func TestASlowDiskDelaysConfirmationsWithAlways(t *testing.T) {
	inHouse(t, 8, Always, func(h *house) {
		h.begin()
		h.disk.change(func() { h.disk.stall = 200 * time.Millisecond })
		for range 60 {
			h.pass(time.Second / 15)
			h.wantTicks("200ms", 800*time.Millisecond+100*time.Millisecond)
			for i, c := range h.clients {
				path := h.store.open[fmt.Sprintf("room%02d", i)].path
				h.disk.mu.Lock()
				size := h.disk.synced[path]
				h.disk.mu.Unlock()
				if confirmed, safe := c.Core.Stats().Strategy.Confirmed, h.last(path, size); confirmed > safe {
					t.Fatalf("tick %d is confirmed and the disk has %d", confirmed, safe)
				}
			}
		}
		if n, _ := h.count(Slow); n != 0 {
			t.Errorf("reported %d times", n)
		}
	})
}

// last returns the last tick in the first bytes of a journal.
func (h *house) last(path string, size int64) ecs.Tick {
	h.t.Helper()
	j, err := record.Open(contents(h.t, path)[:size], halves.Dots())
	if err != nil {
		h.t.Fatal(err)
	}
	return j.Last().Tick
}

// With Always, a match waits while a write takes more than a second. The stall is reported once, and the match then continues.
func TestAMatchWaitsForADiskThatDoesNotAnswerWithAlways(t *testing.T) {
	inHouse(t, 2, Always, func(h *house) {
		for range 2 {
			h.begin()
			h.disk.change(func() { h.disk.stall = 2 * time.Second })
			h.pass(2 * time.Second)
			for i := range h.clients {
				if s, was := h.stats(fmt.Sprintf("room%02d", i)), h.before[fmt.Sprintf("room%02d", i)]; s.Tick > was.Tick+65 || s.Unwritten == was.Unwritten {
					t.Errorf("the room computed %d ticks without the disk", s.Tick-was.Tick)
				}
			}
			h.disk.change(func() { h.disk.stall = 0 })
			h.pass(6 * time.Second)
			h.begin()
			h.pass(time.Second)
			h.wantTicks("after the stall", 0)
		}
		slow, of := h.count(Slow)
		again, which := h.count(Recovered)
		if slow != 1 || again != 1 || of.Room != which.Room {
			t.Errorf("reported %d times, and %d times that the match continues; want each once a minute", slow, again)
		}
	})
}

// A fault of the journal of one room stops the match of that room, and no other match.
func TestAFaultOfOneJournalStopsNoOtherRoom(t *testing.T) {
	inHouse(t, rooms(), Sync(100*time.Millisecond), func(h *house) {
		faulty, removed := []string{"room03", "room04", "room05"}, h.store.open["room05"].path
		h.begin()
		h.disk.change(func() { h.disk.faults["room03"], h.disk.faults["room04"] = syscall.ENOSPC, syscall.EIO })
		if err := os.Remove(removed); err != nil {
			t.Fatal(err)
		}
		h.pass(2 * time.Second)
		h.wantTicks("faults of others", 0, faulty...)
		for _, name := range faulty {
			if s := h.stats(name); s.Tick > h.before[name].Tick+70 || s.Unwritten == 0 {
				t.Errorf("the match of %s continues: %+v", name, s)
			}
		}
		failed, _ := h.count(Failed)
		if broken, _ := h.count(Broken); failed != 3 || broken != 0 {
			t.Errorf("%d journals failed, %d are broken", failed, broken)
		}
		h.disk.change(func() { clear(h.disk.faults) })
		h.pass(2 * time.Second)
		h.begin()
		h.pass(time.Second)
		h.wantTicks("after the faults", 0, faulty...)
		for _, name := range faulty[:2] {
			if s := h.stats(name); s.Tick < h.before[name].Tick+59 {
				t.Errorf("the match of %s waits", name)
			}
		}
		if n, _ := h.count(Recovered); n != failed-1 {
			t.Errorf("%d journals recovered", n)
		}
	})
}

// One damaged journal of many is moved away at the start. The other matches continue, and miss no tick.
func TestOneDamagedJournalOfManyStopsNoOtherRoom(t *testing.T) {
	inHouse(t, rooms(), Sync(100*time.Millisecond), func(h *house) {
		h.begin()
		damaged := h.store.open["room03"].path
		h.stop()
		data := contents(t, damaged)
		data[len(data)/2] ^= 1
		if err := os.WriteFile(damaged, data, 0o644); err != nil {
			t.Fatal(err)
		}
		before := h.before
		h.start(Sync(100*time.Millisecond), rooms())
		h.begin()
		h.pass(time.Second)
		h.wantTicks("after a start", 0)
		for name, was := range before {
			if s := h.stats(name); s.Tick > was.Tick+90 == (name == "room03") {
				t.Errorf("%s is at tick %d, and was at %d before", name, s.Tick, was.Tick)
			}
		}
		if n, _ := h.count(Quarantined); n != 1 || h.store.Quarantined() != 1 {
			t.Errorf("reported %d times, %d journals are in quarantine", n, h.store.Quarantined())
		}
	})
}

// A full disk stops the matches, and no worker. A client of a new room receives the reason, and joins when there is space.
func TestAFullDiskLeavesTheServerResponsive(t *testing.T) {
	inHouse(t, 20, Sync(100*time.Millisecond), func(h *house) {
		h.disk.set(0)
		h.pass(time.Second)
		c := h.join("more", 20)
		h.pass(2 * time.Second)
		if why := c.Refusal(); !errors.Is(why, &session.Error{Code: session.CodeStorage}) {
			t.Errorf("a client of a full server: %v, %v", c.State(), why)
		}
		h.disk.set(-1)
		h.pass(5 * time.Second)
		if c.State() != client.Live {
			t.Errorf("with space on the disk: %v, %v", c.State(), c.Refusal())
		}
		c.Close()
		h.clients = h.clients[:20]
		h.begin()
		h.pass(time.Second)
		h.wantTicks("with space on the disk", 10*time.Second)
	})
}
