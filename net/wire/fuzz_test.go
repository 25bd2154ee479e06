package wire

import (
	"bytes"
	"testing"
)

// FuzzReader runs a sequence of reads over bytes, both chosen by the fuzzer, and writes the values back. An accepted
// encoding is the only one of its values.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, []byte("\x01\x02\x03\x04\x05\x06\x07\x08\xac\x02\x03abc\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte{4, 4, 6}, []byte{0x80, 0x00, 0xff, 0xff})
	f.Add([]byte{7, 6, 6}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, ops, input []byte) {
		r := NewReader(input)
		w := NewWriter(nil, len(input))
		for _, op := range ops {
			before := r.Len()
			bound := int(op >> 3)
			switch op & 7 {
			case 0:
				w.U8(r.U8())
			case 1:
				w.U16(r.U16())
			case 2:
				w.U32(r.U32())
			case 3:
				w.U64(r.U64())
			case 4:
				w.Uvarint(r.Uvarint())
			case 5:
				w.Bool(r.Bool())
			case 6:
				b := r.Blob(bound)
				if len(b) > bound {
					t.Fatalf("a blob of %d bytes, bound %d", len(b), bound)
				}
				w.Blob(b)
			case 7:
				n := r.Count(1<<30, 1+bound)
				if n*(1+bound) > r.Len() {
					t.Fatalf("a count of %d with %d bytes left", n, r.Len())
				}
				w.Uvarint(uint64(n))
			}
			if r.Len() > before {
				t.Fatal("the reader went back")
			}
			if r.Err() != nil {
				if r.Len() != 0 {
					t.Fatal("bytes left after a failure")
				}
				return
			}
		}
		w.Raw(r.Rest())
		if w.Err() != nil || !bytes.Equal(w.Bytes(), input) {
			t.Fatalf("read % x, wrote % x (%v)", input, w.Bytes(), w.Err())
		}
	})
}

// FuzzEnvelope holds that an accepted packet is the only packet of its parts.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte{7, 0, 1, 3, 1, 2, 3, 0, 1, 9})
	f.Add([]byte{7, 0, 1, 0x81, 0x00, 1})
	f.Add([]byte{7, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, packet []byte) {
		number, parts, err := OpenEnvelope(packet)
		if err != nil {
			return
		}
		again := AppendEnvelope(nil, number)
		for {
			channel, payload, ok := parts.Next()
			if !ok {
				break
			}
			again = AppendPart(again, channel, payload)
		}
		if parts.Err() == nil && !bytes.Equal(again, packet) {
			t.Fatalf("read % x, wrote % x", packet, again)
		}
	})
}

// FuzzBits holds the same for bits, whatever widths they are read with.
func FuzzBits(f *testing.F) {
	f.Add([]byte{1, 2, 4, 64}, []byte{0x2d, 1, 2, 3, 4, 5, 6, 7, 8, 0})
	f.Add([]byte{3}, []byte{0xff})
	f.Fuzz(func(t *testing.T, widths, input []byte) {
		r := NewBitReader(input)
		w := NewBitWriter(nil, len(input))
		for _, n := range widths {
			v := r.Bits(int(n) % 65)
			if r.Err() != nil {
				return
			}
			w.Bits(v, int(n)%65)
		}
		rest := r.Rest()
		if r.Err() != nil {
			return
		}
		if again := append(w.Bytes(), rest...); w.Err() != nil || !bytes.Equal(again, input) {
			t.Fatalf("read % x, wrote % x (%v)", input, again, w.Err())
		}
	})
}
