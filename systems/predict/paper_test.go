package predict

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
)

// The vectors of "Online Multiplayer Game Programming" (2007), at 100 ticks a second. Right is held and moves a unit a
// tick, so that S(k) = k. The client has predicted S(20) when the server's S(10) arrives. δ = 1/8.

// paper returns a rig whose client has predicted tick k + 20 and is about to receive tick k + 10. The figure is at x
// = tick + base. off is added to the server's position in tick k + 10.
func paper(t *testing.T, c Config, off fixed.Num) (r *rig, k ecs.Tick, base float64) {
	c.SnapshotRate = 100
	r = newRig(t, newRules(looseBody).game(100), 1, 5, 6, c, systems.ClientConfig{})
	r.pads[0].DX = 1
	r.Run(30)
	k = r.clients[0].Tick - 10
	base = r.x(0) - float64(r.clients[0].Tick)
	r.atServer(k+10, 0, func(b *body) {
		b.Pos.X += off
		b.Vel.Z = fixed.One // the body differs from that of the tick before, whose message was lost
	})
	r.lose = func(toClient bool, _ int, message []byte) bool { // no other snapshot arrives
		return toClient && message[0] == kindSnapshot && r.server.Done() != k+10
	}
	for r.clients[0].Tick < k+20 {
		r.Step()
	}
	r.forget()
	return r, k, base
}

// delta1 reports whether a client keeps a prediction that is off by 0.05 within a tolerance of 0.125, and removes the
// consumed inputs.
func delta1(t *testing.T, prepare func(*Client)) bool {
	r, k, base := paper(t, Config{}, num(5, 100))
	client := r.clients[0]
	prepare(client)
	r.Step()
	mine, _ := client.History.At(k + 10)
	last, _ := client.History.At(k + 20)
	_, next := client.line.Inputs.Given(k + 11)
	return client.Received == k+10 && xAt(last, figure(client.World(), 0)) == base+float64(k+20) && next && client.oldestWanted() == k+11 &&
		client.Counted.Resimulated == 0 && client.counts.Corrections == 0 && xAt(mine, figure(client.World(), 0)) == base+float64(k+10)
}

func TestPAPERDelta1ADeviationWithinToleranceChangesNothing(t *testing.T) {
	if !delta1(t, func(*Client) {}) {
		t.Error("S(10) = 10.05 was not tolerated, or the stored states were rewritten")
	}
}

func TestPAPERDelta2ADeviationBeyondToleranceIsReplayed(t *testing.T) {
	r, k, base := paper(t, Config{}, -fixed.One)
	r.Step()
	c := r.clients[0]
	if c.Counted.Resimulated != 10 || c.Counted.Rollbacks != 1 || c.counts.Corrections != 1 || c.counts.Furthest != 1 {
		t.Errorf("%d ticks resimulated in %d replays, %+v", c.Counted.Resimulated, c.Counted.Rollbacks, c.counts)
	}
	for i := ecs.Tick(11); i <= 20; i++ {
		s, ok := c.History.At(k + i)
		if x := xAt(s, figure(c.World(), 0)); !ok || x != base+float64(k+i-1) {
			t.Errorf("stored S(%d) = %v", i, x-base-float64(k))
		}
	}
}

func TestPAPERDelta3ADeviationOfExactlyTheToleranceChangesNothing(t *testing.T) {
	r, _, _ := paper(t, Config{}, -num(1, 8))
	r.Step()
	if c := r.clients[0]; c.Counted.Rollbacks != 0 || c.counts.Corrections != 0 || c.counts.Furthest != 0.125 {
		t.Errorf("%d replays, %+v", c.Counted.Rollbacks, c.counts)
	}
}

// A slow drift stays visible: each snapshot is compared with the prediction, not with the last tolerated state.
func TestADriftThatIsToleratedCrossesTheToleranceInTheEnd(t *testing.T) {
	r := newRig(t, newRules(looseBody).game(100), 1, 5, 5, Config{SnapshotRate: 100}, systems.ClientConfig{})
	hooks[r.server.World()] = func(w *ecs.World) { looseBody.Write(w, figure(w, 0)).Pos.X += num(2, 100) }
	r.Run(100)
	if c := r.clients[0].counts; c.Corrections < 5 || c.Corrections > 40 {
		t.Errorf("%+v", c)
	}
}

// PAPER-BUG, the negative control: the printed listing compares with the present.
func TestPAPERBUGComparingWithThePresentFailsDelta1(t *testing.T) {
	if delta1(t, func(c *Client) { c.plant(comparesPresent) }) {
		t.Error("a client that compares two different ticks passes")
	}
}

// PAPER-δ-6: inputs without an acknowledgement are never overwritten. A full queue stops the prediction until an
// acknowledgement arrives.
func TestPAPERDelta6AFullQueueRefusesAndRecovers(t *testing.T) {
	r := newRig(t, newRules(looseBody).game(100), 1, 5, 5, Config{SnapshotRate: 100}, systems.ClientConfig{MaxPrediction: maxPending})
	c := r.clients[0]
	r.pads[0].DX = 1
	r.lose = func(toClient bool, _ int, _ []byte) bool { return toClient }
	r.Run(5)
	acked, first := c.Received, []entry{}
	for f := acked + 1; f <= c.line.Inputs.Sampled(); f++ {
		e, _ := c.line.Inputs.Given(f)
		first = append(first, *e)
	}
	for range maxPending + 200 {
		r.Step()
	}
	if c.Received != acked || c.waiting() != maxPending || c.Tick != acked+maxPending {
		t.Fatalf("acknowledged %d, %d inputs wait, present %d", c.Received-acked, c.waiting(), c.Tick-acked)
	}
	if c.counts.Refusals == 0 || c.Counted.Stalls == 0 || c.Counted.Stalled != systems.StallWindow || !c.frozen() {
		t.Errorf("%d refused, %+v", c.counts.Refusals, c.Counted)
	}
	for i, was := range first {
		if e, ok := c.line.Inputs.Given(acked + 1 + ecs.Tick(i)); !ok || *e != was {
			t.Fatalf("the input of tick %d was overwritten", acked+1+ecs.Tick(i))
		}
	}
	r.lose = nil
	r.Run(60)
	if c.frozen() || c.waiting() > 60 || c.Received <= acked+maxPending || !c.Live() {
		t.Errorf("after an acknowledgement: %d inputs wait, confirmed %d, present %d", c.waiting(), c.Received, c.Tick)
	}
}

// The ring of pending inputs wraps. Each input stays as it was given until it is acknowledged.
func TestPendingInputsWrapAndAreNeverOverwritten(t *testing.T) {
	r := newRig(t, newRules(looseBody).game(100), 1, 5, 5, Config{SnapshotRate: 100}, systems.ClientConfig{MaxPrediction: maxPending})
	c, given := r.clients[0], map[ecs.Tick]entry{}
	run := func(frames int) {
		for i := range frames {
			r.pads[0].DX = int8(i%3 - 1)
			last := c.line.Inputs.Sampled()
			r.Step()
			for f := last + 1; f <= c.line.Inputs.Sampled(); f++ {
				e, _ := c.line.Inputs.Given(f)
				given[f] = *e
			}
		}
	}
	run(300)
	r.lose = func(toClient bool, _ int, _ []byte) bool { return toClient }
	run(maxPending + 200)
	if c.waiting() != maxPending || c.Received%maxPending == 0 {
		t.Fatalf("%d inputs wait after tick %d", c.waiting(), c.Received)
	}
	for f := c.Received + 1; f <= c.line.Inputs.Sampled(); f++ {
		if e, ok := c.line.Inputs.Given(f); !ok || *e != given[f] {
			t.Fatalf("the input of tick %d is %+v, not %+v", f, e, given[f])
		}
	}
	for _, f := range []ecs.Tick{c.Received, c.line.Inputs.Sampled() + 1} {
		if _, ok := c.line.Inputs.Given(f); ok {
			t.Errorf("tick %d has an input; ticks %d to %d wait", f, c.Received+1, c.line.Inputs.Sampled())
		}
	}
}
