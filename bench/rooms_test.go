//go:build unix

package bench

import (
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
// core 0 and its clients on core 1. It raises the number of rooms until the server or the load is late.
func BenchmarkLockstepRooms(b *testing.B) {
	for _, players := range []int{2, 4} {
		b.Run(fmt.Sprint(players), func(b *testing.B) {
			var best struct {
				rooms, clients int
				late, busy     float64
			}
			var why string
			for b.Loop() {
				why = fmt.Sprintf("no more than %d rooms were tried", roomsMost)
				for n := roomsFirst; n <= roomsMost; n += n / 2 {
					var load process.Clients
					u := process.Measure(b, "lockstep server", "lockstep load", roomsSettle, roomsTime, &load, n, players)
					late, failed := lateness(&u), ""
					switch {
					case load.Live < n*players || load.Late > time.Second/roomRate/2:
						failed = fmt.Sprintf("with %d rooms the core of the load was the bottleneck", n)
					case late > 0.5:
						failed = fmt.Sprintf("with %d rooms the server was late", n)
					}
					if failed != "" {
						if why = failed; best.rooms > 0 {
							break
						}
					}
					best.rooms, best.clients, best.late, best.busy = n, load.Live, late, u.Share()
				}
			}
			measure.Row{
				What:      fmt.Sprintf("99th percentile of the lateness of frames, with the most rooms of %d players at 30 Hz that one core was loaded with", players),
				Reference: "a frame", Reach: 0.5,
				Text: fmt.Sprintf("%d rooms, %d clients", best.rooms, best.clients),
				Note: fmt.Sprintf("the server's core %.0f %% busy, %.2f ms a room-second; %s", 100*best.busy, 1000*best.busy/float64(best.rooms), why),
			}.Report(b, measure.Of(1, best.late))
		})
	}
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
	process.ServeRooms(room.Config{Game: slowArena(), Strategy: lockstep.Strategy})
}

// lockstepLoad plays the number of rooms and of players that its command line names.
func lockstepLoad() {
	at, numbers := process.Load()
	process.PlayRooms(at, numbers[0], numbers[1], client.Config{Game: slowArena(), Strategies: []systems.Strategy{lockstep.Strategy}}, nil)
}
