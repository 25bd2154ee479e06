package bench

import (
	"testing"

	"tendon/bench/internal/cubes"
	"tendon/net/wire"
)

// pack encodes a frame of cubes against base as the article Snapshot Compression does:
//
//   - the changed cubes, as one bit each or as distances from one to the next, whichever is shorter
//   - a position as differences of 5 or 9 bits, or whole in 18, 18 and 14
//   - an orientation as differences of 5 or 7 bits if the same component is left out, or whole in 2 and 27
func pack(dst []byte, base, now *cubes.Frame) []byte {
	c := cubeCodec{w: wire.NewBitWriter(dst, len(now)*16)}
	c.frame(base, now)
	return c.w.Bytes()
}

// unpack decodes a frame.
func unpack(b []byte, base *cubes.Frame) (now cubes.Frame, err error) {
	r := wire.NewBitReader(b)
	now = *base
	c := cubeCodec{r: &r}
	c.frame(base, &now)
	return now, r.Close()
}

// cubeCodec writes values, or replaces them by those that it reads.
type cubeCodec struct {
	w wire.BitWriter
	r *wire.BitReader // nil: it writes
}

func (c *cubeCodec) flag(v bool) bool {
	if c.r != nil {
		return c.r.Bool()
	}
	c.w.Bool(v)
	return v
}

func (c *cubeCodec) bits(v, n int) int {
	if c.r != nil {
		return int(c.r.Bits(n))
	}
	c.w.Bits(uint64(v), n)
	return v
}

// signed is bits with a sign.
func (c *cubeCodec) signed(v int32, n int) int32 {
	return int32(c.bits(int(v)&(1<<n-1), n)) << (32 - n) >> (32 - n)
}

func (c *cubeCodec) frame(base, now *cubes.Frame) {
	if !c.flag(distanceBits(base, now) < cubes.Bodies) {
		for i := range now {
			if c.flag(base[i] != now[i]) {
				c.cube(&base[i], &now[i])
			}
		}
		return
	}
	at := -1
	for range c.bits(cubes.Changed(base, now), 10) {
		next := at + 1
		for c.r == nil && base[next] == now[next] {
			next++
		}
		at += 1 + c.distance(next-at-1)
		c.cube(&base[at], &now[at])
	}
}

// distances are the classes of distances between changed cubes, each with its number of bits. The prefix of a class is one
// bit for each class up to it.
var distances = [...]struct{ below, bits int }{{1, 0}, {9, 3}, {41, 5}}

func (c *cubeCodec) distance(d int) int {
	from := 0
	for _, class := range distances {
		if c.flag(d < class.below) {
			return from + c.bits(d-from, class.bits)
		}
		from = class.below
	}
	return c.bits(d, 10)
}

// distanceBits is the number of bits for the changed cubes as distances.
func distanceBits(base, now *cubes.Frame) int {
	bits, last := 10, -1
	for i := range now {
		if base[i] == now[i] {
			continue
		}
		switch d := i - last - 1; {
		case d < 1:
			bits++
		case d < 9:
			bits += 2 + 3
		case d < 41:
			bits += 3 + 5
		default:
			bits += 3 + 10
		}
		last = i
	}
	return bits
}

func (c *cubeCodec) cube(base, now *cubes.Cube) {
	if !c.differences(&base.At, &now.At, 9, true) {
		for i, n := range [3]int{18, 18, 14} {
			now.At[i] = c.signed(now.At[i], n)
		}
	}
	if !c.differences(&base.Turn, &now.Turn, 7, base.Largest == now.Largest) {
		now.Largest = uint8(c.bits(int(now.Largest), 2))
		for i := range now.Turn {
			now.Turn[i] = c.signed(now.Turn[i], 9)
		}
	}
}

// differences codes three values as differences of 5 bits, or of 5 or far bits each. It returns false if they do not fit.
func (c *cubeCodec) differences(base, now *[3]int32, far int, alike bool) bool {
	near, fit := alike, alike
	for i := range now {
		d := now[i] - base[i]
		near, fit = near && within(d, 5), fit && within(d, far)
	}
	near = c.flag(near)
	if !near && !c.flag(fit) {
		return false
	}
	for i := range now {
		d, n := now[i]-base[i], 5
		if !near && !c.flag(within(d, 5)) {
			n = far
		}
		now[i] = base[i] + c.signed(d, n)
	}
	return true
}

// within reports whether v fits n bits with a sign.
func within(v int32, n int) bool { return v >= -1<<(n-1) && v < 1<<(n-1) }

// A reader as in the article decodes a packed frame against its base, bit by bit, to the same frame.
func TestPackedFramesAreDecodedToTheLastBit(t *testing.T) {
	list := cubes.Record(cubes.Rolling, 400)
	total, changed := 0, 0
	for f := 6; f < len(list); f++ {
		b := pack(nil, &list[f-6], &list[f])
		if got, err := unpack(b, &list[f-6]); err != nil || got != list[f] {
			t.Fatalf("frame %d: %v", f, err)
		}
		total, changed = total+len(b), changed+cubes.Changed(&list[f-6], &list[f])
	}
	n := len(list) - 6
	t.Logf("%d bytes a frame, %d cubes, %.1f bits a cube", total/n, changed/n, float64(total)*8/float64(changed))
}
