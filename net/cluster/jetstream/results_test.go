package jetstream

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tendon/net/cluster/jetstream/natstest"

	"github.com/nats-io/nats-server/v2/server"
)

// refusing is a client of NATS whose first message is refused, because an earlier one of its subject is in process.
type refusing struct {
	jetstream.JetStream
	refused bool
}

func (r *refusing) PublishMsg(ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if !r.refused {
		r.refused = true
		return nil, &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant}
	}
	return r.JetStream.PublishMsg(ctx, m, o...)
}

// A record that is refused because of an earlier request is not reported as stored while the stream has none.
func TestARecordInProcessIsNotStored(t *testing.T) {
	c, err := nats.Connect(natstest.Start(t, server.Options{}).ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s, err := Open(t.Context(), Config{Connection: c})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Results(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.js = &refusing{JetStream: s.js}
	for i, want := range []struct{ added, fails bool }{{false, true}, {true, false}, {false, false}} {
		if added, err := r.Add(t.Context(), "duel", "1-2", []byte("{}")); added != want.added || (err != nil) != want.fails {
			t.Errorf("call %d: added %v, %v", i, added, err)
		}
	}
}
