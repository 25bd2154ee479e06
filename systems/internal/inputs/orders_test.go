package inputs

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Each order goes into the tick that was said when it was added, in turn, and is what it was then.
func TestOrdersWaitForATickThatHasRoom(t *testing.T) {
	var q Orders
	payload := []byte{0}
	for i := range 7 {
		payload[0] = byte(i)
		if before := q.Add(image.Order{Kind: image.OrderGame, Payload: payload}, 3); before != ecs.Tick(i/3) {
			t.Errorf("order %d waits for %d ticks", i, before)
		}
	}
	next := byte(0)
	for _, want := range []int{3, 3, 1, 0} {
		taken := q.Next(nil, 3)
		if len(taken) != want {
			t.Errorf("%d orders in a tick, want %d", len(taken), want)
		}
		for _, o := range taken {
			if o.Payload[0] != next {
				t.Errorf("order %d instead of %d", o.Payload[0], next)
			}
			next++
		}
	}
	if q.Len() != 0 {
		t.Errorf("%d wait in the end", q.Len())
	}
}
