package matchtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// Many clients join over slow lines, one after the other. The states that are kept for them do not exceed the limit, and all clients
// join.
func TestManySlowJoinsShareTheMemoryForImages(t *testing.T) {
	const states, joins = 3, 7
	for _, s := range strategies {
		kept, most := 0, 0
		game := dustGame(3000, 50)
		m := newLineMatch(t, game, keeping(s, &kept), func(c *room.Config) { c.Backlog = 2 * states * stateBytes(t, game) })
		m.run(time.Second)
		for range joins {
			m.join(20_000)
			for range 60 {
				m.step()
				most = max(most, kept)
			}
		}
		m.until("all clients are live", time.Minute, func() bool {
			most = max(most, kept)
			return !slices.ContainsFunc(m.clients, func(c *lineClient) bool { return c.State() != client.Live })
		})
		images := 0
		for _, c := range m.clients {
			images += c.heads
		}
		if most != states || images != joins {
			t.Errorf("%s: %d states are kept at most, want %d; %d images for %d clients", s.Name, most, states, images, joins)
		}
		m.run(time.Second)
		if kept > 0 {
			t.Errorf("%s: %d states are kept in the end", s.Name, kept)
		}
	}
}

// stateBytes returns the memory of the first state of a game.
func stateBytes(t *testing.T, game *ecs.Game) int {
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		t.Fatal(err)
	}
	var state image.Snapshot
	w.Image().Save(&state)
	return state.Bytes()
}

// A client joins although its image takes more than 4096 ticks, which is more than any message can span. The image is sent once.
func TestAClientJoinsAfterMinutes(t *testing.T) {
	for _, s := range strategies {
		if !race.Long && s.Name != verify.Strategy.Name {
			continue
		}
		m := newLineMatch(t, dustGame(22_000, 0), s, nil)
		fast := m.joinFast()
		c := m.join(10_000)
		m.until("the image is loaded", 2*time.Minute, func() bool { return c.State() > client.Loading })
		if m.room.Tick() < 4200 {
			t.Errorf("%s: the image is loaded in tick %d", s.Name, m.room.Tick())
		}
		m.until("the client is live", 10*time.Second, func() bool { return c.State() == client.Live })
		m.run(2 * time.Second)
		if c.State() != client.Live || c.heads != 1 || c.Stats().Resyncs > 0 || fast.Stats().Resyncs > 0 {
			t.Errorf("%s: the client is %v, %d images, %d resyncs", s.Name, c.State(), c.heads, c.Stats().Resyncs)
		}
	}
}

// A client of relay whose image always takes longer than the kept ticks is sent five images. Then its session ends with the reason.
func TestAClientThatIsTooSlowForTheBacklogIsEnded(t *testing.T) {
	const rate = 10_000
	m := newLineMatch(t, dustGame(6000, 0), relay.Strategy, func(c *room.Config) { c.Backlog = 1 << 10 })
	fast := m.joinFast()
	c := m.join(rate)
	took := m.until("the client is ended", 10*time.Minute, func() bool { return c.Err() != nil })
	var end *session.Error
	if !errors.As(c.Err(), &end) || end.Code != session.CodeSlow || c.heads != 5 || m.room.Stats().Peers != 1 {
		t.Errorf("%v after %v and %d images, %d peers", c.Err(), took, c.heads, m.room.Stats().Peers)
	}
	if fast.State() != client.Live || fast.Stats().Resyncs > 0 {
		t.Errorf("the other client is %v, with %d resyncs", fast.State(), fast.Stats().Resyncs)
	}
}
