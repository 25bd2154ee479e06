package agones

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fleet is the counter in Kubernetes, in virtual time. Requests may fail with or without effect.
type fleet struct {
	rand     *rand.Rand
	counter  Counter
	count    roomCount
	now      time.Time
	open     []string
	reserved int // allocations whose room is not open yet
	opened   int
}

const hold = 10 * time.Second

// step lets something happen, and then reports.
func (f *fleet) step(faults bool) {
	f.now = f.now.Add(time.Second)
	switch f.rand.IntN(6) {
	case 0:
		if f.counter.Count < f.counter.Capacity {
			f.counter.Count++
			f.reserved++
		}
	case 1:
		f.opened++
		f.open = append(f.open, fmt.Sprint(f.opened))
		f.reserved = max(0, f.reserved-1)
	case 2, 3:
		if len(f.open) > 0 {
			i := f.rand.IntN(len(f.open))
			f.open = slices.Delete(f.open, i, i+1)
		}
	}
	f.report(faults && f.rand.IntN(4) == 0)
}

func (f *fleet) report(fault bool) {
	diff := f.count.update(f.counter, f.open, f.now, f.now.Add(hold), false)
	if diff == 0 {
		return
	}
	next := f.counter.Count + diff
	if fault && f.rand.IntN(2) == 0 || next < 0 || next > f.counter.Capacity {
		f.count.sent(diff, errors.New("no effect"))
		return
	}
	f.counter.Count = next
	if fault {
		f.count.sent(diff, errors.New("no answer"))
		return
	}
	f.count.sent(diff, nil)
}

// The counter is the number of open rooms and of reservations, whatever opens, closes and fails.
func TestTheCounterIsThatOfTheRooms(t *testing.T) {
	for seed := range uint64(300) {
		f := &fleet{rand: rand.New(rand.NewPCG(seed, 1)), counter: Counter{Capacity: 5}, now: time.Unix(0, 0)}
		for range 200 {
			f.step(seed%2 == 1)
			if seed%2 == 0 && f.counter.Count < min(int64(len(f.open)), f.counter.Capacity) {
				t.Fatalf("seed %d: the counter is %d, with %d open rooms", seed, f.counter.Count, len(f.open))
			}
		}
		for range 2 * int(hold/time.Second) { // reservations end
			f.now = f.now.Add(time.Second)
			f.report(false)
		}
		if want := min(int64(len(f.open)), f.counter.Capacity); f.counter.Count != want {
			t.Fatalf("seed %d: at the end the counter is %d, want %d", seed, f.counter.Count, want)
		}
	}
}

// A room that replaces another one in the same report uses its reservation.
func TestARoomInPlaceOfAnotherUsesItsReservation(t *testing.T) {
	var c roomCount
	now := time.Unix(0, 0)
	c.update(Counter{0, 9}, []string{"a"}, now, now.Add(hold), false)
	c.sent(1, nil)
	c.update(Counter{2, 9}, []string{"a"}, now, now.Add(hold), false) // one is allocated
	if diff := c.update(Counter{2, 9}, []string{"b"}, now, now.Add(hold), false); diff != -1 || c.held() != 0 {
		t.Errorf("adds %d, holds %d", diff, c.held())
	}
}

// The counter is a number from outside. It must not decide how much memory is used.
func TestAHugeCounterTakesNoMemory(t *testing.T) {
	var c roomCount
	now := time.Unix(0, 0)
	if diff := c.update(Counter{1 << 62, 1 << 62}, nil, now, now.Add(hold), false); diff != 0 || len(c.reserved) != 1 {
		t.Errorf("adds %d, %d reservations", diff, len(c.reserved))
	}
	if diff := c.update(Counter{1 << 62, 1 << 62}, nil, now.Add(hold), now.Add(2*hold), false); diff != -1<<62 {
		t.Errorf("adds %d after the reservation", diff)
	}
}

// An update without an answer may have had its effect. It must not end a reservation.
func TestAnUpdateWithoutAnAnswerEndsNoReservation(t *testing.T) {
	var c roomCount
	now := time.Unix(0, 0)
	c.update(Counter{2, 9}, []string{"a"}, now, now.Add(hold), false) // one of two reserved rooms is open
	if diff := c.update(Counter{2, 9}, nil, now, now.Add(hold), false); diff != -1 {
		t.Fatalf("adds %d", diff)
	}
	c.sent(-1, errors.New("no answer"))
	if diff := c.update(Counter{1, 9}, nil, now, now.Add(hold), false); diff != 0 || c.held() != 1 {
		t.Errorf("adds %d, holds %d", diff, c.held())
	}
}
