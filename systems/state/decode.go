package state

import (
	"errors"
	"math/bits"
	"slices"

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
	entity   ecs.Entity // or the one that stands for a global; unset for listGone
	set      image.ComponentSet
	from, to int // in the decoder's values
}

type decoder struct {
	entropy.Decoder
	schema      *schema
	models      *models
	fresh       *models
	checkpoints checkpoints
	rows        []uint32 // of the checkpoint
	moments     moments
	elements    []element
	values      []uint64
	predicted   []uint64
	courses     []course
}

func newDecoder(s *schema) decoder {
	return decoder{schema: s, models: newModels(s), fresh: newModels(s)}
}

// read parses the content of a delta of tick now.
func (d *decoder) read(content []byte, sequence uint64, now ecs.Tick, store *storage) error {
	d.elements, d.values = d.elements[:0], d.values[:0]
	if len(content) == 0 {
		return nil
	}
	d.Reset(content)
	if err := d.start(sequence, now, store); err != nil {
		return err
	}
	for list := range lists {
		if list == listEntities {
			if err := d.again(now, store); err != nil {
				return err
			}
		}
		if err := d.list(list, now, store); err != nil {
			return err
		}
	}
	if d.Close() != nil {
		return ErrDelta
	}
	return nil
}

// start reads the checkpoint and the moments. The client must have accepted a delta of the reference tick.
func (d *decoder) start(sequence uint64, now ecs.Tick, store *storage) error {
	from := d.fresh
	d.rows = nil
	if back := uint64(d.Bits(backBits)); back > 0 {
		newest := newestBefore(sequence)
		at := newest - (back-1)*checkpointEvery
		if back > checkpointsKept || at == 0 || at > newest {
			return ErrDelta
		}
		p := d.checkpoints.at(at)
		if p.sequence != at {
			return ErrBaseline
		}
		from, d.rows = p.models, p.rows
	}
	d.models.set(from)
	if d.moments.count = int(d.Bits(momentBits)); d.moments.count > maxMoments {
		return ErrDelta
	}
	tick := now
	for i := range d.moments.count {
		age := d.Number(&d.models.ages[i])
		if age == 0 || age > uint64(tick) {
			return ErrDelta
		}
		tick -= ecs.Tick(age)
		d.moments.ticks[i] = tick
	}
	if d.moments.count > 0 && !store.accepted.has(d.moments.ticks[0]) {
		return ErrBaseline
	}
	d.moments.prepare(now)
	return nil
}

// list reads a list of ascending places.
func (d *decoder) list(list int, now ecs.Tick, store *storage) error {
	m, c := &d.models.places[list], coding{}
	most := uint64(globalRow - 1)
	if list == listGlobals {
		most = uint64(d.schema.globals() - 1)
	}
	for d.Bit(&m.more[0]) {
		gap := d.Number(&m.gap)
		if c.next > most || gap > most-c.next {
			return ErrDelta
		}
		c.next += gap + 1
		if list == listEntities {
			if _, again := slices.BinarySearch(d.rows, uint32(c.next-1)); again {
				return ErrDelta
			}
		}
		if err := d.element(list, uint32(c.next-1), &c, now, store); err != nil {
			return err
		}
	}
	return nil
}

// again reads the list of the checkpoint's rows. They are then in no other list of entities.
func (d *decoder) again(now ecs.Tick, store *storage) error {
	m, c, last := &d.models.places[listAgain], coding{}, 0
	if len(d.rows) == 0 || !d.Bit(&m.again) {
		d.rows = nil
		return nil
	}
	for _, row := range d.rows {
		if !d.Bit(&m.more[last]) {
			last = 0
			continue
		}
		last = 1
		if err := d.element(listAgain, row, &c, now, store); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) element(list int, place uint32, c *coding, now ecs.Tick, store *storage) error {
	if len(d.elements) == maxElements || d.Exhausted() {
		return ErrDelta
	}
	x := element{list: list, place: place, from: len(d.values), to: len(d.values)}
	if list != listGone {
		way, base, courses, err := d.based(&x, c, now, store)
		if err != nil {
			return err
		}
		if err := d.elementValues(&x, way, base, courses); err != nil {
			return err
		}
		x.to = len(d.values)
	}
	d.elements = append(d.elements, x)
	return nil
}

// based reads the way of an element, and returns it with the base values and the courses. They are valid until the next call.
func (d *decoder) based(x *element, c *coding, now ecs.Tick, store *storage) (way int, base []uint64, courses []course, err error) {
	m := &d.models.places[x.list]
	x.entity.Row = x.place
	if x.list == listGlobals {
		x.entity = global(int(x.place))
	}
	usual := d.Bit(&m.usual)
	if !usual && d.Bit(&m.whole) {
		return asWhole, nil, nil, d.identity(x, c, now)
	}
	h := store.entities.rows.Get(x.entity.Row)
	if h == nil {
		return 0, nil, nil, ErrBaseline
	}
	x.entity, x.set = h.entity, h.set
	if !usual && d.Bit(&m.given) {
		base, err = d.given(m, c, now, h)
		return asDifference, base, nil, err
	}
	if d.moments.count == 0 {
		return 0, nil, nil, ErrDelta
	}
	base, ok := h.during(d.moments.ticks[0])
	if !ok {
		return 0, nil, nil, ErrBaseline
	}
	if !usual || x.list == listGlobals || d.moments.count < maxMoments {
		return asPrediction, base, nil, nil
	}
	from, ok := h.during(d.moments.ticks[1])
	if !ok {
		return 0, nil, nil, ErrBaseline
	}
	d.predicted, d.courses = d.schema.predict(d.predicted[:0], d.courses[:0], h.set, from, base, d.moments.factor)
	return asPrediction, d.predicted, d.courses, nil
}

// identity reads the birth tick and the components of an entity with whole values.
func (d *decoder) identity(x *element, c *coding, now ecs.Tick) error {
	if x.list == listGlobals {
		return nil
	}
	age := d.Number(&d.models.born)
	if age > uint64(now) {
		return ErrDelta
	}
	x.entity.Born = now - ecs.Tick(age)
	for i := range d.schema.components {
		if d.Bit(&d.models.has[i][c.set>>i&1]) {
			x.set |= 1 << i
		}
	}
	c.set = x.set
	return nil
}

// given reads the tick of a baseline, and returns the values in a history that came in it.
func (d *decoder) given(m *place, c *coding, now ecs.Tick, h *history) (base []uint64, err error) {
	if !d.Bit(&m.same) {
		age := d.Number(&m.age)
		if age > uint64(now) {
			return nil, ErrDelta
		}
		c.base = now - ecs.Tick(age)
	}
	n := h.before(c.base)
	if n == 0 || h.tick(n-1) != c.base {
		return nil, ErrBaseline
	}
	return h.value(n - 1), nil
}

func (d *decoder) elementValues(x *element, way int, base []uint64, courses []course) error {
	spread := uint64(0)
	if x.list == listGlobals {
		return d.part(d.schema.components+int(x.place), way, base, nil, &spread)
	}
	for set := x.set; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		n := len(d.schema.parts[i].context)
		var from []uint64
		var at []course
		if way != asWhole {
			from, base = base[:n], base[n:]
		}
		if courses != nil {
			at, courses = courses[:n], courses[n:]
		}
		if err := d.part(i, way, from, at, &spread); err != nil {
			return err
		}
	}
	return nil
}

// part reads the differences of the values of a part from base and appends the values; a nil base is all zeros.
func (d *decoder) part(i, way int, base []uint64, courses []course, spread *uint64) error {
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
	for k, long := 0, n > longPart; k < n || long; k++ {
		if long {
			gap := d.Number(&m.gap[way][i])
			if gap > uint64(n-k) {
				return ErrDelta
			}
			if k += int(gap); k == n {
				return nil
			}
		}
		number, sign := m.number(p.context[k], k, way, courses, *spread)
		if p.pattern[k] {
			v := d.Number(number) ^ values[k]
			if p.scale[k] != 0 && courses != nil && v != values[k] {
				rebase(values[k:k+4], p.scale[k], v)
			}
			values[k] = v
			continue
		}
		v := d.Integer(number) * sign
		learnSpread(spread, v)
		values[k] += uint64(v)
	}
	return nil
}
