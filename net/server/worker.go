package server

import (
	"sync"
	"time"

	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
)

// worker computes some of the rooms on one goroutine. Its grid is finer than a tick: step n is due at n/(rate·phases)
// seconds, and the rooms of phase n mod phases tick in it. So the rooms of a worker take turns within each tick, the
// worker wakes at most a few hundred times a second however many rooms it has, and many packets leave together.
//
// A turn is: take what arrived, compute the rooms that are due, send. It takes no lock but to swap the inbox and, when
// the ticks are over, to seal.
type worker struct {
	number int
	config *Config
	port   *port
	inbox  inbox
	arrivals
	receiver receiver
	sender   sender
	log      *lines
	rooms    int // places assigned; under the port's lock

	phases  int
	hosts   [][]*host // by phase
	step    int64     // the last that was done
	emptied letters
	out     outgoing
	sealed  netcode.Outbox

	conn    *conn        // whose packets emit takes
	emit    func([]byte) // w.take, bound once
	gone    func(systems.Peer, error)
	current *host  // whose peers gone is told of
	stopped func() // wants to be told that the rooms are closed; nil: they are not to be
	stopBy  time.Time
	counts  workerCounts
	ended   room.Stats // of the rooms that are over
	now     time.Time  // of the turn

	published
}

// workerCounts counts what only a worker sees.
type workerCounts struct {
	turns, late uint64 // late: turns that began more than a tick after they were due
	lost        uint64 // packets that the inbox had no room for
	unsent      uint64 // packets that the system did not take
	malformed   uint64 // packets that the link refused
	packetsOut  uint64
	bytesOut    uint64
}

// stepTime is about how long a step of the grid is.
const stepTime = 4 * time.Millisecond

func newWorker(number int, c *Config, p *port, socket endpoint, log *lines) *worker {
	w := &worker{number: number, config: c, port: p, receiver: newReceiver(socket), sender: newSender(socket), log: log}
	w.inbox.wake = make(chan struct{}, 1)
	w.phases = max(1, int(time.Second/stepTime)/c.rate())
	w.hosts = make([][]*host, w.phases)
	w.emit = func(packet []byte) { w.out.add(w.conn, packet) }
	w.gone = w.dismiss
	return w
}

// due is when a step is due.
func (w *worker) due(step int64) systems.Time {
	per := int64(w.config.rate() * w.phases)
	return systems.Time(step/per)*systems.Second + systems.Time(step%per)*systems.Second/systems.Time(per)
}

// last returns the last step that is due by a moment.
func (w *worker) last(at systems.Time) int64 {
	per := int64(w.config.rate() * w.phases)
	n := int64(at/systems.Second)*per + int64(at%systems.Second)*per/int64(systems.Second)
	for w.due(n+1) <= at { // both divisions round down
		n++
	}
	return n
}

// phase returns which rooms a step is for.
func (w *worker) phase(step int64) int {
	n := int64(w.phases)
	return int((step%n + n) % n)
}

// next returns the next step if there are rooms at all. Steps without a room are worth their while, since the socket is
// read in them: packets wait for a step at most, and come in batches.
func (w *worker) next() (step int64, ok bool) {
	for _, hosts := range w.hosts {
		if len(hosts) > 0 {
			return w.step + 1, true
		}
	}
	return 0, false
}

// run works until the rooms are closed and stop is. It is the worker's goroutine.
func (w *worker) run(done *sync.WaitGroup, stop <-chan struct{}) {
	defer done.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-w.inbox.wake:
		case <-timer.C:
		}
		now := time.Now()
		w.turn(now)
		if n, ok := w.next(); ok {
			timer.Reset(time.Duration(w.due(n) - w.port.at(time.Now())))
		}
	}
}

// turn does everything that is due.
func (w *worker) turn(now time.Time) {
	w.counts.turns++
	at := w.port.at(now)
	w.now = now
	w.poll()
	w.deliver()
	w.compute(at)
	if !w.out.empty() {
		w.port.seal(&w.out, &w.sealed, now)
		w.counts.packetsOut += uint64(w.sealed.Len())
		w.counts.bytesOut += uint64(w.sealed.Bytes())
		w.counts.unsent += uint64(w.sender.send(&w.sealed))
		w.sealed.Reset()
		w.out.reset()
	}
	if at >= w.published.next {
		w.publish(at)
	}
	w.stopping()
}

// poll reads the socket right before the ticks, so that they miss nothing that is there, and the reader may sleep.
func (w *worker) poll() {
	for range pollBatches {
		if !w.receiver.poll(&w.arrivals) {
			return
		}
		if w.arrivals.count > 0 {
			w.port.receive(&w.arrivals, &w.sealed, w.now)
		}
		if w.arrivals.pause {
			break
		}
	}
	if _, more := w.next(); more {
		w.port.polled.Store(int64(w.port.at(w.now)))
	}
	if w.sealed.Len() > 0 { // answers to those who come
		w.counts.unsent += uint64(w.sender.send(&w.sealed))
		w.sealed.Reset()
	}
}

// pollBatches bounds what a worker reads in one turn, for it has ticks to compute: the reader takes the rest.
const pollBatches = 16

// deliver hands what arrived to the rooms.
func (w *worker) deliver() {
	filled, lost := w.inbox.take(w.emptied)
	w.counts.lost += lost
	for i := range filled.list {
		l := &filled.list[i]
		switch l.kind {
		case letterPacket:
			w.packet(l.conn, filled.bytes[l.from:l.to], l.at)
		case letterJoined:
			w.join(l.conn, l.at)
		case letterGone, letterLeft:
			w.leave(l.conn, l.kind == letterLeft, l.at)
		case letterCall:
			l.call(w)
		}
	}
	w.emptied = filled
}

// packet takes one opened payload through a connection's link to its room.
func (w *worker) packet(c *conn, payload []byte, at systems.Time) {
	if c.link == nil {
		return // it was refused, or dropped a moment ago
	}
	c.stirred = true
	if c.link.Receive(payload) != nil {
		w.counts.malformed++
		return
	}
	h := c.place.host
	for ch, message, ok := c.link.Next(); ok; ch, message, ok = c.link.Next() {
		h.room.Receive(c.peer, ch, message, at)
	}
}

// compute lets the rooms that are due tick, each once: a room makes up for what was missed by itself.
func (w *worker) compute(at systems.Time) {
	last := w.last(at)
	for n := max(w.step+1, last-int64(w.phases)+1); n <= last; n++ {
		hosts := w.hosts[w.phase(n)]
		if len(hosts) > 0 && at-w.due(n) > systems.Second/systems.Time(w.config.rate()) {
			w.counts.late++
		}
		for _, h := range hosts {
			w.frame(h, at)
		}
	}
	w.step = max(w.step, last)
}
