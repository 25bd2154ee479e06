package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/entropy"
)

// The content of a delta is one entropy code. It starts with the checkpoint and the moments that it builds on, see
// encoder.start. Four lists follow: globals, rows whose entity left, updates of entities that the checkpoint's delta
// contained, and other entities. An element is a place, the number of a global or the row of an entity, and its values, whole
// or as differences from a baseline. Rows that left have no values. The places of the third list are those of the
// checkpoint's delta, each with a bit. The places of the others ascend and are coded as differences.

// The bounds of a delta. The size in bytes does not bound them, since likely values take almost no bits.
const (
	maxElements = 4096
	maxValues   = 1 << 16 // scalars
	longPart    = 16      // in a part with more scalars, the changed ones are coded by gaps
)

// place holds the models of a list's places and baselines.
type place struct {
	more  [2]entropy.Model // by whether the row before was an element, in the list of the checkpoint's rows
	again entropy.Model    // that list is used
	gap   entropy.Number
	usual entropy.Model // the way is asPrediction from all moments
	whole entropy.Model
	given entropy.Model // the tick of the baseline is coded
	same  entropy.Model // it is that of the element before
	age   entropy.Number
}

// fresh is a place in the state before the first element.
var fresh = place{gap: expected[kindWhole], age: expected[kindWhole]}

// The lists of a delta.
const (
	listGlobals = iota
	listGone
	listEntities
	lists
	listAgain = lists // entities in the rows of the checkpoint; before listEntities
)

// The ways of coding values. Each has models of its own.
const (
	asWhole      = iota // as they are
	asDifference        // as the difference from the values of a tick that is coded
	asPrediction        // as the difference from values that are predicted from those at the moments
	ways
)

// models holds the adaptive models of the code of a delta. A delta starts with the models of a checkpoint, or with fresh ones.
type models struct {
	places  [lists + 1]place
	ages    [maxMoments]entropy.Number // of the moments
	born    entropy.Number
	has     [image.MaxSetComponents][2]entropy.Model // by whether the whole entity before has it
	changed [ways][]entropy.Model                    // by part
	gap     [ways][]entropy.Number                   // by part
	scalar  []entropy.Number                         // kinds for each context
}

// newModels returns fresh models.
func newModels(s *schema) *models {
	m := &models{born: expected[kindWhole]}
	for list := range m.places {
		m.places[list] = fresh
	}
	for i := range m.ages {
		m.ages[i] = expected[kindWhole]
	}
	for way := range ways {
		m.changed[way] = make([]entropy.Model, len(s.parts))
		for range s.parts {
			m.gap[way] = append(m.gap[way], expected[kindDifference])
		}
	}
	for range s.contexts {
		m.scalar = append(m.scalar, expected[:]...)
	}
	return m
}

// set makes the models equal to others of the same schema.
func (m *models) set(from *models) {
	m.places, m.ages, m.born, m.has = from.places, from.ages, from.born, from.has
	for way := range ways {
		copy(m.changed[way], from.changed[way])
		copy(m.gap[way], from.gap[way])
	}
	copy(m.scalar, from.scalar)
}

// coding is the state of the code of a list.
type coding struct {
	next uint64             // the least place of the next element
	base ecs.Tick           // of the last element with a coded baseline
	set  image.ComponentSet // of the last whole entity
}

type encoder struct {
	entropy.Encoder
	schema *schema
	models *models
	sizes  *sizes // nil unless bytes are accounted
}

func (e *encoder) element(list int, c *coding, place uint32) {
	m := &e.models.places[list]
	e.Bit(&m.more[0], true)
	e.Number(&m.gap, uint64(place)-c.next)
	c.next = uint64(place) + 1
}

func (e *encoder) end(list int) { e.Bit(&e.models.places[list].more[0], false) }

// start codes the checkpoint and the moments. back counts possible checkpoints from the newest, which is 1; 0 stands for none.
func (e *encoder) start(back int, now ecs.Tick, m *moments) {
	e.Bits(uint64(back), backBits)
	e.Bits(uint64(m.count), momentBits)
	for i := range m.count {
		e.Number(&e.models.ages[i], uint64(now-m.ticks[i]))
		now = m.ticks[i]
	}
}

// based codes the way of an element in a delta of tick now, and the tick of its baseline. all is true for a prediction from all
// moments, false for one from the reference alone.
func (e *encoder) based(list int, c *coding, way int, now, base ecs.Tick, all bool) {
	m := &e.models.places[list]
	usual := way == asPrediction && all
	if e.Bit(&m.usual, usual); usual {
		return
	}
	if e.Bit(&m.whole, way == asWhole); way == asWhole {
		return
	}
	e.Bit(&m.given, way == asDifference)
	if way == asPrediction {
		return
	}
	e.Bit(&m.same, c.base == base)
	if c.base != base {
		e.Number(&m.age, uint64(now-base))
		c.base = base
	}
}

// identity codes an entity's birth tick and components.
func (e *encoder) identity(c *coding, now, born ecs.Tick, set image.ComponentSet) {
	e.Number(&e.models.born, uint64(now-born))
	for i := range e.schema.components {
		e.Bit(&e.models.has[i][c.set>>i&1], set>>i&1 != 0)
	}
	c.set = set
}

// entity codes the values of an entity. base is nil for whole values. courses are those of a prediction from both moments,
// else nil.
func (e *encoder) entity(set image.ComponentSet, way int, values, base []uint64, courses []course) {
	spread, whole := uint64(0), set
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		n := len(e.schema.parts[i].context)
		var from []uint64
		var at []course
		if base != nil {
			from, base = base[:n], base[n:]
		}
		if courses != nil {
			at, courses = courses[:n], courses[n:]
		}
		e.part(i, way, values[:n], from, at, &spread)
		e.count(whole, e.schema.columns[i])
		values = values[n:]
	}
}

// part codes the differences of the values of a part from base; a nil base is all zeros. spread is that of the entity.
func (e *encoder) part(i, way int, values, base []uint64, courses []course, spread *uint64) {
	p, m := &e.schema.parts[i], e.models
	first := nextDifference(values, base, 0)
	e.Bit(&m.changed[way][i], first < len(values))
	if first == len(values) {
		return
	}
	for k, long := 0, len(values) > longPart; k < len(values) || long; k++ {
		if long {
			next := nextDifference(values, base, k)
			e.Number(&m.gap[way][i], uint64(next-k))
			if k = next; k == len(values) {
				return
			}
		}
		n, sign := m.number(p.context[k], k, way, courses, *spread)
		v := p.difference(values, base, k)
		if p.pattern[k] {
			e.Number(n, v)
			if p.scale[k] != 0 && courses != nil && v != 0 {
				rebase(base[k:k+4], p.scale[k], values[k])
			}
			continue
		}
		learnSpread(spread, int64(v))
		e.Integer(n, int64(v)*sign)
	}
}

// learnSpread updates the spread of an entity: about twice the mean size of its last coded differences. Differences of one entity
// often have similar sizes.
func learnSpread(spread *uint64, difference int64) {
	const most = 1 << 20
	*spread = (*spread + 2*min(magnitude(difference), most)) / 2
}

func magnitude(v int64) uint64 { return uint64(max(v, -v)) }

// number returns the models of a value, and the sign of its difference in the code: −1 if it is predicted to fall, else 1.
func (m *models) number(context int32, k, way int, courses []course, spread uint64) (n *entropy.Number, sign int64) {
	kind := way
	sign = 1
	if courses != nil {
		c := courses[k]
		kind, sign = kindPrediction+min(bits.Len64(uint64(c.size)+spread), maxSize), int64(c.sign)
	} else if way == asPrediction {
		kind = kindDifference
	}
	return &m.scalar[int(context)*kinds+kind], sign
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
			if !p.pattern[k] {
				v = magnitude(int64(v))
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
