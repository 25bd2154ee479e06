package peers

import "testing"

// The room hears of a peer that needs an image once, however often that is found, until the peer is opened anew.
func TestAFlawIsToldOnce(t *testing.T) {
	var f Flaw
	if f.Tell() {
		t.Error("told of a peer that is sound")
	}
	f.Fault()
	f.Fault()
	if f != Found || !f.Tell() || f != Told {
		t.Errorf("%d", f)
	}
	if f.Fault(); f.Tell() || f != Told {
		t.Errorf("told twice: %d", f)
	}
}

// A budget fills up by a tick's worth and not beyond what may come at once.
func TestABudgetFillsUpToItsBounds(t *testing.T) {
	const rate = 60
	b := NewBudget(rate)
	if b.Refill(rate); b != NewBudget(rate) {
		t.Errorf("%+v, beyond a full one", b)
	}
	b = Budget{}
	b.Refill(rate)
	if b.Messages != 2 || b.Orders != 10 {
		t.Errorf("%+v after a tick", b)
	}
	for range 1000 {
		b.Refill(rate)
	}
	if b != NewBudget(rate) || b.Messages != 256 || b.Orders != 600 {
		t.Errorf("%+v in the end", b)
	}
}

// Who has used up a budget may send nothing, until a tick's worth is added.
func TestABudgetIsUsedUp(t *testing.T) {
	const rate = 60
	b := NewBudget(rate)
	messages, orders := 0, 0
	for b.Message() {
		messages++
	}
	for b.Order(rate) {
		orders++
	}
	if messages != MaxMessages || orders != OrdersPerSecond || b != (Budget{}) {
		t.Errorf("%d messages, %d orders, %+v left", messages, orders, b)
	}
	if b.Refill(rate); !b.Message() || !b.Message() || b.Message() || b.Order(rate) {
		t.Errorf("not a tick's worth: %+v", b)
	}
}
