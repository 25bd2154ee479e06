package state

import (
	"errors"
	"math"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems/internal/entropy"
)

// Errors of Receiver.Receive.
var (
	// ErrBody is returned for a body that no Sender has written.
	ErrBody = errors.New("state: malformed body")
	// ErrBaseline is the error of a body with differences from values that are not held. The next Ack reports it, and the
	// content is sent whole.
	ErrBaseline = errors.New("state: a difference from values that are not held")
	// ErrValues is the error of a body with values that no program could have stored, or with too many. The next Ack reports
	// it, and the content is sent whole.
	ErrValues = errors.New("state: values that cannot be held")
)

// A body is a header, and unless nothing has changed an entropy code:
//
//	sequence  2 bytes, lowest first: the low bits of the number of the body, from 1 on
//	tick      2 bytes, lowest first: the low bits of the tick of the state that it brings
//	flags     1 byte: 64: content follows; the low six bits say what a client holds that has taken this body: 0 to 32:
//	          all that it is to hold, if it has taken as many bodies before this one, too; 63: not all
const (
	headerBytes    = 5
	flagContent    = 64
	maskRelies     = 63
	maxRelies      = 32
	reliesOnBudget = 63 // something is still to come
)

// header is the header of a body.
type header struct {
	sequence uint16
	tick     uint16
	relies   uint8
	content  bool
}

func (h header) append(dst []byte) []byte {
	w := wire.NewWriter(dst, headerBytes)
	w.U16(h.sequence)
	w.U16(h.tick)
	flags := h.relies
	if h.content {
		flags |= flagContent
	}
	w.U8(flags)
	return w.Bytes()
}

// read parses a header and returns what is behind it.
func (h *header) read(body []byte) (content []byte, ok bool) {
	r := wire.NewReader(body)
	h.sequence, h.tick = r.U16(), r.U16()
	flags := r.U8()
	h.relies, h.content = flags&maskRelies, flags&flagContent != 0
	content = r.Rest()
	ok = r.Err() == nil && flags < 2*flagContent && (h.relies <= maxRelies || h.relies == reliesOnBudget)
	return content, ok && h.content == (len(content) > 0)
}

// element is something that a body brings: values, or that they are gone.
type element struct {
	list     int
	place    uint32
	entity   ecs.Entity // for listEntities
	set      image.ComponentSet
	from, to int // in the decoder's values
}

// decoder reads the content of a body against what is held.
type decoder struct {
	entropy.Decoder
	schema   *schema
	models   *models
	elements []element
	values   []uint64
	course   []uint64
	paces    []pace
}

// read parses the content of a body of tick now.
func (d *decoder) read(content []byte, now ecs.Tick, held *holding) error {
	d.elements, d.values = d.elements[:0], d.values[:0]
	if len(content) == 0 {
		return nil
	}
	d.models.forget()
	d.Reset(content)
	for list := range lists {
		c := coding{}
		for d.Bit(&d.models.places[list].more) {
			if err := d.element(list, &c, now, held); err != nil {
				return err
			}
		}
	}
	if d.Close() != nil {
		return ErrBody
	}
	return nil
}

func (d *decoder) element(list int, c *coding, now ecs.Tick, held *holding) error {
	m := &d.models.places[list]
	gap := d.Number(&m.gap)
	most := uint64(math.MaxUint32)
	if list == listSpecials {
		most = uint64(d.schema.specials() - 1)
	}
	if c.next > most || gap > most-c.next || len(d.elements) == maxElements || d.Spent() {
		return ErrBody
	}
	x := element{list: list, place: uint32(c.next + gap), from: len(d.values), to: len(d.values)}
	c.next += gap + 1
	if list != listGone {
		way, base, err := d.identity(&x, c, now, held)
		if err != nil {
			return err
		}
		if err := d.take(&x, way, base); err != nil {
			return err
		}
		x.to = len(d.values)
	}
	d.elements = append(d.elements, x)
	return nil
}

// identity reads the identity of an element: the entity and its components for whole values, else the baseline.
func (d *decoder) identity(x *element, c *coding, now ecs.Tick, held *holding) (way int, base []uint64, err error) {
	m := &d.models.places[x.list]
	if !d.Bit(&m.whole) {
		t := held.track(x)
		if t == nil {
			return 0, nil, ErrBaseline
		}
		x.entity, x.set = t.entity, t.set
		return d.based(x.list, c, now, held, t)
	}
	if x.list == listEntities {
		age := d.Number(&d.models.born)
		if age > uint64(now) {
			return 0, nil, ErrBody
		}
		x.entity = ecs.Entity{Row: x.place, Born: now - ecs.Tick(age)}
		for i := range d.schema.components {
			if d.Bit(&d.models.has[i][c.set>>i&1]) {
				x.set |= 1 << i
			}
		}
		c.set = x.set
	}
	return asWhole, nil, nil
}

// based reads what says which of the values in a track an element is coded against, and returns them, or where their
// course leads. They are valid until the next call.
func (d *decoder) based(list int, c *coding, now ecs.Tick, held *holding, t *track) (way int, base []uint64, err error) {
	m := &d.models.places[list]
	if d.Bit(&m.given) {
		if !d.Bit(&m.same) {
			age := d.Number(&m.age)
			if age > uint64(now) {
				return 0, nil, ErrBody
			}
			c.base = now - ecs.Tick(age)
		}
		base, ok := t.of(c.base)
		if !ok {
			return 0, nil, ErrBaseline
		}
		return asDifference, base, nil
	}
	if !c.hasHeld {
		if err := d.readHeld(m, c, now, held); err != nil {
			return 0, nil, err
		}
	}
	n := t.before(c.held)
	if n == 0 {
		return 0, nil, ErrBaseline
	}
	base, tick := t.value(n-1), t.tick(n-1)
	if list != listEntities || !d.Bit(&m.course[c.recent(tick)]) {
		return asHeld, base, nil
	}
	if n = t.before(tick - min(tick, c.span)); n == 0 {
		return 0, nil, ErrBaseline
	}
	d.course, d.paces = d.schema.courseOf(d.course[:0], d.paces[:0], t.set, t.value(n-1), base, t.tick(n-1), tick, now)
	return asCourse, d.course, nil
}

// readHeld reads the newest tick of held values that a list builds on, and the length of courses. The values are not checked,
// but the client must have accepted the body of that tick.
func (d *decoder) readHeld(m *place, c *coding, now ecs.Tick, held *holding) error {
	age, span := d.Number(&m.heldSpan), d.Number(&m.heldSpan)
	if age > uint64(now) || span == 0 || span > uint64(now) {
		return ErrBody
	}
	c.held, c.span, c.hasHeld = now-ecs.Tick(age), ecs.Tick(span), true
	if !held.took(c.held) {
		return ErrBaseline
	}
	return nil
}

// take reads the values of an element.
func (d *decoder) take(x *element, way int, base []uint64) error {
	if x.list == listSpecials {
		return d.part(d.schema.components+int(x.place), way, base, nil)
	}
	paces := d.paces
	for set := x.set; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		n := len(d.schema.parts[i].context)
		var from []uint64
		var at []pace
		if way != asWhole {
			from, base = base[:n], base[n:]
		}
		if way == asCourse {
			at, paces = paces[:n], paces[n:]
		}
		if err := d.part(i, way, from, at); err != nil {
			return err
		}
	}
	return nil
}

// part appends the values of a part, which differ from base, nil: zeros.
func (d *decoder) part(i, way int, base []uint64, paces []pace) error {
	p, m := &d.schema.parts[i], d.models
	n, first := len(p.context), len(d.values)
	if first+n > maxValues {
		return ErrBody
	}
	if base != nil {
		d.values = append(d.values, base...)
	} else {
		for range n {
			d.values = append(d.values, 0)
		}
	}
	values := d.values[first:]
	if !d.Bit(&m.changed[way][i]) {
		return nil
	}
	if n <= longPart {
		for k := range values {
			d.scalar(p, k, way, values, paces)
		}
		return nil
	}
	for at := 0; ; at++ {
		gap := d.Number(m.gap[way][i].of(kindDifference, m.body))
		if gap > uint64(n-at) {
			return ErrBody
		}
		if at += int(gap); at == n {
			return nil
		}
		d.scalar(p, at, way, values, paces)
	}
}

// scalar reads the difference of a value from its base.
func (d *decoder) scalar(p *part, k, way int, values []uint64, paces []pace) {
	n, down := d.models.number(p.context[k], k, way, paces)
	switch {
	case p.pattern[k]:
		values[k] ^= d.Number(n)
	case down:
		values[k] -= uint64(d.Integer(n))
	default:
		values[k] += uint64(d.Integer(n))
	}
}
