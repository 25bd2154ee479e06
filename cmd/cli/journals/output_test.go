package journals

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/matchsim/halves"
	"tendon/net/room"
)

// openMany opens a store with the journals of some rooms.
func openMany(t *testing.T, s Sync, rooms int) (k *Store, disk *smallDisk, list []*roomJournal) {
	t.Helper()
	disk = bigDisk()
	k, err := Open(Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: s, Report: new(events).add, Disk: disk.open})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rooms {
		name := fmt.Sprint("room", i)
		if err := k.Open(name, &room.Config{Match: uint64(i) + 1}); err != nil {
			t.Fatal(err)
		}
		list = append(list, k.open[name])
	}
	return k, disk, list
}

// Bytes that are queued and listed at any moment of an earlier write are written.
func TestNoBytesWaitWithoutAWriter(t *testing.T) {
	k, _, list := openMany(t, Never, 1)
	j := list[0]
	for i := range 20_000 {
		_, _ = j.out.Write([]byte{1})
		accepted, _, _ := j.out.state()
		k.writers.list(j, accepted, false)
		for range i % 50 {
			runtime.Gosched()
		}
		k.writers.mu.Lock()
		_, durable, err := j.out.state()
		listed := j.out.listed
		k.writers.mu.Unlock()
		if durable < accepted && !listed || err != nil {
			t.Fatalf("after %d writes: %d of %d bytes are written, and no goroutine writes; %v", i, durable, accepted, err)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// A room waits for few writes of other rooms, even if there is always another journal to write.
func TestRoomsAreWokenWhileOthersAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, list := openMany(t, Never, 200)
		first, woken := 0, 0
		k.writers.mu.Lock() // until all are listed
		for _, j := range list {
			j.wake = func() {
				if woken++; woken == 1 {
					for _, j := range list {
						if _, durable, _ := j.out.state(); durable == j.out.accepted {
							first++
						}
					}
				}
			}
			_, _ = j.out.Write([]byte{1})
			j.out.listed, j.out.wanted = true, j.out.accepted
			k.writers.ready = append(k.writers.ready, j)
		}
		k.writers.running++
		k.work.Go(k.writers.run)
		k.writers.mu.Unlock()
		synctest.Wait()
		if woken != 200 || first > wakeTogether {
			t.Errorf("%d rooms were woken, the first after %d writes", woken, first)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// The memory of bytes that waited for a slow disk is released when they are written.
func TestAStallKeepsNoMemory(t *testing.T) {
	k, _, list := openMany(t, Never, 1)
	j := list[0]
	for range 2 {
		_, _ = j.out.Write(make([]byte, maxQueued))
		if err := j.drain(); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = j.out.Write([]byte{1})
	if err := j.drain(); err != nil || cap(j.out.queued)+cap(j.out.writing) > 2*keepBytes {
		t.Errorf("%v, the buffers have %d and %d bytes", err, cap(j.out.queued), cap(j.out.writing))
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// With Always, rooms compute all ticks on a disk on which each call takes 400 ms. After the stall, few goroutines are left.
func TestManyRoomsWaitForASlowDiskTogether(t *testing.T) {
	inHouse(t, rooms(), Always, func(h *house) {
		h.begin()
		h.disk.change(func() { h.disk.stall = 400 * time.Millisecond })
		for range 4 {
			h.pass(time.Second)
			h.wantTicks("400ms", 1800*time.Millisecond)
		}
		h.disk.change(func() { h.disk.stall = 0 })
		h.pass(2 * time.Second)
		h.wantTicks("after 400ms", 0)
		if n, e := h.count(Slow); n != 0 {
			t.Errorf("reported %d times: %v", n, e.Err)
		}
		h.store.writers.mu.Lock()
		defer h.store.writers.mu.Unlock()
		if n := h.store.writers.running; n > idleWriters {
			t.Errorf("%d goroutines wait to write", n)
		}
	})
}

// Without Always, a match continues on a disk that hangs, for at most three seconds. Clients could not return more ticks.
func TestAMatchWaitsForADiskThatHangs(t *testing.T) {
	inHouse(t, 4, Sync(100*time.Millisecond), func(h *house) {
		h.begin()
		h.disk.change(func() { h.disk.stall = 20 * time.Second })
		h.pass(2500 * time.Millisecond)
		h.wantTicks("a disk that hangs", 250*time.Millisecond)
		h.pass(10 * time.Second)
		for i, c := range h.clients {
			name := fmt.Sprintf("room%02d", i)
			if got, most := c.Core.Stats().Strategy.Confirmed, h.tick[name]+4*60; got > most || h.stats(name).Unwritten == 0 {
				t.Errorf("%s: tick %d is confirmed, want at most %d", name, got, most)
			}
		}
		failed, e := h.count(Failed)
		if failed != 4 {
			t.Errorf("%d journals failed: %v", failed, e.Err)
		}
		h.disk.change(func() { h.disk.stall = 0 })
		h.pass(12 * time.Second)
		h.begin()
		h.pass(time.Second)
		h.wantTicks("after the stall", 0)
		if n, _ := h.count(Recovered); n != failed {
			t.Errorf("%d journals recovered", n)
		}
	})
}
