package image

import "iter"

// pagePair is a page that two states do not share. Its contents may still be equal.
type pagePair struct {
	*storeInfo
	index    int
	old, now *page // nil for zeros
}

// contents returns the bytes of the page in both states.
func (p *pagePair) contents() (old, now []byte) {
	return p.old.content(p.bytes), p.now.content(p.bytes)
}

// apart returns the pages of stores [first, end) that two states of one schema do not share, ascending by store and
// index. old may be empty: its pages are zeros. A shared page costs one comparison of pointers.
func apart(old, now *Snapshot, first, end int) iter.Seq[pagePair] {
	return func(yield func(pagePair) bool) {
		for number, st := range now.image.stores[first:end] {
			number += first
			count := len(st.pages)
			if !old.Empty() && old.image != now.image {
				count = max(count, len(old.image.stores[number].pages))
			}
			for i := range count {
				was, is := old.pageOf(number, i), now.pageOf(number, i)
				if was != is && !yield(pagePair{st.info, i, was, is}) {
					return
				}
			}
		}
	}
}

// rowsApart is apart for the entities of two states, without resources and the engine's own columns of one row.
func rowsApart(old, now *Snapshot) iter.Seq[pagePair] {
	return func(yield func(pagePair) bool) {
		for p := range apart(old, now, now.image.columns[columnIdentity].firstStore(), len(now.image.stores)) {
			if !p.column.single && !yield(p) {
				return
			}
		}
	}
}

// firstStore returns the number of the column's first store.
func (c *Column) firstStore() int { return c.regions[0].bits.info.number }

// endStore returns the number after the column's last store.
func (c *Column) endStore() int { return c.regions[len(c.regions)-1].data.info.number + 1 }
