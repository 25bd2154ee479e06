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

// MaxMessage is the largest message of the reliable channel, in bytes. It is cut into segments as KCP would. A datagram is one
// packet, of at most MaxPacket bytes.
const MaxMessage = 64 << 10

// Errors of Send. None of them stops the network.
var (
	ErrNoLink   = errors.New("simnet: the two nodes are not connected")
	ErrTooLarge = errors.New("simnet: payload larger than the channel takes")
	ErrFull     = errors.New("simnet: too much is under way on this link")
	ErrDown     = errors.New("simnet: the sending node has crashed")
)

// Config sets up a Network or a DatagramNet. Every value of every field is valid.
type Config struct {
	// Seed is the root of all that is random.
	Seed uint64
	// SocketBuffer is the most packets that wait for a paused node, or for a PacketConn's reader; more are dropped.
	// Zero: 1024.
	SocketBuffer uint32
	// ReliableQueue is the most segments of 1128 bytes that the reliable channel holds in one direction until they are
	// acknowledged; Send refuses more with ErrFull. Zero: 1024.
	ReliableQueue uint32
}

// Network carries messages between nodes, in virtual time. Events happen in the order (time, class, insertion), except that
// ticks of the same time happen in the order in which Every was called.
//
// A Network and its callbacks belong to one goroutine. It reads no clock, and allocates nothing per message once its
// buffers have grown.
type Network struct {
	config   Config
	now      Time
	queue    queue
	free     []*event // with their buffers, for push
	inserted uint64
	hash     uint64
	inside   bool // an event is being processed
	byLink   bool // arrivals of the same time happen in the order of directions, not of Send
	prefix   int  // bytes at the beginning of a datagram that no corruption reaches

	nodes      []*node
	tickers    []*ticker
	directions []*direction     // in the order of Connect
	lines      map[string]*line // by Path.Line
	routes     map[[2]NodeID]*direction
}

// direction is one way of a link.
type direction struct {
	conduit
	stream stream
	rules  []rule
	index  uint64
	from   NodeID
	to     NodeID
	back   *direction

	connection uint64 // counts Reconnect
}

// New makes an empty network at time zero.
func New(c Config) *Network {
	c.SocketBuffer = cmp.Or(c.SocketBuffer, 1024)
	c.ReliableQueue = cmp.Or(c.ReliableQueue, 1024)
	return &Network{config: c, hash: mix(c.Seed, 0), routes: map[[2]NodeID]*direction{}, lines: map[string]*line{}}
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
	n.node(client) // panics on a wrong name
	n.node(server)
	if n.route(client, server) != nil {
		return fmt.Errorf("simnet: nodes %d and %d are connected already; use SetProfile", client, server)
	}
	up, down := n.addDirection(client, server, p.Up), n.addDirection(server, client, p.Down)
	up.back, down.back = down, up
	return nil
}

func (n *Network) addDirection(from, to NodeID, p Path) *direction {
	d := &direction{
		conduit: newConduit(n.config.Seed, uint64(from), uint64(to)),
		index:   uint64(len(n.directions)), from: from, to: to,
	}
	d.set(n.now, p, n.shared(&p))
	d.stream.rto = firstRTO
	n.directions = append(n.directions, d)
	n.routes[[2]NodeID{from, to}] = d
	return d
}

// SetProfile changes a link from now on. Packets in flight arrive as decided when they were sent.
func (n *Network) SetProfile(client, server NodeID, p Profile) error {
	if err := p.Validate(); err != nil {
		return err
	}
	n.direction(client, server).set(n.now, p.Up, n.shared(&p.Up))
	n.direction(server, client).set(n.now, p.Down, n.shared(&p.Down))
	return nil
}

// Counters returns the counters of one direction.
func (n *Network) Counters(from, to NodeID) Counters {
	return n.direction(from, to).Counters
}

// Send sends a copy of payload. A datagram that the network accepts may still be lost.
func (n *Network) Send(from, to NodeID, ch Channel, payload []byte) error {
	d := n.route(from, to)
	if d == nil {
		return ErrNoLink
	}
	if n.nodes[from].down {
		return ErrDown
	}
	if ch == Reliable {
		return n.sendReliable(d, payload)
	}
	if len(payload) > MaxPacket {
		return ErrTooLarge
	}
	if d.inFlight >= maxInFlight {
		return ErrFull
	}
	n.trace(traceSend, d.index, xxhash.Sum64(payload))
	n.carry(d, len(payload), event{kind: kindDatagram, seq: d.connection, payload: payload}, d.judge(ch, payload))
	return nil
}

// carry puts a packet on its way. size is without the IP and UDP headers.
func (n *Network) carry(d *direction, size int, packet event, v verdict) {
	arrivals := d.pass(n.now, size, v)
	if len(arrivals) == 0 {
		n.trace(traceDrop, d.index, uint64(packet.kind))
	}
	packet.way = d
	for _, at := range arrivals {
		flip := d.dice.hit(d.path.Corrupt)
		if flip {
			d.Counters.Corrupted++
			if len(packet.payload) == n.prefix {
				continue // a segment or an acknowledgement, whose checksum fails, or an empty datagram
			}
		}
		d.inFlight++
		place := n.inserted
		if n.byLink {
			place = d.index<<40 | d.Counters.Packets
		}
		pushed := n.push(at, classArrival|place, packet)
		if flip {
			bit := d.dice.below(uint64(8 * (len(packet.payload) - n.prefix)))
			pushed.payload[n.prefix+int(bit/8)] ^= 1 << (bit % 8)
		}
	}
}

// arrive lets a running node process a packet. Other packets wait in the inbox or are dropped.
func (n *Network) arrive(e *event) {
	d, to := e.way, n.nodes[e.way.to]
	d.inFlight--
	switch {
	case to.down:
		d.Counters.Cut++
		n.release(e)
	case to.paused == 0:
		n.receive(e)
	case len(to.inbox) >= int(n.config.SocketBuffer):
		d.Counters.Overrun++
		n.release(e)
	default:
		to.inbox = append(to.inbox, e)
	}
}

// receive processes a packet. It is released last: the payload is the handler's until it returns.
func (n *Network) receive(e *event) {
	if e.kind == kindDatagram && e.seq != e.way.connection {
		e.way.Counters.Discarded++
		n.release(e)
		return
	}
	e.way.Counters.Delivered++
	switch e.kind {
	case kindDatagram:
		n.hand(e.way, Datagram, e.payload)
	case kindSegment:
		n.receiveSegment(e.way, e.seq, e.sent)
	case kindAck:
		n.receiveAck(e.way.back, e)
	}
	n.release(e)
}

func (n *Network) hand(d *direction, ch Channel, payload []byte) {
	n.trace(traceMessage, d.index<<1|uint64(Datagram-ch), xxhash.Sum64(payload)) // lowest bit: 1 if reliable
	to := n.nodes[d.to]
	if to.onMessage != nil {
		to.onMessage(d.from, ch, payload, to.local(n.now))
	}
}

// Now returns the true time, which may differ from every node's clock. See LocalNow.
func (n *Network) Now() Time { return n.now }

// RunUntil processes all that is due up to and including t, and leaves the clock at t, unless t has passed.
func (n *Network) RunUntil(t Time) {
	if n.inside {
		panic("simnet: RunUntil inside a callback; let the outermost RunUntil process events, and use At for later work")
	}
	for len(n.queue) > 0 && n.queue[0].at <= t {
		n.step()
	}
	n.now = max(n.now, t)
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

// TraceHash returns a hash of all events so far: each message sent, lost or received, with its time and content, and every
// tick.
func (n *Network) TraceHash() uint64 { return n.hash }

func (n *Network) node(id NodeID) *node {
	if id < 0 || int(id) >= len(n.nodes) {
		panic(fmt.Sprintf("simnet: there is no node %d; pass what AddNode returned", id))
	}
	return n.nodes[id]
}

// route returns the direction between two nodes, or nil.
func (n *Network) route(from, to NodeID) *direction { return n.routes[[2]NodeID{from, to}] }

func (n *Network) direction(from, to NodeID) *direction {
	d := n.route(from, to)
	if d == nil {
		panic(fmt.Sprintf("simnet: nodes %d and %d are not connected; call Connect first", from, to))
	}
	return d
}
