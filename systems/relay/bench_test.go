package relay

import (
	"bytes"
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

// largeGame is the test game for more players.
func largeGame(players int) *ecs.Game {
	g := testGame()
	g.MaxPlayers = players
	return g
}

// BenchmarkServerTick is a server's Receive, Tick and Send in a game of 16 seats. Players at a round trip of 100 ms turn
// several times a second.
func BenchmarkServerTick(b *testing.B) {
	for _, players := range []int{2, 4, 16} {
		b.Run(fmt.Sprintf("%dplayers", players), func(b *testing.B) {
			turning := func(seat, tick int) pad { return pad{DX: int8((tick+seat*3)/20%3) - 1} }
			l := newLoop(b, largeGame(16), players, 3, turning)
			for _, p := range l.Peers {
				p.Deaf = true
			}
			message := inputMessage{}
			scratch := []byte(nil)
			tick := func() {
				l.Next()
				for seat := range players {
					message.received, message.inputs = l.server.Done()-min(l.server.Done(), 7), message.inputs[:0]
					for f := 1; f <= 8; f++ {
						message.inputs = append(message.inputs, padInput.Pack(turning(seat, int(message.received)+f)))
					}
					before, _ := l.server.course(message.received, seat)
					scratch = message.append(scratch[:0], before, l.server.Game)
					_ = l.server.Receive(systems.Peer(seat), systems.Datagram, scratch, l.Net.Now(), l)
				}
				l.server.Tick(l.Net.Now())
				l.server.Send(l.Net.Now(), l)
			}
			for range 200 {
				tick()
			}
			l.Down.Bytes = 0
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				tick()
			}
			b.ReportMetric(float64(l.Down.Bytes)/float64(b.N)*60/float64(players), "B/s/client")
		})
	}
}

// BenchmarkClientTick is a client's Receive, Frame and Send where another player's turns make it go back seven ticks
// several times a second: what P3 is like.
func BenchmarkClientTick(b *testing.B) {
	l := newLoop(b, testGame(), 2, 3, zigzag)
	for range 600 {
		l.Step()
	}
	type received struct {
		ch      systems.Channel
		message []byte
	}
	var arrived []received
	p := l.Peers[0]
	p.Receive = func(ch systems.Channel, message []byte, _ systems.Time) error {
		arrived = append(arrived, received{ch, bytes.Clone(message)})
		return nil
	}
	start := l.clients[0].Stats()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		l.Next()
		l.Serve()
		l.Peers[1].Frame(l.Net.Now())
		b.StartTimer()
		for _, m := range arrived {
			if err := p.Half.Receive(m.ch, m.message, l.Net.Now()); err != nil {
				b.Fatal(err)
			}
		}
		arrived = arrived[:0]
		p.Frame(l.Net.Now())
	}
	s := l.clients[0].Stats()
	b.ReportMetric(float64(s.Resimulated-start.Resimulated)/float64(b.N), "resimulated/tick")
}
