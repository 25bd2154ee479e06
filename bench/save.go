package main

import (
	"fmt"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/image"
)

// ringDepth is the number of snapshots in rotation, and of the reference's buffers.
const ringDepth = 12

// pageRows is the number of rows after which every component's page ends.
const pageRows = 256

// pagesOf returns the number of rows whose pages are one share-th of all pages, in whole pages.
func pagesOf(n, share int) int { return (n/share + pageRows - 1) / pageRows * pageRows }

// load is what a tick writes: the world, and how the reference writes its buffer.
type load struct {
	name, what string
	reach      float64
	missed     string
	world      func(n int) *ecs.World
	reference  func(b *buffer)
}

// pieces is the reason why rows that copy most pages may exceed their reach.
const pieces = "copied page by page, one memcpy is prefetched and, above 1 MB, written past the caches"

var loads = []load{
	{"everything", "everything written", 1.3, pieces,
		func(n int) *ecs.World { return entities.World(n, nil, entities.TouchAll) },
		func(b *buffer) { b.write(b.n, 1) }},
	{"tenth", "10 % of the pages declared and written", 0.3, pieces,
		func(n int) *ecs.World { return entities.World(n, entities.Below(pagesOf(n, 10)), entities.Touch) },
		func(b *buffer) { b.write(b.n/10, 1) }},
	{"declared", "everything declared, 10 % of the pages changed", 1.2, pieces,
		func(n int) *ecs.World { return entities.World(n, nil, entities.TouchBelow(pagesOf(n, 10))) },
		func(b *buffer) { b.write(b.n/10, 1) }},
	{"scattered", "10 % of the entities, scattered", 1.3, pieces,
		func(n int) *ecs.World { return entities.World(n, entities.Scattered(10), entities.Touch) },
		func(b *buffer) { b.write(b.n, 10) }},
	{"hundredth", "1 % of the pages declared and written", 0.08, pieces, hundredth,
		func(b *buffer) { b.write(b.n/100, 1) }},
}

// hundredth returns a world that writes 1 % of the pages. With few entities, these are the pages of two components.
func hundredth(n int) *ecs.World {
	if n < 50_000 {
		return entities.World(n, entities.Below(pageRows), entities.TouchTwo)
	}
	return entities.World(n, entities.Below(pagesOf(n, 100)), entities.Touch)
}

// buffer is the reference's state: the live bytes of all entities in one slice, column by column, and copies of the last
// ticks.
type buffer struct {
	n     int
	words []int64
	ring  [ringDepth][]int64
	tick  int
}

func newBuffer(n int) *buffer {
	b := &buffer{n: n, words: make([]int64, n*entities.EntityBytes/8)}
	for i := range b.ring {
		b.ring[i] = make([]int64, len(b.words))
		for j := range b.ring[i] {
			b.ring[i][j] = int64(j) // so that the memory is mapped
		}
	}
	return b
}

// write changes all four components of every step-th of the first n entities, as the systems of package entities do.
func (b *buffer) write(n, step int) {
	positions, velocities, bodies, lives := b.words[:2*b.n], b.words[2*b.n:4*b.n], b.words[4*b.n:7*b.n], b.words[7*b.n:]
	for i := 0; i < n; i += step {
		positions[2*i]++
		velocities[2*i]++
		bodies[3*i]++
		lives[2*i]++
	}
}

func (b *buffer) save() {
	b.tick++
	copy(b.ring[b.tick%ringDepth], b.words)
}

// saveRows measure saving a tick, without its checksum.
func saveRows() []measure.Row {
	var rows []measure.Row
	for _, l := range loads {
		for _, size := range sizes {
			rows = append(rows, measure.Row{
				Name:      fmt.Sprintf("save-%s-%s", l.name, size.name),
				What:      fmt.Sprintf("save a tick of %s entities, %s", size.name, l.what),
				Reference: "one memcpy of the live bytes into a ring of 12 buffers",
				Reach:     l.reach,
				Missed:    l.missed,
				Run:       func() measure.Result { return save(l, size.n) },
			})
		}
	}
	return rows
}

func save(l load, n int) measure.Result {
	b, w := newBuffer(n), l.world(n)
	ring := make([]image.Snapshot, ringDepth)
	return measure.Result{Unit: "tick", Ratio: measure.Compare(
		measure.Op{Prepare: func() { l.reference(b) }, Run: b.save},
		measure.Op{
			Prepare: func() { w.Step(ecs.TickInputs{}) },
			Run:     func() { w.Image().Save(&ring[w.Tick()%ringDepth]) },
		},
	)}
}
