package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/embedded"
)

// store returns a store in an embedded server of NATS.
func store(t *testing.T, dir string) *jetstream.Store {
	t.Helper()
	nats, err := embedded.Start(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nats.Close() })
	s, err := jetstream.Open(t.Context(), jetstream.Config{Connection: nats.Connection})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lastOf returns Store.Last. It repeats the request after its timeout, which is short: the machine may be busy.
func lastOf(ctx context.Context, s *jetstream.Store, room string) (e cluster.Entry, at uint64, err error) {
	for range 30 {
		if e, at, err = s.Last(ctx, room); !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return e, at, err
}

// An entry is added only after the entry that it names, whatever other rooms append.
func TestAStaleEntryIsRefused(t *testing.T) {
	s, ctx := store(t, t.TempDir()), t.Context()
	claim := cluster.Entry{Kind: cluster.KindClaim, Owner: "a", Number: 1}
	if _, at, err := lastOf(ctx, s, "duel.1"); at != 0 || err != nil {
		t.Fatal(at, err)
	}
	first, err := s.Append(ctx, "duel.1", &claim)
	if err != nil || first == 0 {
		t.Fatal(first, err)
	}
	if _, err := s.Append(ctx, "duel.2", &claim); err != nil {
		t.Fatal(err)
	}
	data := cluster.Entry{Kind: cluster.KindData, Owner: "a", Fence: first, Number: 1, Before: first, Body: []byte("ticks")}
	second, err := s.Append(ctx, "duel.1", &data)
	if err != nil || second <= first {
		t.Fatal(second, err)
	}
	if _, err := s.Append(ctx, "duel.1", &data); !errors.Is(err, cluster.ErrConflict) {
		t.Error(err)
	}
	e, at, err := lastOf(ctx, s, "duel.1")
	if err != nil || at != second || e.Owner != "a" || string(e.Body) != "ticks" {
		t.Error(e, at, err)
	}
	var read []uint64
	for e, err := range s.Read(ctx, "duel.1", first, second) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, e.Sequence)
	}
	if !slices.Equal(read, []uint64{first, second}) {
		t.Error(read)
	}
	if err := s.Trim(ctx, "duel.1", second); err != nil {
		t.Fatal(err)
	}
	read = nil
	for e := range s.Read(ctx, "duel.1", first, second) {
		read = append(read, e.Sequence)
	}
	if _, at, err := lastOf(ctx, s, "duel.2"); !slices.Equal(read, []uint64{second}) || at != second-1 || err != nil {
		t.Error(read, at, err)
	}
	data.Before = second
	if _, err := s.Append(ctx, "duel.1", &data); err != nil {
		t.Error(err)
	}
}

// A server that dies leaves its rooms to another one, which has every byte that was appended. The files outlive the process.
func TestTheNextServerContinuesTheJournal(t *testing.T) {
	s, ctx := store(t, t.TempDir()), t.Context()
	run := func(name string) (*cluster.Node, context.CancelFunc) {
		n, err := cluster.New(cluster.Config{Store: s, Server: cluster.Server{Name: name}, Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		process, kill := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { n.Run(process); close(done) }()
		t.Cleanup(func() { kill(); <-done })
		return n, kill
	}
	one, leave := run("one")
	first, err := one.Claim(ctx, "duel")
	if err != nil {
		t.Fatal(err)
	}
	image := bytes.Repeat([]byte("image"), 300_000) // in three parts
	for _, b := range [][]byte{[]byte("before"), image, []byte("tick")} {
		if err := first.Append(ctx, b, len(b) > 10); err != nil {
			t.Fatal(err)
		}
	}
	two, _ := run("two")
	_, err = two.Claim(ctx, "duel")
	if owned := new(cluster.OwnedError); !errors.As(err, &owned) || owned.Server.Name != "one" {
		t.Fatal(err)
	}
	leave()
	var second *cluster.Room
	for second == nil {
		if second, err = two.Claim(ctx, "duel"); err != nil && !strings.Contains(err.Error(), "server one") {
			t.Fatal(err)
		}
	}
	journal, err := second.Recovered(ctx)
	if err != nil || string(journal) != string(image)+"tick" {
		t.Fatal(len(journal), err)
	}
	if err := first.Append(ctx, []byte("late"), false); !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
	if err := second.End(ctx); err != nil {
		t.Error(err)
	}
}

// A token is taken by one server, and again by the same one if it did not receive the answer.
func TestATokenIsTakenByOneServer(t *testing.T) {
	s, ctx, later := store(t, t.TempDir()), t.Context(), time.Now().Add(time.Hour)
	for _, step := range []struct {
		by    string
		first bool
	}{{"one", true}, {"two", false}, {"one", true}} {
		if first, err := s.Take(ctx, "00c0ffee", step.by, later); err != nil || first != step.first {
			t.Errorf("%s: %v, %v", step.by, first, err)
		}
	}
	if since := s.Since(); since.IsZero() || since.After(time.Now()) {
		t.Error(since)
	}
}
