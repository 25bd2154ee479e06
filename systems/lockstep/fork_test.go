package lockstep

import (
	"math/rand/v2"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
)

// In a live match, players and a spectator fork random executed frames at random. Every state stays the server's, and the
// match continues. One of the games refuses inputs, so the frames and the executed inputs differ.
func TestAClientForksAnyExecutedFrameOfALiveMatch(t *testing.T) {
	for _, c := range []struct {
		name     string
		config   Config
		history  int
		validate bool
	}{{"P3", Config{}, 0, false}, {"P5", Config{}, 0, true}, {"P7", Config{Reliable: true}, 200, false}} {
		t.Run(c.name, func(t *testing.T) {
			game := testGame()
			game.Screen.History = c.history
			if c.validate {
				game.Validate = func(w *ecs.World, p ecs.Player, in ecs.InputBytes) bool {
					return w.Tick()%7 > 0 || padInput.Unpack(in).DX == 0
				}
			}
			m, r := newMatch(t, game, 12, c.config), rand.New(rand.NewPCG(12, 1))
			compared, deepest := 0, 0
			for s := range 4 {
				seat := s
				if s == 3 {
					seat = -1
				}
				p := m.join(profile(t, c.name), simnet.Clock{}, seat, 60, wander(uint64(s)))
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
			m.Net.RunUntil(14 * time.Second)
			m.wantSound(300)
			if compared < 2000 || deepest < max(100, c.history*3/4) {
				t.Errorf("a run that proves nothing: %d ticks compared in forks, %d ticks back at most", compared, deepest)
			}
		})
	}
}
