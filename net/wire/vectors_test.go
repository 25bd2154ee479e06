package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"tendon/net/wire/vectors"
)

// A codec turns the meaning of a vector into bytes and back. For bits the decoder needs the widths, so it is given the
// meaning as a hint.
type codec struct {
	encode func(meaning string) []byte
	decode func(b []byte, hint string) (string, error)
}

func number[T uint8 | uint16 | uint32 | uint64](put func(*Writer, T), get func(*Reader) T, size int) codec {
	return codec{
		func(meaning string) []byte {
			v, err := strconv.ParseUint(meaning, 10, size)
			if err != nil {
				panic(err)
			}
			w := NewWriter(nil, 16)
			put(&w, T(v))
			return w.Bytes()
		},
		func(b []byte, _ string) (string, error) {
			r := NewReader(b)
			v := get(&r)
			return strconv.FormatUint(uint64(v), 10), r.Close()
		},
	}
}

var codecs = map[string]codec{
	"u8":      number((*Writer).U8, (*Reader).U8, 8),
	"u16":     number((*Writer).U16, (*Reader).U16, 16),
	"u32":     number((*Writer).U32, (*Reader).U32, 32),
	"u64":     number((*Writer).U64, (*Reader).U64, 64),
	"uvarint": number((*Writer).Uvarint, (*Reader).Uvarint, 64),
	"bool": number(
		func(w *Writer, v uint8) { w.Bool(v == 1) },
		func(r *Reader) uint8 {
			if r.Bool() {
				return 1
			}
			return 0
		}, 8),
	"varint": {
		func(meaning string) []byte {
			v, err := strconv.ParseInt(meaning, 10, 64)
			if err != nil {
				panic(err)
			}
			w := NewWriter(nil, 16)
			w.Varint(v)
			return w.Bytes()
		},
		func(b []byte, _ string) (string, error) {
			r := NewReader(b)
			v := r.Varint()
			return strconv.FormatInt(v, 10), r.Close()
		},
	},
	"blob": {
		func(meaning string) []byte {
			w := NewWriter(nil, 16)
			w.Blob(unhex(meaning))
			return w.Bytes()
		},
		func(b []byte, _ string) (string, error) {
			r := NewReader(b)
			v := r.Blob(8)
			return hex.EncodeToString(v), r.Close()
		},
	},
	"bits":     {encodeBits, decodeBits},
	"envelope": {encodeEnvelope, decodeEnvelope},
}

func encodeBits(meaning string) []byte {
	w := NewBitWriter(nil, 16)
	for _, field := range strings.Fields(meaning) {
		width, v := splitBits(field)
		w.Bits(v, width)
	}
	return w.Bytes()
}

func decodeBits(b []byte, hint string) (string, error) {
	if strings.HasPrefix(hint, "error") {
		hint = "4:0"
	}
	r := NewBitReader(b)
	var out []string
	for _, field := range strings.Fields(hint) {
		width, _ := splitBits(field)
		out = append(out, fmt.Sprintf("%d:%d", width, r.Bits(width)))
	}
	return strings.Join(out, " "), r.Close()
}

func splitBits(field string) (width int, v uint64) {
	if _, err := fmt.Sscanf(field, "%d:%d", &width, &v); err != nil {
		panic(err)
	}
	return width, v
}

// channels has the letter of each channel in the vectors.
const channels = "RDF"

func encodeEnvelope(meaning string) []byte {
	fields := strings.Fields(meaning)
	number, err := strconv.ParseUint(fields[0], 10, 16)
	if err != nil {
		panic(err)
	}
	b := AppendEnvelope(nil, uint16(number))
	for _, part := range fields[1:] {
		b = AppendPart(b, Channel(strings.IndexByte(channels, part[0])), unhex(part[2:]))
	}
	return b
}

func decodeEnvelope(b []byte, _ string) (string, error) {
	number, parts, err := OpenEnvelope(b)
	if err != nil {
		return "", err
	}
	out := strconv.Itoa(int(number))
	for {
		channel, payload, ok := parts.Next()
		if !ok {
			return out, parts.Err()
		}
		out += " " + string(channels[channel]) + "=" + hex.EncodeToString(payload)
	}
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// The vectors are the layout: an implementation in another language needs nothing but them and STANDARD.md, and a
// change of layout cannot pass here.
func TestVectorsHoldBothWays(t *testing.T) {
	failures := map[string]error{"short": ErrShort, "too-long": ErrTooLong, "not-canonical": ErrNotCanonical, "trailing": ErrTrailing}
	seen := map[string]int{}
	for _, v := range vectors.Read(t) {
		name, kind, bytes, meaning := v.Name, v.Kind, v.Bytes, v.Meaning
		c, known := codecs[kind]
		if !known {
			t.Fatalf("%s: no codec of kind %q", name, kind)
		}
		seen[kind]++
		got, err := c.decode(bytes, meaning)
		if word, bad := strings.CutPrefix(meaning, "error "); bad {
			want, known := failures[word]
			if !known || !errors.Is(err, want) {
				t.Errorf("%s: decoded %x: error %v, want %s", name, bytes, err, word)
			}
			continue
		}
		if err != nil || got != meaning {
			t.Errorf("%s: decoded %x to %q, %v; want %q", name, bytes, got, err, meaning)
		}
		if encoded := c.encode(meaning); string(encoded) != string(bytes) {
			t.Errorf("%s: encoded %q to %x, want %x", name, meaning, encoded, bytes)
		}
	}
	for kind := range codecs {
		if seen[kind] == 0 {
			t.Errorf("no vector of kind %q", kind)
		}
	}
}
