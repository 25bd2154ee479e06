package matches

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/embedded"
)

// clusterStream returns the stream of an embedded NATS server.
func clusterStream(t *testing.T) (*jetstream.Results, *nats.Conn) {
	t.Helper()
	server, err := embedded.Start(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	store, err := jetstream.Open(t.Context(), jetstream.Config{Connection: server.Connection})
	if err != nil {
		t.Fatal(err)
	}
	results, err := store.Results(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return results, server.Connection
}

// ends returns room and tick of each record.
func ends(t *testing.T, list iter.Seq2[Record, error]) (text string) {
	t.Helper()
	for r, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprint(r.Room, " ", r.Tick, ", ")
	}
	return strings.TrimSuffix(text, ", ")
}

func at(second int) time.Time { return time.Unix(int64(second), 0).UTC() }

// A recorder writes records to a file and to a stream. Both lists have them, newest first, and the merged list has each end once.
func TestAStreamHasTheRecordsOfAllServers(t *testing.T) {
	results, _ := clusterStream(t)
	path := t.TempDir() + "/matches.db"
	store, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	fail := func(err error) { t.Error(err) }
	lost := func(r Record) { t.Errorf("%+v is lost", r) }
	first := NewRecorder(store, fail, lost)
	first.And(NewStreamRecorder(results, fail, lost))
	second := NewStreamRecorder(results, fail, lost)
	for i := range 3 {
		first.Add(Record{Room: "duel.1", Match: 7, Tick: uint64(i), Ended: at(2 * i)})
	}
	if err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.Add(Record{Room: "duel.1", Match: 7, Tick: 2, Ended: at(9)}) // a server that continues the match decides again
	second.Add(Record{Room: "other", Match: 8, Tick: 2, Ended: at(3)})
	second.Add(Record{Room: "other", Tick: 1, Ended: at(5)})
	second.Add(Record{Room: "other", Tick: 1, Ended: at(6)}) // matches without a number always differ
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := ends(t, ReadStream(t.Context(), results, "")), "other 1, other 1, other 2, duel.1 2, duel.1 1, duel.1 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := ends(t, ReadStream(t.Context(), results, "duel.1")), "duel.1 2, duel.1 1, duel.1 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := ends(t, Merge(Read(path, ""), ReadStream(t.Context(), results, ""))), "other 1, other 1, duel.1 2, other 2, duel.1 1, duel.1 0"; got != want {
		t.Errorf("merged: %s, want %s", got, want)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// A stream is read in pages, also that of a room with few matches.
func TestAStreamIsReadInPages(t *testing.T) {
	results, _ := clusterStream(t)
	for i := range 1000 {
		room := "many"
		if i%300 == 0 {
			room = "few"
		}
		text, _ := json.Marshal(Record{Room: room, Match: 1, Tick: uint64(i)})
		if added, err := results.Add(t.Context(), room, fmt.Sprint("1-", i), text); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	if got, want := ends(t, ReadStream(t.Context(), results, "few")), "few 900, few 600, few 300, few 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	next := uint64(1000)
	for r, err := range ReadStream(t.Context(), results, "") {
		if next--; err != nil || r.Tick != next {
			t.Fatalf("%+v, %v, want %d", r, err, next)
		}
		if next == 100 {
			break
		}
	}
}

// While the stream does not accept records, they wait. They are lost only if the recorder is closed meanwhile.
func TestARecordWaitsForTheStream(t *testing.T) {
	s := &brokenStream{failures: 2}
	r := NewStreamRecorder(s, func(err error) { t.Error(err) }, func(r Record) { t.Errorf("%+v is lost", r) })
	r.Add(Record{Room: "duel", Match: 1})
	if err := r.Wait(t.Context()); err != nil || s.added != 1 {
		t.Error(s.added, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	lost := 0
	r = NewStreamRecorder(&brokenStream{failures: 1 << 30}, func(error) {}, func(Record) { lost++ })
	r.Add(Record{Room: "duel", Match: 1})
	if err := r.Close(); err == nil || lost != 1 {
		t.Error(lost, err)
	}
}

// brokenStream refuses some records.
type brokenStream struct{ failures, added int }

func (s *brokenStream) Add(context.Context, string, string, []byte) (bool, error) {
	if s.failures--; s.failures >= 0 {
		return false, errors.New("no answer")
	}
	s.added++
	return true, nil
}

func (*brokenStream) Newest(context.Context, string, func(uint64, []byte) bool) error { return nil }

// exportMatches writes every record into a table of SQL, and waits for further ones until ctx is done. The consumer is durable: after a
// restart it continues with the first record that was not acknowledged. The number of a record is its key, so a repeated one has no effect.
func exportMatches(ctx context.Context, c *nats.Conn, db *sql.DB) error {
	js, err := natsjs.New(c)
	if err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "tendon_matches", natsjs.ConsumerConfig{Durable: "sql", AckPolicy: natsjs.AckExplicitPolicy, MaxAckPending: 1})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(natsjs.NextContext(ctx))
		if err != nil {
			return err
		}
		at, err := m.Metadata()
		if err != nil {
			return err
		}
		var r Record
		if err := json.Unmarshal(m.Data(), &r); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, `INSERT INTO matches (number, room, ended, result, record) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
			int64(at.Sequence.Stream), r.Room, r.Ended, r.Result, string(m.Data()))
		if err != nil {
			return errors.Join(err, m.NakWithDelay(time.Second)) // NATS sends it again, after Stop
		}
		if err := m.DoubleAck(ctx); err != nil {
			return err
		}
	}
}

// table is a database of a test: it has the rooms of the rows by number, and fails at one number.
type table struct {
	mu     sync.Mutex
	rows   map[int64]string
	fails  int64
	filled chan struct{} // closed when there are three rows
}

func (d *table) Open(string) (driver.Conn, error)             { return d, nil }
func (d *table) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *table) Driver() driver.Driver                        { return d }
func (d *table) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not used") }
func (d *table) Begin() (driver.Tx, error)                    { return nil, errors.New("not used") }
func (d *table) Close() error                                 { return nil }

func (d *table) ExecContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	number, _ := args[0].Value.(int64)
	if number == d.fails {
		d.fails = 0
		return nil, errors.New("the disk is full")
	}
	d.rows[number], _ = args[1].Value.(string)
	if len(d.rows) == 3 {
		close(d.filled)
	}
	return driver.RowsAffected(1), nil
}

// The documented consumer writes each record, and continues after an error and a restart.
func TestAConsumerExportsToSQL(t *testing.T) {
	results, connection := clusterStream(t)
	r := NewStreamRecorder(results, func(err error) { t.Error(err) }, func(r Record) { t.Errorf("%+v is lost", r) })
	for i := range 3 {
		r.Add(Record{Room: fmt.Sprint("room", i), Match: 1, Tick: uint64(i)})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	d := &table{rows: map[int64]string{}, fails: 2, filled: make(chan struct{})}
	db := sql.OpenDB(d)
	defer db.Close()
	if err := exportMatches(t.Context(), connection, db); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- exportMatches(ctx, connection, db) }()
	select {
	case <-d.filled:
	case err := <-ended:
		t.Fatal(err)
	}
	cancel()
	<-ended
	if got := []string{d.rows[1], d.rows[2], d.rows[3]}; !slices.Equal(got, []string{"room0", "room1", "room2"}) {
		t.Error(got)
	}
}
