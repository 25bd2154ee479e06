package image

import (
	"errors"
	"math"
	"math/bits"
	"reflect"
	"unsafe"
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
	// difference is small. Floats without a step and booleans are patterns.
	Pattern bool
	// Place reports that SetMotion of the component's Roles writes the number: it is part of the entity's position or
	// velocity.
	Place bool
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
			pg := s.pageOf(st.number, i)
			for k := 0; pg != nil && k < bitsPageWords; k++ {
				for word := wordOf(pg.mem, k); word != 0; word &= word - 1 {
					row := uint32((i*bitsPageWords+k)*BlockRows + bits.TrailingZeros64(word))
					if !f(s.entityAt(Owner(o), row)) {
						return
					}
				}
			}
		}
	}
}
