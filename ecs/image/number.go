package image

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"tendon/ecs/fixed"
)

// Forms of scalars with a step.
const (
	formSteps   = reflect.UnsafePointer + 1 + iota // a fixed.Num
	formSteps32                                    // a float32
	formSteps64                                    // a float64
)

func (s *field) read(row unsafe.Pointer) uint64 {
	switch p := unsafe.Add(row, s.offset); s.form {
	case formSteps:
		return uint64(s.count(*(*int64)(p)))
	case reflect.Int64, reflect.Uint64:
		return *(*uint64)(p)
	case reflect.Bool, reflect.Uint8:
		return uint64(*(*uint8)(p))
	case reflect.Int8:
		return uint64(*(*int8)(p))
	case reflect.Int16:
		return uint64(*(*int16)(p))
	case reflect.Int32:
		return uint64(*(*int32)(p))
	case reflect.Uint16:
		return uint64(*(*uint16)(p))
	case reflect.Uint32:
		return uint64(*(*uint32)(p))
	case formSteps32:
		return uint64(s.countFloat(float64(*(*float32)(p))))
	case formSteps64:
		return uint64(s.countFloat(*(*float64)(p)))
	case reflect.Float32:
		if f := *(*float32)(p); f == f {
			return uint64(math.Float32bits(f))
		}
	case reflect.Float64:
		if f := *(*float64)(p); f == f {
			return math.Float64bits(f)
		}
	}
	return 0
}

// fits reports whether v is the scalar of some row. These are not: an integer wider than its field, a boolean above 1, NaN,
// a list longer than its slots, steps beyond the field's range.
func (s *field) fits(v uint64) bool {
	n := int64(v)
	switch s.form {
	case reflect.Bool:
		return v <= 1
	case reflect.Int8, reflect.Int16, reflect.Int32:
		unused := 64 - 8<<(s.form-reflect.Int8)
		return n<<unused>>unused == n
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return v>>(8<<(s.form-reflect.Uint8)) == 0 && (s.most == 0 || v <= s.most)
	case reflect.Float32:
		f := math.Float32frombits(uint32(v))
		return v <= math.MaxUint32 && f == f
	case reflect.Float64:
		f := math.Float64frombits(v)
		return f == f
	case formSteps:
		hi, lo := bits.Mul64(magnitude(n), uint64(s.step))
		return hi == 0 && lo <= math.MaxInt64+uint64(n)>>63
	case formSteps32, formSteps64:
		f := float64(n)
		if magnitude(n) > maxSteps || int64(f) != n {
			return false
		}
		return s.form == formSteps64 || float64(float32(f*s.unit)) == f*s.unit
	}
	return true
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (s *field) write(row unsafe.Pointer, v uint64) {
	switch p := unsafe.Add(row, s.offset); s.form {
	case formSteps:
		*(*int64)(p) = int64(v) * s.step
	case reflect.Int64, reflect.Uint64, reflect.Float64:
		*(*uint64)(p) = v
	case reflect.Bool, reflect.Uint8, reflect.Int8:
		*(*uint8)(p) = uint8(v)
	case reflect.Int16, reflect.Uint16:
		*(*uint16)(p) = uint16(v)
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		*(*uint32)(p) = uint32(v)
	case formSteps32:
		*(*float32)(p) = float32(float64(int64(v)) * s.unit)
	case formSteps64:
		*(*float64)(p) = float64(int64(v)) * s.unit
	}
}

func (l *layout) appendScalars(dst []uint64, row unsafe.Pointer) []uint64 {
	for i := range l.fields {
		dst = append(dst, l.fields[i].read(row))
	}
	return dst
}

// Scalar describes one number of a component or resource, as in AppendScalars.
type Scalar struct {
	Path string // path of the field in the component or resource
	// Group is equal for scalars of one declared field, which have similar sizes: the axes of a vector, the elements of an
	// array or a list. It counts from 0 in the component or resource.
	Group int
	// Pattern reports that the number is a bit pattern: two values are close if they share high bits, not if their
	// difference is small. Floats without a step, booleans and uint8 are patterns.
	Pattern bool
	// Place reports that SetMotion of the component's Roles writes the number: it is part of the entity's position or
	// velocity.
	Place bool
	// Rotation is not 0 if this scalar and the next three are a unit quaternion. This one is the index of the largest part, which
	// is positive. The others are the smallest parts, in which Rotation stands for √½.
	Rotation int64
}

// ComponentSet is a set of components: bit i stands for Game.Components[i].
type ComponentSet uint64

// MaxSetComponents is the largest number of components of a game whose entities are encoded as scalars.
const MaxSetComponents = 64

// CheckScalars returns an error if the game's states cannot be encoded as scalars.
func (s *Schema) CheckScalars() error {
	if len(s.Components) > MaxSetComponents {
		return errors.New("ecs: a game whose entities are replicated has at most 64 components: combine components that are not replicated")
	}
	return nil
}

// EntityAt returns the entity in a row of the state, or the zero Entity.
func (s *Snapshot) EntityAt(row uint32) Entity {
	if s.Empty() || int(row>>regionShift) >= len(s.image.columns[columnIdentity].regions) {
		return Entity{}
	}
	return s.entityAt(Owner(row>>regionShift), row%regionRows)
}

// Components returns the components of an entity, empty if it is not in the state. Those after the first 64 are left out.
func (s *Snapshot) Components(e Entity) (set ComponentSet) {
	if !ExistsAt(s, e) {
		return 0
	}
	columns := s.image.components()
	for n := range columns {
		if s.has(&columns[n], e.Owner(), e.Row%regionRows) {
			set |= 1 << n
		}
	}
	return set
}

// AppendScalars appends the scalars of the entity in a row: its components in the order of Game.Components, and the fields
// of each in the order of declaration. For a free row, e is zero and nothing is appended.
func (s *Snapshot) AppendScalars(dst []uint64, row uint32) (e Entity, set ComponentSet, values []uint64) {
	if e = s.EntityAt(row); e.IsZero() {
		return e, 0, dst
	}
	o, i := e.Owner(), row%regionRows
	columns := s.image.components()
	for n := range columns {
		if c := &columns[n]; s.has(c, o, i) {
			set |= 1 << n
			dst = c.layout.appendScalars(dst, s.row(c, o, i))
		}
	}
	return e, set, dst
}

// AppendResource appends the scalars of Game.Resources[i].
func (s *Snapshot) AppendResource(dst []uint64, i int) []uint64 {
	c := &s.image.resources()[i]
	return c.layout.appendScalars(dst, s.row(c, 0, 0))
}

// Players returns the players in the match in the state.
func (s *Snapshot) Players() PlayerSet {
	return (*core)(s.row(&s.image.columns[columnCore], 0, 0)).Players
}

// Entities calls f for each entity of the state in the order of rows, until f returns false.
func (s *Snapshot) Entities(f func(e Entity) bool) {
	if s.Empty() {
		return
	}
	c := &s.image.columns[columnIdentity]
	for o := range c.regions {
		st := &c.regions[o].bits
		for i := range st.pages {
			content := s.pageOf(st.number, i).content()
			for k := range len(content) / 8 {
				for word := wordOf(content, k); word != 0; word &= word - 1 {
					row := uint32((i*bitsPageWords+k)*BlockRows + bits.TrailingZeros64(word))
					if !f(s.entityAt(Owner(o), row)) {
						return
					}
				}
			}
		}
	}
}

// A step is the resolution of a number, declared where the field is:
//
//	type Body struct {
//		Pos fixed.Vec2 `tendon:"step=1/512"`
//		Hue float32    `tendon:"step=0.25"`
//	}
//
// At the end of every tick, in every strategy, the number is rounded to a multiple of its step. A wire then carries the
// number of steps without loss. Fixed-point and floating-point fields may have a step, and arrays, lists and structs of
// them. A step of a floating-point field is a power of two, so that its multiples are the same bits on every target. NaN
// becomes 0.

// stepOf returns the step that a tag declares, or "".
func stepOf(tag string) string {
	step, ok := strings.CutPrefix(tag, "step=")
	if !ok {
		return ""
	}
	return step
}

// parseStep reads a step as a Num: a decimal, or a ratio of two whole numbers.
func parseStep(text string) (fixed.Num, bool) {
	if over, under, ok := strings.Cut(text, "/"); ok {
		n, err := strconv.ParseInt(over, 10, 32)
		d, err2 := strconv.ParseInt(under, 10, 64)
		if err != nil || err2 != nil || n <= 0 || d <= 0 {
			return 0, false
		}
		step := fixed.FromRatio(n, d)
		return step, step > 0
	}
	step, err := fixed.Parse(text)
	return step, err == nil && step > 0
}

var numType = reflect.TypeFor[fixed.Num]()

// giveStep gives a field the step in its tag, if any.
func (w layoutWalk) giveStep(f *field, tag string) error {
	t, path, text := f.typ, f.path, stepOf(tag)
	if text == "" {
		return nil
	}
	step, ok := parseStep(text)
	switch {
	case w.what == "input" || w.what == "event" || w.what == "order":
		return w.refuse(path, "has a step; only state is rounded: round a value before it becomes part of an "+w.what)
	case !ok:
		return w.refuse(path, fmt.Sprintf("has the step %q; write a positive ratio or decimal, as in `tendon:\"step=1/512\"`", text))
	case t == numType:
		f.form = formSteps
	case t.Kind() != reflect.Float32 && t.Kind() != reflect.Float64:
		return w.refuse(path, "has a step, but is "+t.String()+"; only fixed.Num, float32 and float64 are rounded")
	case step&(step-1) != 0:
		return w.refuse(path, fmt.Sprintf("has the step %s; a step of a float must be a power of two, such as 1/512, so that its multiples are exact", text))
	case t.Kind() == reflect.Float32:
		f.form = formSteps32
	default:
		f.form = formSteps64
	}
	f.step, f.unit = int64(step), step.Float()
	f.half, f.shift = f.step/2, uint8(bits.TrailingZeros64(uint64(f.step)))
	w.layout.steps = true
	return nil
}

// maxSteps bounds the number of steps of a float. A float64 holds the product exactly, also beyond 2^53 steps.
const maxSteps = 1 << 62

// count returns the number of steps in v, rounded to the nearest.
func (s *field) count(v int64) int64 {
	v = min(v, math.MaxInt64-s.half) + s.half
	if s.step&(s.step-1) == 0 {
		return v >> s.shift
	}
	n := v / s.step
	if v%s.step < 0 && n*s.step >= math.MinInt64+s.step { // down, unless there is no multiple below
		n--
	}
	return n
}

// countFloat returns the number of steps in v, rounded to the nearest and bounded by maxSteps.
func (s *field) countFloat(v float64) int64 {
	if v != v {
		return 0
	}
	return int64(min(max(math.Round(v/s.unit), -maxSteps), maxSteps))
}

// round rounds the scalars of a row that have a step.
func (l *layout) round(row unsafe.Pointer) {
	for i := range l.fields {
		s := &l.fields[i]
		switch p := unsafe.Add(row, s.offset); s.form {
		case formSteps:
			*(*int64)(p) = s.count(*(*int64)(p)) * s.step
		case formSteps32:
			*(*float32)(p) = float32(float64(s.countFloat(float64(*(*float32)(p)))) * s.unit)
		case formSteps64:
			*(*float64)(p) = float64(s.countFloat(*(*float64)(p))) * s.unit
		}
	}
}

// round rounds the rows written since the last save. Pages without a mark were rounded before.
func (im *Image) round() {
	if !im.rounds {
		return
	}
	for _, number := range im.dirty {
		if p := &im.live[number]; p.store.column.rounds && !p.store.isBits {
			im.roundPage(p)
		}
	}
}

func (im *Image) roundPage(p *livePage) {
	c, mem := p.store.column, unsafe.Pointer(unsafe.SliceData(p.mem))
	if c.single {
		c.roundRow(mem)
		return
	}
	r := &im.columns[c.index].regions[p.store.owner]
	first := int(p.index) << c.shift
	for i := range len(p.mem) / int(c.stride) {
		if k := first + i; r.word(k/BlockRows)>>(k%BlockRows)&1 != 0 {
			c.roundRow(unsafe.Add(mem, uintptr(i)*c.stride))
		}
	}
}

func (c *Column) roundRow(row unsafe.Pointer) {
	if c.roles.quantise != nil {
		c.roles.quantise(row)
	}
	if c.layout.steps {
		c.layout.round(row)
	}
}
