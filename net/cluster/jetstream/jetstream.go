package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tendon/net/cluster"
)

// Config describes a Store.
type Config struct {
	// Connection is the connection to NATS. Required.
	Connection *nats.Conn
	// Prefix begins the names of the stream and the bucket: clusters with different prefixes share nothing. Default: "tendon".
	Prefix string
	// Replicas is the number of NATS servers that store each entry of a stream or bucket that is created. Default: 1.
	Replicas int
	// SetReplicas applies Replicas to existing streams and buckets too.
	SetReplicas bool
	// Keep is the time for which entries are kept. Default: a day. A match whose newest entry is older is lost.
	Keep time.Duration
	// Present fails Open if the stream or a bucket does not exist, and changes neither.
	Present bool
	// Wait receives the reason while Open waits for NATS. Optional.
	Wait func(error)
}

// Store is the store of a cluster. It implements cluster.Store and cluster.TokenStore.
type Store struct {
	js      jetstream.JetStream
	rooms   jetstream.Stream
	servers jetstream.KeyValue
	tokens  jetstream.KeyValue
	since   time.Time // creation time of the bucket of tokens
	prefix  string
	config  Config

	mu          sync.Mutex
	accepted    time.Time     // when the last announcement was accepted; at first, when the first was sent
	reconnected time.Time     // when reconnect forced the last reconnect
	limit       time.Duration // announceLimit; less in tests
}

const (
	// forget is the time for which the announcement of a dead server is stored.
	forget = 10 * time.Minute
	// announcements is the number of announcements of each server that are stored, so that a watch that is behind yields each of the last four
	// leases.
	announcements = 16
	// mostTokenLife is the maximum lifetime of connect tokens: a day plus two minutes of clock difference.
	mostTokenLife = 24*time.Hour + 2*time.Minute
	// announceLimit is the time without an accepted announcement after which the client reconnects. It also bounds the reconnect.
	announceLimit = 5 * time.Second
)

// noPeers is the error code of a stream whose replicas have no place. A leader that was just elected does not know all servers yet.
const noPeers jetstream.ErrorCode = 10005

// temporary reports whether a refused request can succeed later. Another server may have created the stream meanwhile.
func temporary(e *jetstream.APIError) bool {
	return e.Code >= 500 || e.ErrorCode == noPeers || e.ErrorCode == jetstream.JSErrCodeStreamNameInUse
}

// Open creates the stream and the buckets if they do not exist. It waits, at most until ctx is done, while NATS has no leader.
// That is normal for some seconds after the start.
func Open(ctx context.Context, c Config) (*Store, error) {
	js, err := jetstream.New(c.Connection)
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	s := &Store{js: js, prefix: cmp.Or(c.Prefix, "tendon"), config: c, limit: announceLimit}
	if err := s.retry(ctx, s.open); err != nil {
		return nil, err
	}
	return s, nil
}

// retry calls f until it succeeds, until NATS refuses the request, the connection is closed, or ctx is done.
func (s *Store) retry(ctx context.Context, f func(context.Context) error) error {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := reached(f(try))
		cancel()
		if err == nil {
			return nil
		}
		if refused := new(jetstream.APIError); errors.As(err, &refused) && !temporary(refused) {
			return fmt.Errorf("jetstream: %w", err)
		}
		if s.config.Connection.IsClosed() {
			return fmt.Errorf("jetstream: the connection to NATS is closed: %w", cmp.Or(s.config.Connection.LastError(), err))
		}
		if s.config.Wait != nil {
			s.config.Wait(err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("jetstream: NATS does not answer: %w", err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func (s *Store) open(ctx context.Context) (err error) {
	c := &s.config
	if c.Present {
		return s.find(ctx)
	}
	s.rooms, err = s.create(ctx, jetstream.StreamConfig{Name: s.stream(), Description: "logs of rooms",
		Subjects: []string{s.subject("*")}, Replicas: cmp.Or(c.Replicas, 1), MaxAge: cmp.Or(c.Keep, 24*time.Hour), DenyDelete: true, AllowDirect: true})
	if err != nil {
		return fmt.Errorf("the stream %s_rooms: %w", s.prefix, err)
	}
	s.servers, err = s.createBucket(ctx, jetstream.KeyValueConfig{Bucket: s.prefix + "_servers", Description: "announcements of servers",
		Replicas: cmp.Or(c.Replicas, 1), TTL: forget, History: announcements})
	if err != nil {
		return fmt.Errorf("the bucket %s_servers: %w", s.prefix, err)
	}
	s.tokens, err = s.createBucket(ctx, jetstream.KeyValueConfig{Bucket: s.prefix + "_tokens", Description: "used connect tokens",
		Replicas: cmp.Or(c.Replicas, 1), TTL: mostTokenLife})
	if err == nil {
		var made jetstream.KeyValueStatus
		if made, err = s.tokens.Status(ctx); err == nil {
			s.since = made.(*jetstream.KeyValueBucketStatus).StreamInfo().Created
		}
	}
	if err != nil {
		return fmt.Errorf("the bucket %s_tokens: %w", s.prefix, err)
	}
	return nil
}

// create creates a stream, or updates one that exists.
func (s *Store) create(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	exists, err := s.keepReplicas(ctx, c.Name, &c.Replicas)
	switch {
	case err != nil:
		return nil, err
	case exists:
		return s.js.UpdateStream(ctx, c)
	}
	return s.js.CreateStream(ctx, c)
}

// createBucket creates a bucket, or updates one that exists.
func (s *Store) createBucket(ctx context.Context, c jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	exists, err := s.keepReplicas(ctx, "KV_"+c.Bucket, &c.Replicas)
	switch {
	case err != nil:
		return nil, err
	case exists:
		return s.js.UpdateKeyValue(ctx, c)
	}
	return s.js.CreateKeyValue(ctx, c)
}

// keepReplicas reports whether a stream exists. It sets n to its number of replicas then, except with Config.SetReplicas.
func (s *Store) keepReplicas(ctx context.Context, stream string, n *int) (exists bool, err error) {
	old, err := s.js.Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err == nil && !s.config.SetReplicas {
		*n = old.CachedInfo().Config.Replicas
	}
	return err == nil, err
}

// find opens the stream and the buckets, which must exist.
func (s *Store) find(ctx context.Context) (err error) {
	if s.rooms, err = s.js.Stream(ctx, s.stream()); err != nil {
		return fmt.Errorf("the stream %s_rooms: %w", s.prefix, err)
	}
	if s.servers, err = s.js.KeyValue(ctx, s.prefix+"_servers"); err == nil {
		s.tokens, err = s.js.KeyValue(ctx, s.prefix+"_tokens")
	}
	if err != nil {
		return fmt.Errorf("the buckets of %s: %w", s.prefix, err)
	}
	return nil
}

// stream returns the name of the stream of all rooms.
func (s *Store) stream() string { return s.prefix + "_rooms" }

// subject returns the subject of a room. Dots are replaced, because they separate the parts of a subject.
func (s *Store) subject(room string) string {
	return s.prefix + ".room." + strings.ReplaceAll(room, ".", "=")
}

// Append publishes an entry.
func (s *Store) Append(ctx context.Context, room string, e *cluster.Entry) (sequence uint64, err error) {
	data, err := e.Append(nil)
	if err != nil {
		return 0, err
	}
	ack, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: s.subject(room), Data: data}, jetstream.WithExpectLastSequencePerSubject(e.Before),
		jetstream.WithRetryAttempts(0))
	if refused := new(jetstream.APIError); errors.As(err, &refused) && conflict(refused.ErrorCode) {
		return 0, fmt.Errorf("%w: %s", cluster.ErrConflict, refused.Description)
	}
	if err != nil {
		return 0, fmt.Errorf("jetstream: %w", reached(err))
	}
	return ack.Sequence, nil
}

// reached returns err, or ErrUnreached if there is no connection. Requests are then not buffered.
func reached(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return ErrUnreached
	}
	return err
}

// conflict reports whether an error code means that another entry follows Before. Replicated streams have a second code.
func conflict(c jetstream.ErrorCode) bool {
	return c == jetstream.JSErrCodeStreamWrongLastSequence || c == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// Trim purges entries of a room.
func (s *Store) Trim(ctx context.Context, room string, before uint64) error {
	if err := s.rooms.Purge(ctx, jetstream.WithPurgeSubject(s.subject(room)), jetstream.WithPurgeSequence(before)); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	return nil
}

// Announce stores an announcement. If none was stored for five seconds and several NATS servers are known, it reconnects to another one.
func (s *Store) Announce(ctx context.Context, server cluster.Server) error {
	data, err := json.Marshal(server)
	if err == nil {
		_, err = s.servers.Put(ctx, server.ID, data)
	}
	s.reconnect(err == nil)
	if err != nil {
		return fmt.Errorf("jetstream: %w", reached(err))
	}
	return nil
}

// reconnect records an accepted announcement. After announceLimit without one, it reconnects. A NATS server that is cut off from the others
// still serves connections.
func (s *Store) reconnect(accepted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, c := time.Now(), s.config.Connection
	switch {
	case accepted || s.accepted.IsZero():
		s.accepted = now
	case c.IsConnected() && len(c.Servers()) > 1 && now.Sub(s.accepted) >= s.limit && now.Sub(s.reconnected) >= s.limit:
		if c.ForceReconnect() == nil {
			s.reconnected = now
		}
	}
}

// Withdraw removes an announcement.
func (s *Store) Withdraw(ctx context.Context, id string) error {
	if err := s.servers.Purge(ctx, id); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	return nil
}

// Expire removes an announcement, if it is the newest one of the server.
func (s *Store) Expire(ctx context.Context, server cluster.Server) error {
	entry, err := s.servers.Get(ctx, server.ID)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	var newest cluster.Server
	if err == nil && json.Unmarshal(entry.Value(), &newest) == nil && newest.Beat == server.Beat {
		err = s.servers.Delete(ctx, server.ID, jetstream.LastRevision(entry.Revision())) // it fails if the server has announced itself since
	}
	if err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	return nil
}

// Watch yields announcements.
func (s *Store) Watch(ctx context.Context) iter.Seq2[cluster.Server, error] {
	return func(yield func(cluster.Server, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // w ends on another goroutine, because its end waits for a reply of NATS
		w, err := s.servers.WatchAll(ctx)
		if err != nil {
			yield(cluster.Server{}, fmt.Errorf("jetstream: %w", err))
			return
		}
		for {
			select {
			case <-ctx.Done():
				return
			case entry, open := <-w.Updates():
				if !open {
					yield(cluster.Server{}, errors.New("jetstream: the watch has ended"))
					return
				}
				if entry == nil {
					continue // the end of the present announcements
				}
				server := cluster.Server{ID: entry.Key()}
				if entry.Operation() == jetstream.KeyValuePut {
					if json.Unmarshal(entry.Value(), &server) != nil || server.ID != entry.Key() {
						continue // of another version
					}
				}
				if !yield(server, nil) {
					return
				}
			}
		}
	}
}

// Since returns the creation time of the bucket of used tokens.
func (s *Store) Since() time.Time { return s.since }

// Take records a token by creating its key.
func (s *Store) Take(ctx context.Context, token, by string, _ time.Time) (first bool, err error) {
	_, err = s.tokens.Create(ctx, token, []byte(by))
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return false, fmt.Errorf("jetstream: %w", err)
	}
	taken, err := s.tokens.Get(ctx, token) // this server may have recorded it without receiving the reply
	if err != nil {
		return false, fmt.Errorf("jetstream: %w", err)
	}
	return string(taken.Value()) == by, nil
}
