package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"tendon/net/cluster"
)

// DrainRequest asks a server to move rooms to other servers. It replaces the previous request.
type DrainRequest struct {
	Rooms int `json:"rooms"` // the maximum number of rooms; 0: all, and the server accepts no further ones; EndDrain: the drain ends
}

// EndDrain is the DrainRequest.Rooms that ends a drain. The server then accepts rooms again.
const EndDrain = -1

// MoveRequest asks a server about a room that another one is about to give up to it.
type MoveRequest struct {
	From string `json:"from"` // ID of the other server
	Room string `json:"room"`
}

// ErrUnreached is wrapped by the errors of Open, Append and Announce if there is no connection to NATS.
var ErrUnreached = errors.New("no NATS server answers")

// ErrNoServer is returned by RequestDrain and RequestMove if no server with the ID is connected to NATS.
var ErrNoServer = errors.New("jetstream: the server does not answer")

// requests returns the subject of the requests of a kind to a server.
func (s *Store) requests(kind, id string) string { return s.prefix + "." + kind + "." + id }

// HandleDrains calls handle for each DrainRequest to the server with an ID, until stop is called. The request is acknowledged first.
// handle must not block.
func (s *Store) HandleDrains(id string, handle func(DrainRequest)) (stop func() error, err error) {
	return s.handle("drain", id, func(m *nats.Msg) {
		var r DrainRequest
		if json.Unmarshal(m.Data, &r) != nil || r.Rooms < EndDrain {
			return
		}
		if m.Respond(nil) == nil {
			handle(r)
		}
	})
}

// HandleMoves replies to each MoveRequest to the server with an ID, until stop is called or the connection
// is closed. Requests are handled one at a time.
func (s *Store) HandleMoves(id string, handle func(MoveRequest) cluster.MoveStatus) (stop func() error, err error) {
	return s.handle("move", id, func(m *nats.Msg) {
		var r MoveRequest
		if json.Unmarshal(m.Data, &r) != nil {
			return
		}
		if data, err := json.Marshal(handle(r)); err == nil {
			_ = m.Respond(data) // otherwise the other server asks again
		}
	})
}

func (s *Store) handle(kind, id string, f func(*nats.Msg)) (stop func() error, err error) {
	sub, err := s.js.Conn().Subscribe(s.requests(kind, id), f)
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	return sub.Unsubscribe, nil
}

// RequestDrain sends a DrainRequest to the server with an ID, and returns when that has received it.
func (s *Store) RequestDrain(ctx context.Context, id string, r DrainRequest) error {
	_, err := s.request(ctx, "drain", id, r)
	return err
}

// RequestMove sends a MoveRequest to the server with an ID.
func (s *Store) RequestMove(ctx context.Context, id string, r MoveRequest) (reply cluster.MoveStatus, err error) {
	data, err := s.request(ctx, "move", id, r)
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return reply, fmt.Errorf("jetstream: %w", err)
	}
	return reply, nil
}

func (s *Store) request(ctx context.Context, kind, id string, r any) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	m, err := s.js.Conn().RequestWithContext(ctx, s.requests(kind, id), data)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, ErrNoServer
	case err != nil:
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	return m.Data, nil
}

// Connected reports whether there is a connection to a NATS server. It is also true for five seconds after Announce has
// forced a reconnect.
func (s *Store) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.js.Conn().IsConnected() || time.Since(s.reconnected) < s.limit
}
