package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/link"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
)

// hostile is a client with a valid token that violates the protocols above netcode.
type hostile struct {
	netcode.Client
	w       *world
	socket  *simnet.PacketConn
	arrived chan []byte
	out     netcode.Outbox
	link    *link.Link
}

func (w *world) hostile(id uint64, roomName string) *hostile {
	w.t.Helper()
	w.hosts++
	host := netip.AddrFrom4([4]byte{10, 2, byte(w.hosts >> 8), byte(w.hosts)})
	if err := w.net.Route(host, serverHost, w.profile); err != nil {
		w.t.Fatal(err)
	}
	socket, err := w.net.Listen(netip.AddrPortFrom(host, 0))
	if err != nil {
		w.t.Fatal(err)
	}
	v := &hostile{w: w, socket: socket, arrived: make(chan []byte, 1000)}
	go func() {
		var b [2048]byte
		for n, _, err := socket.ReadFromUDPAddrPort(b[:]); err == nil; n, _, err = socket.ReadFromUDPAddrPort(b[:]) {
			v.arrived <- bytes.Clone(b[:n])
		}
	}()
	if err := v.Connect(w.mint(w.ticket(id, roomName)), time.Now()); err != nil {
		w.t.Fatal(err)
	}
	v.link = link.New()
	return v
}

// frame receives the packets that have arrived and drops their payloads.
func (v *hostile) frame() {
	synctest.Wait()
	for len(v.arrived) > 0 {
		v.Receive(<-v.arrived, serverAddr, time.Now())
	}
	v.Update(&v.out, time.Now())
	v.write()
}

func (v *hostile) write() {
	for i := range v.out.Len() {
		to, packet := v.out.At(i)
		v.socket.WriteToUDPAddrPort(packet, to)
	}
	v.out.Reset()
}

// flush sends the packets of the link.
func (v *hostile) flush() {
	v.link.Flush(time.Duration(time.Now().UnixNano()), func(p []byte) { _ = v.Send(&v.out, p, time.Now()) })
	v.write()
}

// Fifty clients send twenty times as much as a player. Packets above the rate limit are counted and dropped. The two players
// are not affected, and no tick is late.
func TestAFloodOfInputsIsCountedAndDroppedAndNoTickIsSkipped(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Room.MaxPeers = 60 }, func(w *world) {
		a, b := w.pair(5 * time.Second)
		var hostiles []*hostile
		for i := range 50 {
			hostiles = append(hostiles, w.hostile(uint64(100+i), "duel"))
		}
		const seconds, perFrame = 2, 20 * 30 / 60 // after 10 s at twice the limit they would be expelled
		junk := make([]byte, 60)
		sent := 0
		for range 60 * seconds {
			w.pass(time.Second / 60)
			for i, v := range hostiles {
				v.frame()
				for range perFrame {
					for j := range junk {
						junk[j] = byte(i * j * sent)
					}
					if v.Send(&v.out, junk, time.Now()) == nil {
						sent++
					}
				}
				v.write()
			}
		}
		w.pass(time.Second)
		st := w.server.Stats()
		if sent < 50*seconds*500 || st.PacketsFlood < uint64(sent)*2/3 || st.PacketsFlood > uint64(sent) {
			t.Errorf("%d sent, %d counted as flood", sent, st.PacketsFlood)
		}
		w.do("duel", func(r *room.Room) {
			s := r.Stats()
			if want := ecs.Tick(30 * seconds); s.Tick < want || s.Late != 0 || s.Deferred != 0 || s.Players != 2 {
				t.Errorf("room: %+v", s)
			}
		})
		if !w.live(a, b)() || st.LateTurns != 0 || a.Stats().Strategy.Stalls > 5 {
			t.Errorf("a %v, b %v, %d late turns, %d stalls", a.State(), b.State(), st.LateTurns, a.Stats().Strategy.Stalls)
		}
	})
}

// A peer that acknowledges nothing costs bounded memory, delays no tick, and is dropped in time.
func TestASlowReaderIsBoundedAndDropped(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, w.live(a))
		v := w.hostile(2, "duel")
		for range 60 {
			w.pass(time.Second / 60)
			v.frame()
		}
		// After a valid Hello the server sends the image. The peer acknowledges nothing.
		hello := &transportOf{v.link}
		session.NewClient(session.Hello{Fingerprint: w.game.Fingerprint()}, 0, hello, 0)
		v.flush()
		worst, gone := 0, time.Duration(0)
		for i := range 60 * 12 {
			w.pass(time.Second / 60)
			v.frame()
			w.do("duel", func(r *room.Room) {
				for n := range 30 {
					r.Notice(n, "a text that fills the queue: "+longText)
				}
			})
			_ = w.server.hosted(context.Background(), "duel", func(_ *worker, h *hostedRoom) error {
				for _, c := range h.conns {
					if c != nil && c.client == 2 {
						worst = max(worst, c.link.Pending())
					}
				}
				return nil
			})
			if w.server.Stats().Clients == 1 && gone == 0 {
				gone = time.Duration(i) * time.Second / 60
			}
		}
		if worst == 0 || worst > 512<<10 || gone == 0 || gone > 8*time.Second {
			t.Errorf("at most %d bytes waited, gone after %v", worst, gone)
		}
		w.do("duel", func(r *room.Room) {
			if s := r.Stats(); s.Late != 0 || s.Players != 1 {
				t.Errorf("room: %+v", s)
			}
		})
	})
}

// A client of protocol 3 receives the refusal of its version. Its packets begin with one byte instead of a number.
func TestAClientOfAnOlderProtocolReceivesWhyItIsRefused(t *testing.T) {
	inBubble(t, "P2", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, w.live(a))
		v := w.hostile(2, "duel")
		old := session.NewClient(session.Hello{Fingerprint: w.game.Fingerprint()}, 0, &transportOf{v.link}, 0)
		w.until("refused", 3*time.Second, func() bool {
			synctest.Wait()
			for len(v.arrived) > 0 {
				if packet := v.Receive(<-v.arrived, serverAddr, time.Now()); len(packet) > 0 {
					_ = v.link.Receive(append([]byte{0}, packet...))
				}
			}
			v.Update(&v.out, time.Now())
			v.link.Flush(time.Duration(time.Now().UnixNano()), func(p []byte) { _ = v.Send(&v.out, p[1:], time.Now()) })
			v.write()
			for ch, message, ok := v.link.Next(); ok; ch, message, ok = v.link.Next() {
				old.Receive(ch, message, 0)
			}
			return old.Err() != nil
		})
		if !errors.Is(old.Err(), &session.Error{Code: session.CodeVersion}) {
			t.Errorf("the client received %v", old.Err())
		}
		w.until("its place is free", 3*time.Second, func() bool { return w.server.Stats().Clients == 1 })
	})
}

const longText = "................................................................................................"

type transportOf struct{ *link.Link }

func (t *transportOf) Send(ch systems.Channel, m []byte) error { return t.Link.Send(wire.Reliable, m) }
func (t *transportOf) Room() int                               { return 1 << 16 }

// A peer that sends messages and acknowledges nothing is dropped by the timeout of its link.
func TestAPeerThatAcknowledgesNothingIsDropped(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, w.live(a))
		v := w.hostile(2, "duel")
		for range 60 {
			w.pass(time.Second / 60)
			v.frame()
		}
		session.NewClient(session.Hello{Fingerprint: w.game.Fingerprint()}, 0, &transportOf{v.link}, 0)
		v.flush()
		start := time.Now()
		for i := 0; w.server.Stats().Clients == 2 && time.Since(start) < 15*time.Second; i++ {
			w.pass(time.Second / 60)
			v.frame()
			if i%120 == 0 {
				packet := []byte{0, 0, 1, 1, 200} // a datagram of one byte that is no message: received, and malformed
				_ = v.Send(&v.out, packet, time.Now())
				v.write()
			}
		}
		if took := time.Since(start); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("dropped after %v", took)
		}
	})
}

// The packets that wait for a worker are bounded. Ends of connections are kept beyond the bound.
func TestAQueueIsBounded(t *testing.T) {
	b := queue{wake: make(chan struct{}, 1)}
	payload := make([]byte, netcode.MaxPayload)
	const sent = 2 * queueBytes / netcode.MaxPayload
	for range sent {
		b.packet(nil, payload, 0)
	}
	b.add(workItem{kind: workLost})
	filled, _, lost := b.swap(workItems{}, nil, true)
	if n := len(filled.list); len(filled.bytes) > queueBytes || n-1+int(lost) != sent || filled.list[n-1].kind != workLost || len(b.wake) != 1 {
		t.Errorf("%d bytes in %d items, %d dropped", len(filled.bytes), n, lost)
	}
	if filled, _, lost = b.swap(filled, nil, true); len(filled.list) != 0 || lost != 0 {
		t.Errorf("%d items, %d dropped after the swap", len(filled.list), lost)
	}
	for range queueBytes { // the entries of small packets are larger than the packets
		b.packet(nil, payload[:1], 0)
	}
	if filled, _, lost = b.swap(filled, nil, true); len(filled.list) != queueBytes/(itemSize+1) || len(filled.list)+int(lost) != queueBytes {
		t.Errorf("%d small packets are kept, %d dropped", len(filled.list), lost)
	}
}

// After a lost connection the place is free after the timeout of the token, and the seat after KeepSeat.
func TestThePlaceOfALostClientIsFreeAfterTheTimeout(t *testing.T) {
	inBubble(t, "P2", nil, func(w *world) {
		a, _ := w.pair(5 * time.Second)
		w.net.Block(a.host, serverHost, true)
		w.net.Block(serverHost, a.host, true)
		w.pass(4 * time.Second)
		if n := w.server.Stats().Clients; n != 2 {
			t.Errorf("%d clients before the timeout", n)
		}
		w.pass(1500 * time.Millisecond)
		if st := w.server.Stats(); st.Clients != 1 || w.runners("duel") != 2 {
			t.Errorf("after the timeout: %d runners, %+v", w.runners("duel"), st)
		}
		w.pass(6 * time.Second)
		if n := w.runners("duel"); n != 1 {
			t.Errorf("%d runners after KeepSeat", n)
		}
	})
}

// A player whose clock is fast sends more inputs, but moves no further: one input is used per tick.
func TestAFastClockGainsNoDistance(t *testing.T) {
	inBubble(t, "P2", nil, func(w *world) {
		steady := func(c *client.DialConfig) { c.Bot = false }
		a, b := w.join(w.mint(w.ticket(1, "duel")), steady), w.join(w.mint(w.ticket(2, "duel")), steady)
		forward := padInput.Pack(pad{Step: 1})
		a.SetInput(forward)
		b.SetInput(forward)
		w.until("both live", 5*time.Second, w.live(a, b))
		position := func() (x [2]runner) {
			w.do("duel", func(r *room.Room) { x[0], _ = runnerOf(r.World(), a.Seat()); x[1], _ = runnerOf(r.World(), b.Seat()) })
			return x
		}
		before, start := position(), time.Now()
		w.players = []*player{b}
		for time.Since(start) < 60*time.Second {
			w.pass(time.Second / 60)
			a.Frame(start.Add(time.Since(start) * 3 / 2))
		}
		after := position()
		cheat, honest := after[0].X-before[0].X, after[1].X-before[1].X
		if honest < 60*30*9/10 || cheat > 60*30+30 || cheat > honest+30 {
			t.Errorf("in 60 s the fast clock went %d, the right one %d", cheat, honest)
		}
		w.players = append(w.players, a)
	})
}

// lineCounter is a log handler that counts lines.
type lineCounter struct{ lines *int }

func (l lineCounter) Enabled(context.Context, slog.Level) bool      { return true }
func (l lineCounter) Handle(_ context.Context, _ slog.Record) error { *l.lines++; return nil }
func (l lineCounter) WithAttrs([]slog.Attr) slog.Handler            { return l }
func (l lineCounter) WithGroup(string) slog.Handler                 { return l }

// A million bad packets of every kind only change counters: no line in the log, no goroutine, no memory.
func TestAMillionBadPacketsWriteNoLogAndTakeNoMemory(t *testing.T) {
	written := 0
	inBubble(t, "P1", func(c *Config) { c.Logger = slog.New(lineCounter{&written}) }, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, w.live(a))
		packets := 1_000_000
		if !race.Long {
			packets = 50_000
		}
		random := rand.New(rand.NewPCG(1, 2))
		var batch arrivals
		var out netcode.Outbox
		heapOf := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before, goroutines := heapOf(), runtime.NumGoroutine()
		for range packets / batchSize {
			batch.count = batchSize
			for i := range batch.count {
				batch.sizes[i] = 1 + random.IntN(120)
				if i == 0 {
					batch.sizes[i] = 1078 // the size of a request
				}
				p := batch.packet(i)
				for j := range min(len(p), 24) {
					p[j] = byte(random.Uint32())
				}
				p[0] = byte(random.IntN(8)) | byte(random.IntN(9))<<4
				batch.from[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, byte(random.IntN(9)), byte(random.Uint32()), byte(random.Uint32())}), 9)
				if i%2 == 0 {
					batch.from[i] = a.socket.LocalAddr().(interface{ AddrPort() netip.AddrPort }).AddrPort() // the address of a client
				}
			}
			w.server.conns.receive(&batch, &out, time.Now())
		}
		if out.Len() > 0 {
			t.Errorf("%d packets were answered", out.Len())
		}
		if grown := int64(heapOf()) - int64(before); grown > 1<<20 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%d goroutines, %d before", n, goroutines)
		}
		w.pass(time.Second)
		b := w.join(w.mint(w.ticket(2, "duel")))
		w.until("b live", 5*time.Second, w.live(a, b))
		if st := w.server.Stats(); st.PacketsRefused < uint64(packets/batchSize*batchSize) {
			t.Errorf("%d of %d bad packets were counted", st.PacketsRefused, packets)
		}
	})
	if written == 0 || written >= 100 {
		t.Errorf("%d lines in the log", written)
	}
}

// Connections that come and go do not fill the log.
func TestTheLogIsBoundedAndCountsSkippedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := 0
		l := newLog(slog.New(lineCounter{&written}))
		for range 1000 {
			l.info("client connected")
		}
		if written != linesAtOnce || l.skipped != 1000-linesAtOnce {
			t.Errorf("%d lines written, %d skipped", written, l.skipped)
		}
		time.Sleep(10 * time.Second)
		for range 1000 {
			l.info("client connected")
		}
		if written != linesAtOnce+min(10*linesPerSecond, linesAtOnce) {
			t.Errorf("%d lines written after 10 s more", written)
		}
	})
}
