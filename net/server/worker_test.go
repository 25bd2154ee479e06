package server

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Packets wait until the rooms of their phase are due, or until a connection of one of these rooms begins or ends.
func TestPacketsWaitUntilTheirRoomsAreDue(t *testing.T) {
	q := queue{limit: queueBytes, wake: make(chan struct{}, 1)}
	kinds := func(due bool) (list []workKind) {
		filled, _ := q.swap(workItems{}, due)
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

// silent is a socket that workers can read and at which nothing arrives.
type silent struct{ nowhere }

func (silent) poll(a *arrivals) bool {
	a.count, a.pause = 0, true
	return true
}

// While workers read the socket and update the connections, the goroutines for both rest, and connections still time out.
func TestWorkersEndConnectionsThatTimeOut(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Workers = 1 }, func(w *world) {
		a, b := w.join(w.mint(w.ticket(1, "duel"))), w.join(w.mint(w.ticket(2, "duel")))
		w.until("both live", 5*time.Second, w.live(a, b))
		w.server.workers[0].queues[0].add(workItem{kind: workCall, call: func(k *worker) { k.datagrams = silent{} }})
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
