package simnet

import "time"

// Rule drops, duplicates or delays chosen messages of one direction. For a reliable message it applies to the first
// sending only; the timer then brings it.
type Rule struct {
	Match     func(ch Channel, payload []byte) bool // chooses messages; it must not keep the payload. Optional: all
	Nth       int                                   // first matching message concerned, from 1. Zero: the first
	Count     int                                   // how many matching messages are concerned. Zero: one
	Drop      bool                                  // lose it
	Duplicate bool                                  // let it arrive twice
	Delay     time.Duration                         // let it arrive later by this, ≥ 0
}

type rule struct {
	Rule
	seen int
}

// verdict is the effect of the rules of a direction on one message.
type verdict struct {
	drop, twin bool
	delay      time.Duration
}

// Script adds a rule to one direction of a link. Rules add up.
func (n *Network) Script(from, to NodeID, r Rule) {
	if r.Delay < 0 || r.Nth < 0 || r.Count < 0 {
		panic("simnet: a Rule with a negative Nth, Count or Delay; time does not run backwards")
	}
	r.Nth, r.Count = max(1, r.Nth), max(1, r.Count)
	d := n.direction(from, to)
	d.rules = append(d.rules, rule{Rule: r})
}

func (d *direction) judge(ch Channel, payload []byte) (v verdict) {
	for i := range d.rules {
		r := &d.rules[i]
		if r.Match != nil && !r.Match(ch, payload) {
			continue
		}
		r.seen++
		if r.seen < r.Nth || r.seen-r.Nth >= r.Count {
			continue
		}
		v.drop = v.drop || r.Drop
		v.twin = v.twin || r.Duplicate
		v.delay += r.Delay
	}
	return v
}

// At calls f at true time t, before anything else that is due then. A t that has passed means now.
func (n *Network) At(t Time, f func()) {
	n.push(max(t, n.now), classScript|n.inserted, event{kind: kindScript, script: f})
}

// during runs start at t0, at once if that has passed, and end at t1. An empty interval does nothing.
func (n *Network) during(t0, t1 Time, start, end func()) {
	if t1 <= max(t0, n.now) {
		return
	}
	if t0 <= n.now {
		start()
	} else {
		n.At(t0, start)
	}
	n.At(t1, end)
}

// Cut loses everything that is sent one way in [t0, t1). Packets in flight at t0 still arrive.
func (n *Network) Cut(from, to NodeID, t0, t1 Time) {
	d := n.direction(from, to)
	n.during(t0, t1, func() { d.blocked++ }, func() { d.blocked-- })
}

// Partition cuts a link both ways in [t0, t1).
func (n *Network) Partition(a, b NodeID, t0, t1 Time) {
	n.Cut(a, b, t0, t1)
	n.Cut(b, a, t0, t1)
}

// Pause stops a node in [t0, t1): its clock goes on, and packets wait in its socket buffer, which it processes at t1.
func (n *Network) Pause(id NodeID, t0, t1 Time) {
	o := n.node(id)
	n.during(t0, t1, func() { o.paused++ }, func() {
		if o.paused--; o.paused == 0 {
			n.wake(id)
		}
	})
}

// wake lets a node process its inbox, then its timers. A handler may crash the node, which empties the inbox; nothing
// adds to the inbox of a running node.
func (n *Network) wake(id NodeID) {
	for o := n.nodes[id]; len(o.inbox) > 0; {
		e := o.inbox[0]
		o.inbox = o.inbox[1:]
		n.receive(e)
	}
	for _, d := range n.directions {
		if d.from == id {
			n.expireHeld(d)
		}
	}
}

// Crash stops a node at once. Waiting and arriving messages are lost, and the reliable channels of all of its links are
// reset on both ends. A node that is down stays so.
func (n *Network) Crash(id NodeID) {
	o := n.node(id)
	if o.down {
		return
	}
	n.trace(traceCrash, uint64(id), 0)
	o.down = true
	for _, e := range o.inbox {
		n.release(e)
	}
	o.inbox = nil
	n.resetLinks(id)
}

// Restart starts a node again, which is crashed first if it is not down. It keeps its handlers and tickers, and its
// reliable channels are new on both ends. OnRestart receives whether the disk survived.
func (n *Network) Restart(id NodeID, keepDisk bool) {
	n.Crash(id)
	n.trace(traceCrash, uint64(id), 1)
	o := n.node(id)
	o.down = false
	n.resetLinks(id)
	if o.onRestart != nil {
		o.onRestart(keepDisk, o.local(n.now))
	}
}

// OnRestart sets what happens when the node runs again.
func (n *Network) OnRestart(id NodeID, f func(keepDisk bool, now Time)) { n.node(id).onRestart = f }

func (n *Network) resetLinks(id NodeID) {
	for _, d := range n.directions {
		if d.from == id {
			n.resetStreams(d)
		}
	}
}

// Reconnect resets the reliable channels of a link both ways, as a new connection does. Datagrams that are under way are
// dropped when they arrive, as their receiver has the keys of the new connection.
func (n *Network) Reconnect(a, b NodeID) {
	d := n.direction(a, b)
	d.connection++
	d.back.connection++
	n.resetStreams(d)
}

func (n *Network) resetStreams(d *direction) {
	d.Counters.Discarded += d.stream.reset()
	d.back.Counters.Discarded += d.back.stream.reset()
}
