package link

import (
	"encoding/binary"
	"testing"
	"time"

	"tendon/net/wire"
)

// FuzzReceive sends the bytes of the fuzzer to a link that has messages to send. The input is cut into records: a raw packet,
// or the fields of a segment, which passes the checks and reaches the core.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0, 4, 0, 1, 1, 9})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 3, 2, 5, 1, 1, 1, 0, 0, 0, 3, 1, 3, 0, 0, 2, 2, 9, 0})
	f.Add([]byte{1, 0, 1, 0, 0, 0, 200, 1, 0, 0, 0, 0, 0, 3, 200, 1, 0, 3, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, input []byte) {
		l := New()
		now := time.Duration(0)
		for r := wire.NewReader(input); r.Len() > 0; {
			l.Send(wire.Reliable, numbered(int(now), 4000))
			packet := []byte(nil)
			switch r.U8() % 3 {
			case 0:
				packet = r.Bytes(min(int(r.U8()), r.Len()))
			case 1: // a segment near the numbers of both ends
				command := push + r.U8()%4
				number, una := uint32(int32(int8(r.U8()))), uint32(int32(int8(r.U8())))
				free := uint16(r.U8()) % (window + 1)
				data := binary.AppendUvarint(nil, uint64(r.U32())) // a length, then part of a message
				data = append(data, make([]byte, int(r.U16())%(segmentLimit-len(data)))...)
				if command != push {
					data = nil
				}
				packet = inPacket(craft(command, 0, free, number, una, data))
			case 2: // a segment or a report anywhere
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
				if _, _, _, err := check(packet); err != nil {
					t.Fatalf("emitted a packet that it would refuse: %v", err)
				}
			})
			sound(t, l)
		}
	})
}

// BenchmarkIdleFlush measures a tick of an idle peer. The core reads its clock every time, and looks at its queues every
// 10 ms, which adds some 60 ns.
func BenchmarkIdleFlush(b *testing.B) {
	l := New()
	now := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		now += tick
		l.Flush(now, func([]byte) {})
	}
}

// BenchmarkDatagramTick measures a tick of a playing peer: one input each way.
func BenchmarkDatagramTick(b *testing.B) {
	x, y := New(), New()
	input := make([]byte, 60)
	toX, toY := func(p []byte) { x.Receive(p) }, func(p []byte) { y.Receive(p) }
	now := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		now += tick
		x.Send(wire.Datagram, input)
		y.Send(wire.Datagram, input)
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
		New()
	}
}
