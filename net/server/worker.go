package server

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tendon/ecs"
	"tendon/net/room"
	"tendon/systems"
)

// worker computes some of the rooms on one goroutine. At each step it reads the socket. If a tick is due, it passes the queued messages
// to its rooms, computes all of them and sends their packets. Joins and ends of connections do not wait for a step.
type worker struct {
	number   int
	config   *Config
	table    *connTable
	log      *limitedLog
	queue    queue
	assigned int // rooms assigned to it; under the lock of the table

	grid  grid
	rooms []*hostedRoom
	step  int64     // the last step
	now   time.Time // of the turn

	socketIO
	workItems workItems // a spare buffer for the queue
	calls     []call    // a spare buffer for queue.calls
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
	w.queue.wake = make(chan struct{}, 1)
	return w
}

// busy reports whether there are rooms, rooms that are being opened, or connections that end.
func (w *worker) busy() bool { return len(w.ending) > 0 || len(w.opening) > 0 || len(w.rooms) > 0 }

// run is the goroutine of the worker. It ends when the rooms are closed and stop is.
func (w *worker) run(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-w.queue.wake:
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
	last := w.grid.last(at)
	if last > w.step { // otherwise this turn is for work that does not wait for a step
		w.poll()
	}
	w.compute(at, last)
	w.finish(at)
	w.send()
	if at >= w.publishAt {
		w.publish(at)
	}
	w.stopping()
}

// send seals and sends the packets that the rooms have written.
func (w *worker) send() {
	if len(w.out.list) == 0 {
		return
	}
	w.table.seal(&w.out, &w.sealed, w.now)
	w.packets.PacketsOut += uint64(w.sealed.Len())
	w.packets.BytesOut += uint64(w.sealed.Bytes())
	w.packets.PacketsUnsent += uint64(w.flush())
	w.out.reset()
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
		if w.arrivals.pause { // otherwise the reading goroutine must help
			w.table.polled.Store(int64(w.table.at(w.now)))
		}
		w.table.update(&w.sealed, w.now)
	}
	if w.sealed.Len() > 0 { // answers of handshakes, and keep-alives
		w.packets.PacketsUnsent += uint64(w.flush())
	}
}

// deliver calls the queued functions, and processes the queued items if a tick is due or if they are urgent. It keeps their order.
func (w *worker) deliver(due bool) {
	filled, calls, dropped := w.queue.swap(w.workItems, w.calls, due)
	w.packets.PacketsLost += dropped
	called := 0
	for i := range filled.list {
		for ; called < len(calls) && calls[called].behind <= i; called++ {
			calls[called].f(w)
		}
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
		}
	}
	for ; called < len(calls); called++ {
		calls[called].f(w)
	}
	clear(calls) // they must not keep ended rooms alive
	w.workItems, w.calls = filled, calls
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

// compute delivers messages, and calls Frame once for each room if a tick is due. A room computes missed ticks by itself. Packets are
// sent as soon as there are batchSize of them, before the remaining rooms are computed. last is the last step that is due.
func (w *worker) compute(at systems.Time, last int64) {
	ticks := w.grid.tick(last) - w.grid.tick(w.step) // that are due
	if ticks > 1 && len(w.rooms) > 0 {
		w.turns.LateTurns++
	}
	w.deliver(ticks > 0)
	if ticks > 0 {
		for _, h := range slices.Backward(w.rooms) { // a room that crashes is removed
			if w.frame(h, at); len(w.out.list) >= batchSize {
				w.send()
			}
		}
	}
	w.step = last
}

// queue holds the work for the rooms of a worker, in order. Packets are copied and bounded: further packets are dropped and counted.
// The worker swaps two buffers: one is filled while it works off the other. Packets wait until a tick is due, so that a worker reads
// the memory of a room once in a tick.
type queue struct {
	mu      sync.Mutex // held for a copy of one packet, or for a swap
	filling workItems
	dropped uint64
	urgent  bool // filling has an item other than a packet, so it does not wait for a tick
	calls   []call
	wake    chan struct{} // has a value if there is work that does not wait for a tick
}

// call is a function that is called behind a number of items of filling. It does not wait for a tick.
type call struct {
	behind int
	f      func(w *worker)
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
}

type workKind uint8

const (
	workPacket workKind = iota
	workJoined          // a connection was made
	workLost            // a connection has ended; its client may come back
	workLeft            // a connection was ended by its client
	workFlood           // a client sends far too many packets
)

const (
	queueBytes = 4 << 20 // bounds the packets that wait for one worker. At 60 bytes each these are 42 000 packets
	itemSize   = 40      // memory of a workItem, which counts against queueBytes
)

func (q *queue) packet(c *conn, payload []byte, at systems.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.filling.bytes)+len(payload)+itemSize*(len(q.filling.list)+1) <= queueBytes {
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
	q.wakeUp()
}

// call queues f and wakes the worker, which calls f after all earlier joins and ends of connections. Earlier packets may still wait
// for a tick.
func (q *queue) call(f func(w *worker)) {
	q.mu.Lock()
	q.calls = append(q.calls, call{len(q.filling.list), f})
	q.mu.Unlock()
	q.wakeUp()
}

func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// swap returns the queued functions and, if they are due or urgent, the queued items. It stores later ones in the two buffers. dropped
// counts the packets that were dropped since items were returned last.
func (q *queue) swap(items workItems, buffer []call, due bool) (filled workItems, calls []call, dropped uint64) {
	items.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	calls, q.calls = q.calls, buffer[:0]
	if !due && !q.urgent {
		return items, calls, 0
	}
	q.urgent = false
	filled, q.filling = q.filling, items
	dropped, q.dropped = q.dropped, 0
	return filled, calls, dropped
}

// grid divides time into steps, at least leastSteps per second. The worker wakes at each step and reads the socket. All rooms are
// computed at every perTick-th step. A wake-up costs as much as five small rooms, because the caches of the processor are cold. At
// leastSteps ticks per second or more, each tick is one step.
type grid struct {
	rate, perTick int64
}

const (
	leastSteps  = 20 // per second
	longestStep = time.Second / leastSteps
)

func newGrid(rate int) grid {
	return grid{rate: int64(rate), perTick: int64((leastSteps + rate - 1) / rate)}
}

// due returns when step n is due.
func (g grid) due(step int64) systems.Time {
	return systems.TickTime(0, ecs.Tick(step), int(g.rate*g.perTick))
}

// last returns the last step that is due at a moment.
func (g grid) last(at systems.Time) int64 {
	per := g.rate * g.perTick
	n := int64(at/systems.Second)*per + int64(at%systems.Second)*per/int64(systems.Second)
	for g.due(n+1) <= at { // both divisions round down
		n++
	}
	return n
}

// tick returns the number of ticks that are due by a step.
func (g grid) tick(step int64) int64 { return step / g.perTick }

// lastTick returns the due time of the last tick that is due at a moment.
func (g grid) lastTick(at systems.Time) systems.Time { return g.due(g.tick(g.last(at)) * g.perTick) }
