package server

import (
	"sync"

	"tendon/systems"
)

// queue holds the work for a worker, in order. Packets are copied and bounded: further packets are dropped and counted. The
// worker swaps two buffers: one is filled while it works off the other.
type queue struct {
	mu      sync.Mutex // held for a copy of one packet, or for a swap
	filling workItems
	dropped uint64
	wake    chan struct{} // has a value if there is work that does not wait for a tick
}

// workItems is one buffer of a queue, or the packets that a worker sends and the connections that it drops.
type workItems struct {
	list  []workItem
	bytes []byte
}

func (w *workItems) packet(c *conn, payload []byte, at systems.Time) {
	from := len(w.bytes)
	w.bytes = append(w.bytes, payload...)
	w.list = append(w.list, workItem{kind: workPacket, conn: c, at: at, from: from, to: len(w.bytes)})
}

func (w *workItems) drop(c *conn) { w.list = append(w.list, workItem{kind: workLost, conn: c}) }

func (w *workItems) reset() {
	clear(w.list) // it must not keep ended connections alive
	w.list, w.bytes = w.list[:0], w.bytes[:0]
}

type workItem struct {
	kind workKind
	conn *conn
	at   systems.Time // when it arrived
	from int          // workPacket: the payload is bytes[from:to]
	to   int
	call func(w *worker) // workCall
}

type workKind uint8

const (
	workPacket workKind = iota
	workJoined          // a connection was made
	workLost            // a connection has ended; its client may come back
	workLeft            // a connection was ended by its client
	workCall            // a function is to be called on the worker
)

const queueBytes = 4 << 20 // bounds the packets that wait for one worker. At 60 bytes each these are 64 000 packets

func (q *queue) packet(c *conn, payload []byte, at systems.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.filling.bytes)+len(payload) <= queueBytes {
		q.filling.packet(c, payload, at)
	} else {
		q.dropped++
	}
}

func (q *queue) add(item workItem) {
	q.mu.Lock()
	q.filling.list = append(q.filling.list, item)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// swap returns the filled buffer and fills another one from now on. dropped counts the packets since the last call.
func (q *queue) swap(buffer workItems) (filled workItems, dropped uint64) {
	buffer.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	filled, q.filling = q.filling, buffer
	dropped, q.dropped = q.dropped, 0
	return filled, dropped
}
