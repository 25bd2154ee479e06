package image

import "slices"

// Snapshot is the content of a world's image at one tick: a page table whose pages are shared with other snapshots
// where they are equal. It belongs to the world that saved it and stays valid until Release or the next Save into it.
//
// The zero Snapshot is empty and ready for Save.
type Snapshot struct {
	tick  Tick
	image *Image
	table []*page // by page number; nil stands for zeros
}

// Tick returns the tick whose state s holds.
func (s *Snapshot) Tick() Tick { return s.tick }

// Empty reports whether s holds no state; a nil Snapshot holds none.
func (s *Snapshot) Empty() bool { return s == nil || s.image == nil }

// Release gives the pages back. s is empty then and may be saved into again.
func (s *Snapshot) Release() {
	if s.image == nil {
		return
	}
	for n, pg := range slices.Backward(s.table) { // so that pools hand pages out again in the order of the table
		if pg != nil {
			s.image.live[n].store.info.pool.release(pg)
		}
	}
	s.image, s.table = nil, s.table[:0]
}

// save stores the image in s. Pages that nobody marked are shared unseen; marked ones are compared with their base
// and copied only where they differ.
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

// saveDirty gives every marked page a base that equals it. Many are taken column by column, so that memory is read and
// written upwards, whatever order they were marked in.
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

// checkNext looks at one unmarked page per save, in rotation. A page that changed without a mark was written past
// its system's declaration; it is counted and saved.
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

// restore makes the image equal to s, which must have been saved from it: pages that differ are copied back.
func (im *Image) restore(s *Snapshot) {
	for p, want := range im.outdated(s) {
		p.become(want)
		p.marked = false
	}
	im.dirty = im.dirty[:0]
}

// PageBytes returns how many bytes of pages all snapshots of the world hold or have ready, for publishing what a
// ring costs.
func (im *Image) PageBytes() int {
	total := 0
	for _, p := range im.pools {
		total += p.made * p.bytes
	}
	return total
}
