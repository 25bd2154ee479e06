package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/entropy"
)

// The content of a delta is one entropy code of three lists: globals, rows whose entity left, and entities. An element of a
// list is a set bit and a place: the number of a global or the row of an entity. Places ascend and are coded as differences.
// Elements of the first and the last list continue with their values, whole or as differences from a baseline.

// The bounds of a delta. The size in bytes does not bound them, since likely values take almost no bits.
const (
	maxElements = 4096
	maxValues   = 1 << 16 // scalars
	longPart    = 16      // in a part with more scalars, the changed ones are coded by gaps
)

// place holds the models of a list's places and baselines.
type place struct {
	more  entropy.Model
	gap   entropy.Number
	whole entropy.Model
	given entropy.Model // the tick of the baseline is coded
	same  entropy.Model // it is that of the element before
	age   entropy.Number
	// Of other baselines: the reference tick and the span of extrapolations, and whether the element is extrapolated, by
	// whether its baseline is of the reference tick. Entities that have rested since are not extrapolated.
	reference    entropy.Number
	extrapolated [2]entropy.Model
}

// fresh is a place in the state before the first element.
var fresh = place{gap: expected[kindWhole], reference: expected[kindWhole], age: expected[kindWhole]}

// The lists of a delta.
const (
	listGlobals = iota
	listGone
	listEntities
	lists
)

// The ways of coding values. Each has models of its own.
const (
	asWhole         = iota // as they are
	asDifference           // as the difference from the values of a tick that is coded
	asReference            // as the difference from the last values up to the list's reference tick
	asExtrapolation        // as the difference from the extrapolation of those
	ways
)

// models holds the adaptive models of the code of a delta. Each delta starts with fresh ones.
type models struct {
	places  [lists]place
	born    entropy.Number
	has     [image.MaxSetComponents][2]entropy.Model // by whether the whole entity before current it
	changed [ways][]entropy.Model                    // by part
	gap     [ways][]numbers                          // by part
	scalar  [kinds][]numbers                         // by context
	delta   uint32                                   // counts deltas, from 1 on
}

// numbers holds the models of a number. They are reset by the first use in a delta, since there are many, and most deltas
// use few of them.
type numbers struct {
	delta uint32
	entropy.Number
}

func (n *numbers) of(kind int, delta uint32) *entropy.Number {
	if n.delta != delta {
		n.delta, n.Number = delta, expected[kind]
	}
	return &n.Number
}

func newModels(s *schema) *models {
	m := &models{}
	for way := range ways {
		m.changed[way] = make([]entropy.Model, len(s.parts))
		m.gap[way] = make([]numbers, len(s.parts))
	}
	for kind := range kinds {
		m.scalar[kind] = make([]numbers, s.contexts)
	}
	m.forget()
	return m
}

func (m *models) forget() {
	m.places, m.born, m.has = [lists]place{fresh, fresh, fresh}, expected[kindWhole], [image.MaxSetComponents][2]entropy.Model{}
	for way := range ways {
		clear(m.changed[way])
	}
	m.forgetNumbers()
}

// forgetNumbers resets the models of values.
func (m *models) forgetNumbers() {
	if m.delta++; m.delta > 0 {
		return
	}
	m.delta = 1 // the counter has wrapped: old numbers may have this value
	for way := range ways {
		clear(m.gap[way])
	}
	for kind := range kinds {
		clear(m.scalar[kind])
	}
}

type coding struct {
	next      uint64             // the least place of the next element
	base      ecs.Tick           // of the last element with a coded baseline
	reference ecs.Tick           // a tick whose values the client is known to store
	span      ecs.Tick           // least ticks between the two points of an extrapolation
	coded     bool               // reference and span are
	set       image.ComponentSet // of the last whole entity
}

type encoder struct {
	entropy.Encoder
	schema *schema
	models *models
}

func (e *encoder) element(list int, c *coding, place uint32) {
	m := &e.models.places[list]
	e.Bit(&m.more, true)
	e.Number(&m.gap, uint64(place)-c.next)
	c.next = uint64(place) + 1
}

func (e *encoder) end(list int) { e.Bit(&e.models.places[list].more, false) }

// based codes the way of an element in a delta of tick now, and the tick of its baseline.
func (e *encoder) based(list int, c *coding, way int, now, base ecs.Tick) {
	m := &e.models.places[list]
	e.Bit(&m.whole, way == asWhole)
	if way == asWhole {
		return
	}
	e.Bit(&m.given, way == asDifference)
	if way == asDifference {
		e.Bit(&m.same, c.base == base)
		if c.base != base {
			e.Number(&m.age, uint64(now-base))
			c.base = base
		}
		return
	}
	if !c.coded {
		e.Number(&m.reference, uint64(now-c.reference))
		e.Number(&m.reference, uint64(c.span))
		c.coded = true
	}
	if list == listEntities {
		e.Bit(&m.extrapolated[c.recent(base)], way == asExtrapolation)
	}
}

// recent returns 1 for a baseline of the reference tick, else 0.
func (c *coding) recent(base ecs.Tick) int {
	if base == c.reference {
		return 1
	}
	return 0
}

// identity codes an entity's birth tick and components.
func (e *encoder) identity(c *coding, now, born ecs.Tick, set image.ComponentSet) {
	e.Number(&e.models.born, uint64(now-born))
	for i := range e.schema.components {
		e.Bit(&e.models.has[i][c.set>>i&1], set>>i&1 != 0)
	}
	c.set = set
}

// entity codes the values of an entity. base is nil for whole values; speeds are those of an extrapolation.
func (e *encoder) entity(set image.ComponentSet, way int, values, base []uint64, speeds []speed) {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		n := len(e.schema.parts[i].context)
		switch way {
		case asWhole:
			e.part(i, way, values[:n], nil, nil)
		case asDifference, asReference:
			e.part(i, way, values[:n], base[:n], nil)
			base = base[n:]
		default:
			e.part(i, way, values[:n], base[:n], speeds[:n])
			base, speeds = base[n:], speeds[n:]
		}
		values = values[n:]
	}
}

// part codes the differences of the values of a part from base; a nil base is all zeros.
func (e *encoder) part(i, way int, values, base []uint64, speeds []speed) {
	p, m := &e.schema.parts[i], e.models
	first := nextDifference(values, base, 0)
	e.Bit(&m.changed[way][i], first < len(values))
	if first == len(values) {
		return
	}
	if len(values) <= longPart {
		for k := range values {
			e.scalar(p, k, way, values, base, speeds)
		}
		return
	}
	for at, next := 0, first; ; next = nextDifference(values, base, at) {
		e.Number(m.gap[way][i].of(kindDifference, m.delta), uint64(next-at))
		if next == len(values) {
			return
		}
		e.scalar(p, next, way, values, base, speeds)
		at = next + 1
	}
}

func (e *encoder) scalar(p *part, k, way int, values, base []uint64, speeds []speed) {
	n, down := e.models.number(p.context[k], k, way, speeds)
	v := p.difference(values, base, k)
	switch {
	case p.pattern[k]:
		e.Number(n, v)
	case down:
		e.Integer(n, -int64(v))
	default:
		e.Integer(n, int64(v))
	}
}

// number returns the models of a value, and whether it is extrapolated downwards, so that the sign of its difference is
// inverted.
func (m *models) number(context int32, k, way int, speeds []speed) (n *entropy.Number, down bool) {
	kind := kindDifference
	switch way {
	case asWhole:
		kind = kindWhole
	case asExtrapolation:
		kind, down = kindExtrapolation+speeds[k].magnitude(), speeds[k] < 0
	}
	return m.scalar[kind][context].of(kind, m.delta), down
}

func (p *part) difference(values, base []uint64, k int) uint64 {
	v := values[k]
	switch {
	case base == nil:
		return v
	case p.pattern[k]:
		return v ^ base[k]
	}
	return v - base[k]
}

// nextDifference returns the first index from at on where values and base differ, or their length.
func nextDifference(values, base []uint64, at int) int {
	if base == nil {
		for at < len(values) && values[at] == 0 {
			at++
		}
		return at
	}
	for at < len(values) && values[at] == base[at] {
		at++
	}
	return at
}

// cost returns the approximate number of bits of an entity after the models have learned.
func (s *schema) cost(set image.ComponentSet, values, base []uint64) (cost int) {
	cost = 4
	if base == nil {
		cost = 12
	}
	for ; set != 0; set &= set - 1 {
		p := &s.parts[bits.TrailingZeros64(uint64(set))]
		n := len(p.context)
		for k := range n {
			v := p.difference(values, base, k)
			if !p.pattern[k] && int64(v) < 0 {
				v = -v
			}
			cost += entropy.Cost(v)
		}
		values = values[n:]
		if base != nil {
			base = base[n:]
		}
	}
	return cost
}
