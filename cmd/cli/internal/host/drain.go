package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/net/cluster"
	"tendon/net/server"
)

const (
	// askLimit is the timeout of a request to another server, and askPause is the time between two.
	askLimit = 500 * time.Millisecond
	askPause = 50 * time.Millisecond
	// offerLimit is the maximum time in which the clients of a room connect to another server.
	offerLimit = 4 * time.Second
	// moveLimit is the timeout of a call to a room.
	moveLimit = 5 * time.Second
	// movePause is the time between two moves, and pauseLimit that of all pauses of a drain. The other rooms need the servers meanwhile.
	movePause  = 300 * time.Millisecond
	pauseLimit = 15 * time.Second
	// movesTogether is the number of rooms whose clients connect to other servers at a time.
	movesTogether = 4
)

var (
	// ErrNoTarget is the error of Drain if no other server can accept a room.
	ErrNoTarget = errors.New("no other server of the cluster is compatible and has space for a room")
	// errUnreached is the error of a move while the cluster does not answer: the release of the room would fail, too.
	errUnreached = errors.New("the cluster does not answer")
	// errUnfit is wrapped by the error of a move to a server that cannot accept the room.
	errUnfit = errors.New("the server cannot accept the room")
)

// emptiest returns the compatible server with the most space that is not unfit. moving has the numbers of rooms that are about to move.
// The keys of both are IDs of servers.
func (m *Cluster) emptiest(moving map[string]int, unfit map[string]bool) (best cluster.Server, ok bool) {
	space := func(s *cluster.Server) int { return s.MaxRooms - s.Rooms - moving[s.ID] }
	for _, s := range m.compatible() {
		if space(&s) > 0 && !unfit[s.ID] && (!ok || space(&s) > space(&best)) {
			best, ok = s, true
		}
	}
	return best, ok
}

// Drain moves rooms to other servers of the cluster while they are played. With most 0 it moves all, and the server accepts no further
// ones. Otherwise it moves at most that many, and the server accepts rooms again afterwards, unless ctx is done. The error is that of
// ctx, or wraps ErrNoTarget if no server can accept a room.
func (h *Host) Drain(ctx context.Context, most int) error {
	m := h.config.Cluster
	if err := m.reserve(ctx); err != nil {
		return err
	}
	defer func() { <-m.drains }()
	m.draining.Store(true)
	m.node.Drain(ctx)
	keeps := 0 // rooms that stay
	if most > 0 {
		keeps = max(0, len(h.names())-most)
		defer func() {
			if ctx.Err() == nil { // otherwise the server stops, or another request follows
				m.accept(ctx)
			}
		}()
	}
	pause := min(movePause, pauseLimit/time.Duration(1+len(h.names())))
	unfit, failed := map[string]bool{}, map[string]bool{} // servers; rooms
	for ctx.Err() == nil {
		names := h.names()
		if len(names) <= keeps {
			return nil
		}
		names = names[:min(len(names)-keeps, movesTogether)]
		moving := map[string]int{}
		var all sync.WaitGroup
		var mu sync.Mutex // of unfit and failed
		for _, name := range names {
			mu.Lock()
			to, ok := m.emptiest(moving, unfit)
			again := failed[name]
			mu.Unlock()
			if !ok {
				break
			}
			moving[to.ID]++
			all.Go(func() {
				err := h.move(ctx, name, &to, again, pause)
				if err == nil || ctx.Err() != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, errUnfit) {
					unfit[to.ID] = true
				} else {
					failed[name] = true
				}
				h.app.Logf("room %s cannot be moved to server %s: %v; it is tried again", name, to.Name, err)
				h.app.Emit("move_failed", app.Fields{"room": name, "to": to.Name, "id": to.ID, "error": err.Error()})
			})
		}
		all.Wait()
		if len(moving) == 0 {
			return fmt.Errorf("%w: %s not moved", ErrNoTarget, app.Counted(len(h.names())-keeps, "room is", "rooms are"))
		}
	}
	return ctx.Err()
}

// Accept lets the server accept rooms again. It waits until no Drain runs, and returns the error of ctx.
func (h *Host) Accept(ctx context.Context) error {
	m := h.config.Cluster
	if err := m.reserve(ctx); err != nil {
		return err
	}
	defer func() { <-m.drains }()
	m.accept(ctx)
	return nil
}

// reserve waits until no Drain and no Accept runs. The caller receives from drains at its end. On an error, which is that of ctx, it must not.
func (m *Cluster) reserve(ctx context.Context) error {
	select {
	case m.drains <- struct{}{}:
		err := ctx.Err()
		if err != nil {
			<-m.drains
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Cluster) accept(ctx context.Context) {
	m.draining.Store(false)
	m.node.Accept(ctx)
}

// move moves a room as soon as its clients wait on the other server. If none of them does in time, the first
// attempt returns an error. If again is true, the room moves anyway, and its clients reconnect. It returns nil for a room that is not open.
func (h *Host) move(ctx context.Context, room string, to *cluster.Server, again bool, pause time.Duration) error {
	m := h.config.Cluster
	for !m.node.Reached() { // the release of the room would fail
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askPause):
		}
	}
	if _, err := m.await(ctx, to, room, func(s cluster.MoveStatus) bool { return s.Draining && s.Free > 0 }); err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	h.config.Journals.Checkpoint(room)
	clients, err := h.Offer(ctx, room, addresses(to))
	if err == nil {
		var last cluster.MoveStatus
		last, err = m.await(ctx, to, room, func(s cluster.MoveStatus) bool { return s.Waiting >= clients })
		if ctx.Err() == nil && (again || last.Waiting > 0) { // the other clients reconnect
			err = nil
		}
	}
	if err == nil {
		err = h.hand(ctx, room, to, pause)
	}
	switch {
	case err == nil:
		h.app.Emit("moved", app.Fields{"room": room, "to": to.Name, "id": to.ID})
	case errors.Is(err, server.ErrNoRoom):
		time.Sleep(askPause) // it is being opened or closed
		return nil
	default:
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveLimit)
		defer cancel()
		_, _ = h.Offer(within, room, nil) // the room stays; an error means that it does not exist
	}
	return err
}

// hand moves a room to the server on which its clients wait, and returns a pause after the room is open there. One room moves at a time. It
// fails while the cluster does not answer.
func (h *Host) hand(ctx context.Context, room string, to *cluster.Server, pause time.Duration) error {
	m := h.config.Cluster
	m.handing.Lock()
	defer m.handing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, moveLimit)
	defer cancel()
	if !m.node.Reached() {
		return errUnreached
	}
	if s, err := m.ask(within, to, room); err == nil && s.Waiting > 0 { // the server already waits in Claim for the room
		h.config.Journals.MoveTo(room, to.ID)
	}
	if err := h.Move(within, room); err != nil {
		h.config.Journals.MoveTo(room, "")
		return err
	}
	_, _ = m.await(ctx, to, room, func(s cluster.MoveStatus) bool { return s.Open }) // otherwise its clients try the servers of their tokens
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
	return nil
}

// await asks another server about a room until its reply is ready, and returns the last reply. It fails after offerLimit.
func (m *Cluster) await(ctx context.Context, to *cluster.Server, room string, ready func(cluster.MoveStatus) bool) (last cluster.MoveStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, offerLimit)
	defer cancel()
	for {
		reply, err := m.ask(ctx, to, room)
		if err == nil {
			if last = reply; ready(last) {
				return last, nil
			}
		}
		select {
		case <-ctx.Done():
			return last, cmp.Or(err, fmt.Errorf("it is not ready after %v: space for %s, %s of the room", offerLimit, app.Counted(last.Free, "room", "rooms"), app.Counted(last.Waiting, "client", "clients")))
		case <-time.After(askPause):
		}
	}
}

// ask asks another server once about a room.
func (m *Cluster) ask(ctx context.Context, to *cluster.Server, room string) (cluster.MoveStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return m.config.Ask(ctx, to.ID, m.own.ID, room)
}

// MoveStatus returns the reply to the Ask of the server with the ID from.
func (h *Host) MoveStatus(from, room string) (s cluster.MoveStatus) {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit/4)
	defer cancel()
	m, stats := h.config.Cluster, h.Stats()
	s.Draining = m.node.Drains(from)
	if !m.draining.Load() {
		s.Free = stats.MaxRooms - stats.Rooms
	}
	var err error
	if s.Waiting, s.Open, err = h.Waiting(ctx, room); err == nil { // the room has its space
		s.Free++
	}
	return s
}
