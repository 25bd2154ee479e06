//go:build unix

package bench

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
)

// The numbers of rooms that BenchmarkLockstepRooms measures, and for how long.
const (
	roomsFirst  = 50
	roomsMost   = 1000
	roomRate    = 30              // ticks per second
	roomsSettle = 5 * time.Second // until all clients are live
	roomsTime   = 5 * time.Second
)

// BenchmarkLockstepRooms measures how many lockstep rooms of the arena one core serves over real sockets. The server runs on
// core 0 and its clients on core 1.
func BenchmarkLockstepRooms(b *testing.B) {
	for _, players := range []int{2, 4} {
		b.Run(fmt.Sprint(players), func(b *testing.B) {
			var most served
			for b.Loop() {
				most = mostRooms(b, players)
			}
			measure.Row{
				What: "99th percentile of the lateness of frames, with the most rooms of " +
					fmt.Sprintf("%d players at 30 Hz that one core was loaded with", players),
				Reference: "a frame", Reach: 0.5,
				Text: fmt.Sprintf("%d rooms, %d clients", most.rooms, most.Live),
				Note: fmt.Sprintf("the server's core %.0f %% busy, %.2f ms a room-second; %s",
					100*most.busy, 1000*most.busy/float64(most.rooms), most.limit),
			}.Report(b, measure.Of(1, most.late))
		})
	}
}

// served is a measurement with a number of rooms.
type served struct {
	process.Clients
	rooms      int
	late, busy float64 // in frames, and the share of the server's core
	limit      string  // why it is the last
}

// mostRooms raises the number of rooms until the server or the load is late.
func mostRooms(b *testing.B, players int) (most served) {
	limit := ""
	for n := roomsFirst; n <= roomsMost && limit == ""; n += n / 2 {
		now := served{rooms: n}
		u := process.Measure(b, "lockstep server", "lockstep load", roomsSettle, roomsTime, &now.Clients, n, players)
		now.late, now.busy = lateness(&u), u.Share()
		switch {
		case now.Live < n*players || now.Late > time.Second/roomRate/2:
			limit = fmt.Sprintf("with %d rooms the core of the load was the bottleneck", n)
		case now.late > 0.5:
			limit = fmt.Sprintf("with %d rooms the server was late", n)
		}
		if limit == "" || most.rooms == 0 {
			most = now
		}
	}
	most.limit = cmp.Or(limit, fmt.Sprintf("no more than %d rooms were tried", roomsMost))
	return most
}

// lateness returns an upper bound of the 99th percentile of the lateness in the measured time, in frames.
func lateness(u *process.Usages) float64 {
	late := u.After.Lateness
	for i := range late {
		late[i] -= u.Before.Lateness[i]
	}
	for eighths := 1; eighths < len(late); eighths++ {
		if late.Share(eighths) <= 0.01 {
			return float64(eighths) / 8
		}
	}
	return 99
}

// slowArena is the arena at roomRate.
func slowArena() *ecs.Game {
	g := rules.Game()
	g.TickRate = roomRate
	return g
}

func lockstepServer() {
	process.ServeRooms(room.Config{Game: slowArena(), Strategy: lockstep.Strategy}, nil)
}

// lockstepLoad plays the number of rooms and of players that its command line names.
func lockstepLoad() {
	at, numbers := process.Load()
	process.PlayRooms(at, numbers[0], numbers[1], client.Config{Game: slowArena(), Strategies: []systems.Strategy{lockstep.Strategy}}, nil)
}
