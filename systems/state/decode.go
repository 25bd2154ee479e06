package state

import (
	"errors"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems/internal/entropy"
)

// Errors of Receiver.Receive.
var (
	// ErrDelta is returned for a delta that no Sender writes.
	ErrDelta = errors.New("state: malformed delta")
	// ErrBaseline is returned for a delta with differences from values that the client does not store. The next Ack reports
	// it, and the server sends these items whole.
	ErrBaseline = errors.New("state: a difference from values that are not stored")
	// ErrValues is returned for a delta with values that are invalid for their fields, or with too many of them. The next Ack
	// reports it, and the server sends these items whole.
	ErrValues = errors.New("state: values that cannot be stored")
)

// A delta is a header, followed by an entropy code unless nothing has changed:
//
//	sequence  2 bytes, little endian: the low bits of the number of the delta, which counts from 1
//	tick      2 bytes, little endian: the low bits of the tick of its state
//	flags     1 byte; bit 6: content follows. The low six bits are n in 0 to 32: with this delta the replica is complete
//	          if the client has accepted the n deltas before it; or 63: the replica is not complete
const (
	headerBytes    = 5
	flagContent    = 64
	maskRelies     = 63
	maxRelies      = 32
	reliesOnBudget = 63 // an item did not fit
)

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

func (h *header) read(delta []byte) (content []byte, ok bool) {
	r := wire.NewReader(delta)
	h.sequence, h.tick = r.U16(), r.U16()
	flags := r.U8()
	h.relies, h.content = flags&maskRelies, flags&flagContent != 0
	content = r.Rest()
	ok = r.Err() == nil && flags < 2*flagContent && (h.relies <= maxRelies || h.relies == reliesOnBudget)
	return content, ok && h.content == (len(content) > 0)
}

// element is an element of a list: an item with values, or a row to remove.
type element struct {
	list     int
	place    uint32
	entity   ecs.Entity // for listEntities, and what stands for a global
	set      image.ComponentSet
	from, to int // in the decoder's values
}

type decoder struct {
	entropy.Decoder
	schema       *schema
	models       *models
	elements     []element
	values       []uint64
	extrapolated []uint64
	speeds       []speed
}

// read parses the content of a delta of tick now.
func (d *decoder) read(content []byte, now ecs.Tick, store *storage) error {
	d.elements, d.values = d.elements[:0], d.values[:0]
	if len(content) == 0 {
		return nil
	}
	d.models.forget()
	d.Reset(content)
	for list := range lists {
		c := coding{}
		for d.Bit(&d.models.places[list].more) {
			if err := d.element(list, &c, now, store); err != nil {
				return err
			}
		}
	}
	if d.Close() != nil {
		return ErrDelta
	}
	return nil
}

func (d *decoder) element(list int, c *coding, now ecs.Tick, store *storage) error {
	m := &d.models.places[list]
	gap := d.Number(&m.gap)
	most := uint64(globalRow - 1)
	if list == listGlobals {
		most = uint64(d.schema.globals() - 1)
	}
	if c.next > most || gap > most-c.next || len(d.elements) == maxElements || d.Exhausted() {
		return ErrDelta
	}
	x := element{list: list, place: uint32(c.next + gap), from: len(d.values), to: len(d.values)}
	c.next += gap + 1
	if list != listGone {
		way, base, err := d.identity(&x, c, now, store)
		if err != nil {
			return err
		}
		if err := d.elementValues(&x, way, base); err != nil {
			return err
		}
		x.to = len(d.values)
	}
	d.elements = append(d.elements, x)
	return nil
}

// identity reads the entity and components of whole values, or else the baseline.
func (d *decoder) identity(x *element, c *coding, now ecs.Tick, store *storage) (way int, base []uint64, err error) {
	m := &d.models.places[x.list]
	x.entity.Row = x.place
	if x.list == listGlobals {
		x.entity = global(int(x.place))
	}
	if !d.Bit(&m.whole) {
		h := store.entities.rows.Get(x.entity.Row)
		if h == nil {
			return 0, nil, ErrBaseline
		}
		x.entity, x.set = h.entity, h.set
		return d.based(x.list, c, now, store, h)
	}
	if x.list == listEntities {
		age := d.Number(&d.models.born)
		if age > uint64(now) {
			return 0, nil, ErrDelta
		}
		x.entity.Born = now - ecs.Tick(age)
		for i := range d.schema.components {
			if d.Bit(&d.models.has[i][c.set>>i&1]) {
				x.set |= 1 << i
			}
		}
		c.set = x.set
	}
	return asWhole, nil, nil
}

// based reads which of the values in a history, or which extrapolation of them, is the baseline of an element, and returns
// it. It is valid until the next call.
func (d *decoder) based(list int, c *coding, now ecs.Tick, store *storage, h *history) (way int, base []uint64, err error) {
	m := &d.models.places[list]
	if d.Bit(&m.given) {
		if !d.Bit(&m.same) {
			age := d.Number(&m.age)
			if age > uint64(now) {
				return 0, nil, ErrDelta
			}
			c.base = now - ecs.Tick(age)
		}
		n := h.before(c.base)
		if n == 0 || h.tick(n-1) != c.base {
			return 0, nil, ErrBaseline
		}
		return asDifference, h.value(n - 1), nil
	}
	if !c.coded {
		if err := d.reference(m, c, now, store); err != nil {
			return 0, nil, err
		}
	}
	n := h.before(c.reference)
	if n == 0 {
		return 0, nil, ErrBaseline
	}
	base, tick := h.value(n-1), h.tick(n-1)
	if list != listEntities || !d.Bit(&m.extrapolated[c.recent(tick)]) {
		return asReference, base, nil
	}
	if n = h.before(tick - min(tick, c.span)); n == 0 {
		return 0, nil, ErrBaseline
	}
	d.extrapolated, d.speeds = d.schema.extrapolate(d.extrapolated[:0], d.speeds[:0], h.set, h.value(n-1), base, h.tick(n-1), tick, now)
	return asExtrapolation, d.extrapolated, nil
}

// reference reads the reference tick of a list and the span of its extrapolations. The client must have accepted a delta
// of the reference tick.
func (d *decoder) reference(m *place, c *coding, now ecs.Tick, store *storage) error {
	age, span := d.Number(&m.reference), d.Number(&m.reference)
	if age > uint64(now) || span == 0 || span > uint64(now) {
		return ErrDelta
	}
	c.reference, c.span, c.coded = now-ecs.Tick(age), ecs.Tick(span), true
	if !store.accepted.has(c.reference) {
		return ErrBaseline
	}
	return nil
}

func (d *decoder) elementValues(x *element, way int, base []uint64) error {
	if x.list == listGlobals {
		return d.part(d.schema.components+int(x.place), way, base, nil)
	}
	speeds := d.speeds
	for set := x.set; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		n := len(d.schema.parts[i].context)
		var from []uint64
		var at []speed
		if way != asWhole {
			from, base = base[:n], base[n:]
		}
		if way == asExtrapolation {
			at, speeds = speeds[:n], speeds[n:]
		}
		if err := d.part(i, way, from, at); err != nil {
			return err
		}
	}
	return nil
}

// part reads the differences of the values of a part from base and appends the values; a nil base is all zeros.
func (d *decoder) part(i, way int, base []uint64, speeds []speed) error {
	p, m := &d.schema.parts[i], d.models
	n, first := len(p.context), len(d.values)
	if first+n > maxValues {
		return ErrDelta
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
			d.scalar(p, k, way, values, speeds)
		}
		return nil
	}
	for at := 0; ; at++ {
		gap := d.Number(m.gap[way][i].of(kindDifference, m.delta))
		if gap > uint64(n-at) {
			return ErrDelta
		}
		if at += int(gap); at == n {
			return nil
		}
		d.scalar(p, at, way, values, speeds)
	}
}

// scalar reads the difference of a value and adds it.
func (d *decoder) scalar(p *part, k, way int, values []uint64, speeds []speed) {
	n, down := d.models.number(p.context[k], k, way, speeds)
	switch {
	case p.pattern[k]:
		values[k] ^= d.Number(n)
	case down:
		values[k] -= uint64(d.Integer(n))
	default:
		values[k] += uint64(d.Integer(n))
	}
}
