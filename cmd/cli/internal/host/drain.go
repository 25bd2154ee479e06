package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/net/cluster"
	"tendon/net/server"
)

const (
	// askLimit bounds one question to another server, and askPause is the time between two.
	askLimit = 500 * time.Millisecond
	askPause = 20 * time.Millisecond
	// offerLimit bounds the time in which the clients of a room connect to another server. Then the room moves without the others.
	offerLimit = 4 * time.Second
	// moveLimit bounds the rest of a move.
	moveLimit = 5 * time.Second
	// movesTogether is the number of rooms whose clients connect to other servers at a time. The rooms then move one after the other.
	movesTogether = 4
)

// ErrNoTarget is the error of Drain if no other server can accept a room.
var ErrNoTarget = errors.New("no other server of the cluster is compatible and has space for a room")

// emptiest returns the compatible server with the most space. moving has the numbers of rooms that are about to move, by server.
func (m *Cluster) emptiest(moving map[string]int) (best cluster.Server, ok bool) {
	space := func(s *cluster.Server) int { return s.MaxRooms - s.Rooms - moving[s.ID] }
	for _, s := range m.compatible() {
		if space(&s) > 0 && (!ok || space(&s) > space(&best)) {
			best, ok = s, true
		}
	}
	return best, ok
}

// Drain moves rooms to other servers of the cluster while they are played. With most 0 it moves all, and the server accepts no further
// ones. Otherwise it moves at most that many, and the server accepts rooms again afterwards. left receives the number of rooms that
// are still to move. The error wraps ErrNoTarget if no server can accept a room.
func (h *Host) Drain(ctx context.Context, most int, left func(rooms int)) error {
	m := h.config.Cluster
	m.drain.Lock()
	defer m.drain.Unlock()
	m.draining.Store(true)
	m.node.Drain(ctx)
	if most > 0 {
		defer func() {
			m.draining.Store(false)
			m.node.Accept(context.WithoutCancel(ctx))
		}()
	}
	keeps := 0 // rooms that stay
	if most > 0 {
		keeps = max(0, len(h.names())-most)
	}
	told := map[string]bool{}    // rooms whose failure was shown
	moving := map[string]int{}   // rooms that the announcement of a server may not count yet, by its ID
	beats := map[string]uint64{} // the announcements after the last moves
	for {
		names := h.names()
		if left(max(0, len(names)-keeps)); len(names) <= keeps {
			return nil
		}
		names = names[:min(len(names)-keeps, movesTogether)]
		servers := m.compatible()
		maps.DeleteFunc(moving, func(id string, _ int) bool {
			i := slices.IndexFunc(servers, func(s cluster.Server) bool { return s.ID == id })
			return i < 0 || servers[i].Beat > beats[id]+1
		})
		failed, begun := make([]error, len(names)), 0
		var all sync.WaitGroup
		for i, name := range names {
			to, ok := m.emptiest(moving)
			if !ok {
				break
			}
			moving[to.ID]++
			begun++
			all.Go(func() { failed[i] = h.move(ctx, name, &to) })
		}
		all.Wait()
		for _, s := range m.compatible() {
			beats[s.ID] = s.Beat
		}
		for i, err := range failed {
			if err != nil && ctx.Err() == nil && !told[names[i]] {
				told[names[i]] = true
				h.app.Logf("room %s cannot be moved: %v; it is tried again", names[i], err)
				h.app.Emit("move_failed", app.Fields{"room": names[i], "error": err.Error()})
			}
		}
		if begun == 0 && len(moving) > 0 { // until the announcements count them
			time.Sleep(askPause)
		} else if begun == 0 {
			return fmt.Errorf("%w: %s not moved", ErrNoTarget, app.Counted(len(h.names())-keeps, "room is", "rooms are"))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// move moves a room as soon as its clients wait on the other server, and waits until it is gone. It returns nil for a room that is
// being opened or closed.
func (h *Host) move(ctx context.Context, room string, to *cluster.Server) error {
	m := h.config.Cluster
	err := m.until(ctx, to, room, func(draining bool, _ int) bool { return draining }) // otherwise it sends the clients back
	if err != nil {
		return fmt.Errorf("server %s does not observe that this one drains: %w", to.Name, err)
	}
	h.config.Journals.Checkpoint(room)
	clients, err := h.Offer(ctx, room, addresses(to))
	if errors.Is(err, server.ErrNoRoom) {
		time.Sleep(askPause)
		return nil
	}
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)                                                         // its clients have left, or are about to
	_ = m.until(ctx, to, room, func(_ bool, waiting int) bool { return waiting >= clients }) // the others reconnect
	m.handing.Lock()
	defer m.handing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, moveLimit)
	defer cancel()
	if err := h.Move(ctx, room); err != nil && !errors.Is(err, server.ErrNoRoom) {
		return err
	}
	for slices.Contains(h.names(), room) {
		if ctx.Err() != nil {
			return fmt.Errorf("it is still here after %v", moveLimit)
		}
		time.Sleep(askPause)
	}
	h.app.Emit("moved", app.Fields{"room": room, "to": to.Name, "id": to.ID})
	return nil
}

// until asks another server about a room until its answer is ready.
func (m *Cluster) until(ctx context.Context, to *cluster.Server, room string, ready func(draining bool, waiting int) bool) error {
	if m.config.Ask == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offerLimit)
	defer cancel()
	for {
		within, done := context.WithTimeout(ctx, askLimit)
		draining, waiting, err := m.config.Ask(within, to.ID, room)
		done()
		if err == nil && ready(draining, waiting) {
			return nil
		}
		select {
		case <-ctx.Done():
			return cmp.Or(err, ctx.Err())
		case <-time.After(askPause):
		}
	}
}

// Ready answers the Ask of another server of the cluster, which has the ID from.
func (h *Host) Ready(from, room string) (draining bool, waiting int) {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	waiting, _ = h.Waiting(ctx, room) // 0 before the first client
	return h.config.Cluster.node.Drains(from), waiting
}
