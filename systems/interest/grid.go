package interest

import (
	"math/bits"
	"slices"

	"tendon/ecs/fixed"
)

// grid sorts the markers into square cells in x and y. Their size is 2^64 / scale: at least R, and at most 15 % more. All markers within R
// of a watcher are in the nine cells around it.
//
// The plane of cells is folded into a torus of 2^bits by 2^bits buckets, about as many as there are markers. Cells that
// share a bucket add only markers that are too far. With four or more buckets a side the nine cells never share one, so
// no marker is found twice.
type grid struct {
	sets   *Sets
	scale  uint64 // (2^64 − 1) / R, rounded down
	bits   uint
	bucket []uint32 // by marker; noBucket without a position
	start  []uint32 // by bucket: its first item; one more at the end
	items  []item   // by bucket, then by marker
	stale  bool     // a marker was placed or removed since the items were sorted
}

type item struct {
	pos    fixed.Vec3
	marker uint32
}

const (
	minGridBits = 2
	noBucket    = 1<<32 - 1
)

func (g *grid) moved(marker bool, _ int, _ bool) { g.stale = g.stale || marker }
func (*grid) left(int, int)                      {}

// cell returns the index of the cell of a coordinate: (x + 2^63) · scale / 2^64, rounded down.
func (g *grid) cell(x fixed.Num) uint64 {
	n, _ := bits.Mul64(uint64(x)^1<<63, g.scale)
	return n
}

func (g *grid) at(cx, cy uint64) uint32 {
	mask := uint64(1)<<g.bits - 1
	return uint32((cy&mask)<<g.bits | cx&mask)
}

func (g *grid) find(found []uint64) []uint64 {
	if g.stale {
		g.sort()
		g.stale = false
	}
	s := g.sets
	for w := range s.watchers {
		at := &s.watchers[w]
		if !at.placed {
			continue
		}
		cx, cy := g.cell(at.pos.X), g.cell(at.pos.Y)
		for k := range uint64(9) {
			b := g.at(cx+k%3-1, cy+k/3-1)
			near := g.items[g.start[b]:g.start[b+1]]
			s.counts.Compared += uint64(len(near))
			for i := range near {
				if s.in.covers(&at.pos, &near[i].pos) && !s.has(w, near[i].marker) {
					found = append(found, pairOf(w, int(near[i].marker)))
				}
			}
		}
	}
	return found
}

// sort sorts the markers by bucket with a counting sort.
func (g *grid) sort() {
	markers := g.sets.markers
	for 1<<(2*g.bits) < len(markers) {
		g.bits++
	}
	buckets := 1 << (2 * g.bits)
	g.bucket = slices.Grow(g.bucket[:0], len(markers))[:len(markers)]
	g.start = slices.Grow(g.start[:0], buckets+1)[:buckets+1]
	clear(g.start)
	for m := range markers {
		g.bucket[m] = noBucket
		if at := &markers[m]; at.placed {
			b := g.at(g.cell(at.pos.X), g.cell(at.pos.Y))
			g.bucket[m] = b
			g.start[b]++
		}
	}
	total := uint32(0)
	for b := range g.start { // from the number of items to the end of the bucket
		total += g.start[b]
		g.start[b] = total
	}
	g.items = slices.Grow(g.items[:0], int(total))[:total]
	for m := len(markers) - 1; m >= 0; m-- { // from the end to the start
		if b := g.bucket[m]; b != noBucket {
			g.start[b]--
			g.items[g.start[b]] = item{markers[m].pos, uint32(m)}
		}
	}
}
