package wire

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// A decoder checks once, at its end; that is only sound if nothing after the first failure looks like a value.
func TestTheFirstFailureSticksAndEverythingAfterItIsZero(t *testing.T) {
	r := NewReader([]byte{2, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9})
	if r.Bool() || !errors.Is(r.Err(), ErrNotCanonical) {
		t.Fatalf("Bool of 2: err %v", r.Err())
	}
	if r.U8() != 0 || r.U16() != 0 || r.U32() != 0 || r.U64() != 0 || r.Uvarint() != 0 || r.Varint() != 0 ||
		r.Bool() || r.Bytes(1) != nil || r.Blob(5) != nil || r.Count(9, 1) != 0 || len(r.Rest()) != 0 || r.Len() != 0 {
		t.Error("a value was read after the failure")
	}
	r.Fail(ErrTooLong)
	if err := r.Close(); !errors.Is(err, ErrNotCanonical) {
		t.Errorf("the first failure was replaced by %v", err)
	}
}

// A rule of the message's own is reported like every other one.
func TestADecoderCanFailTheReaderItself(t *testing.T) {
	mine := errors.New("tick in the future")
	r := NewReader([]byte{1})
	r.Fail(mine)
	if !errors.Is(r.Close(), mine) || r.U8() != 0 {
		t.Errorf("err %v", r.Err())
	}
}

// The allocation a count leads to is bounded by the bytes that came.
func TestACountNeverPromisesMoreThanTheBytesLeft(t *testing.T) {
	for _, c := range []struct {
		buf            []byte
		limit, minSize int
		want           int
		err            error
	}{
		{[]byte{3, 0, 0, 0}, 10, 1, 3, nil},
		{[]byte{2, 0, 0, 0, 0, 0, 0}, 10, 3, 2, nil},
		{[]byte{3, 0, 0, 0, 0, 0, 0}, 10, 3, 0, ErrShort},
		{[]byte{11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10, 1, 0, ErrTooLong},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, math.MaxInt, 8, 0, nil},
		{[]byte{8, 0}, 10, 0, 8, nil},
	} {
		r := NewReader(c.buf)
		got := r.Count(c.limit, c.minSize)
		if c.limit == math.MaxInt { // which of the two bounds refuses it depends on the size of int
			if got != 0 || r.Err() == nil {
				t.Errorf("a count of 2^64-1 was believed: %d", got)
			}
			continue
		}
		if got != c.want || !errors.Is(r.Err(), c.err) {
			t.Errorf("%v: Count(%d, %d) = %d, %v; want %d, %v", c.buf, c.limit, c.minSize, got, r.Err(), c.want, c.err)
		}
	}
}

// A sub-slice that could be appended into would let one message overwrite the next one in the same packet.
func TestSlicesHandedOutCannotBeAppendedInto(t *testing.T) {
	packet := []byte{1, 2, 3, 4}
	r := NewReader(packet)
	first := r.Bytes(2)
	_ = append(first, 99)
	if packet[2] != 3 {
		t.Error("an append to the first slice changed the bytes after it")
	}
}

// All or nothing: half a value would shift everything behind it.
func TestAWriterAtItsLimitWritesNothingMore(t *testing.T) {
	writes := map[string]func(*Writer){
		"U16":     func(w *Writer) { w.U16(1) },
		"U32":     func(w *Writer) { w.U32(1) },
		"U64":     func(w *Writer) { w.U64(1) },
		"Uvarint": func(w *Writer) { w.Uvarint(128) },
		"Varint":  func(w *Writer) { w.Varint(64) },
		"Raw":     func(w *Writer) { w.Raw([]byte{1, 2}) },
		"Blob":    func(w *Writer) { w.Blob([]byte{1}) },
	}
	for name, write := range writes {
		w := NewWriter([]byte{42}, 2)
		w.U8(7)
		write(&w)
		w.U8(8) // would fit, but comes after what did not
		if !bytes.Equal(w.Bytes(), []byte{42, 7}) || !errors.Is(w.Err(), ErrTooLong) || w.Len() != 1 || w.Room() != 0 {
			t.Errorf("%s: % x, err %v, len %d, room %d", name, w.Bytes(), w.Err(), w.Len(), w.Room())
		}
	}
}

func TestUvarintSizeIsWhatAUvarintTakes(t *testing.T) {
	for shift := range 64 {
		for _, v := range []uint64{1 << shift, 1<<shift - 1, 1<<shift + 1} {
			w := NewWriter(nil, 10)
			w.Uvarint(v)
			if w.Len() != UvarintSize(v) {
				t.Errorf("%d: %d bytes, UvarintSize says %d", v, w.Len(), UvarintSize(v))
			}
		}
	}
}

// Random widths and values, so that every offset within a byte meets every width: what goes in comes out, in no more
// bytes than the bits need.
func TestBitsComeBackAtEveryOffsetAndWidth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[[2]int]bool{}
	for range 2000 {
		w := NewBitWriter(nil, 1024)
		var widths []int
		var values []uint64
		total := 0
		for range 1 + random.IntN(20) {
			n := random.IntN(65)
			v := random.Uint64() >> (64 - n) // a shift by 64 gives 0
			seen[[2]int{total % 8, n}] = true
			w.Bits(v, n)
			widths, values, total = append(widths, n), append(values, v), total+n
		}
		if len(w.Bytes()) != (total+7)/8 {
			t.Fatalf("%d bits took %d bytes", total, len(w.Bytes()))
		}
		r := NewBitReader(w.Bytes())
		for i, n := range widths {
			if got := r.Bits(n); got != values[i] {
				t.Fatalf("value %d of widths %v: %x, want %x", i, widths, got, values[i])
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 8*65 {
		t.Errorf("only %d of %d pairs of offset and width were met", len(seen), 8*65)
	}
}

// Skipped bits are those that would have been read.
func TestBitsAreSkipped(t *testing.T) {
	bytes := []byte{0x93, 0x5a, 0xe7, 0x01, 0xc4, 0x3f, 0x88, 0x72, 0xb6, 0x1d}
	for n := range 8*len(bytes) + 1 {
		skips, reads := NewBitReader(bytes), NewBitReader(bytes)
		skips.Skip(n)
		for range n {
			reads.Bool()
		}
		left := reads.Len()
		if skips.Len() != left || skips.Bits(min(left, 13)) != reads.Bits(min(left, 13)) || skips.Err() != nil {
			t.Fatalf("%d bits", n)
		}
	}
	r := NewBitReader(bytes)
	if r.Skip(8*len(bytes) + 1); r.Err() != ErrShort || r.Len() != 0 {
		t.Error(r.Err())
	}
}

func TestBitsKeepTheirBounds(t *testing.T) {
	w := NewBitWriter(nil, 1)
	w.Bits(1, 5)
	w.Bits(0, 4)
	w.Bool(true)
	if !errors.Is(w.Err(), ErrTooLong) || len(w.Bytes()) != 1 || w.Bytes()[0] != 1 {
		t.Errorf("writer: %v % x", w.Err(), w.Bytes())
	}
	r := NewBitReader([]byte{0xff})
	if r.Bits(3) != 7 || r.Bits(6) != 0 || !errors.Is(r.Err(), ErrShort) || r.Bool() || r.Len() != 0 {
		t.Errorf("reader: %v", r.Err())
	}
}

// A message may be bytes, then bits, then bytes again.
func TestBitsReturnToBytes(t *testing.T) {
	w := NewWriter(nil, 8)
	w.U8(200)
	bits := NewBitWriter(w.Bytes(), 4)
	bits.Bits(5, 3)
	w = NewWriter(bits.Bytes(), 8)
	w.U16(1000)

	r := NewReader(w.Bytes())
	first := r.U8()
	b := NewBitReader(r.Rest())
	middle := b.Bits(3)
	tail := NewReader(b.Rest())
	if last := tail.U16(); first != 200 || middle != 5 || last != 1000 || b.Err() != nil || tail.Close() != nil {
		t.Errorf("%d %d %d, %v %v", first, middle, last, b.Err(), tail.Err())
	}
	set := NewBitReader([]byte{0xf5, 1})
	set.Bits(3)
	if rest := set.Rest(); rest != nil || !errors.Is(set.Err(), ErrNotCanonical) {
		t.Errorf("set padding: rest %x, err %v", rest, set.Err())
	}
}

// Ticks on the wire wrap every 18 minutes at 60 Hz (16 bits); matches are longer. The edges are where such code breaks.
func TestShortTicksExpandToTheNearestCounter(t *testing.T) {
	for _, c := range []struct {
		near uint64
		low  uint16
		want uint64
	}{
		{0, 0, 0},
		{0, 32767, 32767},
		{0, 32768, 32768}, // -32768 is nearer by the rule, and does not exist
		{0, 65535, 65535}, // likewise -1
		{1, 0, 0},
		{65535, 0, 65536},
		{65536, 65535, 65535},
		{100_000, uint16(100_000 & 0xffff), 100_000},
		{100_000, uint16((100_000 + 32767) & 0xffff), 132_767},
		{100_000, uint16((100_000 - 32768) & 0xffff), 67_232},
		{math.MaxUint64, 65535, math.MaxUint64},
		{math.MaxUint64, 0, math.MaxUint64 - 65535}, // 2^64 does not exist
	} {
		if got := Expand16(c.near, c.low); got != c.want {
			t.Errorf("Expand16(%d, %d) = %d, want %d", c.near, c.low, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		near := 1<<40 + random.Uint64N(1<<40)
		v16, v32 := near+random.Uint64N(1<<16)-1<<15, near+random.Uint64N(1<<32)-1<<31
		if got := Expand16(near, uint16(v16)); got != v16 {
			t.Fatalf("Expand16(%d, low of %d) = %d", near, v16, got)
		}
		if got := Expand32(near, uint32(v32)); got != v32 {
			t.Fatalf("Expand32(%d, low of %d) = %d", near, v32, got)
		}
	}
}

// The check of a whole packet before any of it is believed rests on copies walking by themselves.
func TestACopyOfPartsWalksOnItsOwn(t *testing.T) {
	packet := AppendPart(AppendPart(AppendEnvelope(nil, 1), Datagram, []byte{1}), Reliable, []byte{2})
	_, parts, err := OpenEnvelope(packet)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		walk, n := parts, 0
		for _, _, ok := walk.Next(); ok; _, _, ok = walk.Next() {
			n++
		}
		if n != 2 {
			t.Errorf("walked %d parts, want 2", n)
		}
	}
}

func TestTheLargestPartFillsAPacketExactly(t *testing.T) {
	packet := AppendPart(AppendEnvelope(nil, 1), Datagram, make([]byte, maxPart))
	if len(packet) != PacketLimit || EnvelopeSize+PartSize(maxPart) != PacketLimit {
		t.Errorf("packet of %d bytes, PartSize says %d, want %d", len(packet), EnvelopeSize+PartSize(maxPart), PacketLimit)
	}
	if _, _, err := OpenEnvelope(append(packet, 0)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a packet above the limit: %v", err)
	}
}

// Packets are coded sixty times a second for every peer.
func TestCodingAPacketAllocatesNothing(t *testing.T) {
	packet := make([]byte, 0, PacketLimit)
	payload := make([]byte, 0, 64)
	allocations := testing.AllocsPerRun(200, func() {
		w := NewWriter(payload, 64)
		w.U16(7)
		w.Uvarint(1 << 40)
		w.Blob([]byte("abc"))
		bits := NewBitWriter(w.Bytes(), 8)
		bits.Bits(5, 3)
		packet = AppendPart(AppendEnvelope(packet[:0], 1), Datagram, bits.Bytes())

		_, parts, err := OpenEnvelope(packet)
		_, message, ok := parts.Next()
		r := NewReader(message)
		if r.U16() != 7 || r.Uvarint() != 1<<40 || len(r.Blob(8)) != 3 || !ok || err != nil {
			t.Fatal(r.Err())
		}
		b := NewBitReader(r.Rest())
		if b.Bits(3) != 5 || b.Close() != nil {
			t.Fatal(b.Err())
		}
		short := NewReader(packet[:1])
		short.U64()
		if short.Close() == nil {
			t.Fatal("no error")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
