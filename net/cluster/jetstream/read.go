package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tendon/net/cluster"
)

// get is a request for entries: the newest one of a subject, or several from a sequence number on.
type get struct {
	Last     string `json:"last_by_subj,omitempty"`
	From     uint64 `json:"seq,omitempty"`
	Next     string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

const (
	batchEntries = 1 << 10
	batchBytes   = 1 << 20
	// Read waits so often for entries that a replica does not have yet, and so long each time.
	mostStale = 50
	staleWait = 2 * time.Millisecond
	// readLimit is the timeout of one request. Its reply may be lost with the connection, and players wait for it.
	readLimit = time.Second
)

// Last reads the newest entry of a room from the leader of the stream.
func (s *Store) Last(ctx context.Context, room string) (e cluster.Entry, sequence uint64, err error) {
	request, err := json.Marshal(get{Last: s.subject(room)})
	if err != nil {
		return e, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	m, err := s.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+s.stream(), request)
	if err != nil {
		return e, 0, fmt.Errorf("jetstream: %w", err)
	}
	var answer struct {
		Error   *jetstream.APIError
		Message struct {
			Sequence uint64 `json:"seq"`
			Data     []byte `json:"data"`
		}
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return e, 0, fmt.Errorf("jetstream: %w", err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return e, 0, nil
	case answer.Error != nil:
		return e, 0, fmt.Errorf("jetstream: %w", answer.Error)
	}
	e, err = cluster.ParseEntry(answer.Message.Data)
	return e, answer.Message.Sequence, err
}

// Read yields the entries of a room. Any replica may answer. If it does not have entry to yet, Read tries others for a tenth of a second.
func (s *Store) Read(ctx context.Context, room string, from, to uint64) iter.Seq2[cluster.Stored, error] {
	return func(yield func(cluster.Stored, error) bool) {
		for stale := 0; stale < mostStale; stale++ {
			last, more, err := s.batch(ctx, room, from, to, func(e cluster.Stored) bool { return yield(e, nil) })
			switch {
			case err != nil && last >= from && ctx.Err() == nil: // some have arrived
				from = last + 1
				continue
			case err != nil:
				yield(cluster.Stored{}, fmt.Errorf("jetstream: %w", err))
				return
			case last >= to:
				return
			}
			if last >= from {
				from, stale = last+1, 0
			}
			if more {
				continue
			}
			if to == math.MaxUint64 {
				return
			}
			select {
			case <-ctx.Done():
				yield(cluster.Stored{}, fmt.Errorf("jetstream: %w", ctx.Err()))
				return
			case <-time.After(staleWait):
			}
		}
	}
}

// batch yields entries of one request. It returns the sequence number of the last one, and whether there are more. last is to if
// nothing is left to yield.
func (s *Store) batch(ctx context.Context, room string, from, to uint64, yield func(cluster.Stored) bool) (last uint64, more bool, err error) {
	request, err := json.Marshal(get{From: from, Next: s.subject(room), Batch: batchEntries, MaxBytes: batchBytes})
	if err != nil {
		return 0, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	c := s.js.Conn()
	inbox := c.NewInbox()
	answers, err := c.SubscribeSync(inbox)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := c.PublishRequest("$JS.API.DIRECT.GET."+s.stream(), inbox, request); err != nil {
		return 0, false, err
	}
	for pending := uint64(0); ; {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return last, false, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204", "404": // the end of the batch; none
			return last, last != 0 && pending > 0, nil
		default:
			return last, false, fmt.Errorf("status %s %s of a request for the log of room %s", status, m.Header.Get("Description"), room)
		}
		e, err := parseStored(m)
		if err != nil {
			return last, false, err
		}
		if pending, err = strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64); err != nil {
			return last, false, err
		}
		if e.Sequence > to || !yield(e) {
			return to, false, nil
		}
		if last = e.Sequence; last == to {
			return to, false, nil
		}
	}
}

// errAnswer is the error of a message of NATS that has no entry.
var errAnswer = errors.New("a message without a sequence number or a time")

func parseStored(m *nats.Msg) (e cluster.Stored, err error) {
	if e.Sequence, err = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64); err != nil {
		return e, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if e.At, err = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer)); err != nil {
		return e, fmt.Errorf("%w: %w", errAnswer, err)
	}
	e.Entry, err = cluster.ParseEntry(m.Data)
	return e, err
}
