//go:build unix

package bench

import (
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
	"tendon/cmd/cli/journals"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
	"tendon/systems/relay"
)

func init() {
	roles = map[string]func(){"server": idleServer, "idlers": idleLoad, "echo": echoServer, "pingers": echoLoad,
		"lockstep server": lockstepServer, "lockstep load": lockstepLoad, "broadcast": castServer, "viewers": castViewing,
		"files always": journalServer(false, journals.Always), "embedded always": journalServer(true, journals.Always),
		"files interval": journalServer(false, clusterSync), "embedded interval": journalServer(true, clusterSync), "cluster load": clusterLoad}
}

// idleConnections is the number of connections in the rows about them.
const idleConnections = 1000

// BenchmarkConnections measures idle connections, in processes of their own.
func BenchmarkConnections(b *testing.B) {
	b.Run("idle", func(b *testing.B) {
		u := loaded(b, "server", "idlers")
		if u.After.Served != idleConnections {
			b.Fatalf("%d connections, want %d", u.After.Served, idleConnections)
		}
		report(b, &u, measure.Row{
			What: "1 000 connections that only send keep-alives, 10 per second both ways, in rooms of 16",
			Note: fmt.Sprintf("%.1f KB and %.3f goroutines a connection, rooms included",
				(float64(u.Full.Memory)-float64(u.Empty.Memory))/idleConnections/1000, float64(u.After.Goroutines-u.Empty.Goroutines)/idleConnections),
			Reach: 0.06, Missed: "Connections/floor is the cost of 20 000 datagrams a second on this machine alone, at the same time",
		})
	})
	b.Run("floor", func(b *testing.B) {
		u := loaded(b, "echo", "pingers")
		report(b, &u, measure.Row{
			What: "the same datagrams with nothing behind them: a bare loop of ReadFromUDPAddrPort and WriteToUDPAddrPort",
			Note: fmt.Sprintf("%.0f datagrams a second each way", float64(u.After.Served-u.Before.Served)/(u.After.Time-u.Before.Time).Seconds()),
		})
	})
}

// report reports the row of a server's share of a core.
func report(b *testing.B, u *process.Usages, row measure.Row) {
	row.Reference, row.Text = "one core of the machine", fmt.Sprintf("%.1f %% of a core", 100*u.Share())
	row.Report(b, measure.Of(1, u.Share()))
}

const (
	idleSettle = 1500 * time.Millisecond
	idleTime   = 2500 * time.Millisecond // with idleSettle, before the server drops a client without a session
)

// loaded measures a server under idleConnections.
func loaded(b *testing.B, server, load string) (u process.Usages) {
	for b.Loop() {
		u = process.Measure(b, server, load, idleSettle, idleTime, nil, idleConnections)
	}
	return u
}

func idleServer() {
	process.ServeRooms(room.Config{Game: idle(roomRate), Strategy: relay.Strategy, MaxPeers: 16}, nil)
}

// idleLoad keeps connections alive that send no payload. It reads what has arrived, without waiting, and sends what is due.
func idleLoad() {
	at, numbers := process.Load()
	clients, sockets := make([]netcode.Client, numbers[0]), connected(at, numbers[0])
	for i := range clients {
		if err := clients[i].Connect(process.Token(at, "idle", i, 16, server.Pass{Role: systems.RoleSpectator}), time.Now()); err != nil {
			panic(err)
		}
	}
	var out netcode.Outbox
	var buffer [2048]byte
	process.Every(100, 1, len(clients), func(i int) {
		c, now := &clients[i], time.Now()
		for n, err := syscall.Read(sockets[i], buffer[:]); err == nil; n, err = syscall.Read(sockets[i], buffer[:]) {
			c.Receive(buffer[:n], c.Server(), now)
		}
		c.Update(&out, now)
		for k := range out.Len() {
			_, packet := out.At(k)
			_, _ = syscall.Write(sockets[i], packet)
		}
		out.Reset()
	})
}

// echoServer sends every datagram back.
func echoServer() {
	socket := measure.Must(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	var served atomic.Int64
	go func() {
		var buffer [2048]byte
		for {
			n, from, err := socket.ReadFromUDPAddrPort(buffer[:])
			if err != nil {
				return
			}
			_, _ = socket.WriteToUDPAddrPort(buffer[:n], from)
			served.Add(1)
		}
	}()
	process.Serve(socket.LocalAddr().String(), func(u *process.Usage) { u.Served = int(served.Load()) })
}

// pingBytes is the size of a sealed keep-alive.
const pingBytes = 33

// echoLoad sends as many datagrams as idleLoad.
func echoLoad() {
	at, numbers := process.Load()
	sockets := connected(at, numbers[0])
	var buffer [2048]byte
	process.Every(10, 10, len(sockets), func(i int) {
		_, _ = syscall.Write(sockets[i], buffer[:pingBytes])
		_, _ = syscall.Read(sockets[i], buffer[:])
	})
}

// connected returns n UDP sockets that are not in Go's poller, so that the server does not pay for waking this process at
// each packet.
func connected(to netip.AddrPort, n int) []int {
	sockets := make([]int, n)
	for i := range sockets {
		sockets[i] = measure.Must(syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0))
		if err := syscall.SetNonblock(sockets[i], true); err != nil {
			panic(err)
		}
		if err := syscall.Connect(sockets[i], &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
			panic(err)
		}
	}
	return sockets
}
