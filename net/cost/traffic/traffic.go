// Package traffic counts the bytes of a server's messages by component and by kind of entity. The kind of an entity is the set of its
// components. A [Meter] is the observer of a room. The ledgers of package cost contain one on request.
//
//	meter := traffic.NewMeter(game)
//	config.Observer = meter // of a room.Config
//	...
//	meter.Report(&bytes)
//	fmt.Println(bytes.Largest()[0])
package traffic

import (
	"cmp"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Bytes contains the bytes of a strategy's messages to the clients of a room. It excludes headers, encryption, images of states and
// the effect of compression on reliable messages.
type Bytes struct {
	Total uint64 `json:"total"`
	// Rows add up to Total, except for rounding. Parts of a delta are measured in the entropy code, to a fraction of a bit. A
	// delta for several clients counts once for each client.
	Rows []Row `json:"rows"`
}

// Row contains the bytes of one component in entities of one kind, or of another part of the messages.
type Row struct {
	// Kind lists the names of all components of the entities, as in "body+seat". It is "" for a part that belongs to no entity, and
	// OtherKinds for kinds beyond the first 255.
	Kind string `json:"kind,omitempty"`
	// Part is the name of a component or resource, or one of these:
	//   - "entity": rows, births, sets of components and baselines
	//   - "inputs", "orders" and "events"
	//   - "tick": numbers of ticks and messages, and the set of players
	//   - "other"
	Part  string `json:"part"`
	Bytes uint64 `json:"bytes"`
}

// OtherKinds is the Kind of entities whose kind has no row.
const OtherKinds = "other kinds"

// Largest returns the rows in descending order of bytes, without empty rows. It returns [] in JSON, not null, if there are none.
func (b *Bytes) Largest() []Row {
	rows := slices.DeleteFunc(append([]Row{}, b.Rows...), func(r Row) bool { return r.Bytes == 0 })
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return rows
}

// Add adds the bytes of another room of the same game.
func (b *Bytes) Add(o *Bytes) { b.change(o, func(x, y uint64) uint64 { return x + y }) }

// Since subtracts the bytes of an earlier report of the same rooms.
func (b *Bytes) Since(o *Bytes) { b.change(o, func(x, y uint64) uint64 { return x - min(x, y) }) }

func (b *Bytes) change(o *Bytes, by func(x, y uint64) uint64) {
	b.Total, b.Rows = by(b.Total, o.Total), slices.Clone(b.Rows)
	for _, r := range o.Rows {
		i := slices.IndexFunc(b.Rows, func(x Row) bool { return x.Kind == r.Kind && x.Part == r.Part })
		if i < 0 {
			i, b.Rows = len(b.Rows), append(b.Rows, Row{Kind: r.Kind, Part: r.Part})
		}
		b.Rows[i].Bytes = by(b.Rows[i].Bytes, r.Bytes)
	}
}

// Header names the columns of Bytes.Cells.
var Header = []string{"kind of entity", "part", "share", "B/s"}

// Cells returns a row as a line of a table: see Header. seconds is the time in which the bytes were sent.
func (b *Bytes) Cells(r *Row, seconds float64) []string {
	return []string{cmp.Or(r.Kind, "–"), r.Part, fmt.Sprintf("%.1f %%", 100*float64(r.Bytes)/float64(max(b.Total, 1))),
		fmt.Sprintf("%.0f", float64(r.Bytes)/max(seconds, 1))}
}

// Meter counts the bytes of a room's messages. It is an image.Observer that ignores times. A cost.Ledger with Config.Bytes contains
// a Meter. Its methods belong to the goroutine of the room.
type Meter struct {
	schema *image.Schema
	parts  []string // by column; negative columns count from the end
	total  uint64   // bytes
	known  uint64   // of total, those of parts, in units of image.ByteUnits
	kinds  []kindBytes
	last   int // index of the kind of the last call
}

// kindBytes contains the amounts of a kind by part. The first kind of a meter is the empty one. The last of mostKinds kinds stands for
// all others.
type kindBytes struct {
	kind  image.ComponentSet
	name  string
	parts []uint64
}

const mostKinds = 256

// NewMeter returns an empty meter of a valid game.
func NewMeter(g *ecs.Game) *Meter {
	m := &Meter{schema: g.Schema()}
	m.parts = append(m.schema.Columns(), "events", "orders") // from the end: image.PartOrders, image.PartEvents
	m.kinds = []kindBytes{{parts: make([]uint64, len(m.parts))}}
	return m
}

var _ image.ByteObserver = (*Meter)(nil)

// Enter does nothing.
func (*Meter) Enter(image.Section) {}

// Leave does nothing.
func (*Meter) Leave(image.Section) {}

// Name does nothing.
func (*Meter) Name(image.Section, string, string) {}

// Turn does nothing.
func (*Meter) Turn(ecs.Tick) {}

// CountsBytes returns true.
func (*Meter) CountsBytes() bool { return true }

// Sent adds a message of the strategy.
func (m *Meter) Sent(bytes int) { m.total += uint64(bytes) }

// Part adds a part of such messages.
func (m *Meter) Part(kind image.ComponentSet, column int, amount uint64) {
	if column < 0 {
		column += len(m.parts)
	}
	m.known += amount
	m.of(kind).parts[column] += amount
}

// of returns the amounts of a kind.
func (m *Meter) of(kind image.ComponentSet) *kindBytes {
	if k := &m.kinds[m.last]; k.kind == kind {
		return k
	}
	for i := range m.kinds {
		if m.kinds[i].kind == kind {
			m.last = i
			return &m.kinds[i]
		}
	}
	if len(m.kinds) == mostKinds {
		return &m.kinds[mostKinds-1]
	}
	name := m.schema.KindName(kind)
	if len(m.kinds) == mostKinds-1 {
		name = OtherKinds
	}
	m.kinds = append(m.kinds, kindBytes{kind, name, make([]uint64, len(m.parts))})
	m.last = len(m.kinds) - 1
	return &m.kinds[m.last]
}

// Reset sets all amounts to zero.
func (m *Meter) Reset() {
	m.total, m.known = 0, 0
	for i := range m.kinds {
		clear(m.kinds[i].parts)
	}
}

// Merge adds the bytes of another meter of the same game.
func (m *Meter) Merge(o *Meter) {
	m.total, m.known = m.total+o.total, m.known+o.known
	for i := range o.kinds {
		to := m.of(o.kinds[i].kind)
		for part, n := range o.kinds[i].parts {
			to.parts[part] += n
		}
	}
}

// Report sets b, whose memory it reuses.
func (m *Meter) Report(b *Bytes) {
	b.Total, b.Rows = m.total, b.Rows[:0]
	for i := range m.kinds {
		for part, n := range m.kinds[i].parts {
			if n > 0 {
				b.Rows = append(b.Rows, Row{m.kinds[i].name, m.parts[part], (n + image.ByteUnits/2) / image.ByteUnits})
			}
		}
	}
	if all := m.total * image.ByteUnits; all > m.known {
		b.Rows = append(b.Rows, Row{Part: "other", Bytes: (all - m.known) / image.ByteUnits})
	}
}
