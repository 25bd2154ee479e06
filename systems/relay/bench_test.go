package relay

import (
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

// largeGame is the test game for more players.
func largeGame(players int) *ecs.Game {
	g := testGame(60)
	g.MaxPlayers = players
	return g
}

// BenchmarkServerTick is a server's Receive, Tick and Send in a game of 16 seats. Players at a round trip of 100 ms turn
// several times a second.
func BenchmarkServerTick(b *testing.B) {
	for _, players := range []int{2, 4, 16} {
		b.Run(fmt.Sprintf("%dplayers", players), func(b *testing.B) {
			l := newLoop(b, largeGame(16), players, 3, func(seat, tick int) pad {
				return pad{DX: int8((tick+seat*3)/20%3) - 1}
			})
			message := inputMessage{}
			scratch := []byte(nil)
			tick := func() {
				l.Tick++
				for seat := range players {
					message.received, message.inputs = l.server.Done()-min(l.server.Done(), 7), message.inputs[:0]
					for f := 1; f <= 8; f++ {
						message.inputs = append(message.inputs, l.Input(seat, int(message.received)+f))
					}
					scratch = message.append(scratch[:0], l.server.Game)
					_ = l.server.Receive(systems.Peer(seat), systems.Datagram, scratch, systems.Time(l.Tick)*l.Length, l)
				}
				l.server.Tick(systems.Time(l.Tick) * l.Length)
				l.server.Send(systems.Time(l.Tick)*l.Length, l)
				for seat := range players {
					l.Discard(seat)
				}
			}
			for range 200 {
				tick()
			}
			l.DownBytes = 0
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				tick()
			}
			b.ReportMetric(float64(l.DownBytes)/float64(b.N)*60/float64(players), "B/s/client")
		})
	}
}

// BenchmarkClientTick is a client's Receive, Frame and Send where another player's turns make it go back seven ticks
// several times a second: what P3 is like.
func BenchmarkClientTick(b *testing.B) {
	l := newLoop(b, testGame(60), 2, 3, zigzag)
	for range 600 {
		l.Step()
	}
	start := l.clients[0].Stats()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		l.Tick++
		b.StopTimer()
		l.Serve()
		l.Deliver(1)
		l.Frame(1)
		b.StartTimer()
		l.Deliver(0)
		l.Frame(0)
	}
	s := l.clients[0].Stats()
	b.ReportMetric(float64(s.Resimulated-start.Resimulated)/float64(b.N), "resimulated/tick")
}
