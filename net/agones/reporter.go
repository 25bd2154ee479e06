package agones

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Names of the counter and of the list that a Fleet must define.
const (
	CounterRooms = "rooms"
	ListPlayers  = "players"
)

// Load is the load of a server.
type Load struct {
	Rooms   []string // names of the open rooms
	Players []string // ids of the connected players, each once
}

// Config selects the server of a Reporter.
type Config struct {
	Client *Client
	Labels map[string]string
	// Load returns the load of the server. An error means that a room does not answer: the server then misses its health. The
	// context of a call ends after 2 s.
	Load func(ctx context.Context) (Load, error)
	// Drain is called once, with the reason, when Agones is to remove the server.
	Drain func(reason string)
	// Report is called with the first error after a success, and with nil at the next success. Optional.
	Report func(error)
	// Interval is the time from one report to the next. Default: 500 ms.
	Interval time.Duration
	// Hold is how long a room that an allocation reserved may stay closed, and how long a server without rooms stays Allocated. It must be
	// longer than the lifetime of connect tokens. Default: 1 minute.
	Hold time.Duration
}

// Reporter keeps Agones informed about a server.
type Reporter struct {
	config   Config
	count    roomCount
	listed   map[string]bool // values of the list of players; nil: not known
	capacity int64           // of that list
	space    int64           // capacity of the counter before the drain, until it is restored; 0: there is none
	busy     time.Time       // last time with a room or a reservation
	asked    time.Time       // last request for another state
	ready    bool            // Ready was sent
	failed   bool            // the last report had an error

	state    atomic.Pointer[string] // of the server, as Agones last reported it
	draining atomic.Bool
	drained  sync.Once // for Config.Drain
}

// NewReporter returns a reporter for a server that listens.
func NewReporter(c Config) *Reporter {
	if c.Interval == 0 {
		c.Interval = 500 * time.Millisecond
	}
	if c.Hold == 0 {
		c.Hold = time.Minute
	}
	if c.Report == nil {
		c.Report = func(error) {}
	}
	return &Reporter{config: c}
}

// Drain sets whether the server drains: it then accepts no further rooms. During a drain, the capacity of the counter follows the number of
// open rooms, so no allocation chooses the server. Afterwards it is the former one again.
func (r *Reporter) Drain(on bool) { r.draining.Store(on) }

// Run reports until the context is done. It may be called once.
func (r *Reporter) Run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { r.watch(ctx) })
	for n := 0; ; n++ {
		err := r.begin(ctx)
		r.report(ctx, err)
		if err == nil {
			break
		}
		if !sleep(ctx, backoff(n)) {
			return
		}
	}
	for n := 0; ; n++ {
		healthy, err := r.beat(ctx)
		r.report(ctx, err)
		wait := r.config.Interval
		if healthy {
			n = 0
		} else {
			wait = max(wait, backoff(n))
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// begin sets the labels and marks the server as ready.
func (r *Reporter) begin(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(r.config.Labels)) {
		if err := r.config.Client.SetLabel(ctx, key, r.config.Labels[key]); err != nil {
			return err
		}
	}
	if r.draining.Load() {
		return nil
	}
	return r.sendReady(ctx)
}

// sendReady marks the server as ready for the first time.
func (r *Reporter) sendReady(ctx context.Context) error {
	r.busy = time.Now()
	err := r.config.Client.Ready(ctx)
	r.ready = err == nil
	return err
}

// beat sends one report. healthy is false if the server is not healthy or the SDK server is not.
func (r *Reporter) beat(ctx context.Context) (healthy bool, err error) {
	limited, cancel := context.WithTimeout(ctx, requestTime)
	load, err := r.config.Load(limited)
	cancel()
	if err != nil {
		return false, fmt.Errorf("no health is sent: %w", err)
	}
	if err := r.config.Client.Health(ctx); err != nil {
		return false, err
	}
	return true, errors.Join(r.sendRooms(ctx, load.Rooms), r.sendPlayers(ctx, load.Players))
}

// sendRooms updates the counter of rooms and the state.
func (r *Reporter) sendRooms(ctx context.Context, open []string) error {
	c, now, draining := r.config.Client, time.Now(), r.draining.Load()
	counter, err := c.Counter(ctx, CounterRooms)
	if err != nil {
		return err
	}
	diff := r.count.update(counter, open, now, now.Add(r.config.Hold), draining)
	capacity := counter.Capacity
	switch {
	case draining:
		capacity = counter.Count + diff
		if r.space == 0 {
			r.space = counter.Capacity
		}
	case r.space > 0:
		capacity = r.space
	}
	if diff != 0 || capacity != counter.Capacity {
		var changed *int64
		if capacity != counter.Capacity {
			changed = &capacity
		}
		err = c.AddCounter(ctx, CounterRooms, diff, changed)
		r.count.sent(diff, err)
	}
	if err == nil && !draining {
		r.space = 0
	}
	return errors.Join(err, r.sendState(ctx, now, len(open) > 0 || r.count.held() > 0, draining))
}

// stateWait is how long a reporter waits for the effect of a request for another state.
const stateWait = 5 * time.Second

// sendState requests another state of the server, if necessary. A room that opened without an allocation makes the server
// Allocated. Without a room and a reservation, it becomes Ready after Config.Hold.
func (r *Reporter) sendState(ctx context.Context, now time.Time, busy, draining bool) (err error) {
	if busy {
		r.busy = now
	}
	state := r.state.Load()
	if state == nil || now.Sub(r.asked) < stateWait {
		return nil
	}
	switch {
	case !r.ready && !draining:
		err = r.sendReady(ctx)
	case busy && *state == StateReady:
		err = r.config.Client.Allocate(ctx)
	case !busy && !draining && *state == StateAllocated && now.Sub(r.busy) >= r.config.Hold:
		err = r.config.Client.Ready(ctx)
	default:
		return nil
	}
	if err == nil { // otherwise the next report repeats it
		r.asked = now
	}
	return err
}

// Bounds of the requests about players in one report. The rest follows in the next one, after a health request.
const (
	maxChanges = 100
	changeTime = time.Second // none begins later
)

// sendPlayers updates the list of players. A list that is full lacks some of them.
func (r *Reporter) sendPlayers(ctx context.Context, players []string) (err error) {
	if r.listed == nil {
		list, err := r.config.Client.List(ctx, ListPlayers)
		if err != nil {
			return err
		}
		r.listed, r.capacity = map[string]bool{}, list.Capacity
		for _, id := range list.Values {
			r.listed[id] = true
		}
	}
	present := make(map[string]bool, len(players))
	for _, id := range players {
		present[id] = true
	}
	changes, begin := 0, time.Now()
	change := func(id string, add bool) {
		if changes++; changes > maxChanges || time.Since(begin) >= changeTime || err != nil {
			return
		}
		if add {
			r.listed[id], err = true, r.config.Client.AddValue(ctx, ListPlayers, id)
		} else {
			delete(r.listed, id)
			err = r.config.Client.RemoveValue(ctx, ListPlayers, id)
		}
	}
	for id := range r.listed {
		if !present[id] {
			change(id, false)
		}
	}
	for id := range present {
		if !r.listed[id] && int64(len(r.listed)) < r.capacity {
			change(id, true)
		}
	}
	if err != nil {
		r.listed = nil // the request may have had an effect
	}
	return err
}

// watch follows the state of the server.
func (r *Reporter) watch(ctx context.Context) {
	for n := 0; ; n++ {
		server, err := r.config.Client.GameServer(ctx)
		if err == nil {
			r.see(server)
			_ = r.config.Client.Watch(ctx, func(g GameServer) { // the next attempt follows
				n = 0
				r.see(g)
			})
		}
		if !sleep(ctx, backoff(n)) {
			return
		}
	}
}

// see stores the state, and drains the server if it is to be removed.
func (r *Reporter) see(g GameServer) {
	r.state.Store(&g.Status.State)
	var reason string
	switch state := g.Status.State; {
	case state == StateShutdown, state == StateUnhealthy:
		reason = "the state of the server is " + state
	case g.Metadata.Deletion != 0:
		reason = "the server is deleted"
	default:
		return
	}
	r.drained.Do(func() { r.config.Drain(reason) })
}

// report passes on the first error and the first success.
func (r *Reporter) report(ctx context.Context, err error) {
	if ctx.Err() == nil && (err != nil) != r.failed {
		r.failed = err != nil
		r.config.Report(err)
	}
}

// backoff returns the time before attempt n+1: 100 ms that double up to 3.2 s.
func backoff(n int) time.Duration { return 100 * time.Millisecond << min(n, 5) }

// sleep waits, and reports whether the context is not done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
