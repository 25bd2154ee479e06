package cli

import (
	"context"
	"fmt"
	"sync"

	"tendon/net/room"
	"tendon/net/server"
	"tendon/rollback/travel"
)

// ringSeconds is how far back the last seconds of a room go.
const ringSeconds = 10

// rings find the last seconds of every open room, for an operator to look into. Rooms open and end on several goroutines.
type rings struct {
	mu      sync.Mutex
	watches map[string]*room.Watch // by room
}

// begin takes note of a room. nil rings note nothing.
func (r *rings) begin(name string, watch *room.Watch) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches[name] = watch
}

// end forgets a room.
func (r *rings) end(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watches, name)
}

// clip returns a copy of a room's last seconds. It waits for the room's next tick.
func (r *rings) clip(ctx context.Context, name string) (travel.Source, error) {
	r.mu.Lock()
	watch := r.watches[name]
	r.mu.Unlock()
	if watch == nil {
		return nil, fmt.Errorf("%w: %s", server.ErrNoRoom, name)
	}
	clip, err := watch.Clip(ctx)
	if err != nil {
		return nil, err
	}
	return clip, nil
}
