package predict

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
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
	_, waits := client.pending.at(k + 10)
	_, next := client.pending.at(k + 11)
	return client.Received == k+10 && xAt(last, figure(client.World(), 0)) == base+float64(k+20) && !waits && next &&
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
	for f := acked + 1; f <= c.pending.last(); f++ {
		e, _ := c.pending.at(f)
		first = append(first, e)
	}
	for range maxPending + 200 {
		r.Step()
	}
	if c.Received != acked || c.pending.count != maxPending || c.Tick != acked+maxPending {
		t.Fatalf("acknowledged %d, %d inputs wait, present %d", c.Received-acked, c.pending.count, c.Tick-acked)
	}
	if c.counts.Refusals == 0 || c.Counted.Stalls == 0 || c.Counted.Stalled != systems.StallWindow || !c.frozen() {
		t.Errorf("%d refused, %+v", c.counts.Refusals, c.Counted)
	}
	for i, was := range first {
		if e, ok := c.pending.at(acked + 1 + ecs.Tick(i)); !ok || e != was {
			t.Fatalf("the input of tick %d was overwritten", acked+1+ecs.Tick(i))
		}
	}
	r.lose = nil
	r.Run(60)
	if c.frozen() || c.pending.count > 60 || c.Received <= acked+maxPending || !c.Live() {
		t.Errorf("after an acknowledgement: %d inputs wait, confirmed %d, present %d", c.pending.count, c.Received, c.Tick)
	}
}

// The queue alone: its indices wrap.
func TestPendingInputsWrapAndAreNeverOverwritten(t *testing.T) {
	q := newInputQueue(1000)
	of := func(f ecs.Tick) entry { return entry{view: image.ViewStamp{Tick: f}} }
	for f := ecs.Tick(1001); f <= 1000+maxPending; f++ {
		if !q.push(of(f)) {
			t.Fatalf("input %d was refused", f-1000)
		}
	}
	if q.push(of(0)) {
		t.Fatal("entry 1025 was accepted")
	}
	q.drop(1300)
	q.drop(1200)
	for f := ecs.Tick(1001) + maxPending; f <= 1300+maxPending; f++ {
		if !q.push(of(f)) {
			t.Fatalf("input %d was refused", f-1000)
		}
	}
	if q.push(of(0)) || q.last() != 1300+maxPending {
		t.Fatal("the queue is not full")
	}
	for f := ecs.Tick(1301); f <= q.last(); f++ {
		if e, ok := q.at(f); !ok || e.view.Tick != f {
			t.Fatalf("input of tick %d is that of %d", f, e.view.Tick)
		}
	}
	if _, ok := q.at(1300); ok {
		t.Error("a consumed input is still there")
	}
	if _, ok := q.at(q.last() + 1); ok {
		t.Error("an input that was not given is there")
	}
	q.drop(q.last() + 50)
	if q.count != 0 || q.base != 1350+maxPending {
		t.Errorf("%d inputs after tick %d", q.count, q.base)
	}
}
