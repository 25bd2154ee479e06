package image

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Difference is one place where two states of the same game differ.
type Difference struct {
	Tick      Tick
	Component string // component or resource, or one of the engine's own columns: "entity", "tick" or "inputs"
	Entity    Entity // zero for a resource
	Field     string // path inside the component; fieldExists if only one side has the component
	Here      string
	There     string
}

// fieldExists is the Field of a difference in the presence of an entity or component.
const fieldExists = "exists"

// String returns a sentence for a report.
func (d Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tick %d: %s", d.Tick, d.Component)
	if !d.Entity.IsZero() {
		if d.Component != engineNames[columnIdentity] {
			b.WriteString(" of entity")
		}
		owner := "the world"
		if p, ok := d.Entity.Owner().Player(); ok {
			owner = fmt.Sprintf("player %d", p)
		}
		fmt.Fprintf(&b, " %d of %s born in tick %d", d.Entity.Row%regionRows, owner, d.Entity.Born)
	}
	fmt.Fprintf(&b, ": %s is %s here and %s there", d.Field, d.Here, d.There)
	return b.String()
}

// FirstDifference returns the first place where the states of a and b differ. ok is false if they are equal. The snapshots
// are of the same game, of one world or of two. Entities and components that only one side has come first, then the columns
// in their order, each upwards by row.
func FirstDifference(a, b *Snapshot) (d Difference, ok bool) {
	for _, d := range Differences(a, b, 1) {
		return d, true
	}
	return Difference{}, false
}

// Differences returns at most limit places where the states of a and b differ, in the order of FirstDifference.
func Differences(a, b *Snapshot, limit int) []Difference {
	if a.image == nil || b.image == nil || len(a.image.stores) != len(b.image.stores) || a.image.fingerprint != b.image.fingerprint {
		panic("image: Differences of snapshots that are empty or of different games: compare states of the same game")
	}
	c := comparison{a: a, b: b, limit: limit}
	for _, presence := range [...]bool{true, false} {
		for p := range apart(a, b, b.image.stores) {
			if c.full() {
				return c.found
			}
			// Rows of the identity column say which entity is there, which is a matter of presence.
			if presence != (p.isBits || p.column.index == columnIdentity) {
				continue
			}
			if p.isBits {
				c.presence(&p)
			} else {
				c.rows(&p)
			}
		}
	}
	return c.found
}

type comparison struct {
	a, b  *Snapshot
	limit int
	found []Difference
}

func (c *comparison) full() bool { return len(c.found) >= c.limit }

func (c *comparison) presence(p *pagePair) {
	for k, w := range p.words {
		for rest := w.old ^ w.now; rest != 0 && !c.full(); rest &= rest - 1 {
			bit := bits.TrailingZeros64(rest)
			row := uint32(k*BlockRows + bit)
			e, other := c.a.entityAt(p.owner, row), c.b.entityAt(p.owner, row)
			if p.column.index != columnIdentity && e != other {
				continue // reported already, of the whole entity
			}
			has := w.old>>bit&1 != 0
			if !has {
				e = other
			}
			c.add(p.column, e, fieldExists, fmt.Sprint(has), fmt.Sprint(!has))
		}
	}
}

// entityAt returns the entity in row i of an owner's region, or the zero Entity.
func (s *Snapshot) entityAt(o Owner, i uint32) Entity {
	return *(*Entity)(s.row(&s.image.columns[columnIdentity], o, i))
}

// rows reports the rows whose bytes differ, where both sides have an entity, and the same one unless it is the identity
// that differs.
func (c *comparison) rows(p *pagePair) {
	for row, v := range p.rows {
		var e Entity
		if !p.column.single {
			e = c.a.entityAt(p.owner, row)
			both := c.a.has(p.column, p.owner, row) && c.b.has(p.column, p.owner, row)
			if !both || p.column.index != columnIdentity && e != c.b.entityAt(p.owner, row) {
				continue
			}
		}
		if c.fields(p.column, e, v.old, v.now); c.full() {
			return
		}
	}
}

func (c *comparison) fields(column *Column, e Entity, here, there []byte) {
	if column.index != columnInputs {
		column.layout.differences(here, there, func(path, a, b string) { c.add(column, e, path, a, b) })
		return
	}
	players, input := c.a.image.schema.MaxPlayers, c.a.image.schema.Input.declaration.layout
	for i := range 2 * players {
		at, end := i*int(input.size), (i+1)*int(input.size)
		which := "input"
		if i >= players {
			which = "last input"
		}
		input.differences(here[at:end], there[at:end], func(path, a, b string) {
			c.add(column, e, fmt.Sprintf("%s of player %d, %s", which, i%players, path), a, b)
		})
	}
}

func (c *comparison) add(column *Column, e Entity, field, here, there string) {
	if !c.full() {
		c.found = append(c.found, Difference{c.a.tick, column.name, e, field, here, there})
	}
}

// differences calls report for each field in which two rows differ, in their order, padding last.
func (l *layout) differences(here, there []byte, report func(path, here, there string)) {
	for _, f := range l.fields {
		x, y := here[f.offset:f.offset+f.typ.Size()], there[f.offset:f.offset+f.typ.Size()]
		if bytes.Equal(x, y) {
			continue
		}
		a, b := fmt.Sprint(f.load(x)), fmt.Sprint(f.load(y))
		if a == b { // printed without the bits that differ
			a, b = fmt.Sprintf("%s (bytes %x)", a, x), fmt.Sprintf("%s (bytes %x)", b, y)
		}
		report(f.path, a, b)
	}
	for _, p := range l.padding {
		if x, y := here[p.from:p.to], there[p.from:p.to]; !bytes.Equal(x, y) {
			report(paddingPath, fmt.Sprintf("bytes %x", x), fmt.Sprintf("bytes %x", y))
		}
	}
}

// UndeclaredWrite returns the first place that was written without a declaration since the last Save or Restore. Here is
// the value before, There the value now. It compares every page without a mark. SyncTest calls it after each system, and
// saves before each system, because pages that a system has marked are not compared.
func (im *Image) UndeclaredWrite() (d Difference, ok bool) {
	for i := range im.live {
		p := &im.live[i]
		if p.marked || !p.changed() {
			continue
		}
		now := im.present()
		before := Snapshot{now.tick, im, slices.Clone(now.table)}
		before.table[i] = p.base
		if d, ok = FirstDifference(&before, now); !ok { // in a row without an entity
			d = Difference{Tick: now.tick, Component: p.store.column.name, Field: fieldExists}
		}
		return d, true
	}
	return Difference{}, false
}
