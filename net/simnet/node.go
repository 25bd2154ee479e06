package simnet

import (
	"fmt"
	"time"
)

// NodeID names a node: the count of nodes that were added before it.
type NodeID int32

// Clock is how a node's clock differs from true time. The zero Clock is true.
type Clock struct {
	Offset   time.Duration // what the clock shows at time zero
	DriftPPM int64         // microseconds that the clock gains in a second, [-500 000, 1 000 000]: from half to double speed
}

const maxHz = 10_000

// node is a process with a clock. While it is paused, packets wait in its inbox and nothing else of it runs; while it
// is down, it has no inbox.
type node struct {
	clock     Clock // Offset includes the steps so far
	paused    int   // pauses that hold now; 0: running
	down      bool
	inbox     []*event // packets in order of arrival
	onMessage func(from NodeID, ch Channel, payload []byte, now Time)
	onRestart func(keepDisk bool, now Time)
}

// TickerID names what Every started.
type TickerID int32

// ticker calls back at epoch + k·10^9/hz on its node's clock, k ≥ 0, each k at most once and in rising order. gen
// differs from that of every event that must not fire any more.
type ticker struct {
	node  *node
	index uint64 // in Network.tickers
	gen   uint64
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
	n.nodes = append(n.nodes, &node{clock: c})
	return NodeID(len(n.nodes) - 1)
}

// OnMessage sets the handler of messages. payload is valid during the call; now is the time on the node's clock.
func (n *Network) OnMessage(id NodeID, f func(from NodeID, ch Channel, payload []byte, now Time)) {
	n.node(id).onMessage = f
}

// Every calls f on the node's clock at epoch + k·10^9/hz ns for k = 0, 1, …, from the first that is not in the past.
// Ticks are skipped while the node is paused or down and when its clock jumps forward. hz is in [1, 10 000].
func (n *Network) Every(id NodeID, epoch Time, hz int, f func(k int64, now Time)) TickerID {
	if hz < 1 || hz > maxHz {
		panic(fmt.Sprintf("simnet: a ticker of %d Hz; keep it in [1, %d]", hz, maxHz))
	}
	t := &ticker{node: n.node(id), index: uint64(len(n.tickers)), epoch: epoch, hz: int64(hz), call: f}
	n.tickers = append(n.tickers, t)
	n.schedule(t)
	return TickerID(t.index)
}

// StopTicks ends a ticker for good.
func (n *Network) StopTicks(id TickerID) {
	t := n.tickers[id]
	t.gen++
	t.call = nil
}

// LocalNow returns the time on the node's clock.
func (n *Network) LocalNow(id NodeID) Time { return n.node(id).local(n.now) }

// StepClock makes the node's clock jump by d, either way.
func (n *Network) StepClock(id NodeID, d time.Duration) {
	o := n.node(id)
	o.clock.Offset += d
	for _, t := range n.tickers {
		if t.node == o && t.call != nil {
			t.gen++
			n.schedule(t)
		}
	}
}

func (n *Network) tick(t *ticker, gen uint64) {
	if t.gen != gen {
		return
	}
	k := t.k
	t.k++
	if t.node.paused == 0 && !t.node.down {
		n.trace(traceTick, t.index, uint64(k))
		t.call(k, t.node.local(n.now))
	}
	if t.gen == gen { // the call has neither stopped nor moved the ticker
		n.schedule(t)
	}
}

// schedule pushes the first grid point from t.k on that is not in the past.
func (n *Network) schedule(t *ticker) {
	if local := t.node.local(n.now); t.due(t.k) < local {
		late := int64(local - t.epoch)
		t.k = late/1e9*t.hz + late%1e9*t.hz/1e9
		for t.due(t.k) < local { // at most twice: both divisions round down
			t.k++
		}
	}
	n.push(max(n.now, t.node.global(t.due(t.k))), classTick|t.index, event{kind: kindTick, ticker: t, seq: t.gen})
}

func (t *ticker) due(k int64) Time {
	return t.epoch + Time(k/t.hz*1e9+k%t.hz*1e9/t.hz)
}

// local returns the time on the clock at true time t ≥ 0.
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
