package state

import "testing"

// Senders of clients with the same baselines encode a delta once. So do those whose clients lost deltas or came later, after a while.
func TestEqualDeltasAreEncodedOnce(t *testing.T) {
	g := movingRig(t, 40, true)
	g.scene.turn = true
	for seat := range 4 {
		g.join(seat, 1<<12, link{base: 3})
	}
	distinct := func(ticks int) (bodies int) {
		for range ticks {
			g.tick()
			bodies += g.changes.writer.sharing.used
		}
		return bodies
	}
	if n := distinct(100); n != 100 {
		t.Errorf("%d deltas of 100 ticks were encoded", n)
	}
	for slot, it := range g.clients[2].sender.items.All {
		if it.phase == wanted {
			g.clients[2].sender.items.At(slot).unbase()
			break
		}
	}
	if n := distinct(1); n != 2 {
		t.Errorf("%d deltas were encoded, one of two with another baseline", n)
	}
	distinct(20)
	g.clients[1].down.loss = 1
	distinct(6)
	g.clients[1].down.loss = 0
	for range renewLeast {
		g.join(-1, 1<<12, link{base: 3})
		distinct(checkpointEvery)
	}
	if n := distinct(2 * rejoinFor); n < 2*rejoinFor+10 {
		t.Errorf("%d deltas of %d ticks were encoded: the test shows nothing", n, 2*rejoinFor)
	}
	if n := distinct(rejoinFor); n != rejoinFor {
		t.Errorf("%d deltas of %d ticks were encoded after the loss", n, rejoinFor)
	}
	g.settle(60)
}

// Clients with other baselines, other checkpoints or less room than the first do not get its deltas.
func TestDeltasAreSharedOnlyWithTheSameBaselines(t *testing.T) {
	g := movingRig(t, 30, true)
	g.scene.turn, g.scene.busy = true, true
	for seat := range 6 {
		g.join(seat, []int{1 << 12, 1 << 12, 150}[seat%3], link{base: 1 + seat/3, jitter: seat % 2, loss: 0.1, doubled: 0.1})
	}
	for range 150 {
		g.tick()
	}
	shared := 0
	for range 50 {
		g.tick()
		shared += len(g.clients) - g.changes.writer.sharing.used
	}
	for i, c := range g.clients {
		if c.refused > 0 {
			t.Errorf("client %d refused %d deltas", i, c.refused)
		}
	}
	if shared == 0 {
		t.Error("no delta was shared: the test shows nothing")
	}
	g.settle(60)
}
