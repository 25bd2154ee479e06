package host

import (
	"context"
	"fmt"
	"sync"

	"tendon/net/room"
	"tendon/net/server"
	"tendon/rollback/record"
)

// recentSeconds is the length of the history of a room.
const recentSeconds = 10

// recentTicks has the last seconds of every open room, for an operator. Rooms open and end on several goroutines. All
// methods accept nil.
type recentTicks struct {
	mu      sync.Mutex
	watches map[string]*room.Watch // by room
}

// begin adds a room.
func (r *recentTicks) begin(name string, watch *room.Watch) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches[name] = watch
}

// end removes a room.
func (r *recentTicks) end(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watches, name)
}

// Record returns a room's last seconds. It waits for the room's next tick.
func (r *recentTicks) Record(ctx context.Context, name string) (*record.Record, error) {
	r.mu.Lock()
	watch := r.watches[name]
	r.mu.Unlock()
	if watch == nil {
		return nil, fmt.Errorf("%w: %s", server.ErrNoRoom, name)
	}
	return watch.Record(ctx)
}
