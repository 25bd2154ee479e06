package simnet

import (
	"fmt"
	"time"
)

// NodeID names a node: the count of nodes that were added before it.
type NodeID int32

// Clock is how a node's clock differs from true time. The zero Clock is true.
type Clock struct {
	// Offset is what the clock shows at time zero.
	Offset time.Duration

	// DriftPPM is how many microseconds the clock gains in a second, [-500 000, 1 000 000]: from half to double speed.
	DriftPPM int64
}

const maxHz = 10_000

// node is a process with a clock. While it is paused, packets wait in its inbox and nothing else of it runs; while it
// is down, it has no inbox.
type node struct {
	clock     Clock // Offset includes the steps so far
	paused    int   // pauses that hold now; 0: running
	down      bool
	inbox     []uint32     // packets in order of arrival
	taken     int          // of inbox, how many were processed
	routes    []*direction // by NodeID; some are nil
	onMessage func(from NodeID, ch Channel, payload []byte, now Time)
	onRestart func(keepDisk bool, now Time)
}

// TickerID names what Every started.
type TickerID int32

// ticker calls back at epoch + k·10^9/hz on its node's clock, k ≥ 0, each k at most once and in rising order. gen
// differs from that of every event that must not fire any more.
type ticker struct {
	node  NodeID
	gen   uint32
	epoch Time
	hz    int64
	k     int64
	call  func(k int64, now Time)
}

// AddNode adds a running node and returns its name.
func (n *Network) AddNode(c Clock) NodeID {
	if c.DriftPPM < -500_000 || c.DriftPPM > 1_000_000 {
		panic(fmt.Sprintf("simnet: Clock.DriftPPM is %d; keep it in [-500000, 1000000]", c.DriftPPM))
	}
	n.nodes = append(n.nodes, node{clock: c})
	return NodeID(len(n.nodes) - 1)
}

// OnMessage sets what the node does with a message. payload is valid during the call only; now is what the node's clock
// shows.
func (n *Network) OnMessage(id NodeID, f func(from NodeID, ch Channel, payload []byte, now Time)) {
	n.node(id).onMessage = f
}

// Every calls f on the node's clock at epoch + k·10^9/hz ns for k = 0, 1, …, from the first that is not in the past.
// Integer division keeps rounding from adding up. Ticks are skipped while the node is paused or down and when its clock
// jumps forward. A clock that jumps back delays the next one. hz is in [1, 10 000].
func (n *Network) Every(id NodeID, epoch Time, hz int, f func(k int64, now Time)) TickerID {
	if hz < 1 || hz > maxHz {
		panic(fmt.Sprintf("simnet: a ticker of %d Hz; keep it in [1, %d]", hz, maxHz))
	}
	n.node(id) // panics on a wrong name
	n.tickers = append(n.tickers, ticker{node: id, epoch: epoch, hz: int64(hz), call: f})
	index := len(n.tickers) - 1
	n.schedule(index)
	return TickerID(index)
}

// StopTicks ends a ticker for good.
func (n *Network) StopTicks(id TickerID) {
	t := &n.tickers[id]
	t.gen++
	t.call = nil
}

// LocalNow is what the node's clock shows.
func (n *Network) LocalNow(id NodeID) Time { return n.node(id).local(n.now) }

// StepClock makes the node's clock jump by d, either way.
func (n *Network) StepClock(id NodeID, d time.Duration) {
	n.node(id).clock.Offset += d
	for i := range n.tickers {
		if t := &n.tickers[i]; t.node == id && t.call != nil {
			t.gen++
			n.schedule(i)
		}
	}
}

func (n *Network) tick(e event) {
	t := &n.tickers[e.ref]
	if t.gen != e.gen {
		return
	}
	k := t.k
	t.k++
	if o := &n.nodes[t.node]; o.paused == 0 && !o.down {
		n.trace(traceTick, uint64(e.ref), uint64(k))
		t.call(k, o.local(n.now))
	}
	// The call may have stopped or moved the ticker, or added others.
	if t = &n.tickers[e.ref]; t.gen == e.gen {
		n.schedule(int(e.ref))
	}
}

// schedule files the first grid point from t.k on that is not in the past.
func (n *Network) schedule(index int) {
	t := &n.tickers[index]
	o := &n.nodes[t.node]
	if local := o.local(n.now); t.due(t.k) < local {
		late := int64(local - t.epoch)
		t.k = late/1e9*t.hz + late%1e9*t.hz/1e9
		for t.due(t.k) < local { // at most twice: both divisions round down
			t.k++
		}
	}
	at := max(n.now, o.global(t.due(t.k)))
	n.queue.push(event{at: at, key: classTick | uint64(index), ref: uint32(index), gen: t.gen})
}

func (t *ticker) due(k int64) Time {
	return t.epoch + Time(k/t.hz*1e9+k%t.hz*1e9/t.hz)
}

// local is what the clock shows at true time t ≥ 0.
func (o *node) local(t Time) Time {
	ppm := o.clock.DriftPPM
	gained := int64(t)/1e6*ppm + int64(t)%1e6*ppm/1e6
	return t + o.clock.Offset + Time(gained)
}

// global is the first true time at which the clock shows l or more, not counting jumps to come.
func (o *node) global(l Time) Time {
	x := int64(l - o.clock.Offset)
	speed := 1e6 + o.clock.DriftPPM
	t := max(0, Time(x/speed*1e6+x%speed*1e6/speed))
	for t > 0 && o.local(t-1) >= l { // the estimate is a few ns off at most
		t--
	}
	for o.local(t) < l {
		t++
	}
	return t
}

func (o *node) route(to NodeID) *direction {
	if to < 0 || int(to) >= len(o.routes) {
		return nil
	}
	return o.routes[to]
}

func (o *node) setRoute(d *direction) {
	for len(o.routes) <= int(d.to) {
		o.routes = append(o.routes, nil)
	}
	o.routes[d.to] = d
}
