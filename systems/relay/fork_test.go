package relay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
)

// In a live match, players and a spectator fork random confirmed ticks in random frames. Every state stays the server's, and
// the match continues.
func TestAClientForksAnyConfirmedTickOfALiveMatch(t *testing.T) {
	for _, c := range []struct {
		profile string
		history int
	}{{"P3", 0}, {"P5", 0}, {"P7", 200}} {
		t.Run(fmt.Sprint(c.profile, c.history), func(t *testing.T) {
			game := testGame()
			game.Screen.History = c.history
			m, r := newMatch(t, game, 11), rand.New(rand.NewPCG(11, 1))
			compared, deepest := 0, 0
			for s := range 4 {
				seat := s
				if s == 3 {
					seat = -1
				}
				p := m.join(profile(t, c.profile), simnet.Clock{}, systems.ClientConfig{Seat: seat}, 60, wander(uint64(s)))
				p.onFrame = func(p *player, before, after ecs.Tick) {
					if r.IntN(40) > 0 || !p.Live() {
						return
					}
					ticks, back := m.CheckPast(p.peer, r)
					compared, deepest = compared+ticks, max(deepest, back)
				}
			}
			for k := range 40 {
				m.Net.At(time.Duration(2000+200*k)*ms, func() {
					m.server.Stamp(image.Order{Player: 1, Payload: []byte{byte(k)}}, m)
				})
			}
			m.Net.RunUntil(12 * time.Second)
			m.wantSound(300)
			least := max(100, c.history*3/4)
			if compared < 2000 || deepest < least {
				t.Errorf("a run that proves nothing: %d ticks compared in forks, %d ticks back at most", compared, deepest)
			}
			if depth := m.clients[0].timeline.Present() - m.clients[0].timeline.Oldest(); int(depth) < least {
				t.Errorf("the ring has %d ticks", depth)
			}
		})
	}
}
