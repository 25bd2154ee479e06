package image

import "slices"

// Snapshot is the content of an image at one tick: a page table whose pages are shared with other snapshots where
// they are equal. It belongs to the image that saved it, and is valid until Release or the next Save into it.
//
// The zero Snapshot is empty and ready for Save.
type Snapshot struct {
	tick  Tick
	image *Image
	table []*page // by page number; nil stands for zeros
}

// Tick returns the tick of the state.
func (s *Snapshot) Tick() Tick { return s.tick }

// Empty reports whether s holds no state. A nil Snapshot is empty.
func (s *Snapshot) Empty() bool { return s == nil || s.image == nil }

// Release releases the pages. s is then empty and may be saved into again.
func (s *Snapshot) Release() {
	if s.image == nil {
		return
	}
	for n, pg := range slices.Backward(s.table) { // pools then allocate pages in the order of the table
		if pg != nil {
			s.image.live[n].store.info.pool.release(pg)
		}
	}
	s.image, s.table = nil, s.table[:0]
}

// save stores the image in s. Pages without a mark are shared. Marked pages are compared with their base and copied
// if they differ.
func (im *Image) save(s *Snapshot, tick Tick) {
	im.checkNext()
	im.saveDirty()
	s.Release()
	s.image, s.tick = im, tick
	for i := range im.live {
		base := im.live[i].base
		if base != nil {
			base.refs++
		}
		s.table = append(s.table, base)
	}
}

// saveDirty gives every marked page a base that equals it. If there are many, it visits them column by column, so
// that memory is read and written upwards.
func (im *Image) saveDirty() {
	if len(im.dirty)*8 < len(im.live) {
		for _, number := range im.dirty {
			im.saveMarked(&im.live[number])
		}
	} else {
		for _, number := range im.inOrder() {
			if p := &im.live[number]; p.marked {
				im.saveMarked(p)
			}
		}
	}
	im.dirty = im.dirty[:0]
}

// saveMarked gives a marked page a base that equals it.
func (im *Image) saveMarked(p *livePage) {
	im.scrubPage(p)
	p.marked = false
	if !p.changed() {
		return
	}
	pool := p.store.info.pool
	pool.release(p.base)
	p.base = pool.allocate()
	copy(p.base.mem, p.mem)
}

// checkNext compares one unmarked page per save with its base, in rotation. A page that differs was written without
// a mark; it is counted and saved.
func (im *Image) checkNext() {
	if len(im.live) == 0 {
		return
	}
	if im.nextChecked++; int(im.nextChecked) >= len(im.live) {
		im.nextChecked = 0
	}
	if p := &im.live[im.nextChecked]; !p.marked && p.changed() {
		im.strays++
		im.mark(im.nextChecked)
	}
}

// restore makes the image equal to s, which must have been saved from it: it copies back the pages that differ.
func (im *Image) restore(s *Snapshot) {
	for _, number := range im.inOrder() {
		p, want := &im.live[number], s.numbered(number)
		if p.base == want && !p.marked {
			continue
		}
		p.become(want)
		p.marked = false
	}
	im.dirty = im.dirty[:0]
}

// PageBytes returns the bytes of pages that all snapshots of the image hold or have allocated: the memory of a ring
// of snapshots.
func (im *Image) PageBytes() int {
	total := 0
	for _, p := range im.pools {
		total += p.made * p.bytes
	}
	return total
}
