package peers

import (
	"net/netip"
	"tendon/bench/internal/process"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/relay"
)

// walker and pad belong to the game of the rooms, in which two players walk.
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
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
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

func tendonServer() { process.ServeRooms(room.Config{Game: game(), Strategy: relay.Strategy}, nil) }

// tendonLoad plays all rooms with whole clients, which predict and roll back.
func tendonLoad() {
	at, numbers := process.Load()
	c := client.Config{Game: game(), Strategies: []systems.Strategy{relay.Strategy}}
	process.PlayRooms(at, numbers[0], 2, c, func(netip.AddrPort) (client.Socket, error) { return newFarSocket() })
}
