package predict

import (
	"testing"

	"tendon/systems"
)

// Without snapshots the prediction freezes at its window, and inputs are sampled on. The first snapshot after that is newer
// than the present: the client adopts it, keeps the inputs that the server has not consumed, and catches up.
func TestAStateAheadOfAFrozenPredictionKeepsThePendingInputs(t *testing.T) {
	r := newRig(t, newRules(exactBody).game(60), 1, 4, 4, Config{}, systems.ClientConfig{MaxPrediction: 16})
	c := r.clients[0]
	lost := 40
	r.lose = func(toClient bool, _ int, _ []byte) bool { return toClient && lost > 0 }
	r.pads[0].DX = 1
	for ; lost > 0; lost-- {
		r.Step()
	}
	if c.counts.Overtaken != 0 || !c.frozen() {
		t.Fatalf("%+v, present %d, confirmed %d: the prediction is not frozen", c.counts, c.Tick, c.Received)
	}
	for before := c.Received; c.Received == before; {
		r.Step()
	}
	if c.counts.Overtaken != 1 || c.counts.Snaps != 0 || c.waiting() == 0 {
		t.Errorf("%+v, %d inputs wait", c.counts, c.waiting())
	}
	r.Run(600) // the outage lengthened the input delay, which shrinks to the need of the connection
	before := c.counts.Overtaken
	r.Run(100)
	if c.counts.Overtaken != before || c.counts.Snaps != 0 || c.counts.Corrections != 0 || !c.Live() || c.Tick <= c.Received {
		t.Errorf("%+v, live %v, present %d, confirmed %d", c.counts, c.Live(), c.Tick, c.Received)
	}
}
