package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// DrainRequest asks a server to move rooms to other servers.
type DrainRequest struct {
	Rooms int `json:"rooms"` // the maximum number of rooms; 0: all, and the server accepts no further ones
}

// ErrNoServer is returned by RequestDrain if no server with the ID is connected to NATS.
var ErrNoServer = errors.New("jetstream: the server does not answer")

// drainSubject returns the subject of requests to a server.
func (s *Store) drainSubject(id string) string { return s.prefix + ".drain." + id }

// HandleDrains calls handle for each DrainRequest to the server with an ID, until stop is called. The request is acknowledged first.
// handle must not block.
func (s *Store) HandleDrains(id string, handle func(DrainRequest)) (stop func() error, err error) {
	sub, err := s.js.Conn().Subscribe(s.drainSubject(id), func(m *nats.Msg) {
		var r DrainRequest
		if json.Unmarshal(m.Data, &r) != nil || r.Rooms < 0 {
			return
		}
		if m.Respond(nil) == nil {
			handle(r)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	return sub.Unsubscribe, nil
}

// RequestDrain sends a DrainRequest to the server with an ID, and returns when that has received it.
func (s *Store) RequestDrain(ctx context.Context, id string, r DrainRequest) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = s.js.Conn().RequestWithContext(ctx, s.drainSubject(id), data)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return ErrNoServer
	case err != nil:
		return fmt.Errorf("jetstream: %w", err)
	}
	return nil
}

// Connected reports whether there is a connection to a NATS server.
func (s *Store) Connected() bool { return s.js.Conn().IsConnected() }
