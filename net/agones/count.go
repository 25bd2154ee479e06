package agones

import "time"

// roomCount computes the updates of the counter rooms from the open rooms and the increments of allocations.
type roomCount struct {
	rooms    map[string]bool // open at the last update
	reserved []reservation   // the first to end first
	expected int64           // count after the last update, without further allocations
	pending  int64           // update that may have had an effect: its request failed
}

// reservation is a number of rooms that an allocation added to the counter, and that are not open yet.
type reservation struct {
	rooms int64
	until time.Time
}

// update returns the number to add to the counter. Call sent after the request. The new reservations last until the given time. If
// draining is true, there are none.
func (c *roomCount) update(counter Counter, open []string, now, until time.Time, draining bool) (diff int64) {
	if counter.Count == c.expected+c.pending {
		c.expected += c.pending
	}
	c.pending = 0
	switch added := counter.Count - c.expected; {
	case added > 0:
		c.reserved = append(c.reserved, reservation{added, until})
	case added < 0:
		c.use(-added)
	}
	rooms := make(map[string]bool, len(open))
	for _, name := range open {
		rooms[name] = true
		if !c.rooms[name] {
			c.use(1)
		}
	}
	c.rooms = rooms
	for len(c.reserved) > 0 && (draining || !now.Before(c.reserved[0].until)) {
		c.reserved = c.reserved[1:]
	}
	c.expected = counter.Count
	want := int64(len(rooms)) + c.held()
	if !draining {
		want = min(want, counter.Capacity)
	}
	return want - counter.Count
}

// sent stores the result of the request that added diff to the counter.
func (c *roomCount) sent(diff int64, err error) {
	if err != nil {
		c.pending = diff
		return
	}
	c.expected += diff
}

// use removes up to n reserved rooms, those of the oldest reservation first.
func (c *roomCount) use(n int64) {
	for n > 0 && len(c.reserved) > 0 {
		first := &c.reserved[0]
		used := min(n, first.rooms)
		n -= used
		if first.rooms -= used; first.rooms == 0 {
			c.reserved = c.reserved[1:]
		}
	}
}

// held returns the number of reserved rooms.
func (c *roomCount) held() (n int64) {
	for _, r := range c.reserved {
		n += r.rooms
	}
	return n
}
