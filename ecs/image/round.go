package image

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"tendon/ecs/fixed"
)

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
	case w.what == "input" || w.what == "event":
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
	for i := range 1 << c.shift {
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
