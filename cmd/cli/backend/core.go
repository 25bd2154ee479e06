package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tendon/cmd/cli/backend/queue"
)

// core is the state of an active Service. The goroutine of Run owns it.
type core struct {
	service *Service
	state   *queue.State
	places  places
	seen    map[string]time.Time     // end of the last request about each ticket that waits
	waits   map[string]chan struct{} // closed when the ticket changes
	short   map[string]string        // why the last pass of a queue left out matches
	waiting map[string]int           // tickets, by queue

	lines   []byte    // events that are not stored yet
	stored  int       // bytes of the log after its newest beginning
	began   time.Time // time of the newest beginning of the log
	swept   time.Time // time of the last sweep
	reports time.Time // time of the last report of an error
	failed  error     // an event does not fit the state
}

// run executes commands and passes until ctx is done or the log fails.
func (c *core) run(ctx context.Context, log Log, commands <-chan *command) error {
	timer := time.NewTicker(c.service.config.Interval)
	defer timer.Stop()
	var batch []*command
	for {
		batch = batch[:0]
		select {
		case <-ctx.Done():
			return nil
		case cmd := <-commands:
			batch = append(batch, cmd)
		case <-timer.C:
			c.passes(time.Now())
			c.sweep(time.Now())
		}
		for more := true; more && len(batch) < maxBatch; {
			select {
			case cmd := <-commands:
				batch = append(batch, cmd)
			default:
				more = false
			}
		}
		for _, cmd := range batch {
			cmd.do(c)
		}
		err := c.store(ctx, log, len(batch) > 0)
		stopped := ctx.Err() != nil // before the callers continue, because they may end ctx
		for _, cmd := range batch {
			if err != nil {
				cmd.err = ErrInactive
			}
			close(cmd.done)
		}
		switch {
		case err != nil && stopped:
			return nil
		case err != nil:
			return err
		}
	}
}

// apply changes the state. The event is stored before the reply of any command that depends on it.
func (c *core) apply(e *queue.Event) {
	if e == nil || c.failed != nil {
		return
	}
	var err error
	if c.lines, err = e.Append(c.lines); err == nil {
		err = c.state.Apply(e)
	}
	c.failed = err
}

// store stores the events, and wakes the requests that wait for the tickets that changed. While Log.Leased is false, it appends even without
// events if there are requests. The append fails if another process has appended.
func (c *core) store(ctx context.Context, log Log, requests bool) error {
	if c.failed != nil {
		return c.failed
	}
	if len(c.lines) > 0 || requests && !log.Leased() {
		start := time.Now()
		if err := log.Append(ctx, c.lines, false); err != nil {
			return err
		}
		c.service.metrics.stored.Observe(time.Since(start).Seconds())
		c.stored += len(c.lines)
		c.lines = c.lines[:0]
	}
	for _, t := range c.state.Changed() {
		if t.State != queue.Queued {
			delete(c.seen, t.Ticket.ID)
		}
		if w := c.waits[t.Ticket.ID]; w != nil {
			close(w)
			delete(c.waits, t.Ticket.ID)
		}
	}
	c.count()
	if c.stored > compactSize || time.Since(c.began) > compactAfter {
		return c.compact(ctx, log)
	}
	return nil
}

// count counts the tickets that wait.
func (c *core) count() {
	c.waiting = map[string]int{}
	for i, n := range c.state.Queues() {
		c.waiting[c.service.config.Queues[i].Name] = n
	}
	c.service.metrics.set(c.waiting, c.state.Len(queue.Matched))
}

// compactAgain is the time after which compact is repeated if it failed and the log is as before.
const compactAgain = time.Minute

// compact begins the log again with the present state.
func (c *core) compact(ctx context.Context, log Log) error {
	line, err := c.state.Snapshot().Append(nil)
	if err == nil {
		err = log.Append(ctx, line, true)
	}
	c.stored, c.began = 0, time.Now()
	if errors.Is(err, ErrKept) {
		c.service.config.Report(err)
		c.began = c.began.Add(compactAgain - compactAfter)
		err = nil
	}
	c.count()
	return err
}

// passes calls the match function of each queue.
func (c *core) passes(now time.Time) {
	servers := c.service.usable()
	c.places.expire(now, c.service.config.Life+placeMargin)
	for _, q := range c.service.config.Queues {
		if c.waiting[q.Name] > 0 {
			c.pass(q, now, newChoice(&c.places, servers))
		}
	}
}

// pass makes the matches of one queue.
func (c *core) pass(q queue.Queue, now time.Time, choice *choice) {
	start := time.Now()
	defer func() {
		c.service.metrics.passed.Observe(time.Since(start).Seconds())
		if r := recover(); r != nil { // the match function is that of the game
			c.report(fmt.Errorf("the match function of queue %s failed: %v", q.Name, r))
		}
	}()
	left, bounded := max(1, ticketsPerPass/max(q.Players, 1)), false
	event, short, err := c.state.Pass(now.UnixMilli(), q.Name, func() string {
		if bounded = left == 0; bounded {
			return "" // the next pass continues
		}
		left--
		return choice.next()
	})
	delete(c.short, q.Name)
	switch {
	case err != nil:
		c.report(err)
		return
	case short && !bounded:
		c.short[q.Name] = choice.reason
	}
	if event == nil {
		return
	}
	for _, m := range event.Matches {
		if !m.Backfill {
			c.places.add(m.Room, m.Server, now)
		}
	}
	c.service.metrics.matches.Add(float64(len(event.Matches)))
	c.apply(event)
}

func (c *core) report(err error) {
	if now := time.Now(); now.Sub(c.reports) >= 10*time.Second {
		c.reports = now
		c.service.config.Report(err)
	}
}

// sweepLimit is the longest time between two sweeps of a log that stores events.
const sweepLimit = 2 * time.Second

// sweep cancels abandoned tickets, and removes ended ones, once a second. The time in which the log stored no events does not count, because
// requests about tickets were refused then.
func (c *core) sweep(now time.Time) {
	gap := now.Sub(c.swept)
	if gap < time.Second {
		return
	}
	c.swept = now
	if c.service.Active() {
		gap -= sweepLimit
	}
	if gap > 0 {
		for id, at := range c.seen {
			c.seen[id] = at.Add(gap)
		}
	}
	for id, at := range c.seen {
		if now.Sub(at) >= c.service.config.Abandon {
			event, err := c.state.Cancel(now.UnixMilli(), id, "no request about the ticket was received for "+c.service.config.Abandon.String())
			if err == nil {
				c.apply(event)
			}
			delete(c.seen, id)
		}
	}
	c.apply(c.state.Expire(now.UnixMilli()))
}

// watch returns a channel that is closed when a ticket changes.
func (c *core) watch(id string) <-chan struct{} {
	if c.waits[id] == nil {
		c.waits[id] = make(chan struct{})
	}
	return c.waits[id]
}

// backfill adds, replaces or ends the request of a room for players. It returns the number of seats that are requested.
func (c *core) backfill(now time.Time, o queue.Open) (seats int, err error) {
	event, err := c.state.Backfill(now.UnixMilli(), o, now.Add(-c.service.config.Life).UnixMilli())
	if err == nil && o.Seats > 0 && c.state.Open(o.Room) >= maxOpen {
		err = errTooManyOpen
	}
	if err != nil {
		return 0, err
	}
	c.apply(event)
	return event.Open.Seats, nil
}

var errTooManyOpen = errors.New("too many rooms request players: try again later")
