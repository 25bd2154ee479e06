package embedded_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/embedded"
)

// After the disk was full, appends and announcements succeed again without a restart of the process, and no acknowledged entry is lost.
// A server that is started on a full disk continues, too.
func TestAppendsContinueAfterAFullDisk(t *testing.T) {
	for _, always := range []bool{false, true} {
		t.Run(fmt.Sprint("always=", always), func(t *testing.T) { appendsContinue(t, always) })
	}
}

func appendsContinue(t *testing.T, always bool) {
	if os.Getuid() != 0 {
		t.Skip("only root may mount the small file system that the test fills")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("a tmpfs cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	filling := filepath.Join(disk, "filling")
	fill := func() {
		t.Helper()
		if err := os.WriteFile(filling, make([]byte, 24<<20), 0o600); err == nil {
			t.Fatal("the disk is not full")
		}
	}
	ctx := t.Context()
	if deadline, set := t.Deadline(); set { // the cleanups need some time too
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-15*time.Second))
		defer cancel()
	}
	start := func() (*nats.Conn, func()) {
		t.Helper()
		n, err := embedded.Start(filepath.Join(disk, "nats"), always)
		if err != nil {
			t.Fatal(err)
		}
		end := sync.OnceFunc(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(end)
		return n.Connection, end
	}
	var s *jetstream.Store
	open := func(c *nats.Conn) {
		t.Helper()
		var err error
		if s, err = jetstream.Open(ctx, jetstream.Config{Connection: c}); err != nil {
			t.Fatal(err)
		}
	}
	c, end := start()
	open(c)
	var stored []string // bodies by sequence number; an entry whose append failed may be stored too
	tried, newest := 0, uint64(0)
	try := func() error {
		tried++
		e := cluster.Entry{Kind: cluster.KindData, Owner: "a", Fence: 1, Number: 1, Before: newest, Body: fmt.Appendf(nil, "%0*d", 2000, tried)}
		limited, cancel := context.WithTimeout(ctx, time.Second/2)
		defer cancel()
		at, err := s.Append(limited, "duel", &e)
		if err != nil {
			if last, at, err := s.Last(ctx, "duel"); err == nil && at > newest {
				newest, stored = at, append(stored, string(last.Body))
			}
			return err
		}
		newest, stored = at, append(stored, string(e.Body))
		return nil
	}
	retry := func(f func() error) {
		t.Helper()
		for err := f(); err != nil; err = f() {
			if ctx.Err() != nil {
				t.Fatalf("it still fails: %v", err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	free := func() {
		t.Helper()
		if err := os.Remove(filling); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		for range 10 {
			retry(try)
		}
		fill()
		for try() == nil {
		}
		free()
		retry(try)
		retry(func() error { return s.Announce(ctx, cluster.Server{ID: "a", Beat: uint64(round + 1)}) })
	}
	end()
	fill()
	c, _ = start()
	free()
	open(c)
	retry(try)
	var read []string
	for e, err := range s.Read(ctx, "duel", 1, math.MaxUint64) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, string(e.Body))
	}
	if !slices.Equal(read, stored) {
		t.Errorf("%d entries were stored, and %d were read", len(stored), len(read))
	}
}
