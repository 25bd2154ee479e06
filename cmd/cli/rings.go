package cli

import (
	"context"
	"fmt"
	"sync"

	"tendon/net/room"
	"tendon/net/server"
	"tendon/rollback/travel"
	"tendon/systems"
)

// rings keep the last seconds of every open room, for an operator to look into. Rooms open and end on several goroutines.
type rings struct {
	mu      sync.Mutex
	watches map[string]*room.Watch // by room
}

// hang has a room's last seconds kept. nil rings keep nothing.
func (r *rings) hang(name string, rc *room.Config) error {
	if r == nil {
		return nil
	}
	watch, err := room.NewWatch(rc, buildString(), ringSeconds)
	if err != nil {
		return err
	}
	taken := rc.Taken
	rc.Taken = func(f systems.FinalTick) {
		if taken != nil {
			taken(f)
		}
		watch.Take(f)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches[name] = watch
	return nil
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
