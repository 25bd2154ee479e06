package image

import (
	"math/bits"
	"strings"
)

// ByteObserver is an Observer that also counts the bytes of a server's messages, by column and by kind of entity. The kind of an
// entity is the set of its components. Rooms and server halves obtain it by ByteObserverOf.
type ByteObserver interface {
	Observer
	// CountsBytes reports whether bytes are counted. If it returns false, the other methods are not called.
	CountsBytes() bool
	// Sent adds a message of the strategy to one client.
	Sent(bytes int)
	// Part adds a part of such messages, in units of ByteUnits. The part has values of a column in entities whose set of
	// components is kind. column is a position in Schema.Columns, PartOrders or PartEvents. kind is 0 for data of no entity.
	Part(kind ComponentSet, column int, amount uint64)
}

// ByteUnits is the number of units in a byte. Units are small because an entropy code uses fractions of a bit.
const ByteUnits = 8 << 8

// Parts of messages that are not columns.
const (
	PartOrders = -1 // orders that were stamped into ticks
	PartEvents = -2
)

// Columns of the engine in which bytes are counted.
const (
	PartTick   = columnCore     // numbers of ticks and messages, checksums, and the set of players
	PartInputs = columnInputs   // inputs of players
	PartEntity = columnIdentity // identity of entities: rows, births, sets of components, baselines
)

// ByteObserverOf returns o if it counts bytes, and nil otherwise.
func ByteObserverOf(o Observer) ByteObserver {
	if b, ok := o.(ByteObserver); ok && b.CountsBytes() {
		return b
	}
	return nil
}

// ComponentColumn returns the position in Columns of Components[i].
func (s *Schema) ComponentColumn(i int) int { return len(engineNames) + len(s.Resources) + i }

// ResourceColumn returns the position in Columns of Resources[i].
func (s *Schema) ResourceColumn(i int) int { return len(engineNames) + i }

// KindName returns the names of the components in a set, as in "body+seat". It is "" for the empty set.
func (s *Schema) KindName(kind ComponentSet) string {
	var b strings.Builder
	for ; kind != 0; kind &= kind - 1 {
		if b.Len() > 0 {
			b.WriteByte('+')
		}
		b.WriteString(s.Components[bits.TrailingZeros64(uint64(kind))].name)
	}
	return b.String()
}

// CountDelta counts the bytes of a delta that s.AppendDelta wrote. Eight bytes of values count for the entity in whose row they
// begin. Eight presence bytes count for their first entity.
func (s *Snapshot) CountDelta(delta []byte, o ByteObserver) {
	var in incoming
	in.image = s.image
	if in.readHeader(delta) != nil {
		return
	}
	o.Part(0, PartTick, uint64(len(delta)-len(in.rest))*ByteUnits)
	number, next := 0, 0
	for len(in.rest) > 0 {
		before := len(in.rest)
		place := in.uvarint(1 << 32)
		if place>>1 > 0 {
			number, next = number+int(place>>1), 0
		}
		st, index := s.image.stores[number], 0
		if place&1 != 0 {
			index = max(next, 1) + int(in.uvarint(regionRows))
		}
		s.countWords(&in, st, index, before, o)
		next = index + 1
	}
}

// countWords counts a page of a delta. before is the number of bytes left at the beginning of the page.
func (s *Snapshot) countWords(in *incoming, st *store, index, before int, o ByteObserver) {
	at, last, kind := 0, -1, ComponentSet(0)
	for len(in.rest) > 0 && !in.failed {
		head := in.rest[0]
		in.rest = in.rest[1:]
		if head == deltaEnd {
			break
		}
		skip := int(head >> 5)
		if skip == skipMost {
			skip += int(in.uvarint(pageBytes))
		}
		at += skip
		in.rest = in.rest[min(int(head&7)+1, len(in.rest)):]
		if row := s.rowAt(st, index, at); row != last { // otherwise the kind is the same
			last, kind = row, 0
			if c := st.column.index; c == columnIdentity || c >= len(s.image.columns)-len(s.image.components()) {
				kind = s.Components(s.EntityAt(uint32(st.owner)<<regionShift | uint32(row)))
			}
		}
		o.Part(kind, st.column.index, uint64(before-len(in.rest))*ByteUnits)
		before = len(in.rest)
		at++
	}
	o.Part(0, st.column.index, uint64(before-len(in.rest))*ByteUnits)
}

// rowAt returns the row of the owner to which the eight bytes at an index of a page belong.
func (s *Snapshot) rowAt(st *store, index, word int) int {
	if st.isBits {
		k := index*bitsPageWords + word
		return k*BlockRows + bits.TrailingZeros64(s.word(st.number, k)|1<<63)
	}
	return index<<st.column.shift + word*8/max(int(st.column.stride), 1)
}

// CountMotion counts the bytes of a motion record of an entity.
func (s *Snapshot) CountMotion(e Entity, bytes int, o ByteObserver) {
	if c := s.firstWith(e, func(r *roles) bool { return r.motion != nil }); c != nil {
		o.Part(s.Components(e), c.index, uint64(bytes)*ByteUnits)
	}
}
