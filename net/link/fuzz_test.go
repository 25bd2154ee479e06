package link

import (
	"encoding/binary"
	"testing"
	"time"

	"tendon/net/wire"
)

// FuzzReceive is a peer that sends what the fuzzer likes to a link that has
// something to say. The input is cut into records: a raw packet, or the
// fields of a segment, which gets past the checks of form and into the core.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0, 4, 0, 1, 1, 9})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 3, 2, 5, 1, 1, 1, 0, 0, 0, 3, 1, 3, 0, 0, 2, 2, 9, 0})
	f.Add([]byte{1, 0, 1, 0, 0, 0, 200, 1, 0, 0, 0, 0, 0, 3, 200, 1, 0, 3, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, input []byte) {
		l, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Duration(0)
		for r := wire.NewReader(input); r.Len() > 0; {
			l.SendReliable(numbered(int(now), 4000))
			packet := []byte(nil)
			switch r.U8() % 3 {
			case 0:
				packet = r.Bytes(min(int(r.U8()), r.Len()))
			case 1: // a segment near both sides' numbers
				command := push + r.U8()%4
				number, una := uint32(int32(int8(r.U8()))), uint32(int32(int8(r.U8())))
				free := uint16(r.U8()) % (window + 1)
				data := binary.AppendUvarint(nil, uint64(r.U32())) // a length, then part of a message
				data = append(data, make([]byte, int(r.U16())%(segmentLimit-len(data)))...)
				if command != push {
					data = nil
				}
				packet = inPacket(craft(command, 0, free, number, una, data))
			case 2: // a segment anywhere
				command := push + r.U8()%4
				number, una := r.U32(), r.U32()
				data := r.Bytes(min(1, r.Len()))
				if command != push {
					data = nil
				}
				packet = inPacket(craft(command, 0, window, number, una, data))
			}
			l.Receive(packet)
			sound(t, l)
			for _, m, ok := l.Next(); ok; _, m, ok = l.Next() {
				if len(m) == 0 || len(m) > MaxMessage {
					t.Fatalf("a message of %d bytes", len(m))
				}
			}
			now += tick
			l.Flush(now, func(packet []byte) {
				if _, _, err := check(packet); err != nil {
					t.Fatalf("emitted a packet that it would refuse: %v", err)
				}
			})
			sound(t, l)
		}
	})
}

// BenchmarkIdleFlush is what an idle peer costs in a tick. The core looks at
// its clock every time and at its queues every 10 ms, so here it mostly does
// the former; the latter adds some 60 ns, 60 to 100 times a second.
func BenchmarkIdleFlush(b *testing.B) {
	l := mustNew(b, Config{})
	now := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		now += tick
		l.Flush(now, func([]byte) {})
	}
}

// BenchmarkDatagramTick is a tick of a playing peer: one input each way.
func BenchmarkDatagramTick(b *testing.B) {
	x, y := mustNew(b, Config{}), mustNew(b, Config{})
	input := make([]byte, 60)
	toX, toY := func(p []byte) { x.Receive(p) }, func(p []byte) { y.Receive(p) }
	now := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		now += tick
		x.SendDatagram(input)
		y.SendDatagram(input)
		x.Flush(now, toY)
		y.Flush(now, toX)
		x.Next()
		y.Next()
	}
}

// BenchmarkNew reports the memory of a link in B/op.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
