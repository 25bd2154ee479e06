package main

import (
	"fmt"

	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/image"
)

// rewindTicks is the distance of the rows of restoring and rewinding.
const rewindTicks = 8

// restoreRows measure restoring a saved tick. The reference copies the pages that differ.
func restoreRows() []measure.Row {
	var rows []measure.Row
	for _, l := range loads[:2] {
		for _, size := range sizes {
			rows = append(rows, measure.Row{
				Name:      fmt.Sprintf("restore-%s-%s", l.name, size.name),
				What:      fmt.Sprintf("restore 8 ticks back, %s entities, %s", size.name, l.what),
				Reference: "memcpy of the pages that differ",
				Reach:     1.2, Plus: 2000, Missed: pieces,
				Run: func() measure.Result { return restore(l, size.n) },
			})
		}
	}
	return rows
}

func restore(l load, n int) measure.Result {
	b, w := newBuffer(n), l.world(n)
	differing := len(b.words)
	if l.name == "tenth" {
		differing /= 10
	}
	ring := make([]image.Snapshot, ringDepth)
	ahead := func() {
		for range rewindTicks {
			w.Step(ecs.TickInputs{})
			w.Image().Save(&ring[w.Tick()%ringDepth])
		}
	}
	w.Image().Save(&ring[0])
	ahead()
	return measure.Result{Unit: "restore", Ratio: measure.Compare(
		measure.Op{
			Prepare: func() {
				for range rewindTicks {
					l.reference(b)
					b.tick++
					copy(b.ring[b.tick%ringDepth][:differing], b.words)
				}
			},
			Run: func() { copy(b.words[:differing], b.ring[(b.tick-rewindTicks+1)%ringDepth]) },
		},
		measure.Op{
			Prepare: ahead,
			Run:     func() { w.Image().Restore(&ring[(w.Tick()-rewindTicks)%ringDepth]) },
		},
	)}
}
