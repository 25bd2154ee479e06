//go:build unix

package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
	"tendon/systems/relay"
)

// idleConnections is how many connections the row about them holds.
const idleConnections = 1000

// roles are what this program does when it was started by itself.
var roles = map[string]func() error{"server": beServer, "idlers": beIdlers, "echo": beEcho, "pingers": bePingers}

// role returns what this process was started for, if it was.
func role() (run func() error, ok bool) {
	run, ok = roles[process.Role()]
	return run, ok
}

func connectionRows() []measure.Row {
	return []measure.Row{{
		Name:      "connections",
		What:      "1 000 connections that only keep themselves alive, 10 times a second both ways, in rooms of 16",
		Reference: "one core of the machine",
		Reach:     0.06,
		Missed:    "what 20 000 datagrams a second cost on this machine alone, at the same time, is in connections-floor",
		Run: func() measure.Result {
			empty, before, after, full := loaded("server", "idlers")
			if after.Served != idleConnections {
				panic(fmt.Sprintf("%d connections stand, want %d", after.Served, idleConnections))
			}
			r := share(before, after)
			r.Text += fmt.Sprintf(", %.1f KB and %.3f goroutines a connection, rooms included", float64(full.Memory-empty.Memory)/idleConnections/1000,
				float64(after.Goroutines-empty.Goroutines)/idleConnections)
			return r
		},
	}, {
		Name:      "connections-floor",
		What:      "the same datagrams with nothing behind them: a bare loop of ReadFromUDPAddrPort and WriteToUDPAddrPort",
		Reference: "one core of the machine",
		Run: func() measure.Result {
			_, before, after, _ := loaded("echo", "pingers")
			r := share(before, after)
			r.Note = fmt.Sprintf("%.0f datagrams a second each way", float64(after.Served-before.Served)/(after.Time-before.Time).Seconds())
			return r
		},
	}}
}

// share is a server's part of a core between two moments.
func share(before, after process.Usage) measure.Result {
	share := float64(after.CPU-before.CPU) / float64(after.Time-before.Time)
	return measure.Result{Ratio: measure.Ratio{Median: share, Low: share, High: share}, Text: fmt.Sprintf("%.1f %% of a core", 100*share)}
}

const (
	idleSettle = 1500 * time.Millisecond
	idleTime   = 2500 * time.Millisecond // with idleSettle, before a client that never says hello is put out
)

// loaded runs a server and its load and returns what the server had used at four moments: before the load, at the start
// and at the end of the time measured, and after it.
func loaded(server, load string) (empty, before, after, full process.Usage) {
	s, err := process.Start(server, 0)
	if err != nil {
		panic(err)
	}
	defer s.Stop()
	var address string
	if err := s.Hear(&address); err != nil {
		panic(err)
	}
	ask := func(memory bool) process.Usage {
		u, err := s.Ask(memory)
		if err != nil {
			panic(err)
		}
		return u
	}
	empty = ask(true)
	l, err := process.Start(load, 1, address, strconv.Itoa(idleConnections))
	if err != nil {
		panic(err)
	}
	defer l.Stop()
	time.Sleep(idleSettle)
	before = ask(false)
	time.Sleep(idleTime)
	return empty, before, ask(false), ask(true)
}

var benchKey = netcode.Key{9}

// slowly returns the game at 30 ticks per second, as rooms are measured.
func slowly(g *ecs.Game) *ecs.Game {
	g.TickRate = 30
	return g
}

func beServer() error {
	s, err := server.New(server.Config{Room: room.Config{Game: slowly(idle()), Strategy: relay.Strategy, MaxPeers: 16}, Address: "127.0.0.1:0",
		Keys: []netcode.Key{benchKey}, MaxRooms: 4096, Workers: 1})
	if err != nil {
		return err
	}
	process.Say(s.Addr().String())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	process.Answer(func() int { return s.Stats().Clients })
	stop()
	return <-ended
}

// idler is a client that is connected and says nothing.
type idler struct {
	netcode.Client
	socket int
}

// beIdlers keeps connections alive from the other side.
func beIdlers() error {
	address, err := netip.ParseAddrPort(os.Args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	idlers := make([]idler, n)
	for i := range idlers {
		if err := idlers[i].connect(address, i); err != nil {
			return err
		}
	}
	stopped := process.UntilStopped()
	var out netcode.Outbox
	for ticker := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-stopped:
			return nil
		case now := <-ticker.C:
			for i := range idlers {
				idlers[i].turn(&out, now)
			}
		}
	}
}

func (c *idler) connect(to netip.AddrPort, number int) (err error) {
	if c.socket, err = connected(to); err != nil {
		return err
	}
	token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(idle().Name), Key: benchKey, ClientID: uint64(number + 1),
		Addresses: []netip.AddrPort{to}, Lifetime: time.Minute,
		Pass: server.Pass{Room: fmt.Sprint("r", number/16), Seat: server.AnySeat, Role: systems.RoleSpectator}}, time.Now())
	if err != nil {
		return err
	}
	return c.Connect(token, time.Now())
}

// turn reads what is there, without waiting, and sends what is due.
func (c *idler) turn(out *netcode.Outbox, now time.Time) {
	var buffer [2048]byte
	for n, err := syscall.Read(c.socket, buffer[:]); err == nil; n, err = syscall.Read(c.socket, buffer[:]) {
		c.Receive(buffer[:n], c.Server(), now)
	}
	c.Update(out, now)
	for i := range out.Len() {
		_, packet := out.At(i)
		_, _ = syscall.Write(c.socket, packet)
	}
	out.Reset()
}
