package ecs

import (
	"fmt"
	"unsafe"
)

// ExistsAt reports whether e is in the state that s holds.
func ExistsAt(s *Snapshot, e Entity) bool {
	if s.Empty() || e.Row == 0 {
		return false
	}
	c := &s.image.columns[columnIdentity]
	if int(e.Owner()) >= len(c.regions) {
		return false
	}
	return *(*Entity)(s.row(c, e.Owner(), e.Row%regionRows)) == e
}

// ReadAt returns the value that e has in the state that s holds; ok is false if e is not in it or has no such
// component there.
func (c *Component[T]) ReadAt(s *Snapshot, e Entity) (value T, ok bool) {
	if !ExistsAt(s, e) {
		return value, false
	}
	col := s.column(c.declaration)
	if !s.has(col, e.Owner(), e.Row%regionRows) {
		return value, false
	}
	return *(*T)(s.row(col, e.Owner(), e.Row%regionRows)), true
}

// column returns the column of a declared component. A layout belongs to one declaration.
func (s *Snapshot) column(d *declaration) *column {
	for i := range s.image.columns {
		if c := &s.image.columns[i]; c.info.layout == d.layout {
			return c
		}
	}
	panic(fmt.Sprintf("ecs: %q is used but not listed: add it to Game.Components or Game.Resources", d.name))
}

// pageOf returns page i of a store by the store's number, nil for a page of zeros. A page that the image has grown
// since the save is one.
func (s *Snapshot) pageOf(number, i int) *page {
	if s.Empty() {
		return nil
	}
	pages := s.image.stores[number].pages
	if i >= len(pages) || int(pages[i]) >= len(s.table) {
		return nil
	}
	return s.table[pages[i]]
}

// word returns presence word k of a region, by the number of the region's presence store.
func (s *Snapshot) word(number, k int) uint64 {
	pg := s.pageOf(number, k/bitsPageWords)
	if pg == nil {
		return 0
	}
	return *(*uint64)(unsafe.Pointer(&pg.mem[k%bitsPageWords*8]))
}

// has reports whether row i of the owner has the component.
func (s *Snapshot) has(c *column, o Owner, i uint32) bool {
	return s.word(c.regions[o].bits.info.number, int(i/blockRows))>>(i%blockRows)&1 != 0
}

// row returns the memory of row i of the owner, which must not be written.
func (s *Snapshot) row(c *column, o Owner, i uint32) unsafe.Pointer {
	if c.info.stride == 0 {
		return unsafe.Pointer(&nothing)
	}
	pg := s.pageOf(c.regions[o].data.info.number, int(i>>c.info.shift))
	return unsafe.Pointer(&pg.content(c.info.pool.bytes)[uintptr(i&(1<<c.info.shift-1))*c.info.stride])
}
