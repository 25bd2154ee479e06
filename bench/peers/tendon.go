package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	"tendon/bench/internal/process"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
	"tendon/systems/relay"
)

// The game of the rooms: two players walk about.

type walker struct{ X, Y fixed.Num }
type pad struct {
	DX, DY int8
	_      [2]uint8
	Aim    uint32
}

var (
	walkers = ecs.NewComponent[walker]("walker")
	seats   = ecs.NewComponent[ecs.Seat]("seat")
	padIn   = ecs.NewInput[pad]()
	walking = ecs.NewQuery2(ecs.Write(walkers), ecs.Read(seats))
)

func walk(w *ecs.World) {
	for e := range walking.All(w) {
		in := padIn.Of(w, e.B.Player)
		e.A.X, e.A.Y = e.A.X+fixed.Num(in.DX), e.A.Y+fixed.Num(in.DY)
	}
}

func game() *ecs.Game {
	return &ecs.Game{Name: "rooms", TickRate: roomRate, MaxPlayers: 2, Input: padIn,
		Components: ecs.Components(walkers, seats), Systems: ecs.Systems(walk),
		Join: func(w *ecs.World, p ecs.Player) {
			e := w.Spawn(ecs.OwnedBy(p), walkers, seats)
			seats.Put(w, e, ecs.Seat{Player: p})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range walking.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Bot: func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
			return padIn.Pack(pad{DX: int8(r.IntN(3) - 1), DY: int8(r.IntN(3) - 1), Aim: uint32(r.IntN(1 << 30))})
		},
	}
}

var key = netcode.Key{7}

func tendonServer() error {
	s, err := server.New(server.Config{Room: room.Config{Game: game(), Strategy: relay.Strategy}, Address: "127.0.0.1:0",
		Keys: []netcode.Key{key}, MaxRooms: 4096, Workers: 1})
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

// tendonLoad is the clients of all rooms: whole ones, that predict and roll back.
func tendonLoad() error {
	address, err := netip.ParseAddrPort(os.Args[1])
	if err != nil {
		return err
	}
	clients := make([]*client.Client, 2*roomsOf(os.Args[2]))
	for i := range clients {
		token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID("rooms"), Key: key, ClientID: uint64(i + 1),
			Addresses: []netip.AddrPort{address}, Lifetime: time.Minute,
			Pass: server.Pass{Room: fmt.Sprint("r", i/2), Seat: server.AnySeat}}, time.Now())
		if err != nil {
			return err
		}
		if clients[i], err = client.Dial(client.DialConfig{Token: token, Listen: func() (client.Socket, error) { return newFarSocket() }, Config: client.Config{Game: game(),
			Strategies: []systems.Strategy{relay.Strategy}, Bot: true, BotSeed: uint64(i)}}); err != nil {
			return err
		}
	}
	everyTick(func(phase int) {
		for i := phase; i < len(clients); i += phases {
			_ = clients[i].Frame(time.Now())
		}
	})
	live := 0
	for _, c := range clients {
		if c.State() == client.Live {
			live++
		}
	}
	process.Say(live)
	return nil
}
