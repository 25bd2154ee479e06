package image_test

import (
	"unsafe"

	"tendon/ecs"
	"tendon/ecs/image"
)

// rowBytes returns everything a state has of a row: identity, presence and values.
func rowBytes(s *image.Snapshot, o image.Owner, i uint32) (all []byte) {
	for c := range s.Image().Columns() {
		col := &s.Image().Columns()[c]
		if col.Info().Single() {
			continue
		}
		all = append(all, 0)
		if s.Has(col, o, i) {
			all[len(all)-1] = 1
		}
		all = append(all, unsafe.Slice((*byte)(s.RowOf(col, o, i)), col.Info().Stride())...)
	}
	return all
}

// eachRow calls f for the first 256 rows of each owner, more than these tests fill.
func eachRow(im *image.Image, f func(o image.Owner, i uint32)) {
	identity := &im.Columns()[image.ColumnIdentity]
	for o := range identity.Regions() {
		for i := range min(256, uint32(len(identity.Regions()[o].Words())*image.BlockRows)) {
			f(image.Owner(o), i)
		}
	}
}

// count returns how many entities a query yields.
func count[A, PA any](w *ecs.World, q *ecs.Query1[A, PA]) (n int) {
	for range q.All(w) {
		n++
	}
	return n
}
