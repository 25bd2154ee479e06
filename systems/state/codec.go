package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/entropy"
)

// The content of a body is one entropy code of three lists: specials (players and resources), rows whose entity left, and
// entities. An element of a list begins with a bit that is 1, and its place: the number of a special or the row of an entity.
// A place is coded as the difference from the place before, which is smaller. Elements of the first and the last list
// continue with values, whole or as differences from those of a tick that the client holds.

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
	given entropy.Model // the baseline is that of a tick that is given
	same  entropy.Model // which is that of the element before
	age   entropy.Number
	// Models of other baselines: their newest tick and the length of courses, and the presence of a course. The last is by
	// whether the baseline is of exactly that tick; an entity that has rested since has no course.
	heldSpan entropy.Number
	course   [2]entropy.Model
}

// fresh is a place before anything was learned.
var fresh = place{gap: expected[kindWhole], heldSpan: expected[kindWhole], age: expected[kindWhole]}

// The lists of a body.
const (
	listSpecials = iota
	listGone
	listEntities
	lists
)

// The ways to code values, each with models of its own: whole values, or differences from a base. The base is the values of a
// given tick, the last acknowledged values up to a tick that the list names once, or the course of those.
const (
	asWhole = iota
	asDifference
	asHeld
	asCourse
	ways
)

// models is all that a body's code learns. Both sides begin each body with none of it.
type models struct {
	places  [lists]place
	born    entropy.Number
	has     [image.MaxSetComponents][2]entropy.Model // by whether the whole entity before had it
	changed [ways][]entropy.Model                    // by part
	gap     [ways][]numbers                          // by part
	scalar  [kinds][]numbers                         // by context
	body    uint32                                   // counts bodies, from 1 on
}

// numbers is the models of a number, which begin anew in each body that uses them: there are many, and most bodies use
// few of them.
type numbers struct {
	body uint32
	entropy.Number
}

// of returns the models for a body of a number of a kind.
func (n *numbers) of(kind int, body uint32) *entropy.Number {
	if n.body != body {
		n.body, n.Number = body, expected[kind]
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

// forget takes back what was learned.
func (m *models) forget() {
	m.places, m.born, m.has = [lists]place{fresh, fresh, fresh}, expected[kindWhole], [image.MaxSetComponents][2]entropy.Model{}
	for way := range ways {
		clear(m.changed[way])
	}
	m.forgetNumbers()
}

// forgetNumbers takes back what was learned of values.
func (m *models) forgetNumbers() {
	if m.body++; m.body > 0 {
		return
	}
	m.body = 1 // as numbers say that were last used long ago
	for way := range ways {
		clear(m.gap[way])
	}
	for kind := range kinds {
		clear(m.scalar[kind])
	}
}

// coding is where a list has come to.
type coding struct {
	next    uint64             // the least place of the next element
	base    ecs.Tick           // of the last element to which it was given
	held    ecs.Tick           // up to which it is known what the client has
	span    ecs.Tick           // a course begins with the last values of up to as long before the baseline
	hasHeld bool               // held and span are coded
	set     image.ComponentSet // of the last whole entity
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

// based codes the way of an element of tick now, and the tick of its baseline.
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
	if !c.hasHeld {
		e.Number(&m.heldSpan, uint64(now-c.held))
		e.Number(&m.heldSpan, uint64(c.span))
		c.hasHeld = true
	}
	if list == listEntities {
		e.Bit(&m.course[c.recent(base)], way == asCourse)
	}
}

// recent returns 1 for a baseline that is as new as can be, else 0.
func (c *coding) recent(base ecs.Tick) int {
	if base == c.held {
		return 1
	}
	return 0
}

// identity codes when an entity was born and what components it has.
func (e *encoder) identity(c *coding, now, born ecs.Tick, set image.ComponentSet) {
	e.Number(&e.models.born, uint64(now-born))
	for i := range e.schema.components {
		e.Bit(&e.models.has[i][c.set>>i&1], set>>i&1 != 0)
	}
	c.set = set
}

// entity codes the values of an entity against base, nil: whole; with paces, if base is a course.
func (e *encoder) entity(set image.ComponentSet, way int, values, base []uint64, paces []pace) {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		n := len(e.schema.parts[i].context)
		switch way {
		case asWhole:
			e.part(i, way, values[:n], nil, nil)
		case asDifference, asHeld:
			e.part(i, way, values[:n], base[:n], nil)
			base = base[n:]
		default:
			e.part(i, way, values[:n], base[:n], paces[:n])
			base, paces = base[n:], paces[n:]
		}
		values = values[n:]
	}
}

// part codes the values of a part against base, nil: zeros.
func (e *encoder) part(i, way int, values, base []uint64, paces []pace) {
	p, m := &e.schema.parts[i], e.models
	first := nextDifference(values, base, 0)
	e.Bit(&m.changed[way][i], first < len(values))
	if first == len(values) {
		return
	}
	if len(values) <= longPart {
		for k := range values {
			e.scalar(p, k, way, values, base, paces)
		}
		return
	}
	for at, next := 0, first; ; next = nextDifference(values, base, at) {
		e.Number(m.gap[way][i].of(kindDifference, m.body), uint64(next-at))
		if next == len(values) {
			return
		}
		e.scalar(p, next, way, values, base, paces)
		at = next + 1
	}
}

// scalar codes a value of a part.
func (e *encoder) scalar(p *part, k, way int, values, base []uint64, paces []pace) {
	n, down := e.models.number(p.context[k], k, way, paces)
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

// number returns the models of a value, and whether its course goes down, so that its difference counts downwards.
func (m *models) number(context int32, k, way int, paces []pace) (n *entropy.Number, down bool) {
	kind := kindDifference
	switch way {
	case asWhole:
		kind = kindWhole
	case asCourse:
		kind, down = kindCourse+paces[k].magnitude(), paces[k] < 0
	}
	return m.scalar[kind][context].of(kind, m.body), down
}

// difference returns what leads from the base of a value to it.
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

// cost returns about how many bits an entity takes once the models have learned.
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
