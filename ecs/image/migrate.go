package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"tendon/ecs/fixed"
)

// AppendLayout appends the layout of the state, as text, and returns the extended slice. Another version of the game reads it
// to carry a state over: see NewMigration. The first line is the number of players. A line follows for each resource,
// component, input and order, with its kind, its quoted name and its bytes. The lines of its fields follow it, indented. Each
// has the quoted path, the type, the offset, the bytes, the slots of a List whose length it is, and the number of fields.
// Elements of an array that follow each other share the line of the first. A type of package fixed has its own name,
// any other that of its kind.
func (s *Schema) AppendLayout(dst []byte) []byte {
	dst = fmt.Appendf(dst, "players %d\n", s.MaxPlayers)
	for _, d := range slices.Concat(s.declared(), []*Declaration{s.Input.declaration}, s.Orders) {
		dst = fmt.Appendf(dst, "%s %q %d\n", d.kind, d.name, d.layout.size)
		for list := d.layout.fields; len(list) > 0; {
			f, n := &list[0], run(list)
			dst = fmt.Appendf(dst, " %q %s %d %d %d %d\n", f.path, typeName(f.typ), f.offset, f.typ.Size(), f.most, n)
			list = list[n:]
		}
	}
	return dst
}

// run returns how many fields at the start of a list are the elements of one array, at least 1.
func run(list []field) (n int) {
	array, first := strings.CutSuffix(list[0].path, "[0]")
	for n = 1; first && n < len(list) && list[n].path == fmt.Sprintf("%s[%d]", array, n) && list[n].typ == list[0].typ; n++ {
	}
	return n
}

// typeName returns the type of a field in a layout.
func typeName(t reflect.Type) string {
	if t.PkgPath() == reflect.TypeFor[fixed.Num]().PkgPath() {
		return "fixed." + t.Name()
	}
	return t.Kind().String()
}

// ErrLayout is wrapped by errors of NewMigration about a text that is no layout.
var ErrLayout = errors.New("image: not a layout of a state")

// Migration carries states and inputs of one version of a game over to another. Resources, components and fields are matched
// by their names. Those that the old version does not have are zero, and those that the new one does not have are dropped.
type Migration struct {
	from, to *Schema
	columns  []move // index = column of to
	input    move
	orders   bool // both versions have the same orders
}

// move copies the fields of a row. from is the column of the old version, −1 for none.
type move struct {
	from   int
	fields []moved
}

// moved is a field at two offsets.
type moved struct{ from, to, size uintptr }

// NewMigration returns the migration from the version with this layout, which AppendLayout wrote. It fails if a field has another
// type in the two versions, or if the new version has fewer players. The error names component and field.
func NewMigration(layout []byte, to *Schema) (*Migration, error) {
	from, err := readLayout(string(layout))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLayout, err)
	}
	if to.MaxPlayers < from.MaxPlayers {
		return nil, fmt.Errorf("MaxPlayers is %d and was %d: a running match keeps its seats, so choose %d or more, or begin another match", to.MaxPlayers, from.MaxPlayers, from.MaxPlayers)
	}
	m := &Migration{from: from, to: to, columns: make([]move, engineColumns)}
	old := from.declared()
	for _, d := range to.declared() {
		at := slices.IndexFunc(old, func(o *Declaration) bool { return o.name == d.name })
		column := move{from: -1}
		if at >= 0 {
			if column, err = newMove(old[at], d); err != nil {
				return nil, err
			}
			column.from = engineColumns + at
		}
		m.columns = append(m.columns, column)
	}
	if m.input, err = newMove(from.Input.declaration, to.Input.declaration); err != nil {
		return nil, err
	}
	_, before, _ := bytes.Cut(layout, []byte("\norder "))
	_, now, _ := bytes.Cut(to.AppendLayout(nil), []byte("\norder "))
	m.orders = bytes.Equal(before, now)
	return m, nil
}

// newMove returns the move between two versions of a declaration.
func newMove(old, now *Declaration) (m move, err error) {
	if old.kind != now.kind {
		return m, fmt.Errorf("%q was a %s and is a %s: give it another name", now.name, old.kind, now.kind)
	}
	paths := map[string]int{}
	for i := range old.layout.fields {
		paths[old.layout.fields[i].path] = i
	}
	for i := range now.layout.fields {
		f := &now.layout.fields[i]
		at, known := paths[f.path]
		if !known {
			continue
		}
		o := &old.layout.fields[at]
		if was, is := old.types[at], typeName(f.typ); was != is {
			return m, fmt.Errorf("%s %q: field %s was %s and is %s: give the field another name, or begin another match", now.kind, now.name, cmp.Or(f.path, "(all)"), was, is)
		}
		m.fields = append(m.fields, moved{o.offset, f.offset, f.typ.Size()})
	}
	return m, nil
}

func (m *move) copy(dst, src []byte) {
	for _, f := range m.fields {
		copy(dst[f.to:f.to+f.size], src[f.from:])
	}
}

// From returns the schema of the old version. Its types are not known.
func (m *Migration) From() *Schema { return m.from }

// Input returns an input of the old version as one of the new.
func (m *Migration) Input(in InputBytes) (out InputBytes) {
	m.input.copy(out[:], in[:])
	return out
}

// Order reports whether an order of the old version has the same meaning in the new one. Orders of the game have, if both
// versions have the same orders.
func (m *Migration) Order(o *Order) bool { return o.Kind != OrderGame || m.orders }

// Load replaces the state of an image of the new version by one that Snapshot.AppendImage encoded in the old version. After an
// error the state is as before.
func (m *Migration) Load(im *Image, encoded []byte) error {
	if len(encoded) < imageHeaderBytes {
		return fmt.Errorf("%w: %d bytes are less than its header", ErrImage, len(encoded))
	}
	old := New(m.from, binary.LittleEndian.Uint64(encoded[1:]), 0)
	if err := old.Load(encoded); err != nil {
		return err
	}
	now := New(m.to, im.fingerprint, 0)
	*now.writeCore() = *old.core()
	m.inputs(now, old)
	for i := engineColumns; i < len(now.columns); i++ {
		if c := &now.columns[i]; c.single && m.columns[i].from >= 0 && c.stride > 0 {
			now.markRow(&c.regions[0], c, 0)
			m.row(c, c.singleRow(), i, old.columns[m.columns[i].from].singleRow())
		}
	}
	for owner := range old.Identity().regions {
		for k, word := range old.Identity().regions[owner].words {
			for ; word != 0; word &= word - 1 {
				m.entity(now, old, Owner(owner), uint32(k*BlockRows+bits.TrailingZeros64(word)))
			}
		}
	}
	now.round()
	var state Snapshot
	now.Save(&state)
	defer state.Release()
	return im.LoadOwned(state.AppendImage(nil))
}

// inputs copies the inputs of the last two ticks.
func (m *Migration) inputs(now, old *Image) {
	rows, was := now.writeInputs(), old.columns[columnInputs].singleRow()
	size, wide := m.to.Input.Size(), m.from.Input.Size()
	for i := range 2 * m.from.MaxPlayers {
		at := i
		if i >= m.from.MaxPlayers {
			at += m.to.MaxPlayers - m.from.MaxPlayers
		}
		m.input.copy(rows[at*size:][:size], was[i*wide:][:wide])
	}
}

// entity copies an entity with its components.
func (m *Migration) entity(now, old *Image, owner Owner, i uint32) {
	for n := columnIdentity; n < len(now.columns); n++ {
		c, from := &now.columns[n], m.columns[n].from
		if c.single || n > columnIdentity && from < 0 {
			continue
		}
		was := &old.columns[max(from, columnIdentity)]
		if !was.regions[owner].has(i) {
			continue
		}
		r := &c.regions[owner]
		now.setBit(r, c, i)
		if c.stride == 0 || was.stride == 0 {
			continue
		}
		now.markRow(r, c, i)
		row := unsafe.Slice((*byte)(c.rowOf(r, i)), c.stride)
		before := unsafe.Slice((*byte)(was.rowOf(&was.regions[owner], i)), was.stride)
		if n == columnIdentity {
			copy(row, before)
			continue
		}
		m.row(c, row, n, before)
	}
}

// row copies a row. A List that has fewer slots in the new version is cut.
func (m *Migration) row(c *Column, row []byte, n int, before []byte) {
	m.columns[n].copy(row, before)
	for _, l := range c.layout.lists {
		if at := row[l.offset:]; binary.LittleEndian.Uint32(at) > l.most {
			binary.LittleEndian.PutUint32(at, l.most)
		}
	}
}

// The bounds of a layout that is read.
const (
	maxLayoutTypes  = 1024
	maxLayoutFields = 1 << 18
)

// readLayout returns a schema with the columns of a layout. Its declarations have no Go types.
func readLayout(text string) (*Schema, error) {
	s, fields := &Schema{}, 0
	var open *Declaration
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch {
		case s.MaxPlayers == 0:
			_, err = fmt.Sscanf(line, "players %d", &s.MaxPlayers)
			if err == nil && (s.MaxPlayers < 1 || s.MaxPlayers > MaxPlayers) {
				err = errors.New("not a number of players")
			}
		case strings.HasPrefix(line, " ") && open != nil:
			err = open.readField(line, &fields)
		default:
			open = &Declaration{layout: &layout{}}
			if _, err = fmt.Sscanf(line, "%s %q %d", &open.kind, &open.name, &open.layout.size); err == nil {
				err = s.add(open)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	if s.Input == nil {
		return nil, errors.New("it has no input")
	}
	for i, d := range slices.Concat(s.declared(), []*Declaration{s.Input.declaration}) {
		d.id = i
		d.layout.findPadding()
	}
	for i := range s.Input.bits {
		s.Input.bits[i] = 0xff
	}
	s.Input.bits = s.Input.Clean(s.Input.bits)
	return s, nil
}

// add adds a declaration whose fields follow.
func (s *Schema) add(d *Declaration) error {
	switch d.kind {
	case "resource":
		s.Resources = append(s.Resources, d)
	case "component":
		s.Components = append(s.Components, d)
	case "order":
		s.Orders = append(s.Orders, d)
	case "input":
		if s.Input != nil || d.layout.size > MaxInputBytes {
			return errors.New("a second input, or one that is too large")
		}
		s.Input = &InputType{declaration: d}
	default:
		return errors.New("neither a resource nor a component, an input or an order")
	}
	if d.layout.size > maxRowBytes || len(s.Components)+len(s.Resources)+len(s.Orders) > maxLayoutTypes {
		return errors.New("too large, or too many")
	}
	return nil
}

// readField reads the line of a field, or of the elements of an array. all counts the fields of the layout.
func (d *Declaration) readField(line string, all *int) error {
	l, f, name, size, n := d.layout, field{}, "", uintptr(0), 0
	if _, err := fmt.Sscanf(line, " %q %s %d %d %d %d", &f.path, &name, &f.offset, &size, &f.most, &n); err != nil {
		return err
	}
	end := uintptr(0)
	if last := len(l.fields) - 1; last >= 0 {
		end = l.fields[last].offset + l.fields[last].typ.Size()
	}
	array, isArray := strings.CutSuffix(f.path, "[0]")
	switch {
	case n < 1 || n > maxLayoutFields-*all || n > 1 && !isArray:
		return errors.New("not a number of fields, or too many")
	case f.offset < end || f.offset > l.size || size < 1 || size > 8 || uintptr(n)*size > l.size-f.offset || name == "bool" && size != 1:
		return errors.New("its bytes are not those of a field")
	case f.most > 0 && (size != 4 || n > 1 || f.most > maxRowBytes):
		return errors.New("not the length of a list")
	case f.most > 0:
		l.lists = append(l.lists, listSpan{count: len(l.fields), offset: f.offset, most: uint32(f.most)})
	}
	*all += n
	f.typ = reflect.ArrayOf(int(size), reflect.TypeFor[byte]())
	for i := range n {
		if name == "bool" {
			l.bools = append(l.bools, len(l.fields))
		}
		if n > 1 {
			f.path = fmt.Sprintf("%s[%d]", array, i)
		}
		l.fields, d.types = append(l.fields, f), append(d.types, name)
		f.offset += size
	}
	return nil
}
