//go:build unix

package main

import (
	"fmt"
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

// idleConnections is the number of connections in the rows about them.
const idleConnections = 1000

// role returns the function of this process if it was started by another process of this program.
func role() (run func() error, ok bool) {
	run, ok = map[string]func() error{"server": idleServer, "idlers": idleLoad, "echo": echoServer, "pingers": echoLoad,
		"lockstep server": lockstepServer, "lockstep load": lockstepLoad}[process.Role()]
	return run, ok
}

func connectionRows() []measure.Row {
	return []measure.Row{{
		Name:      "connections",
		What:      "1 000 connections that only send keep-alives, 10 per second both ways, in rooms of 16",
		Reference: "one core of the machine",
		Reach:     0.06,
		Missed:    "connections-floor is the cost of 20 000 datagrams a second on this machine alone, at the same time",
		Run: func() measure.Result {
			u := loaded("server", "idlers")
			if u.After.Served != idleConnections {
				panic(fmt.Sprintf("%d connections, want %d", u.After.Served, idleConnections))
			}
			return share(&u, "%.1f KB and %.3f goroutines a connection, rooms included",
				float64(u.Full.Memory-u.Empty.Memory)/idleConnections/1000, float64(u.After.Goroutines-u.Empty.Goroutines)/idleConnections)
		},
	}, {
		Name:      "connections-floor",
		What:      "the same datagrams with nothing behind them: a bare loop of ReadFromUDPAddrPort and WriteToUDPAddrPort",
		Reference: "one core of the machine",
		Run: func() measure.Result {
			u := loaded("echo", "pingers")
			return share(&u, "%.0f datagrams a second each way", float64(u.After.Served-u.Before.Served)/(u.After.Time-u.Before.Time).Seconds())
		},
	}}
}

// share is the row of a server's share of a core.
func share(u *process.Usages, note string, values ...any) measure.Result {
	return measure.Result{Ratio: measure.Of(1, u.Share()), Text: fmt.Sprintf("%.1f %% of a core", 100*u.Share()), Note: fmt.Sprintf(note, values...)}
}

const (
	idleSettle = 1500 * time.Millisecond
	idleTime   = 2500 * time.Millisecond // with idleSettle, before the server drops a client without a session
)

// loaded measures a server under idleConnections.
func loaded(server, load string) process.Usages {
	u, err := process.Measure(server, load, idleSettle, idleTime, nil, strconv.Itoa(idleConnections))
	if err != nil {
		panic(err)
	}
	return u
}

// slowIdle is the idle game at the rate of the rows about rooms.
func slowIdle() *ecs.Game {
	g := idle()
	g.TickRate = roomRate
	return g
}

func idleServer() error {
	return process.ServeRooms(room.Config{Game: slowIdle(), Strategy: relay.Strategy, MaxPeers: 16})
}

// idler is a client that keeps a connection alive and sends no payload.
type idler struct {
	netcode.Client
	socket int
}

// idleLoad keeps connections alive.
func idleLoad() error {
	at, numbers, err := process.Load()
	if err != nil {
		return err
	}
	idlers := make([]idler, numbers[0])
	for i := range idlers {
		c := &idlers[i]
		if c.socket, err = connected(at); err != nil {
			return err
		}
		token, err := process.Token(at, idle().Name, i, 16, server.Pass{Role: systems.RoleSpectator})
		if err != nil {
			return err
		}
		if err := c.Connect(token, time.Now()); err != nil {
			return err
		}
	}
	var out netcode.Outbox
	process.Every(100, func() {
		for i := range idlers {
			idlers[i].poll(&out, time.Now())
		}
	})
	return nil
}

// poll reads the datagrams that have arrived, without waiting, and sends what is due.
func (c *idler) poll(out *netcode.Outbox, now time.Time) {
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
