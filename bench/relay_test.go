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
			m := playRelay(b, sticks, c.players, 0.01, 0)
			measure.Row{
				What:      fmt.Sprintf("relay, %d players who move two sticks, %v, 1 %% loss: sent to each client", c.players, relayRTT),
				Reference: "1 KB/s", Reach: c.reach,
				Text: fmt.Sprintf("%.2f KB/s; an input is confirmed to the others %.1f ticks after it was given in the median, p99 %.1f", m.down, quantile(m.waits, 0.5), quantile(m.waits, 0.99)),
			}.Report(b, measure.Of(1, m.down))
		})
	}
	for _, c := range []struct {
		loss  float64
		reach float64
	}{{0.05, 4.7}, {0.2, 4.8}} {
		b.Run(fmt.Sprintf("up/%g", 100*c.loss), func(b *testing.B) {
			m := playRelay(b, keys, 2, c.loss, 0)
			measure.Row{
				What:      fmt.Sprintf("relay, 2 players with inputs of 32 bytes, %v, %g %% loss: sent by each client", relayRTT, 100*c.loss),
				Reference: "1 KB/s", Reach: c.reach,
				Text: fmt.Sprintf("%.2f KB/s; confirmed to the others after %.1f ticks in the median, p99 %.1f, p99.9 %.1f", m.up, quantile(m.waits, 0.5), quantile(m.waits, 0.99), quantile(m.waits, 0.999)),
			}.Report(b, measure.Of(1, m.up))
		})
	}
	for _, c := range []struct {
		name   string
		loss   float64
		outage time.Duration // in each second
		of     float64       // the quantile that is compared with reach
		reach  time.Duration
	}{
		{"5", 0.05, 0, 0.999, 83400 * time.Microsecond},
		{"20", 0.2, 0, 0.999, 117 * time.Millisecond},
		{"outages", 0.05, 80 * time.Millisecond, 0.99, 192 * time.Millisecond},
	} {
		b.Run("arrival/"+c.name, func(b *testing.B) {
			m := playRelay(b, keys, 2, c.loss, c.outage)
			what := fmt.Sprintf("relay, 2 players with inputs of 32 bytes, %v, %g %% loss", relayRTT, 100*c.loss)
			if c.outage > 0 {
				what += fmt.Sprintf(", all messages are lost for %v of each second", c.outage)
			}
			measure.Row{
				What:      fmt.Sprintf("%s: time from an input to its arrival at the server, p%g", what, 100*c.of),
				Reference: fmt.Sprintf("%.0f ms", c.reach.Seconds()*1000), Reach: 1,
				Text: fmt.Sprintf("%.0f ms in the median, p99 %.0f ms, p99.9 %.0f ms", m.ms(0.5), m.ms(0.99), m.ms(0.999)),
			}.Report(b, measure.Of(float64(c.reach), quantile(m.arrivals, c.of)))
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

// relayMatch is the measurements of a match.
type relayMatch struct {
	down, up float64   // KB/s to and from each client, with ten reports a second
	waits    []float64 // ticks from each changed input to its confirmation at each other client, ascending
	arrivals []float64 // ns from the first message with an input to the first that arrived at the server with it, ascending
}

// sender records when the inputs of a client were given, sent and received.
type sender struct {
	given   map[ecs.InputBytes]simnet.Time // when each changed input was given
	sent    []simnet.Time                  // by tick: the time of the first message with its input
	arrived uint64                         // the newest tick whose input is at the server
}

// playRelay plays a match in virtual time. While it is measured, all messages of the first part of each second, outage, are lost in
// both directions.
func playRelay(b *testing.B, player func(seed uint64) (ecs.AnyInput, func() ecs.InputBytes), players int, loss float64, outage time.Duration) (r relayMatch) {
	game := idle(60)
	game.Input, _ = player(0)
	game.MaxPlayers = players
	m := halves.New(b, halves.Config{Game: game, Strategy: relay.Strategy, Seed: 1})
	counting, senders := false, make([]sender, players) // by seat
	m.Lost = func(toClient bool, seat int, ch systems.Channel, message []byte) bool {
		size := float64(rate.Header + wire.EnvelopeSize + wire.PartSize(len(message)))
		switch {
		case counting && toClient:
			r.down += size
		case counting:
			r.up += size
		}
		if s := &senders[seat]; !toClient {
			for last := newestInput(uint64(len(s.sent)), ch, message); uint64(len(s.sent)) <= last; {
				s.sent = append(s.sent, m.Net.Now())
			}
		}
		return counting && m.Net.Now()%simnet.Time(time.Second) < simnet.Time(outage)
	}
	m.OnUp = func(p *halves.Peer, ch systems.Channel, message []byte) {
		s := &senders[p.ID]
		for last := newestInput(s.arrived, ch, message); s.arrived < last; {
			if s.arrived++; counting {
				r.arrivals = append(r.arrivals, float64(m.Net.Now()-s.sent[s.arrived]))
			}
		}
	}
	path := simnet.Path{Delay: relayRTT / 2, Loss: loss}
	for seat := range players {
		_, next := player(uint64(seat))
		last, final := ecs.InputBytes{}, make([]ecs.InputBytes, players)
		given := map[ecs.InputBytes]simnet.Time{}
		senders[seat].given = given
		m.Join(halves.Plan{Path: simnet.Profile{Up: path, Down: path}, Config: systems.ClientConfig{Seat: seat,
			Taken: func(f systems.FinalTick) {
				for other, in := range f.Inputs {
					if at, ok := senders[other].given[in]; ok && counting && other != seat && in != final[other] {
						r.waits = append(r.waits, float64(m.Net.Now()-at)/float64(time.Second/60))
					}
				}
				copy(final, f.Inputs)
			}},
			Input: func(int) ecs.InputBytes {
				in := next()
				if in != last {
					last, given[in] = in, m.Net.Now()
				}
				return in
			}})
	}
	m.Net.RunUntil(40 * time.Second)
	counting = true
	m.Net.RunUntil((40 + relaySeconds) * time.Second)
	slices.Sort(r.waits)
	slices.Sort(r.arrivals)
	for _, bytes := range []*float64{&r.down, &r.up} {
		*bytes = (*bytes/relaySeconds/float64(len(senders)) + 10*float64(2+rate.ReportSize)) / 1000
	}
	return r
}

// ms returns a quantile of arrivals, in milliseconds.
func (m *relayMatch) ms(q float64) float64 {
	return quantile(m.arrivals, q) / float64(time.Millisecond)
}

// newestInput returns the newest tick whose input is in a message to the server, 0 if the message has no inputs. near is a tick less
// than 2^15 from it. The layout is in net/wire/STANDARD.md.
func newestInput(near uint64, ch systems.Channel, message []byte) uint64 {
	const kindInput = 1
	r := wire.NewReader(message)
	if kind := r.U8(); ch != systems.Datagram || kind != kindInput {
		return 0
	}
	received, count := wire.Expand16(near, r.U16()), r.U8()
	return received + uint64(count)
}
