package verify

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/race"
)

// Nothing is allocated in a tick, on the server or on a client, whichever way states travel.
func TestATickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, v := range []struct {
		name   string
		game   *ecs.Game
		limits Config
	}{{"datagram", testGame(60), Config{}}, {"reliable", testGame(60), Config{Reliable: true}}, {"large", bystanderGame(200), Config{}}, {"pieces", bystanderGame(1200), Config{History: 32}}} {
		t.Run(v.name, func(t *testing.T) {
			l := newLoop(t, v.game, v.limits, 4, 3, zigzag)
			const warm = 2500
			for range warm {
				l.Step()
			}
			if n := testing.AllocsPerRun(120, l.Step); n != 0 {
				t.Errorf("%v allocations in a tick", n)
			}
			for _, c := range l.clients {
				if s := c.Stats(); !c.Live() || s.Hashes < warm/20 || c.commands.next() < 50 || c.refused > 0 {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// The bandwidth of a small game: four players who turn eight times a second and shoot every other, at 60 Hz.
func TestASmallGameIsCheapOnTheWire(t *testing.T) {
	for _, way := range []int{1, 3, 8} {
		l := newLoop(t, testGame(60), Config{}, 4, way, zigzag)
		for range 300 {
			l.Step()
		}
		l.Down.Bytes, l.Up.Bytes = 0, 0
		for range 600 {
			l.Step()
		}
		down, up := l.Down.Bytes/4/10, l.Up.Bytes/4/10
		t.Logf("%d ticks each way: %d bytes per client and second down, %d up", way, down, up)
		if down > 60*400 || up > 60*40 || down < 600 || up < 300 {
			t.Errorf("%d down, %d up", down, up)
		}
	}
}
