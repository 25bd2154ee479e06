package simnet

import "container/heap"

// event is what happens at a time: a packet arrives, a script runs, or a timer or ticker is due. Segments carry no
// payload: the stream holds it until it is acknowledged, which is after it first arrived.
type event struct {
	at  Time
	key uint64 // class and place; the smaller the earlier among events of the same time

	kind    eventKind
	way     *direction // of a packet or a timer
	seq     uint64     // of the segment sent or acknowledged, or whose timer it is; of a tick: the ticker's gen; of a datagram: direction.connection
	want    uint64     // of an acknowledgement: all segments before it arrived
	sent    Time       // of a segment; echoed by its acknowledgement
	payload []byte     // of a datagram
	ticker  *ticker
	script  func()
}

type eventKind uint8

const (
	kindDatagram eventKind = iota
	kindSegment
	kindAck
	kindScript
	kindTimer
	kindTick
)

// Classes of events: at the same time, scripts go before arrivals, arrivals before retransmission timers, and all of
// them before ticks.
const (
	classScript uint64 = iota << 60
	classArrival
	classTimer
	classTick
)

// queue is a heap of events, the earliest first.
type queue []*event

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)   { *q = append(*q, e.(*event)) }

func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].key < q[j].key
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

// push inserts a copy of an event and its payload, and returns it. at is never before now.
func (n *Network) push(at Time, key uint64, e event) *event {
	if len(n.free) == 0 {
		n.free = append(n.free, new(event))
	}
	last := len(n.free) - 1
	pushed := n.free[last]
	n.free = n.free[:last]
	payload := append(pushed.payload[:0], e.payload...)
	*pushed = e
	pushed.at, pushed.key, pushed.payload = at, key, payload
	n.inserted++
	heap.Push(&n.queue, pushed)
	return pushed
}

// release makes an event and its buffer available to push.
func (n *Network) release(e *event) {
	e.script, e.ticker = nil, nil
	n.free = append(n.free, e)
}

func (n *Network) step() {
	n.inside = true
	e := heap.Pop(&n.queue).(*event)
	n.now = e.at
	switch e.kind {
	case kindScript:
		n.trace(traceScript, 0, 0)
		e.script()
		n.release(e)
	case kindTimer:
		n.expire(e.way, e.seq)
		n.release(e)
	case kindTick:
		n.tick(e.ticker, e.seq)
		n.release(e)
	default:
		n.arrive(e)
	}
	n.inside = false
}
