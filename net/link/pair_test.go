package link

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tendon/net/wire"
)

// Importing kcp-go starts scheduler goroutines that never end. The core does not use them. No other goroutine may be left.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).sched"),
		goleak.IgnoreAnyFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).prepend"))
}

const tick = time.Second / 60

// A pair is two links with a seeded bad network between them. It must run in a synctest bubble: its ticks advance the clock
// of the bubble, which the KCP core reads, and the time passed to Flush.
type pair struct {
	t      testing.TB
	ends   [2]*Link
	ways   [2][]travelling // packets under way to each end
	now    time.Duration
	random *rand.Rand

	delay, jitter time.Duration // one way; jitter reorders
	loss, double  float64       // probability of each packet
	flip          float64       // probability that a copy with one changed bit arrives too
	bandwidth     int           // bytes per second each way, with a queue of a second; 0: unlimited
	busy          [2]time.Duration

	sent     [2]int // bytes by the end that sent them
	packets  [2]int // by the end, in the last tick
	received [2][]message
	emitted  func(packet []byte) // receives each packet that is sent; optional
}

type travelling struct {
	due    time.Duration
	packet []byte
}

type message struct {
	channel wire.Channel
	bytes   []byte
}

func newPair(t testing.TB) *pair {
	p := &pair{t: t, random: rand.New(rand.NewPCG(7, 11)), delay: 50 * time.Millisecond}
	for i := range p.ends {
		p.ends[i] = New()
	}
	return p
}

// withTimeout sets the timeout of both links.
func (p *pair) withTimeout(d time.Duration) *pair {
	p.ends[0].timeout, p.ends[1].timeout = d, d
	return p
}

// step runs one tick: deliveries, then both Flushes. It collects the received messages for take.
func (p *pair) step() { p.pass(true) }

func (p *pair) pass(collect bool) {
	time.Sleep(tick)
	p.now += tick
	for to, l := range p.ends {
		kept := p.ways[to][:0]
		var due []travelling
		for _, f := range p.ways[to] {
			if f.due <= p.now {
				due = append(due, f)
			} else {
				kept = append(kept, f)
			}
		}
		p.ways[to] = kept
		for _, f := range due {
			l.Receive(f.packet)
		}
		for collect {
			channel, m, ok := l.Next()
			if !ok {
				break
			}
			p.received[to] = append(p.received[to], message{channel, bytes.Clone(m)})
		}
	}
	for from, l := range p.ends {
		p.packets[from] = 0
		l.Flush(p.now, func(packet []byte) {
			if len(packet) > l.PacketLimit() {
				p.t.Fatalf("a packet of %d bytes", len(packet))
			}
			p.sent[from] += len(packet)
			p.packets[from]++
			if p.emitted != nil {
				p.emitted(packet)
			}
			p.carry(1-from, packet)
		})
	}
}

func (p *pair) carry(to int, packet []byte) {
	copies := 1
	if p.random.Float64() < p.loss {
		copies = 0
	}
	if p.random.Float64() < p.double {
		copies++
	}
	for range copies {
		p.launch(to, bytes.Clone(packet))
	}
	if p.random.Float64() < p.flip {
		b := bytes.Clone(packet)
		b[p.random.IntN(len(b))] ^= 1 << p.random.IntN(8)
		p.launch(to, b)
	}
}

func (p *pair) launch(to int, packet []byte) {
	start := p.now
	if p.bandwidth > 0 {
		if p.busy[to] > p.now+time.Second {
			return
		}
		start = max(p.busy[to], p.now) + time.Second*time.Duration(len(packet)+50)/time.Duration(p.bandwidth)
		p.busy[to] = start
	}
	due := start + p.delay
	if p.jitter > 0 {
		due += time.Duration(p.random.Int64N(int64(p.jitter)))
	}
	p.ways[to] = append(p.ways[to], travelling{due, packet})
}

// take returns the messages that an end received on a channel.
func (p *pair) take(end int, channel wire.Channel) (out [][]byte) {
	rest := p.received[end][:0]
	for _, m := range p.received[end] {
		if m.channel == channel {
			out = append(out, m.bytes)
		} else {
			rest = append(rest, m)
		}
	}
	p.received[end] = rest
	return out
}

// numbered makes a message whose bytes follow from its number.
func numbered(n, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(n*31 + i*7)
	}
	binary.LittleEndian.PutUint32(b, uint32(n))
	return b
}
