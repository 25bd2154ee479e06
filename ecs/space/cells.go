package space

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// cells is the index of a Grid. An entity is in the list of the cell that contains the low corner of its bounds. One that is
// larger than a cell is in the first list instead. The plane of cells is folded into a torus of 2^bits by 2^bits lists, about
// as many as there are entities.
type cells struct {
	slots [][]slot // by owner, then by Entity.Index
	lists []list   // the first is that of large entities
	bits  uint
	count int    // entities
	pass  uint32 // number of the last update
}

// slot is an entity of the index; its entity is zero if there is none. Lists are linked in the order of rows. Row 0 ends them.
type slot struct {
	entity     ecs.Entity
	bounds     Bounds
	next, prev uint32
	list       uint32
	pass       uint32 // in which the entity was last there
}

type list struct{ first, last uint32 }

const minCellBits = 2

// follow updates the index from any older value. It reads every entity, and changes only the lists of those that left their
// cell.
func (g *Grid[T]) follow(w *ecs.World, x *cells) {
	if x.lists == nil {
		x.resize(minCellBits)
	}
	x.pass++
	seen := 0
	for run := range g.query.Runs(w) {
		seen += len(run.A)
		slots := x.room(run.Entities[len(run.Entities)-1])
		for i, e := range run.Entities {
			s, bounds := &slots[e.Index()], g.bounds(run.A[i])
			s.pass = x.pass
			if s.entity == e && s.bounds == bounds {
				continue
			}
			if s.entity == e {
				if s.bounds = bounds; x.listOf(bounds, g.cell) == s.list {
					continue
				}
			}
			if s.entity.IsZero() {
				x.count++
			} else {
				x.unlink(s)
			}
			s.entity, s.bounds, s.list = e, bounds, x.listOf(bounds, g.cell)
			x.link(s)
		}
	}
	if seen < x.count {
		x.sweep()
	}
	if x.count > len(x.lists) {
		x.relist(g.cell)
	}
}

// room returns the slots of e's owner, with one for e.
func (x *cells) room(e ecs.Entity) []slot {
	owner, need := int(e.Owner()), int(e.Index())+1
	if owner >= len(x.slots) {
		x.slots = slices.Grow(x.slots, owner+1-len(x.slots))[:owner+1]
	}
	if have := len(x.slots[owner]); have < need {
		x.slots[owner] = slices.Grow(x.slots[owner], need-have)[:need]
	}
	return x.slots[owner]
}

// sweep removes the entities that were not there in the last update.
func (x *cells) sweep() {
	for _, slots := range x.slots {
		for i := range slots {
			if s := &slots[i]; !s.entity.IsZero() && s.pass != x.pass {
				x.unlink(s)
				*s = slot{}
				x.count--
			}
		}
	}
}

// relist makes as many lists as there are entities, and links all entities.
func (x *cells) relist(cell fixed.Num) {
	bits := x.bits
	for 1<<(2*bits) < 2*x.count {
		bits++
	}
	x.resize(bits)
	for _, slots := range x.slots {
		for i := range slots {
			if s := &slots[i]; !s.entity.IsZero() {
				s.list = x.listOf(s.bounds, cell)
				x.link(s)
			}
		}
	}
}

func (x *cells) resize(bits uint) {
	x.bits, x.lists = bits, make([]list, 1+1<<(2*bits))
}

// listOf returns the list of an entity with these bounds.
func (x *cells) listOf(b Bounds, cell fixed.Num) uint32 {
	if b.Max.X-b.Min.X > cell || b.Max.Y-b.Min.Y > cell {
		return 0
	}
	return x.listAt(cellOf(b.Min.X, cell), cellOf(b.Min.Y, cell))
}

func (x *cells) listAt(column, row int64) uint32 {
	mask := int64(1)<<x.bits - 1
	return 1 + uint32((row&mask)<<x.bits|column&mask)
}

func cellOf(at, cell fixed.Num) int64 {
	q := int64(at / cell)
	if at%cell < 0 {
		q--
	}
	return q
}

func (x *cells) at(row uint32) *slot {
	e := ecs.Entity{Row: row}
	return &x.slots[e.Owner()][e.Index()]
}

// link adds s to its list. Entities of one list are few.
func (x *cells) link(s *slot) {
	l, row := &x.lists[s.list], s.entity.Row
	after := l.last
	for after > row {
		after = x.at(after).prev
	}
	s.prev, s.next = after, l.first
	if after == 0 {
		l.first = row
	} else {
		p := x.at(after)
		s.next, p.next = p.next, row
	}
	if s.next == 0 {
		l.last = row
	} else {
		x.at(s.next).prev = row
	}
}

func (x *cells) unlink(s *slot) {
	l := &x.lists[s.list]
	if s.prev == 0 {
		l.first = s.next
	} else {
		x.at(s.prev).next = s.next
	}
	if s.next == 0 {
		l.last = s.prev
	} else {
		x.at(s.next).prev = s.prev
	}
}

// equal reports whether both hold the same entities with the same bounds, so that every search finds the same.
func (x *cells) equal(o *cells) bool {
	if x.count != o.count {
		return false
	}
	for _, slots := range x.slots {
		for i := range slots {
			s := &slots[i]
			if s.entity.IsZero() {
				continue
			}
			owner, index := int(s.entity.Owner()), int(s.entity.Index())
			if owner >= len(o.slots) || index >= len(o.slots[owner]) {
				return false
			}
			if t := &o.slots[owner][index]; t.entity != s.entity || t.bounds != s.bounds {
				return false
			}
		}
	}
	return true
}

// maxLists bounds the lists that a search merges. A search of a larger area looks at all entities.
const maxLists = 32

// search yields the entities whose bounds touch an area, in the order of rows: it merges the lists of the cells.
type search struct {
	entity ecs.Entity // after next reported true
	cells  *cells
	area   Bounds
	heads  [maxLists]uint32 // next row of each list that has one
	count  int              // of heads; -1: all entities are looked at
	owner  int
	index  int
}

func (x *cells) search(area Bounds, cell fixed.Num) search {
	s := search{cells: x, area: area}
	// A low corner can be a cell away from the area.
	x0, x1 := cellOf(area.Min.X, cell)-1, cellOf(area.Max.X, cell)
	y0, y1 := cellOf(area.Min.Y, cell)-1, cellOf(area.Max.Y, cell)
	columns, rows, side := x1-x0+1, y1-y0+1, int64(1)<<x.bits
	if columns > side || rows > side || columns*rows >= maxLists || columns <= 0 || rows <= 0 {
		s.count = -1
		return s
	}
	s.add(0)
	for y := y0; y <= y1; y++ {
		for i := x0; i <= x1; i++ {
			s.add(x.listAt(i, y))
		}
	}
	return s
}

func (s *search) add(list uint32) {
	if first := s.cells.lists[list].first; first != 0 {
		s.heads[s.count] = first
		s.count++
	}
}

// next finds the next entity and reports false at the end.
func (s *search) next() bool {
	if s.count < 0 {
		return s.nextOfAll()
	}
	for s.count > 0 {
		least := 0
		for i, row := range s.heads[1:s.count] {
			if row < s.heads[least] {
				least = i + 1
			}
		}
		found := s.cells.at(s.heads[least])
		if s.heads[least] = found.next; found.next == 0 {
			s.count--
			s.heads[least] = s.heads[s.count]
		}
		if found.bounds.Touches(s.area) {
			s.entity = found.entity
			return true
		}
	}
	return false
}

func (s *search) nextOfAll() bool {
	for ; s.owner < len(s.cells.slots); s.owner, s.index = s.owner+1, 0 {
		for slots := s.cells.slots[s.owner]; s.index < len(slots); {
			found := &slots[s.index]
			if s.index++; !found.entity.IsZero() && found.bounds.Touches(s.area) {
				s.entity = found.entity
				return true
			}
		}
	}
	return false
}
