package verify

import (
	"testing"
	"time"
)

// VS-02: over a bad network all clients hear of the same events in the same order, and nothing they have shown is ever
// taken back.
func TestAllClientsHearOfTheSameEventsInTheSameOrder(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 2)
		m.four(profile(t, "P5"))
		m.net.RunUntil(10 * time.Second)
		m.sound(100)
		for _, p := range m.clients {
			m.heard(p, 60)
			t.Logf("client %d: %d shown, %d skipped, %d effects, %+v", p.id, p.checked, p.skipped, len(p.effects), p.Stats())
		}
	})
}
