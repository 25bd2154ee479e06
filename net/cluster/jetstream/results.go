package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Results is a stream of records of decided matches: PREFIX_matches, with a message of PREFIX.match.ROOM.END for each. They are kept
// until they are deleted in NATS. A durable consumer can export them.
type Results struct {
	store  *Store
	stream jetstream.Stream
}

// resultsPage is the number of sequence numbers that are read at a time.
const resultsPage = 256

// Results opens the stream, and creates it if it does not exist. It waits, at most until ctx is done, while NATS has no leader. A Store
// with Config.Present creates nothing.
func (s *Store) Results(ctx context.Context) (*Results, error) {
	r, name := &Results{store: s}, s.prefix+"_matches"
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		if s.config.Present {
			r.stream, err = s.js.Stream(ctx, name)
		} else {
			r.stream, err = s.create(ctx, jetstream.StreamConfig{Name: name, Description: "records of decided matches",
				Subjects: []string{s.prefix + ".match.*.*"}, Replicas: s.rooms.CachedInfo().Config.Replicas})
		}
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return fmt.Errorf("the stream %s does not exist, since no server with results has joined the cluster: %w", name, err)
		case err != nil:
			return fmt.Errorf("the stream %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// subject returns the subject of a record. "*" stands for all.
func (r *Results) subject(room, end string) string {
	return r.store.prefix + ".match." + strings.ReplaceAll(room, ".", "=") + "." + end
}

// Add stores a record. end identifies it among those of its room, and contains no dots or blanks. added is false if the stream has a
// record of this end. After an error, the record may still be stored. The caller may call Add again.
func (r *Results) Add(ctx context.Context, room, end string, record []byte) (added bool, err error) {
	_, err = r.store.js.PublishMsg(ctx, &nats.Msg{Subject: r.subject(room, end), Data: record}, jetstream.WithExpectLastSequencePerSubject(0))
	if refused := (*jetstream.APIError)(nil); errors.As(err, &refused) && conflict(refused.ErrorCode) {
		_, err = r.stream.GetLastMsgForSubject(ctx, r.subject(room, end)) // no message: an earlier request is in process and can still fail
		if err == nil {
			return false, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("jetstream: %w", err)
	}
	return true, nil
}

// Newest calls f with the records of a room, newest first, until f returns false. An empty room stands for all rooms. The number of a
// record is unique in the stream and increases.
func (r *Results) Newest(ctx context.Context, room string, f func(number uint64, record []byte) bool) error {
	info, err := r.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	filter := r.subject("*", "*")
	if room != "" {
		filter = r.subject(room, "*")
	}
	first, size := info.State.FirstSeq, uint64(resultsPage)
	for last := info.State.LastSeq; last >= max(first, 1); {
		from := max(first, 1)
		if last > size {
			from = max(from, last-size+1)
		}
		page, err := r.page(ctx, filter, from, last)
		if err != nil {
			return fmt.Errorf("jetstream: %w", err)
		}
		for _, m := range slices.Backward(page) {
			if !f(m.number, m.record) {
				return nil
			}
		}
		last = from - 1
		if len(page) > 0 {
			size = resultsPage
		} else { // the room has few matches
			size = min(4*size, 1<<20)
		}
	}
	return nil
}

type numbered struct {
	number uint64
	record []byte
}

// page reads the records with numbers in [from, to].
func (r *Results) page(ctx context.Context, filter string, from, to uint64) (list []numbered, err error) {
	c, err := r.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: from, InactiveThreshold: time.Minute})
	if err != nil {
		return nil, err
	}
	info, err := c.Info(ctx)
	if err != nil || info.NumPending == 0 {
		return nil, err
	}
	messages, err := c.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		at, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		if at.Sequence.Stream > to {
			return list, nil
		}
		if list = append(list, numbered{at.Sequence.Stream, m.Data()}); at.NumPending == 0 {
			return list, nil
		}
	}
}
