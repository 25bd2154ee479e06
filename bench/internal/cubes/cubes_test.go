package cubes

import (
	"testing"

	"tendon/net/wire"
)

// The recording is like the article's: most cubes rest, some roll, and these come to rest again, on the floor and within
// the yard.
func TestSomeCubesRollAndMostRest(t *testing.T) {
	list := Record(900)
	total, most, rolled := 0, 0, map[int]bool{}
	for f := 6; f < len(list); f++ {
		n := Changed(&list[f-6], &list[f])
		total, most = total+n, max(most, n)
		for i := range list[f] {
			if list[f][i].Largest != list[f-6][i].Largest {
				rolled[i] = true
			}
			if c := list[f][i]; c.Z < 0 || c.Z > 4*unit || c.X > 40*unit || c.X < -40*unit || c.Y > 40*unit || c.Y < -40*unit {
				t.Fatalf("frame %d: body %d is at %v", f, i, c)
			}
		}
	}
	mean := total / (len(list) - 6)
	t.Logf("%d changed a frame, at most %d; %d rolled over", mean, most, len(rolled))
	if mean < 40 || mean > 250 || len(rolled) < 30 {
		t.Errorf("%d changed a frame, %d rolled over", mean, len(rolled))
	}
}

// A reader as in the article decodes a packed frame against its base, bit by bit, to the same frame.
func TestPackedFramesAreDecodedToTheLastBit(t *testing.T) {
	list := Record(400)
	total, changed := 0, 0
	for f := 6; f < len(list); f++ {
		b := Pack(nil, &list[f-6], &list[f])
		got := list[f-6]
		if err := unpack(b, &got); err != nil || got != list[f] {
			t.Fatalf("frame %d: %v", f, err)
		}
		total, changed = total+len(b), changed+Changed(&list[f-6], &list[f])
	}
	n := len(list) - 6
	t.Logf("%d bytes a frame, %d cubes, %.1f bits a cube", total/n, changed/n, float64(total)*8/float64(changed))
}

func unpack(b []byte, f *Frame) error {
	r := wire.NewBitReader(b)
	byDistance, left, at := r.Bool(), 0, 0
	if byDistance {
		left = int(r.Bits(10))
	}
	for i := 0; ; i++ {
		if byDistance {
			if left == 0 {
				break
			}
			left--
			switch {
			case r.Bool():
			case r.Bool():
				at += int(r.Bits(3)) + 1
			case r.Bool():
				at += int(r.Bits(5)) + 9
			default:
				at += int(r.Bits(10))
			}
			i = at
			at++
		} else if i == Bodies {
			break
		} else if !r.Bool() {
			continue
		}
		unpackCube(&r, &f[i])
	}
	return r.Close()
}

func unpackCube(r *wire.BitReader, c *Cube) {
	number := func(n int) int32 { return int32(int64(r.Bits(n)<<(64-n)) >> (64 - n)) }
	axes := [3]*int32{&c.X, &c.Y, &c.Z}
	switch {
	case r.Bool():
		for _, a := range axes {
			*a += number(5)
		}
	case r.Bool():
		for _, a := range axes {
			if r.Bool() {
				*a += number(5)
			} else {
				*a += number(9)
			}
		}
	default:
		*axes[0], *axes[1], *axes[2] = number(18), number(18), number(14)
	}
	switch {
	case r.Bool():
		for k := range c.Turn {
			c.Turn[k] += int16(number(5))
		}
	case r.Bool():
		for k := range c.Turn {
			if r.Bool() {
				c.Turn[k] += int16(number(5))
			} else {
				c.Turn[k] += int16(number(7))
			}
		}
	default:
		c.Largest = uint8(r.Bits(2))
		for k := range c.Turn {
			c.Turn[k] = int16(number(9))
		}
	}
}
