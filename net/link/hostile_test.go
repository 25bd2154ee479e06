package link

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs/race"
	"tendon/net/wire"
	"tendon/net/wire/vectors"
)

// craft builds one segment.
func craft(command, fragment uint8, free uint16, number, una uint32, data []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, conversation)
	b = append(b, command, fragment)
	b = binary.LittleEndian.AppendUint16(b, free)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, number)
	b = binary.LittleEndian.AppendUint32(b, una)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

func inPacket(segments []byte) []byte {
	return wire.AppendPart(wire.AppendEnvelope(nil, 0), wire.Reliable, segments)
}

// sound checks the invariants of a link.
func sound(t testing.TB, l *Link) {
	t.Helper()
	r := &l.reliable
	inFlight := 0
	for n := r.acked; n != r.fed; n++ {
		inFlight += int(r.flight[n%window].size)
	}
	if r.fed-r.acked > window || r.sent-r.acked > window || int(r.fed-r.acked) != r.core.WaitSnd() {
		t.Fatalf("sequence numbers: acked %d, sent %d, fed %d; the core waits for %d", r.acked, r.sent, r.fed, r.core.WaitSnd())
	}
	if r.unacked != r.queue.Len()+inFlight || r.unacked > QueueBytes {
		t.Fatalf("%d unacknowledged, %d queued, %d in flight", r.unacked, r.queue.Len(), inFlight)
	}
	if r.stream.Len() > maxFramed+segmentLimit || l.inbox.Len() > inboxBytes || int64(len(r.out)) > l.budget.burst+outSlack {
		t.Fatalf("buffers: stream %d, inbox %d, out %d", r.stream.Len(), l.inbox.Len(), len(r.out))
	}
}

// The vectors contain packets that are sent and packets that are refused. Without a check the refused ones would corrupt the
// core.
func TestVectorsHoldBothWays(t *testing.T) {
	failures := map[string]error{"report": ErrReport, "segment": ErrSegment, "short": wire.ErrShort, "not-canonical": wire.ErrNotCanonical}
	kinds := map[string]int{}
	for _, v := range vectors.Read(t) {
		kinds[v.Kind]++
		t.Run(v.Name, func(t *testing.T) {
			if v.Kind == "sent" {
				checkSent(t, v.Bytes, v.Meaning)
				return
			}
			l := New()
			if err := l.Receive(v.Bytes); failures[v.Meaning] == nil || !errors.Is(err, failures[v.Meaning]) {
				t.Errorf("%v, want %s", err, v.Meaning)
			}
			if _, m, ok := l.Next(); ok || l.Err() != nil || l.Stats().Malformed != 1 {
				t.Errorf("a refused packet gave %x; dead: %v", m, l.Err())
			}
		})
	}
	if kinds["sent"] == 0 || kinds["refused"] == 0 {
		t.Errorf("kinds: %v", kinds)
	}
}

func checkSent(t *testing.T, packet []byte, meaning string) {
	synctest.Test(t, func(t *testing.T) {
		a, b := New(), New()
		want := strings.Fields(meaning)
		for _, field := range want {
			m, err := hex.DecodeString(field[2:])
			must(t, err)
			if field[0] == 'R' {
				must(t, a.Send(wire.Reliable, m))
			} else {
				must(t, a.Send(wire.Datagram, m))
			}
		}
		var emitted []byte
		a.Flush(0, func(packet []byte) {
			if emitted != nil {
				t.Fatal("two packets")
			}
			emitted = bytes.Clone(packet)
		})
		if at := bytes.Index(emitted, []byte("tend")); at >= 0 {
			clear(emitted[at+8 : at+12])
		}
		if !bytes.Equal(emitted, packet) {
			t.Errorf("emitted %x, want %x", emitted, packet)
		}
		must(t, b.Receive(packet))
		var got []string
		for channel, m, ok := b.Next(); ok; channel, m, ok = b.Next() {
			got = append(got, string("RD"[channel])+"="+hex.EncodeToString(m))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("received %v, want %v", got, want)
		}
	})
}

// Only an authenticated peer can send such packets. Bit flips in real traffic reach further into the code than random bytes.
// The test checks for panics, memory and the invariants of the link, not for the messages of the faulty peer.
func TestGarbageAndFlippedBitsNeitherPanicNorGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.flip, p.jitter, p.loss = 1, 60*time.Millisecond, 0.1
		for i := range 60 * 20 {
			for end, l := range p.ends {
				l.Send(wire.Reliable, numbered(i, 4+p.random.IntN(3000)))
				l.Send(wire.Datagram, numbered(i, 4+p.random.IntN(100)))
				garbage := make([]byte, p.random.IntN(1300))
				for j := range garbage {
					garbage[j] = byte(p.random.Uint32())
				}
				p.launch(end, garbage)
				if l.Err() != nil { // the flips may break its stream
					p.ends[0], p.ends[1] = New(), New()
					break
				}
			}
			p.step()
			sound(t, p.ends[0])
			sound(t, p.ends[1])
			p.take(0, wire.Reliable)
			p.take(1, wire.Reliable)
		}
	})
}

// Each bit of a real packet is flipped once.
func TestEveryBitOfAPacketFlippedLeavesTheLinkSound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New()
		must(t, a.Send(wire.Reliable, numbered(1, 40)))
		must(t, a.Send(wire.Datagram, numbered(1, 30)))
		var packet []byte
		a.Flush(0, func(b []byte) { packet = bytes.Clone(b) })
		refused := 0
		for bit := range len(packet) * 8 {
			b := New()
			must(t, b.Send(wire.Reliable, []byte("waiting")))
			b.Flush(0, func([]byte) {})
			flipped := bytes.Clone(packet)
			flipped[bit/8] ^= 1 << (bit % 8)
			if b.Receive(flipped) != nil {
				refused++
				if _, m, ok := b.Next(); ok {
					t.Fatalf("bit %d: refused, and yet gave %x", bit, m)
				}
			}
			for _, _, ok := b.Next(); ok; _, _, ok = b.Next() {
			}
			b.Flush(tick, func([]byte) {})
			sound(t, b)
		}
		if refused == 0 {
			t.Error("no packet was refused")
		}
	})
}

// A length in the stream that is above the bound, zero or padded ends the link.
func TestAMalformedLengthEndsTheLink(t *testing.T) {
	for name, stream := range map[string][]byte{
		"too long":      {0x81, 0x80, 0x04, 0},
		"zero":          {0},
		"padded":        {0x81, 0x00, 0},
		"unfinished":    {0xff, 0xff, 0xff, 0xff},
		"after a whole": {1, 'x', 0},
	} {
		l := New()
		must(t, l.Receive(inPacket(craft(push, 0, window, 0, 0, stream))))
		for _, _, ok := l.Next(); ok; _, _, ok = l.Next() {
		}
		if l.Err() == nil || !errors.Is(l.Err(), ErrStream) || !errors.Is(l.Receive([]byte{0}), ErrStream) {
			t.Errorf("%s: %v", name, l.Err())
		}
	}
}

// A forged acknowledgement of a segment that was never sent only loses that segment to its sender.
func TestAForgedAcknowledgementHasNoOtherEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, una := range []uint32{1, 50, 200, 1 << 30, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			l := New()
			l.timeout = time.Second
			now := time.Duration(0)
			for i := range 200 {
				l.Send(wire.Reliable, numbered(i, 5000))
				l.Receive(inPacket(craft(ack, 0, window, una, una, nil)))
				l.Receive(inPacket(craft(tellWindow, 0, uint16(i%3), una+uint32(i), una+uint32(i), nil)))
				time.Sleep(tick)
				now += tick
				sent := l.Stats().BytesSent
				l.Flush(now, func([]byte) {})
				if l.Stats().BytesSent-sent > uint64(l.budget.burst)+outSlack+wire.PacketLimit {
					t.Fatalf("a tick of %d bytes", l.Stats().BytesSent-sent)
				}
				sound(t, l)
			}
		}
	})
}

// A flood makes the core acknowledge early, and move segments beyond the window of the peer without sending them. A forged
// acknowledgement of these segments keeps the link consistent.
func TestAForgedAcknowledgementOfWithheldSegmentsKeepsTheLinkConsistent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		must(t, l.Send(wire.Reliable, make([]byte, 2000)))
		must(t, l.Receive(inPacket(craft(tellWindow, 0, 1, 0, 0, nil))))
		l.Flush(0, func([]byte) {})
		fed, sent := l.reliable.fed, l.reliable.sent
		for range 2 {
			must(t, l.Receive(inPacket(bytes.Repeat(craft(push, 0, window, 5, 0, []byte{1}), 40))))
		}
		must(t, l.Receive(inPacket(craft(ack, 0, window, 0, fed, nil))))
		sound(t, l)
		if fed < 2 || sent != 1 || l.Pending() != 0 {
			t.Fatalf("fed %d, sent %d, %d pending: the case did not occur", fed, sent, l.Pending())
		}
		must(t, l.Send(wire.Reliable, []byte("next")))
		time.Sleep(tick)
		n := 0
		l.Flush(tick, func([]byte) { n++ })
		if n == 0 || l.reliable.sent != fed+1 {
			t.Errorf("%d packets: the link does not send any more", n)
		}
	})
}

// The memory of a link is bounded against a peer that acknowledges nothing, and that fills our window with segments which
// never complete a message. Small segments cost the core the most.
func TestMemoryOfAHostilePeerIsBounded(t *testing.T) {
	const links = 16
	for _, c := range []struct {
		name           string
		sends, stuffs  bool
		limitKilobytes int
	}{
		{"idle", false, false, 40},
		{"slow reader", true, false, 768},
		{"both ways", true, true, 1088},
	} {
		var made [links]*Link
		before := heap()
		for i := range made {
			made[i] = New()
			if c.sends {
				fillTo(made[i])
			}
			if c.stuffs {
				stuff(t, made[i])
			}
			made[i].Flush(time.Hour, func([]byte) {})
		}
		each := (heap() - before) / links
		runtime.KeepAlive(&made)
		t.Logf("%s: %d bytes a link", c.name, each)
		if each > int64(c.limitKilobytes)<<10 {
			t.Errorf("%s: %d bytes a link, above %d KB", c.name, each, c.limitKilobytes)
		}
		for _, l := range made {
			sound(t, l)
		}
	}
}

// fillTo fills the core with tiny segments, and the queue behind it.
func fillTo(l *Link) {
	now := time.Duration(0)
	for range window {
		l.Send(wire.Reliable, []byte{1})
		l.reliable.feed()
		l.reliable.sent = l.reliable.fed // as if it was sent: the next one is fed alone
		now += tick
	}
	l.reliable.sent = 0
	for l.Send(wire.Reliable, make([]byte, 1000)) == nil {
	}
}

// stuff sends 64 KB of an endless message, then every segment of the window but the next one.
func stuff(t testing.TB, l *Link) {
	data := make([]byte, segmentLimit)
	copy(data, []byte{0x80, 0x80, 0x04}) // 65536 bytes follow
	n := uint32(0)
	for ; n < maxFramed/segmentLimit; n++ {
		must(t, l.Receive(inPacket(craft(push, 0, window, n, 0, data))))
		if _, _, ok := l.Next(); ok {
			t.Fatal("a message")
		}
	}
	for i := uint32(1); i < 4*window; i++ {
		l.Receive(inPacket(craft(push, 0, window, n+i, 0, data)))
		l.Next()
	}
}

func heap() int64 {
	runtime.GC() // the second one releases the pools of the core
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A flood of duplicated segments is answered with acknowledgements of at most one burst.
func TestAFloodIsNotAmplified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		l.Flush(0, func([]byte) {})
		in := 0
		for i := range 2000 {
			var row []byte
			for j := range 40 {
				row = append(row, craft(push, 0, window, uint32(1+(i+j)%100), 0, []byte{1})...)
			}
			packet := inPacket(row)
			in += len(packet)
			must(t, l.Receive(packet))
			sound(t, l)
		}
		out := 0
		l.Flush(tick, func(packet []byte) { out += len(packet) })
		if out == 0 || out > in/10 {
			t.Errorf("%d bytes in, %d out", in, out)
		}
	})
}

// A tick allocates nothing, except that a received reliable segment costs the core four small allocations.
func TestTicksAllocateNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, work := range map[string]func(*Link){
		"idle":     func(*Link) {},
		"datagram": func(l *Link) { l.Send(wire.Datagram, make([]byte, 60)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b := New(), New()
			toA, toB := func(p []byte) { a.Receive(p) }, func(p []byte) { b.Receive(p) }
			now, taken := time.Duration(0), 0
			turn := func() {
				time.Sleep(tick)
				now += tick
				work(a)
				a.Flush(now, toB)
				for _, _, ok := b.Next(); ok; _, _, ok = b.Next() {
					taken++
				}
				b.Flush(now, toA)
			}
			for range 300 {
				turn()
			}
			if n := testing.AllocsPerRun(300, turn); n != 0 {
				t.Errorf("%s: %v allocations a tick", name, n)
			}
			if a.Err() != nil || (name == "datagram" && taken < 600) {
				t.Errorf("%s: %d messages, dead: %v", name, taken, a.Err())
			}
		})
	}
}
