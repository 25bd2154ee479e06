package main

import (
	"fmt"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/image"
)

// checksumRows measure the checksum of a tick that was just saved.
func checksumRows() []measure.Row {
	var rows []measure.Row
	for _, size := range sizes {
		rows = append(rows, measure.Row{
			Name:      "checksum-tenth-" + size.name,
			What:      fmt.Sprintf("checksum of a saved tick of %s entities, 10 %% of the pages changed", size.name),
			Reference: "xxhash of all live bytes in one piece",
			Reach:     0.25,
			Run:       func() measure.Result { return checksum(loads[1], size.n) },
		})
	}
	return rows
}

func checksum(l load, n int) measure.Result {
	b, w := newBuffer(n), l.world(n)
	ring := make([]image.Snapshot, ringDepth)
	all := unsafe.Slice((*byte)(unsafe.Pointer(&b.words[0])), len(b.words)*8)
	sink := uint64(0)
	return measure.Result{Unit: "tick", Ratio: measure.Compare(
		measure.Op{Prepare: func() { l.reference(b); b.save() }, Run: func() { sink += xxhash.Sum64(all) }},
		measure.Op{
			Prepare: func() { w.Step(ecs.TickInputs{}); w.Image().Save(&ring[w.Tick()%ringDepth]) },
			Run:     func() { sink += uint64(ring[w.Tick()%ringDepth].Checksum()) },
		},
	)}
}
