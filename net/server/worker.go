package server

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tendon/net/room"
	"tendon/systems"
)

// worker computes some of the rooms on one goroutine. In each turn it reads the socket, passes queued messages to the rooms that
// are due, computes these rooms, and sends their packets.
type worker struct {
	number   int
	config   *Config
	table    *connTable
	log      *limitedLog
	wake     chan struct{} // has a value if there is work that does not wait for a tick
	queues   []queue       // by phase
	assigned []int         // rooms assigned to it, by phase; under the lock of the table

	grid  grid
	rooms [][]*hostedRoom // by phase
	step  int64           // the last step that was computed
	now   time.Time       // of the turn

	socketIO
	workItems workItems // a spare buffer for queues
	out       workItems
	ending    []*conn       // connections whose last messages are being sent
	opening   []*hostedRoom // rooms that are being opened
	stopped   func()        // while the rooms are being closed: to be called when all are
	stopBy    time.Time     // the latest moment of that
	figures
	publishAt systems.Time
	published atomic.Pointer[figures] // of the last second, for other goroutines
}

type figures struct {
	packets PacketStats
	turns   TurnStats
	past    room.Stats   // of the closed rooms
	rooms   []RoomStats  // only where published
	skipped systems.Time // by the clock of the server
}

func newWorker(number int, c *Config, t *connTable, io socketIO, log *limitedLog) *worker {
	w := &worker{number: number, config: c, table: t, log: log, grid: newGrid(c.Room.Game.TickRate), socketIO: io}
	w.published.Store(&figures{})
	w.wake = make(chan struct{}, 1)
	w.rooms, w.queues, w.assigned = make([][]*hostedRoom, w.grid.phases), make([]queue, w.grid.phases), make([]int, w.grid.phases)
	for i := range w.queues {
		w.queues[i].wake, w.queues[i].limit = w.wake, queueBytes/len(w.queues)
	}
	return w
}

// busy reports whether there are rooms, rooms that are being opened, or connections that end. Every step then reads the socket,
// even one without rooms of its phase.
func (w *worker) busy() bool {
	return len(w.ending) > 0 || len(w.opening) > 0 || slices.ContainsFunc(w.rooms, func(rooms []*hostedRoom) bool { return len(rooms) > 0 })
}

// run is the goroutine of the worker. It ends when the rooms are closed and stop is.
func (w *worker) run(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-w.wake:
		case <-timer.C:
		}
		now := time.Now()
		w.turn(now)
		if w.busy() {
			timer.Reset(w.grid.due(w.step+1) - w.table.at(time.Now()))
		}
	}
}

func (w *worker) turn(now time.Time) {
	w.turns.Turns++
	at := w.table.at(now)
	w.now = now
	w.noteSkipped()
	if w.grid.last(at) > w.step || at-systems.Time(w.table.polled.Load()) >= systems.Time(stepTime) {
		w.poll() // otherwise a worker has just polled, and this turn is only for ended commits
	}
	w.compute(at)
	w.finish(at)
	if len(w.out.list) > 0 {
		w.table.seal(&w.out, &w.sealed, now)
		w.packets.PacketsOut += uint64(w.sealed.Len())
		w.packets.BytesOut += uint64(w.sealed.Bytes())
		w.packets.PacketsUnsent += uint64(w.flush())
		w.out.reset()
	}
	if at >= w.publishAt {
		w.publish(at)
	}
	w.stopping()
}

// poll reads the socket right before the ticks, so that they use every message that has arrived. The reading goroutine
// reads what is beyond 16 batches. While there are rooms, poll also updates the connections, so that no other goroutine wakes for that.
func (w *worker) poll() {
	for range 16 {
		if !w.datagrams.poll(&w.arrivals) {
			return
		}
		if w.arrivals.count > 0 {
			w.table.receive(&w.arrivals, &w.sealed, w.now)
		}
		if w.arrivals.pause {
			break
		}
	}
	if w.busy() {
		w.table.polled.Store(int64(w.table.at(w.now)))
		w.table.update(&w.sealed, w.now)
	}
	if w.sealed.Len() > 0 { // answers of handshakes, and keep-alives
		w.packets.PacketsUnsent += uint64(w.flush())
	}
}

// deliver works off a queue if its rooms are due, or if it has work that does not wait for them.
func (w *worker) deliver(q *queue, due bool) {
	filled, dropped := q.swap(w.workItems, due)
	w.packets.PacketsLost += dropped
	for i := range filled.list {
		item := &filled.list[i]
		switch item.kind {
		case workPacket:
			w.packet(item.conn, filled.bytes[item.from:item.to], item.at)
		case workJoined:
			w.join(item.conn, item.at)
		case workLost, workLeft:
			w.leave(item.conn, item.kind == workLeft, item.at)
		case workFlood:
			if c := item.conn; c.link != nil && c.endBy == 0 && c.room.room != nil {
				w.flood(c)
			}
		case workCall:
			item.call(w)
		}
	}
	w.workItems = filled
}

func (w *worker) packet(c *conn, payload []byte, at systems.Time) {
	if c.link == nil {
		return // the connection has just ended
	}
	h := c.room
	defer w.recovered(h)
	if c.link.Receive(payload) != nil {
		w.packets.Malformed++
		if h.room != nil {
			w.refuseOld(c, payload, at)
		}
		return
	}
	w.messages(c, at)
}

// messages passes the messages of a connection to its room. They stay in the link until the room is open.
func (w *worker) messages(c *conn, at systems.Time) {
	h := c.room
	if h.room == nil && c.endBy == 0 {
		return
	}
	for ch, message, ok := c.link.Next(); ok; ch, message, ok = c.link.Next() {
		if c.endBy == 0 {
			h.room.Receive(c.peer, ch, message, at)
		}
	}
}

// compute delivers the messages of the rooms with a due step, and calls Frame once for each. A room computes missed ticks by
// itself. The rooms of a phase stay in the caches of the processor between the two.
func (w *worker) compute(at systems.Time) {
	last := w.grid.last(at)
	first := max(w.step+1, last-w.grid.phases+1)
	for i := range w.queues {
		due := first <= last && int64(w.grid.phase(int64(i)-first)) <= last-first
		w.deliver(&w.queues[i], due)
	}
	for n := first; n <= last; n++ {
		rooms := w.rooms[w.grid.phase(n)]
		if len(rooms) > 0 && at-w.grid.due(n) > systems.Second/systems.Time(w.config.Room.Game.TickRate) {
			w.turns.LateTurns++
		}
		for _, h := range slices.Backward(rooms) { // a room that crashes is removed
			w.frame(h, at)
		}
	}
	w.step = max(w.step, last)
}

// queue holds the work for the rooms of one phase of a worker, in order. Packets are copied and bounded: further packets are dropped
// and counted. The worker swaps two buffers: one is filled while it works off the other. Packets wait until their rooms are due, so
// that a worker reads the memory of a room once in a tick.
type queue struct {
	mu      sync.Mutex // held for a copy of one packet, or for a swap
	filling workItems
	dropped uint64
	limit   int           // of the bytes of filling
	urgent  bool          // it has work that does not wait for a tick
	wake    chan struct{} // of the worker
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
	workFlood           // a client sends far too many packets
	workCall            // a function is to be called on the worker
)

const (
	queueBytes = 4 << 20 // bounds the packets that wait for one worker, in all queues. At 60 bytes each these are 38 000 packets
	itemSize   = 48      // memory of a workItem, which counts against queueBytes
)

func (q *queue) packet(c *conn, payload []byte, at systems.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.filling.bytes)+len(payload)+itemSize*(len(q.filling.list)+1) <= q.limit {
		q.filling.packet(c, payload, at)
	} else {
		q.dropped++
	}
}

func (q *queue) add(item workItem) {
	q.mu.Lock()
	q.filling.list = append(q.filling.list, item)
	q.urgent = true
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// swap returns the filled buffer and fills another one from now on. dropped counts the packets since the last call. If the queue is
// not due and has no urgent work, swap returns the other buffer, empty.
func (q *queue) swap(buffer workItems, due bool) (filled workItems, dropped uint64) {
	buffer.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !due && !q.urgent {
		return buffer, 0
	}
	q.urgent = false
	filled, q.filling = q.filling, buffer
	dropped, q.dropped = q.dropped, 0
	return filled, dropped
}

// grid divides each tick of a worker into steps: step n is due at n/(rate·phases) seconds, and the rooms of phase
// n mod phases are computed in it. So the rooms take turns within a tick, and the worker wakes about sixty times a second,
// however many rooms it has. Each time, the code of a turn is not in the caches of the processor any more.
type grid struct {
	rate, phases int64
}

const stepTime = 16 * time.Millisecond // about the length of a step

func newGrid(rate int) grid {
	return grid{rate: int64(rate), phases: int64(max(1, int(time.Second/stepTime)/rate))}
}

func (g grid) due(step int64) systems.Time {
	per := g.rate * g.phases
	return systems.Time(step/per)*systems.Second + systems.Time(step%per)*systems.Second/systems.Time(per)
}

// last returns the last step that is due at a moment.
func (g grid) last(at systems.Time) int64 {
	per := g.rate * g.phases
	n := int64(at/systems.Second)*per + int64(at%systems.Second)*per/int64(systems.Second)
	for g.due(n+1) <= at { // both divisions round down
		n++
	}
	return n
}

func (g grid) phase(step int64) int { return int((step%g.phases + g.phases) % g.phases) }
