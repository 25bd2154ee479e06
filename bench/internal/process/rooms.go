//go:build unix

package process

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
)

// key is that of all servers of the benchmarks.
var key = netcode.Key{9}

// ServeRooms runs a server of such rooms with one worker, until the parent stops this process.
func ServeRooms(c room.Config) error {
	s, err := server.New(server.Config{Room: c, Address: "127.0.0.1:0", Keys: []netcode.Key{key}, MaxRooms: 4096, Workers: 1})
	if err != nil {
		return err
	}
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
	return <-ended
}

// Load returns the address of the server and the numbers of a load's command line.
func Load() (server netip.AddrPort, numbers []int, err error) {
	server, err = netip.ParseAddrPort(os.Args[1])
	for _, text := range os.Args[2:] {
		n, wrong := strconv.Atoi(text)
		if wrong != nil {
			err = wrong
		}
		numbers = append(numbers, n)
	}
	return server, numbers, err
}

// Token returns a connect token for ServeRooms: for client number i, with so many clients in each room.
func Token(at netip.AddrPort, game string, i, perRoom int, pass server.Pass) ([]byte, error) {
	pass.Room, pass.Seat = fmt.Sprint("r", i/perRoom), server.AnySeat
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(game), Key: key, ClientID: uint64(i + 1),
		Addresses: []netip.AddrPort{at}, Lifetime: time.Minute, Pass: pass}, time.Now())
}

// Clients is the report of PlayRooms.
type Clients struct {
	Live int           // in their matches at the end
	Late time.Duration // 99th percentile of how late their frames began
}

// phases is into how many parts the clients of a tick are divided: they do not all send at once.
const phases = 8

// PlayRooms plays so many rooms with whole clients, whose bots play, until the parent stops this process. Then it prints a
// Clients.
func PlayRooms(at netip.AddrPort, rooms, players int, c client.Config, listen func() (client.Socket, error)) error {
	clients := make([]*client.Client, rooms*players)
	for i := range clients {
		token, err := Token(at, c.Game.Name, i, players, server.Pass{})
		if err != nil {
			return err
		}
		c.Bot, c.BotSeed = true, uint64(i)
		if clients[i], err = client.Dial(client.DialConfig{Token: token, Listen: listen, Config: c}); err != nil {
			return err
		}
	}
	call := 0
	late := Every(phases*c.Game.TickRate, func() {
		for i := call % phases; i < len(clients); i += phases {
			_ = clients[i].Frame(time.Now())
		}
		call++
	})
	var report Clients
	for _, k := range clients {
		if k.State() == client.Live {
			report.Live++
		}
	}
	slices.Sort(late)
	if len(late) > 0 {
		report.Late = late[len(late)*99/100]
	}
	Print(report)
	return nil
}
