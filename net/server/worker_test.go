package server

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/systems"
)

// Packets wait until a tick is due, or until a connection begins or ends.
func TestPacketsWaitUntilATickIsDue(t *testing.T) {
	q := queue{wake: make(chan struct{}, 1)}
	kinds := func(due bool) (list []workKind) {
		filled, _, _ := q.swap(workItems{}, nil, due)
		for _, item := range filled.list {
			list = append(list, item.kind)
		}
		return list
	}
	for _, v := range []struct {
		ends, due bool
		want      []workKind
	}{
		{false, false, nil},
		{false, true, []workKind{workPacket, workPacket}},
		{true, false, []workKind{workPacket, workLost}},
		{false, false, nil},
		{true, true, []workKind{workPacket, workPacket, workLost}},
	} {
		q.packet(nil, []byte{1}, 0)
		if v.ends {
			q.add(workItem{kind: workLost})
		}
		if got := kinds(v.due); !slices.Equal(got, v.want) {
			t.Errorf("a connection ends: %v, due: %v: the work is %v, want %v", v.ends, v.due, got, v.want)
		}
	}
}

// unread is a socket that workers can read and from which nothing comes. It may have more.
type unread struct {
	nowhere
	more bool
}

func (u unread) poll(a *arrivals) bool {
	a.count, a.pause = 0, !u.more
	return true
}

// While workers read the socket and update the connections, the goroutines for both rest, and connections still time out.
func TestWorkersEndConnectionsThatTimeOut(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Workers = 1 }, func(w *world) {
		w.pair(5 * time.Second)
		w.server.workers[0].queue.call(func(k *worker) { k.datagrams = unread{} })
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if st := w.server.Stats(); st.TimedOut != 2 || st.Clients != 0 {
			t.Errorf("%d connections timed out, %d are left; want 2, 0", st.TimedOut, st.Clients)
		}
		if !w.server.polled(time.Now()) {
			t.Error("the goroutines that read and update do not rest")
		}
	})
}

// sends counts the datagrams of each call.
type sends struct {
	datagrams
	list *[]int
}

func (s sends) send(out *netcode.Outbox) int {
	*s.list = append(*s.list, out.Len())
	return 0
}

// The packets of the first rooms are sent before the last rooms have computed the tick.
func TestPacketsDoNotWaitForAllRooms(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Workers = 1 }, func(w *world) {
		const clients = 3 * batchSize
		for i := range clients {
			w.join(w.mint(w.ticket(uint64(i+1), fmt.Sprintf("room-%d", i/2))))
		}
		w.until("all live", 15*time.Second, w.live(w.players...))
		synctest.Wait()
		k, list := w.server.workers[0], []int(nil)
		k.datagrams = sends{k.datagrams, &list}
		k.turn(time.Now().Add(time.Second / 30))
		total := 0
		for _, n := range list {
			if total += n; n > batchSize+2 {
				t.Errorf("one send has %d packets, want at most %d", n, batchSize+2)
			}
		}
		if total < clients {
			t.Errorf("%d packets are sent, want at least %d; by send: %v", total, clients, list)
		}
	})
}

// A turn is late if more than one tick is due in it.
func TestATurnAfterAMissedTickIsLate(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Workers = 1 }, func(w *world) {
		w.pair(5 * time.Second)
		synctest.Wait()
		k, now := w.server.workers[0], time.Now()
		for _, v := range []struct {
			ticks time.Duration
			late  uint64
		}{{1, 0}, {2, 1}, {1, 1}, {10, 2}} {
			now = now.Add(v.ticks * time.Second / 30)
			if k.turn(now); k.turns.LateTurns != v.late {
				t.Errorf("after %d ticks: %d turns are late, want %d", v.ticks, k.turns.LateTurns, v.late)
			}
		}
	})
}

// A step begins at every tick. No step is longer than longestStep, so that the worker of a slow game reads the socket often.
func TestEveryTickIsAStep(t *testing.T) {
	for rate := 1; rate <= 240; rate++ {
		g := newGrid(rate)
		for n := range int64(3 * rate) {
			at := systems.TickTime(0, ecs.Tick(n), rate)
			step := g.last(at)
			if g.due(step) != at || g.tick(step) != n || g.lastTick(at) != at || n > 0 && g.tick(step-1) != n-1 || g.lastTick(at+1) != at {
				t.Fatalf("at %d per second, tick %d is due in step %d, at %v", rate, n, step, g.due(step))
			}
			if long := g.due(step+1) - at; long > systems.Time(longestStep) {
				t.Fatalf("at %d per second, a step takes %v", rate, long)
			}
		}
	}
}

// A queued function does not wait for a tick. Packets queued before it still do. The ends of connections are processed first.
func TestPacketsWaitAlthoughAFunctionIsCalled(t *testing.T) {
	joins := []int(nil) // connections that wait to join, at each call
	h := &hostedRoom{}
	call := func(*worker) { joins = append(joins, len(h.joining)) }
	k := worker{queue: queue{wake: make(chan struct{}, 1)}}
	c := &conn{room: h}
	h.joining = []*conn{c}
	k.queue.packet(c, []byte{1}, 0)
	k.queue.call(call)
	if len(k.queue.wake) == 0 {
		t.Error("the worker is not woken")
	}
	for range 2 {
		if k.deliver(false); !slices.Equal(joins, []int{1}) || len(k.queue.filling.list) != 1 {
			t.Errorf("calls with %v; %d packets wait, want 1", joins, len(k.queue.filling.list))
		}
	}
	k.queue.add(workItem{kind: workLeft, conn: c})
	k.queue.call(call)
	if k.deliver(false); !slices.Equal(joins, []int{1, 0}) || len(k.queue.filling.list) != 0 {
		t.Errorf("a connection ends: calls with %v; %d packets wait, want 0", joins, len(k.queue.filling.list))
	}
	h.joining = []*conn{c}
	k.queue.call(call)
	k.queue.add(workItem{kind: workLeft, conn: c})
	if k.deliver(false); !slices.Equal(joins, []int{1, 0, 1}) || len(h.joining) != 0 {
		t.Errorf("a connection ends after a call: calls with %v", joins)
	}
}

// If a worker cannot empty the socket, the reading goroutine reads it, too.
func TestTheReadingGoroutineHelpsWithAFlood(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Workers = 1 }, func(w *world) {
		w.pair(5 * time.Second)
		for _, more := range []bool{false, true} {
			w.server.workers[0].queue.call(func(k *worker) { k.datagrams = unread{nowhere{k.datagrams}, more} })
			time.Sleep(time.Second)
			synctest.Wait()
			if alone := w.server.polled(time.Now()); alone == more {
				t.Errorf("the socket has more: %v; the worker reads alone: %v", more, alone)
			}
		}
	})
}

// A datagram has the time at which it arrived, also if several batches are read at once.
func TestDatagramsOfALaterBatchHaveTheirTime(t *testing.T) {
	now := time.Now()
	table := &connTable{clock: serverClock{epoch: now.Add(-200)}, read: 100}
	for _, v := range []struct {
		empty     bool // the batch empties the socket
		age, want systems.Time
	}{{false, 20, 180}, {false, 50, 150}, {true, 150, 100}, {true, 20, 200}} {
		if got := table.arrived(200, v.age); got != v.want {
			t.Errorf("a datagram of age %d arrived at %d, want %d", v.age, got, v.want)
		}
		table.receive(&arrivals{pause: v.empty}, nil, now)
	}
}
