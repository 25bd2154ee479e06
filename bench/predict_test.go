package bench

import (
	"fmt"
	"testing"
	"time"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/predict"
)

const (
	townPlayers = 64
	townNPCs    = 200
	townReach   = 1200 * time.Microsecond
)

var (
	townSeat    = ecs.NewComponent[ecs.Seat]("town seat")
	townSteered = ecs.NewQuery2(ecs.Write(walkers), ecs.Read(townSeat))
)

// town is a game of players who steer and of NPCs that walk and sometimes turn.
func town() *ecs.Game {
	g := walkGame(townNPCs)
	walk := g.Systems
	g.Name, g.MaxPlayers, g.Input = "town", townPlayers, entities.Input
	g.Components = ecs.Components(walkers, vitalSign, townSeat)
	g.Systems = append(ecs.Systems(func(w *ecs.World) {
		for e := range townSteered.All(w) {
			in := entities.Input.Of(w, e.B.Player)
			e.A.Vel = fixed.Vec2{X: fixed.FromInt(int(in.DX)), Y: fixed.FromInt(int(in.DY))}
		}
	}), walk...)
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		e := w.Spawn(ecs.OwnedBy(p), walkers, vitalSign, townSeat)
		walkers.Put(w, e, walker{Pos: fixed.Vec2{X: fixed.FromInt(int(p)), Y: fixed.FromInt(int(p))}})
		vitalSign.Put(w, e, vitals{Health: 100})
		townSeat.Put(w, e, ecs.Seat{Player: p})
	}
	return g
}

// BenchmarkPredict measures a server that sends all entities to all players.
func BenchmarkPredict(b *testing.B) {
	for _, c := range []struct {
		name, what string
		spread     int // of the delays, in ticks
		loss       int // in percent
	}{
		{"64", "a round trip of 6 ticks", 0, 0},
		{"64/spread", "round trips of 4 to 12 ticks", 8, 0},
		{"64/loss", "round trips of 4 to 12 ticks, 1 % loss", 8, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			game, dice := town(), image.NewRand(1)
			config := halves.Config{Game: game, Seed: 1, Strategy: predict.Strategy, Change: func(c *systems.ServerConfig) { c.Peers = townPlayers }}
			l := &loop{Loop: halves.NewLoop(b, config, 3, 3)}
			pads := [townPlayers]entities.Pad{}
			bytes, sent := 0, 0
			l.OnDown = func(_ *halves.Peer, _ systems.Channel, m []byte) { bytes, sent = bytes+len(m), sent+1 }
			lossy := false
			l.Lost = func(_ bool, _ int, ch systems.Channel, _ []byte) bool {
				return lossy && ch == systems.Datagram && dice.Chance(c.loss, 100)
			}
			for seat := range townPlayers {
				up, down := 3, 3
				if c.spread > 0 {
					up = 2 + seat*7%(c.spread+1)/2
					down = 4 + seat*7%(c.spread+1) - up
				}
				path := simnet.Profile{Name: "town", Title: "town", Up: simnet.Path{Delay: time.Duration(up) * l.Length}, Down: simnet.Path{Delay: time.Duration(down) * l.Length}}
				l.Add(halves.Plan{Path: path, Config: systems.ClientConfig{Seat: seat}, Input: func(int) ecs.InputBytes {
					if p := &pads[seat]; dice.Chance(1, 12) {
						p.DX, p.DY = int8(dice.IntN(11)-5), int8(dice.IntN(11)-5)
					}
					return entities.Input.Pack(pads[seat])
				}}).Enter()
			}
			l.Run(120)
			lossy = c.loss > 0
			l.Run(900)
			var times []float64
			bytes, sent = 0, 0
			for b.Loop() {
				times = nil
				for range 300 {
					l.Next()
					from := time.Now()
					l.Serve()
					times = append(times, float64(time.Since(from)))
					for _, p := range l.Peers {
						p.Frame(p.Now())
					}
				}
			}
			measure.Row{
				What:      fmt.Sprintf("predict server with %d players and %d NPCs that all move, %s: a tick", townPlayers, townNPCs, c.what),
				Reference: townReach.String(), Unit: "tick", Reach: 1, Note: fmt.Sprintf("%.0f bytes a message", float64(bytes)/float64(sent)),
			}.Report(b, measure.Of(float64(townReach), times...))
		})
	}
}
