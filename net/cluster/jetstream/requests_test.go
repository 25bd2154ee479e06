package jetstream_test

import (
	"errors"
	"math"
	"testing"

	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/embedded"
)

// A request reaches the server with the ID. Without such a server it fails.
func TestARequestToDrainReachesTheServer(t *testing.T) {
	s := store(t, t.TempDir())
	received := make(chan jetstream.DrainRequest, 1)
	stop, err := s.HandleDrains("A", func(r jetstream.DrainRequest) { received <- r })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestDrain(t.Context(), "A", jetstream.DrainRequest{Rooms: 3}); err != nil {
		t.Fatal(err)
	}
	if r := <-received; r.Rooms != 3 {
		t.Errorf("%+v", r)
	}
	if err := s.RequestDrain(t.Context(), "B", jetstream.DrainRequest{}); !errors.Is(err, jetstream.ErrNoServer) {
		t.Errorf("a server that does not exist: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := s.RequestDrain(t.Context(), "A", jetstream.DrainRequest{}); !errors.Is(err, jetstream.ErrNoServer) {
		t.Errorf("a server that has stopped: %v", err)
	}
}

// A request about a room reaches the server with the ID, which replies.
func TestARequestAboutARoomIsAnswered(t *testing.T) {
	s := store(t, t.TempDir())
	stop, err := s.HandleMoves("A", func(r jetstream.MoveRequest) cluster.MoveStatus {
		return cluster.MoveStatus{Draining: r.From == "B", Waiting: len(r.Room)}
	})
	if err != nil {
		t.Fatal(err)
	}
	for from, draining := range map[string]bool{"B": true, "C": false} {
		r, err := s.RequestMove(t.Context(), "A", jetstream.MoveRequest{From: from, Room: "duel"})
		if err != nil || r.Draining != draining || r.Waiting != 4 {
			t.Errorf("%s: %+v, %v", from, r, err)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := s.RequestMove(t.Context(), "A", jetstream.MoveRequest{}); !errors.Is(err, jetstream.ErrNoServer) {
		t.Errorf("a server that has stopped: %v", err)
	}
}

// A log that is longer than a batch is read whole, without the entries of other rooms.
func TestALongLogIsRead(t *testing.T) {
	const entries = 2500 // a batch has 1024
	s, ctx := store(t, t.TempDir()), t.Context()
	var last, fence uint64
	for i := range entries {
		e := cluster.Entry{Kind: cluster.KindData, Owner: "a", Number: uint64(i), Before: last, Fence: fence}
		if i == 0 {
			e.Kind = cluster.KindClaim
		}
		at, err := s.Append(ctx, "long", &e)
		if err != nil {
			t.Fatal(err)
		}
		if last = at; i == 0 {
			fence = at
		}
		if i%500 == 0 {
			other, at, err := lastOf(ctx, s, "other")
			if err == nil {
				_, err = s.Append(ctx, "other", &cluster.Entry{Kind: cluster.KindClaim, Owner: "b", Number: other.Number + 1, Before: at})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, to := range []uint64{last, math.MaxUint64} {
		n, before := 0, uint64(0)
		for e, err := range s.Read(ctx, "long", 1, to) {
			if err != nil || e.Before != before || e.Number != uint64(n) {
				t.Fatalf("entry %d: %+v, %v, after entry %d", n, e, err, before)
			}
			n, before = n+1, e.Sequence
		}
		if n != entries {
			t.Errorf("%d of %d entries are read", n, entries)
		}
	}
}

// Present opens a cluster that exists, and creates none.
func TestPresentCreatesNothing(t *testing.T) {
	nats, err := embedded.Start(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer nats.Close()
	c := jetstream.Config{Connection: nats.Connection, Present: true}
	if _, err := jetstream.Open(t.Context(), c); err == nil {
		t.Fatal("a cluster that does not exist is opened")
	}
	if _, err := jetstream.Open(t.Context(), jetstream.Config{Connection: nats.Connection}); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstream.Open(t.Context(), c); err != nil {
		t.Error(err)
	}
}
