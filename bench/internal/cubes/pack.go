package cubes

import "tendon/net/wire"

// Pack encodes frame now against base as the article does:
//
//   - the changed cubes, as one bit each or as distances from one to the next, whichever is shorter
//   - a position as differences of 5 or 9 bits, or whole in 18, 18 and 14
//   - an orientation as differences of 5 or 7 bits if the same component is left out, or whole in 2 and 27
func Pack(dst []byte, base, now *Frame) []byte {
	w := wire.NewBitWriter(dst, len(now)*16)
	changed := Changed(base, now)
	byDistance := distanceBits(base, now) < Bodies
	w.Bool(byDistance)
	if byDistance {
		w.Bits(uint64(changed), 10)
	}
	last := -1
	for i := range now {
		same := base[i] == now[i]
		if !byDistance {
			w.Bool(!same)
		}
		if same {
			continue
		}
		if byDistance {
			appendDistance(&w, i-last-1)
			last = i
		}
		packPosition(&w, &base[i], &now[i])
		packTurn(&w, &base[i], &now[i])
	}
	return w.Bytes()
}

// The widths of a distance between changed cubes: a prefix, then that many bits.
var distanceWidths = [...]int{0, 3, 5, 10}

func distanceClass(d int) int {
	switch {
	case d == 0:
		return 0
	case d <= 8:
		return 1
	case d <= 40:
		return 2
	}
	return 3
}

func appendDistance(w *wire.BitWriter, d int) {
	switch c := distanceClass(d); c {
	case 0:
		w.Bits(1, 1)
	case 1:
		w.Bits(0b10, 2)
		w.Bits(uint64(d-1), 3)
	case 2:
		w.Bits(0b100, 3)
		w.Bits(uint64(d-9), 5)
	default:
		w.Bits(0, 3)
		w.Bits(uint64(d), 10)
	}
}

func distanceBits(base, now *Frame) (bits int) {
	bits, last := 10, -1
	for i := range now {
		if base[i] != now[i] {
			c := distanceClass(i - last - 1)
			bits += min(c+1, 3) + distanceWidths[c]
			last = i
		}
	}
	return bits
}

// within reports whether v fits n bits with a sign.
func within(v int32, n int) bool { return v >= -1<<(n-1) && v < 1<<(n-1) }

func signed(w *wire.BitWriter, v int32, n int) { w.Bits(uint64(v)&(1<<n-1), n) }

func packPosition(w *wire.BitWriter, base, now *Cube) {
	d := [3]int32{now.X - base.X, now.Y - base.Y, now.Z - base.Z}
	small, near := true, true
	for _, v := range d {
		small, near = small && within(v, 5), near && within(v, 9)
	}
	w.Bool(small)
	if small {
		for _, v := range d {
			signed(w, v, 5)
		}
		return
	}
	w.Bool(near)
	if !near {
		signed(w, now.X, 18)
		signed(w, now.Y, 18)
		signed(w, now.Z, 14)
		return
	}
	for _, v := range d {
		w.Bool(within(v, 5))
		if within(v, 5) {
			signed(w, v, 5)
		} else {
			signed(w, v, 9)
		}
	}
}

func packTurn(w *wire.BitWriter, base, now *Cube) {
	small, near := base.Largest == now.Largest, base.Largest == now.Largest
	for k := range now.Turn {
		d := int32(now.Turn[k] - base.Turn[k])
		small, near = small && within(d, 5), near && within(d, 7)
	}
	w.Bool(small)
	if !small {
		w.Bool(near)
	}
	for k := range now.Turn {
		d := int32(now.Turn[k] - base.Turn[k])
		switch {
		case small:
			signed(w, d, 5)
		case near:
			w.Bool(within(d, 5))
			if within(d, 5) {
				signed(w, d, 5)
			} else {
				signed(w, d, 7)
			}
		}
	}
	if !near {
		w.Bits(uint64(now.Largest), 2)
		for _, v := range now.Turn {
			signed(w, int32(v), 9)
		}
	}
}
