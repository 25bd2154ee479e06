//go:build unix

package process

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tendon/bench/internal/measure"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
)

// key is that of all servers of the benchmarks.
var key = netcode.Key{9}

// ServeRooms runs a server of such rooms with one worker, until the parent stops this process. change changes its config. Optional.
func ServeRooms(c room.Config, change func(*server.Config)) {
	all := server.Config{Room: c, Address: "127.0.0.1:0", Keys: []netcode.Key{key}, MaxRooms: 4096, Workers: 1}
	if change != nil {
		change(&all)
	}
	s := measure.Must(server.New(all))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	Serve(s.Addr().String(), func(u *Usage) {
		stats := s.Stats()
		u.Served = stats.Clients
		for _, r := range stats.Table {
			for i, n := range r.Lateness {
				u.Lateness[i] += n
			}
		}
	})
	stop()
	if err := <-ended; err != nil {
		panic(err)
	}
}

// Token returns a connect token for ServeRooms: for client number i, with so many clients in each room.
func Token(at netip.AddrPort, game string, i, perRoom int, pass server.Pass) []byte {
	pass.Room, pass.Seat = fmt.Sprint("r", i/perRoom), server.AnySeat
	return measure.Must(server.Mint(server.Ticket{ProtocolID: server.ProtocolID(game), Key: key, ClientID: uint64(i + 1),
		Addresses: []netip.AddrPort{at}, Lifetime: time.Minute, Pass: pass}, time.Now()))
}

// Clients is the report of PlayRooms.
type Clients struct {
	Live int           // in their matches at the end
	Late time.Duration // 99th percentile of how late their frames began
}

// PlayRooms plays so many rooms with whole clients, whose bots play, until the parent stops this process. Then it prints a
// Clients.
func PlayRooms(at netip.AddrPort, rooms, players int, c client.Config, listen func(netip.AddrPort) (client.Socket, error)) {
	clients := make([]*client.Client, rooms*players)
	for i := range clients {
		c.Bot, c.BotSeed = true, uint64(i)
		token := Token(at, c.Game.Name, i, players, server.Pass{})
		clients[i] = measure.Must(client.Dial(client.DialConfig{Token: token, Listen: listen, Config: c}))
	}
	report := Clients{Late: Every(c.Game.TickRate, 8, len(clients), func(i int) { _ = clients[i].Frame(time.Now()) })}
	for _, k := range clients {
		if k.State() == client.Live {
			report.Live++
		}
	}
	Print(report)
}
