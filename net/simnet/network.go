package simnet

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"tendon/net/wire"
)

// Channel is one of the two channels between two nodes.
type Channel = wire.Channel

// The channels: see package wire.
const (
	Datagram = wire.Datagram
	Reliable = wire.Reliable
)

// Sizes of messages. A datagram is one packet under the payload of netcode. A reliable message is cut into segments as
// KCP would at MTU 1152.
const (
	MaxDatagram = 1200
	MaxMessage  = 64 << 10
)

// Errors of Send. None of them stops the network.
var (
	ErrNoLink   = errors.New("simnet: the two nodes are not connected")
	ErrTooLarge = errors.New("simnet: payload larger than the channel takes")
	ErrFull     = errors.New("simnet: too much is under way on this link")
	ErrDown     = errors.New("simnet: the sending node has crashed")
)

// Config sets up a Network or a DatagramNet. Every value of every field is valid; the bounds are asked for when needed,
// not reserved.
type Config struct {
	// Seed is the root of all that is random. Two networks with the same seed, links and calls do the same to the last
	// bit.
	Seed uint64

	// SocketBuffer is the most packets that wait for a paused node, or for a PacketConn's reader; more are dropped.
	// Zero: 1024.
	SocketBuffer uint32

	// ReliableQueue is the most segments of 1128 bytes that the reliable channel holds in one direction until they are
	// acknowledged; Send refuses more with ErrFull. Zero: 1024. A DatagramNet has no use for it.
	ReliableQueue uint32
}

// Classes of events: at the same time, scripts go before deliveries, deliveries before retransmission timers, and all
// of them before ticks.
const (
	classScript uint64 = iota << 60
	classArrival
	classTimer
	classTick
)

// Network is the message floor: nodes, links between them and one virtual clock. Events happen in the order (time,
// class, insertion), except that ticks of the same time happen in the order in which Every was called.
//
// A Network and all of its callbacks belong to one goroutine. It starts none, reads no clock, and allocates nothing per
// message once its buffers have grown to the size of the traffic.
type Network struct {
	config   Config
	now      Time
	queue    queue
	inserted uint64
	hash     uint64
	inside   bool // an event is being processed
	byLink   bool // arrivals of the same time happen in the order of directions, not of Send

	nodes      []node
	directions []*direction
	tickers    []ticker
	packets    slots[packet]
	scripts    slots[func()]
}

// direction is one way of a link: what carries its packets, its reliable channel and the rules that play tricks on its
// messages.
type direction struct {
	conduit
	stream stream
	rules  []rule
	index  uint32
	from   NodeID
	to     NodeID
	back   *direction
}

// packet is what is under way. Segments carry no payload: the stream holds it until it is acknowledged, which is after
// it first arrived.
type packet struct {
	kind    packetKind
	way     *direction
	sent    Time   // of a segment; echoed by its acknowledgement
	seq     uint64 // of the segment sent or acknowledged
	want    uint64 // of an acknowledgement: all segments before it arrived
	payload []byte // of a datagram
}

type packetKind uint8

const (
	kindDatagram packetKind = iota
	kindSegment
	kindAck
)

// New makes an empty network at time zero.
func New(c Config) *Network {
	c.SocketBuffer = cmp.Or(c.SocketBuffer, 1024)
	c.ReliableQueue = cmp.Or(c.ReliableQueue, 1024)
	return &Network{config: c, hash: mix(c.Seed, 0)}
}

// Connect lays a link between two nodes: p.Up carries what client sends to server, p.Down the other way. It fails on a
// profile out of range and on nodes that are connected.
func (n *Network) Connect(client, server NodeID, p Profile) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if client == server {
		panic("simnet: Connect of a node with itself; connect two nodes")
	}
	a, b := n.node(client), n.node(server)
	if a.route(server) != nil {
		return fmt.Errorf("simnet: nodes %d and %d are connected already; use SetProfile", client, server)
	}
	up, down := n.addDirection(client, server, p.Up), n.addDirection(server, client, p.Down)
	up.back, down.back = down, up
	a.setRoute(up)
	b.setRoute(down)
	return nil
}

func (n *Network) addDirection(from, to NodeID, p Path) *direction {
	d := &direction{
		conduit: newConduit(n.config.Seed, uint64(from), uint64(to)),
		index:   uint32(len(n.directions)), from: from, to: to,
	}
	d.set(p)
	d.stream.rto = firstRTO
	n.directions = append(n.directions, d)
	return d
}

// SetProfile changes a link from now on. Packets in flight arrive as decided when they were sent.
func (n *Network) SetProfile(client, server NodeID, p Profile) error {
	if err := p.Validate(); err != nil {
		return err
	}
	n.direction(client, server).set(p.Up)
	n.direction(server, client).set(p.Down)
	return nil
}

// Reseed gives one direction of a link a seed of its own, so that it meets other luck and every other link meets the
// same. A Walk goes on as it was: it belongs to both directions.
func (n *Network) Reseed(from, to NodeID, seed uint64) {
	n.direction(from, to).reseed(seed)
}

// Counters returns the counters of one direction.
func (n *Network) Counters(from, to NodeID) Counters {
	return n.direction(from, to).Counters
}

// Send gives the network a copy of payload. A nil error says that the channel took it, and for a datagram nothing about
// its arrival.
func (n *Network) Send(from, to NodeID, ch Channel, payload []byte) error {
	sender := n.node(from)
	d := sender.route(to)
	if d == nil {
		return ErrNoLink
	}
	if sender.down {
		return ErrDown
	}
	if ch == Reliable {
		return n.sendReliable(d, payload)
	}
	if len(payload) > MaxDatagram {
		return ErrTooLarge
	}
	if d.inFlight >= maxInFlight {
		return ErrFull
	}
	n.trace(traceSend, uint64(d.index), xxhash.Sum64(payload))
	n.carry(d, len(payload), packet{kind: kindDatagram, payload: payload}, d.judge(ch, payload))
	return nil
}

// carry puts a packet on its way. size is without the IP and UDP headers.
func (n *Network) carry(d *direction, size int, p packet, v verdict) {
	arrivals := d.pass(n.now, size, v)
	if len(arrivals) == 0 {
		n.trace(traceDrop, uint64(d.index), uint64(p.kind))
	}
	p.way = d
	for _, at := range arrivals {
		ref := n.packets.take()
		slot := &n.packets.table[ref]
		buffer := append(slot.payload[:0], p.payload...)
		*slot = p
		slot.payload = buffer
		d.inFlight++
		place := n.inserted
		if n.byLink {
			place = uint64(d.index)<<40 | d.Counters.Packets
		}
		n.inserted++
		n.queue.push(event{at: at, key: classArrival | place, ref: ref})
	}
}

func (n *Network) arrive(ref uint32) {
	d := n.packets.table[ref].way
	to := &n.nodes[d.to]
	d.inFlight--
	switch {
	case to.down:
		d.Counters.Cut++
		n.packets.give(ref)
	case to.paused > 0 && len(to.inbox) >= int(n.config.SocketBuffer):
		d.Counters.Overrun++
		n.packets.give(ref)
	case to.paused > 0:
		to.inbox = append(to.inbox, ref)
	default:
		n.receive(ref)
	}
}

// receive lets a running node process a packet. The slot is given back last: the payload is the handler's until it
// returns.
func (n *Network) receive(ref uint32) {
	p := n.packets.table[ref]
	d := p.way
	d.Counters.Delivered++
	switch p.kind {
	case kindDatagram:
		n.hand(d, Datagram, p.payload)
	case kindSegment:
		n.receiveSegment(d, p)
	case kindAck:
		n.receiveAck(d.back, p)
	}
	n.packets.give(ref)
}

func (n *Network) hand(d *direction, ch Channel, payload []byte) {
	n.trace(traceMessage, uint64(d.index)<<1|uint64(Datagram-ch), xxhash.Sum64(payload)) // lowest bit: 1 if reliable
	to := &n.nodes[d.to]
	if to.onMessage != nil {
		to.onMessage(d.from, ch, payload, to.local(n.now))
	}
}

// Now is the true time, which no node knows. See LocalNow.
func (n *Network) Now() Time { return n.now }

// RunUntil processes all that is due up to and including t, and leaves the clock at t. A t that has passed does
// nothing.
func (n *Network) RunUntil(t Time) {
	if n.inside {
		panic("simnet: RunUntil inside a callback; let the outermost RunUntil process events, and use At for later work")
	}
	for len(n.queue) > 0 && n.queue[0].at <= t {
		n.step()
	}
	n.now = max(n.now, t)
}

func (n *Network) step() {
	n.inside = true
	e := n.queue.pop()
	n.now = e.at
	switch e.key &^ (1<<60 - 1) {
	case classScript:
		call := n.scripts.table[e.ref]
		n.scripts.table[e.ref] = nil
		n.scripts.give(e.ref)
		n.trace(traceScript, 0, 0)
		call()
	case classArrival:
		n.arrive(e.ref)
	case classTimer:
		n.expire(n.directions[e.ref], e.gen)
	case classTick:
		n.tick(e)
	}
	n.inside = false
}

// push files an event; at is never before now.
func (n *Network) push(at Time, class uint64, ref, gen uint32) {
	n.queue.push(event{at: at, key: class | n.inserted, ref: ref, gen: gen})
	n.inserted++
}

// Kinds of events in the trace hash.
const (
	traceSend uint64 = iota + 1
	traceDrop
	traceMessage
	traceTick
	traceScript
	traceCrash
)

func (n *Network) trace(kind, about, content uint64) {
	h := n.hash
	h = (h ^ uint64(n.now)) * 0x9e3779b97f4a7c15
	h = (bits.RotateLeft64(h, 29) ^ kind<<56 ^ about) * 0xbf58476d1ce4e5b9
	h = (bits.RotateLeft64(h, 31) ^ content) * 0x94d049bb133111eb
	n.hash = h ^ h>>32
}

// TraceHash is a hash of all that happened so far: what was sent, lost and handed over, when, with which content, and
// every tick. Runs that differ in it differ.
func (n *Network) TraceHash() uint64 { return n.hash }

func (n *Network) node(id NodeID) *node {
	if id < 0 || int(id) >= len(n.nodes) {
		panic(fmt.Sprintf("simnet: there is no node %d; pass what AddNode returned", id))
	}
	return &n.nodes[id]
}

func (n *Network) direction(from, to NodeID) *direction {
	d := n.node(from).route(to)
	if d == nil {
		panic(fmt.Sprintf("simnet: nodes %d and %d are not connected; call Connect first", from, to))
	}
	return d
}
