package rate

import (
	"math/rand/v2"
	"time"
)

const tick = time.Second / 60

// bottleneck is a line with a drop-tail queue that several flows share.
type bottleneck struct {
	rate   float64 // bytes per second
	queue  time.Duration
	delay  time.Duration
	loss   float64
	busy   time.Duration
	random *rand.Rand
}

func newBottleneck(kilobits int, queue time.Duration) *bottleneck {
	return &bottleneck{rate: float64(kilobits) * 125, queue: queue, delay: 25 * time.Millisecond, random: rand.New(rand.NewPCG(3, 5))}
}

// pass returns when a packet arrives. ok is false if it is dropped.
func (b *bottleneck) pass(now time.Duration, bytes int) (at time.Duration, ok bool) {
	b.busy = max(b.busy, now)
	if b.busy-now > b.queue {
		return 0, false
	}
	b.busy += time.Duration(float64(bytes) / b.rate * float64(time.Second))
	return b.busy + b.delay, b.random.Float64() >= b.loss
}

// datagram is a packet under way.
type datagram struct {
	at      time.Duration
	number  uint16
	content bool
	report  []byte
	body    any
}

// peer is one end of a connection over a bottleneck in its direction.
type peer struct {
	Controller
	down  *bottleneck
	way   []datagram    // to the other end
	sends int           // bytes, headers included
	mute  bool          // it sends no reports
	forge func(*report) // changes the reports that it receives
}

func (p *peer) send(body any, bytes int) {
	d := datagram{body: body, content: body != nil}
	if p.ReportDue(body == nil) && !p.mute {
		d.report = p.AppendReport(nil)
		bytes += ReportSize + 2
	}
	if d.report == nil && body == nil {
		return
	}
	p.Charge(bytes)
	p.emit(d, bytes)
}

func (p *peer) emit(d datagram, bytes int) {
	d.number = p.Sent(bytes)
	p.sends += bytes + Header
	at, ok := p.down.pass(p.now, bytes+Header)
	if d.at = at; ok {
		p.way = append(p.way, d)
	}
}

// receive processes the packets that have arrived from the other end.
func (p *peer) receive(from *peer, now time.Duration, body func(any)) {
	rest := from.way[:0]
	for _, d := range from.way {
		if d.at > now {
			rest = append(rest, d)
			continue
		}
		p.Received(d.number, d.content)
		if d.report != nil {
			p.ReceiveReport(d.report)
			if p.forge != nil {
				p.forge(&p.report)
			}
		}
		if d.body != nil {
			body(d.body)
		}
	}
	from.way = rest
	p.Update(now)
}

// A game is a server that sends a client all ticks that are not acknowledged, as relay does.
type game struct {
	server, client peer
	perTick        int // bytes
	bulk           int // bytes of an image that are left
	tokens         float64
	paid           int // bytes sent before this tick

	done, acked, sent int // ticks
	received          int
	image             int           // bytes that arrived
	newer             time.Duration // when it received the last new ticks
	gap, longest      time.Duration // the longest without new ticks, and how far it was behind, since they were reset
	unpaced           bool          // without congestion control
}

type confirmation struct{ first, last int }

func newGame(down, up *bottleneck, perTick int) *game {
	const most = 256 << 10
	return &game{server: peer{Controller: New(most), down: down}, client: peer{Controller: New(most), down: up}, perTick: perTick}
}

// reset begins to measure the longest delays.
func (g *game) reset() { g.gap, g.longest = 0, 0 }

func (g *game) step(now time.Duration) {
	g.server.receive(&g.client, now, func(b any) { g.acked = b.(int) })
	g.client.receive(&g.server, now, func(b any) {
		switch m := b.(type) {
		case confirmation:
			if m.first <= g.received+1 && m.last > g.received {
				g.received, g.gap, g.newer = m.last, max(g.gap, now-g.newer), now
			}
		case int:
			g.image += m
		}
	})
	g.done++
	g.longest = max(g.longest, time.Duration(g.done-g.received)*tick)
	if ready := g.server.Ready(); ready || g.unpaced {
		m := confirmation{first: max(g.acked, g.sent) + 1}
		m.last = min(g.done, m.first+1084/g.perTick-1)
		if g.sent = m.last; m.last == g.done {
			g.sent = 0
		}
		g.server.send(m, 16+g.perTick*(m.last-m.first+1))
	} else {
		g.server.send(nil, 0)
	}
	if g.client.Ready() || g.unpaced {
		g.client.send(g.received, 40)
	} else {
		g.client.send(nil, 0)
	}
	g.sendBulk()
}

// sendBulk sends as much of the image as the rate leaves.
func (g *game) sendBulk() {
	const size = 1150
	income := float64(g.server.Rate()) / 60
	g.tokens = min(g.tokens+max(income-float64(g.server.sends-g.paid), income/8), max(2*size, 6*income))
	for g.bulk > 0 && g.tokens >= size {
		g.tokens -= size + Header
		g.bulk -= size
		g.server.emit(datagram{content: true, body: size}, size)
	}
	g.paid = g.server.sends
}

// reno is a TCP flow with a window of AIMD, which always has data.
type reno struct {
	line      *bottleneck
	window    float64 // packets
	threshold float64
	flight    []ack
	recover   time.Duration // until when the window was halved
	bytes     int           // that arrived
}

type ack struct {
	at   time.Duration
	lost bool
}

func (r *reno) step(now time.Duration) {
	const size = 1500
	rest := r.flight[:0]
	for _, a := range r.flight {
		switch {
		case a.at > now:
			rest = append(rest, a)
		case a.lost && now > r.recover:
			r.window = max(r.window/2, 2)
			r.threshold, r.recover = r.window, now+r.line.queue+2*r.line.delay
		case a.lost:
		case r.window < r.threshold:
			r.bytes += size
			r.window++
		default:
			r.bytes += size
			r.window += 1 / r.window
		}
	}
	r.flight = rest
	for len(r.flight) < int(r.window) {
		at, ok := r.line.pass(now, size)
		if !ok {
			at = now + r.line.queue + r.line.delay
		}
		r.flight = append(r.flight, ack{at + r.line.delay, !ok})
	}
}
