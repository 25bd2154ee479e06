package image

import (
	"unsafe"
)

// ExistsAt reports whether e is in the state s.
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

// Row returns the memory of e's component in the state. It returns nil if e is not in the state or has no such
// component there. The memory must not be written.
func (s *Snapshot) Row(d *Declaration, e Entity) unsafe.Pointer {
	if !ExistsAt(s, e) {
		return nil
	}
	c := s.image.column(d)
	if !s.has(c, e.Owner(), e.Row%regionRows) {
		return nil
	}
	return s.row(c, e.Owner(), e.Row%regionRows)
}

// numbered returns the page with this number in image.live, nil for a page of zeros.
func (s *Snapshot) numbered(number uint32) *page {
	if int(number) < len(s.table) {
		return s.table[number]
	}
	return nil
}

// pageOf returns page i of a store by the store's number, nil for a page of zeros. Pages that the image has added
// since the save are zeros.
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
func (s *Snapshot) has(c *Column, o Owner, i uint32) bool {
	return s.word(c.regions[o].bits.info.number, int(i/blockRows))>>(i%blockRows)&1 != 0
}

// row returns the memory of row i of the owner, which must not be written.
func (s *Snapshot) row(c *Column, o Owner, i uint32) unsafe.Pointer {
	if c.info.stride == 0 {
		return unsafe.Pointer(&nothing)
	}
	pg := s.pageOf(c.regions[o].data.info.number, int(i>>c.info.shift))
	return unsafe.Pointer(&pg.content(c.info.pool.bytes)[uintptr(i&(1<<c.info.shift-1))*c.info.stride])
}
