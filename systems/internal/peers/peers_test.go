package peers

import (
	"testing"

	"tendon/ecs"
)

// The room is informed once of a peer that needs an image, until the peer is opened anew.
func TestResyncIsReportedOnce(t *testing.T) {
	var r Resync
	if r.Report() {
		t.Error("reported a peer that is in sync")
	}
	r.Request()
	r.Request()
	if r != Needed || !r.Report() || r != Reported {
		t.Errorf("state %d after a report", r)
	}
	if r.Request(); r.Report() || r != Reported {
		t.Errorf("reported twice: state %d", r)
	}
}

func use(b *Budget, done ecs.Tick) (messages, orders int) {
	for b.AllowMessage(done) {
		messages++
	}
	for b.AllowOrder(done) {
		orders++
	}
	return messages, orders
}

// A budget allows a burst at first, then what each tick adds, and after a pause no more than the burst again.
func TestBudgetAllowsABurstAndThenItsRate(t *testing.T) {
	const rate = 60
	b := NewBudget(rate)
	if m, o := use(&b, 100); m != MaxMessages || o != OrdersPerSecond {
		t.Errorf("%d messages and %d orders at first", m, o)
	}
	if m, o := use(&b, 101); m != messagesPerTick || o != 0 {
		t.Errorf("%d messages and %d orders after a tick", m, o)
	}
	if _, o := use(&b, 106); o != 1 {
		t.Errorf("%d orders after a tenth of a second", o)
	}
	if m, o := use(&b, 5000); m != MaxMessages || o != OrdersPerSecond {
		t.Errorf("%d messages and %d orders after a pause", m, o)
	}
}
