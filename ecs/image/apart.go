package image

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// pagePair is a page that two states do not share. Its contents may still be equal.
type pagePair struct {
	*store
	index    int
	old, now *page // nil for zeros
}

// apart returns the pages that two states of one schema do not share, ascending by store and index. stores are those of the
// image of now. old may be empty: its pages are zeros. A shared page costs one comparison of pointers.
func apart(old, now *Snapshot, stores []*store) iter.Seq[pagePair] {
	return func(yield func(pagePair) bool) {
		for _, st := range stores {
			count := len(st.pages)
			if !old.Empty() && old.image != now.image {
				count = max(count, len(old.image.stores[st.number].pages))
			}
			for i := range count {
				was, is := old.pageOf(st.number, i), now.pageOf(st.number, i)
				if was != is && !yield(pagePair{st, i, was, is}) {
					return
				}
			}
		}
	}
}

// storesFrom returns the stores of a column and of all columns after it.
func (im *Image) storesFrom(column int) []*store {
	return im.stores[im.columns[column].regions[0].bits.number:]
}

func (p *pagePair) contents() (old, now []byte) {
	return p.old.content(p.pool.bytes), p.now.content(p.pool.bytes)
}

// change is a part of a page in two states.
type change[T any] struct{ old, now T }

// words yields the words of a page of presence bits that differ, each with its block of rows.
func (p *pagePair) words(yield func(k int, w change[uint64]) bool) {
	old, now := p.contents()
	for i := range bitsPageWords {
		w := change[uint64]{wordOf(old, i), wordOf(now, i)}
		if w.old != w.now && !yield(p.index*bitsPageWords+i, w) {
			return
		}
	}
}

// rows yields the rows of a page of rows that differ.
func (p *pagePair) rows(yield func(row uint32, v change[[]byte]) bool) {
	old, now := p.contents()
	stride := int(p.column.stride)
	for at := 0; at < len(now); at += stride {
		x, y := old[at:at+stride], now[at:at+stride]
		if !bytes.Equal(x, y) && !yield(uint32(p.index<<p.column.shift+at/stride), change[[]byte]{x, y}) {
			return
		}
	}
}

// wordOf returns word k of a page of presence bits.
func wordOf(page []byte, k int) uint64 { return binary.LittleEndian.Uint64(page[k*8:]) }
