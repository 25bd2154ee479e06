package vote

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// endlessMatch is a match that is behind: its world is computed on demand, and a match ends in every tick.
type endlessMatch struct {
	world     *ecs.World
	done      ecs.Tick
	judged    *Adjudicator
	decisions []systems.Decision
	most      int // own results that were kept at once
}

func (m *endlessMatch) World() *ecs.World               { return m.world }
func (m *endlessMatch) Done() ecs.Tick                  { return m.done }
func (m *endlessMatch) Attended() bool                  { return true }
func (m *endlessMatch) Blame(ecs.Player, ecs.Tick, int) {}
func (m *endlessMatch) Decide(d systems.Decision)       { m.decisions = append(m.decisions, d) }
func (m *endlessMatch) Save() *image.Snapshot {
	s := &image.Snapshot{}
	m.world.Image().Save(s)
	return s
}

func (m *endlessMatch) Advance() {
	m.world.Step(ecs.TickInputs{})
	m.judged.Computed(nil)
	m.most = max(m.most, len(m.judged.own), cap(m.judged.own))
}

// A replay of a long log meets many results. They are decided in turn, and few are kept at once.
func TestConcludeKeepsFewResultsAtOnce(t *testing.T) {
	type pad struct{ X int8 }
	game := &ecs.Game{Name: "endless", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[pad](),
		Result: func(w *ecs.World) []byte { return []byte{byte(w.Tick()), byte(w.Tick() >> 8)} }}
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		t.Fatal(err)
	}
	const ticks = 6 * ownKept
	m := &endlessMatch{world: w}
	m.judged = NewAdjudicator(m, false, Config{})
	for m.done < ticks {
		m.done++
		m.judged.Ended(m.done, 0, nil, 0)
	}
	m.judged.Conclude()
	if left := len(m.judged.own); len(m.decisions) != ticks || left > 0 || m.judged.open {
		t.Fatalf("%d of %d matches are decided, %d are left", len(m.decisions), ticks, left)
	}
	for i, d := range m.decisions {
		if d.Tick != ecs.Tick(i+1) || d.Result[0] != byte(i+1) {
			t.Fatalf("decision %d: %+v", i, d)
		}
	}
	if m.most > 2*ownKept {
		t.Errorf("%d results were kept at once, want at most %d", m.most, 2*ownKept)
	}
}
