package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/net/link/rate"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/relay"
)

const (
	relayRTT     = 100 * time.Millisecond
	relaySeconds = 60
)

// BenchmarkRelay measures the traffic of the relay strategy, with headers, and the time from an input to its confirmation by the
// other clients.
func BenchmarkRelay(b *testing.B) {
	for _, c := range []struct {
		players int
		reach   float64
	}{{4, 6.5}, {8, 9.6}} {
		b.Run(fmt.Sprintf("down/%d", c.players), func(b *testing.B) {
			down, _, waits := relayMatch(b, sticks, c.players, simnet.Path{Delay: relayRTT / 2, Loss: 0.01})
			measure.Row{
				What:      fmt.Sprintf("relay, %d players who move two sticks, %v, 1 %% loss: sent to each client", c.players, relayRTT),
				Reference: "1 KB/s", Reach: c.reach,
				Text: fmt.Sprintf("%.2f KB/s; an input is confirmed to the others %.1f ticks after it was given in the median, p99 %.1f", down, quantile(waits, 0.5), quantile(waits, 0.99)),
			}.Report(b, measure.Of(1, down))
		})
	}
	for _, c := range []struct {
		loss  float64
		reach float64
	}{{0.05, 4.7}, {0.2, 4.8}} {
		b.Run(fmt.Sprintf("up/%g", 100*c.loss), func(b *testing.B) {
			_, up, waits := relayMatch(b, keys, 2, simnet.Path{Delay: relayRTT / 2, Loss: c.loss})
			measure.Row{
				What:      fmt.Sprintf("relay, 2 players with inputs of 32 bytes, %v, %g %% loss: sent by each client", relayRTT, 100*c.loss),
				Reference: "1 KB/s", Reach: c.reach,
				Text: fmt.Sprintf("%.2f KB/s; confirmed to the others after %.1f ticks in the median, p99 %.1f, p99.9 %.1f", up, quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 0.999)),
			}.Report(b, measure.Of(1, up))
		})
	}
}

func quantile(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1))] }

// gamepad is an input of two sticks that always move.
type gamepad struct {
	LX, LY, RX, RY int8
	Fire           bool
}

// keyboard is an input of 32 bytes. Few of them change.
type keyboard struct {
	Aim   [2]int32
	Keys  [20]bool
	Slots [4]uint8
}

var (
	gamepads  = ecs.NewInput[gamepad]()
	keyboards = ecs.NewInput[keyboard]()
)

// sticks moves the sticks of a player at random.
func sticks(seed uint64) (ecs.AnyInput, func() ecs.InputBytes) {
	r, g := rand.New(rand.NewPCG(seed, 1)), gamepad{}
	move := func(v *int8) { *v = int8(min(max(0.95*float64(*v)+20*r.NormFloat64(), -127), 127)) }
	return gamepads, func() ecs.InputBytes {
		move(&g.LX)
		move(&g.LY)
		move(&g.RX)
		move(&g.RY)
		g.Fire = r.IntN(30) == 0
		return gamepads.Pack(g)
	}
}

// keys presses keys and aims at random: something changes in every third tick.
func keys(seed uint64) (ecs.AnyInput, func() ecs.InputBytes) {
	r, k := rand.New(rand.NewPCG(seed, 2)), keyboard{Aim: [2]int32{123456, -98765}, Slots: [4]uint8{3, 1, 7, 200}}
	for i := range k.Keys {
		k.Keys[i] = i%3 == 0
	}
	return keyboards, func() ecs.InputBytes {
		if r.IntN(3) == 0 {
			k.Aim[0] += int32(1000 * r.NormFloat64())
			k.Aim[1] += int32(300 * r.NormFloat64())
		}
		if r.IntN(10) == 0 {
			i := r.IntN(len(k.Keys))
			k.Keys[i] = !k.Keys[i]
		}
		return keyboards.Pack(k)
	}
}

// relayMatch plays a match in virtual time. It returns the KB/s to and from each client, with ten reports a second. waits are the
// ticks from each changed input to its confirmation at each other client, ascending.
func relayMatch(b *testing.B, player func(seed uint64) (ecs.AnyInput, func() ecs.InputBytes), players int, path simnet.Path) (down, up float64, waits []float64) {
	game := idle(60)
	game.Input, _ = player(0)
	game.MaxPlayers = players
	m := halves.New(b, halves.Config{Game: game, Strategy: relay.Strategy, Seed: 1})
	counting := false
	m.Lost = func(toClient bool, _ int, _ systems.Channel, message []byte) bool {
		if size := float64(rate.Header + wire.EnvelopeSize + wire.PartSize(len(message))); counting && toClient {
			down += size
		} else if counting {
			up += size
		}
		return false
	}
	given := make([]map[ecs.InputBytes]simnet.Time, players) // by seat and changed input
	for seat := range players {
		_, next := player(uint64(seat))
		last, final := ecs.InputBytes{}, make([]ecs.InputBytes, players)
		given[seat] = map[ecs.InputBytes]simnet.Time{}
		m.Join(halves.Plan{Path: simnet.Profile{Up: path, Down: path}, Config: systems.ClientConfig{Seat: seat,
			Taken: func(f systems.FinalTick) {
				for other, in := range f.Inputs {
					if at, ok := given[other][in]; ok && counting && other != seat && in != final[other] {
						waits = append(waits, float64(m.Net.Now()-at)/float64(time.Second/60))
					}
				}
				copy(final, f.Inputs)
			}},
			Input: func(int) ecs.InputBytes {
				in := next()
				if in != last {
					last, given[seat][in] = in, m.Net.Now()
				}
				return in
			}})
	}
	m.Net.RunUntil(40 * time.Second)
	counting = true
	m.Net.RunUntil((40 + relaySeconds) * time.Second)
	slices.Sort(waits)
	perSecond := func(bytes float64) float64 {
		return (bytes/relaySeconds/float64(players) + 10*float64(2+rate.ReportSize)) / 1000
	}
	return perSecond(down), perSecond(up), waits
}
