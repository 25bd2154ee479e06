package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/systems/internal/entropy"
)

// The content of a body is one entropy code: three lists, of specials (players and resources), of rows whose entity
// left, and of entities. An element of a list is a bit that says there is one, and its place (the number of a special,
// the row of an entity) less the place before, which is smaller. Elements of the first and the last list go on with
// the values: whole, or as differences from those of a tick that the client holds.

// The bounds of a body. The coder, whose likely values take next to nothing, does not bound them.
const (
	maxElements = 4096
	maxValues   = 1 << 16 // scalars
	longPart    = 16      // a part of more scalars says which changed by gaps
)

// place is the models of a list's places and baselines.
type place struct {
	more  entropy.Model
	gap   entropy.Number
	whole entropy.Model
	same  entropy.Model // the baseline is that of the element before
	age   entropy.Number
	// Of the second baseline, if there is one: it lies as far before the first as that of the element before.
	course entropy.Model
	alike  entropy.Model
	span   entropy.Number
}

// The lists of a body.
const (
	listSpecials = iota
	listGone
	listEntities
	lists
)

// The ways to code values, with models of their own: as they are, against those of a baseline, and against the course
// that two baselines give.
const (
	asWhole = iota
	asDifference
	asCourse
	ways
)

// models is all that a body's code learns. Both sides begin each body with none of it.
type models struct {
	places  [lists]place
	born    entropy.Number
	has     [ecs.MaxSetComponents][2]entropy.Model // by whether the whole entity before had it
	changed [ways][]entropy.Model                  // by part
	gap     [ways][]entropy.Number                 // by part
	scalar  [ways][]entropy.Number                 // by context
}

func newModels(s *schema) *models {
	m := &models{}
	for way := range ways {
		m.changed[way] = make([]entropy.Model, len(s.parts))
		m.gap[way] = make([]entropy.Number, len(s.parts))
		m.scalar[way] = make([]entropy.Number, s.contexts)
	}
	return m
}

// forget makes all odds even.
func (m *models) forget() {
	m.places, m.born, m.has = [lists]place{}, entropy.Number{}, [ecs.MaxSetComponents][2]entropy.Model{}
	for way := range ways {
		clear(m.changed[way])
		clear(m.gap[way])
		clear(m.scalar[way])
	}
}

// coding is where a list has come to.
type coding struct {
	next uint64           // the least place of the next element
	base ecs.Tick         // of the last element that was a difference
	span ecs.Tick         // from the second to the first of the last element that had two
	set  ecs.ComponentSet // of the last whole entity
}

// difference returns what leads from one value to another, small if they are near.
func difference(from, to uint64, pattern bool) uint64 {
	if pattern {
		return from ^ to
	}
	return entropy.Signed(int64(to - from))
}

// sum is the inverse of difference.
func sum(from, difference uint64, pattern bool) uint64 {
	if pattern {
		return from ^ difference
	}
	return from + uint64(entropy.Unsigned(difference))
}

// encoder writes the content of a body.
type encoder struct {
	entropy.Encoder
	schema *schema
	models *models
}

// element begins an element of a list.
func (e *encoder) element(list int, c *coding, place uint32) {
	m := &e.models.places[list]
	e.Bit(&m.more, true)
	e.Number(&m.gap, uint64(place)-c.next)
	c.next = uint64(place) + 1
}

func (e *encoder) end(list int) { e.Bit(&e.models.places[list].more, false) }

// based codes the way of an element of tick now, and the ticks of its baselines.
func (e *encoder) based(list int, c *coding, way int, now, base, second ecs.Tick) {
	m := &e.models.places[list]
	e.Bit(&m.whole, way == asWhole)
	if way == asWhole {
		return
	}
	e.Bit(&m.same, c.base == base)
	if c.base != base {
		e.Number(&m.age, uint64(now-base))
		c.base = base
	}
	if list != listEntities {
		return // what is not in space has no course
	}
	e.Bit(&m.course, way == asCourse)
	if way == asCourse {
		span := base - second
		e.Bit(&m.alike, c.span == span)
		if c.span != span {
			e.Number(&m.span, uint64(span-1))
			c.span = span
		}
	}
}

// identity codes when an entity was born and what components it has.
func (e *encoder) identity(c *coding, now, born ecs.Tick, set ecs.ComponentSet) {
	e.Number(&e.models.born, uint64(now-born))
	for i := range e.schema.components {
		e.Bit(&e.models.has[i][c.set>>i&1], set>>i&1 != 0)
	}
	c.set = set
}

// entity codes the values of an entity against base, nil: whole.
func (e *encoder) entity(set ecs.ComponentSet, way int, values, base []uint64) {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		n := len(e.schema.parts[i].context)
		if base == nil {
			e.part(i, way, values[:n], nil)
		} else {
			e.part(i, way, values[:n], base[:n])
			base = base[n:]
		}
		values = values[n:]
	}
}

// part codes the values of a part against base, nil: zeros.
func (e *encoder) part(i, way int, values, base []uint64) {
	p, m := &e.schema.parts[i], e.models
	first := nextDifference(values, base, 0)
	e.Bit(&m.changed[way][i], first < len(values))
	if first == len(values) {
		return
	}
	if len(values) <= longPart {
		for k := range values {
			e.Number(&m.scalar[way][p.context[k]], p.difference(values, base, k))
		}
		return
	}
	for at, next := 0, first; ; next = nextDifference(values, base, at) {
		e.Number(&m.gap[way][i], uint64(next-at))
		if next == len(values) {
			return
		}
		e.NotZero(&m.scalar[way][p.context[next]], p.difference(values, base, next))
		at = next + 1
	}
}

func (p *part) difference(values, base []uint64, k int) uint64 {
	from := uint64(0)
	if base != nil {
		from = base[k]
	}
	return difference(from, values[k], p.pattern[k])
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

// cost returns about how many bits an entity takes once the models have learned.
func (s *schema) cost(set ecs.ComponentSet, values, base []uint64) (cost int) {
	cost = 4
	if base == nil {
		cost = 12
	}
	for ; set != 0; set &= set - 1 {
		p := &s.parts[bits.TrailingZeros64(uint64(set))]
		n := len(p.context)
		for k := range n {
			cost += entropy.Cost(p.difference(values, base, k))
		}
		values = values[n:]
		if base != nil {
			base = base[n:]
		}
	}
	return cost
}
