package image

import (
	"bytes"
	"fmt"
	"math/bits"
)

// UndeclaredWrite returns the first place that was written without a declaration since the last Save or Restore.
// Here is the value before, There the value now. It compares every page without a mark. SyncTest calls it after each
// system, and saves before each system, because pages that a system has marked are not compared.
func (im *Image) UndeclaredWrite() (d Difference, ok bool) {
	for i := range im.live {
		if p := &im.live[i]; !p.marked && p.changed() {
			return im.strayIn(p), true
		}
	}
	return Difference{}, false
}

// strayIn describes the first change in a page without a mark.
func (im *Image) strayIn(p *livePage) Difference {
	info := p.store.info.column
	before := p.base.content(len(p.mem))
	d := Difference{Tick: im.Tick(), Component: info.name, Field: fieldExists}
	if p.store.info.isBits {
		for k := range bitsPageWords {
			if diff := wordOf(before, k) ^ wordOf(p.mem, k); diff != 0 {
				bit := bits.TrailingZeros64(diff)
				d.Entity = im.entityAt(p.store.info.owner, uint32((int(p.index)*bitsPageWords+k)*blockRows+bit))
				had := wordOf(before, k)>>bit&1 != 0
				d.Here, d.There = fmt.Sprint(had), fmt.Sprint(!had)
				break
			}
		}
		return d
	}
	stride := int(info.stride)
	for at := 0; at < len(p.mem); at += stride {
		x, y := before[at:at+stride], p.mem[at:at+stride]
		if bytes.Equal(x, y) {
			continue
		}
		if !info.single {
			d.Entity = im.entityAt(p.store.info.owner, uint32(int(p.index)<<info.shift+at/stride))
		}
		for _, f := range info.layout.differences(x, y) {
			d.Field, d.Here, d.There = f.path, f.here, f.there
			break
		}
		break
	}
	return d
}

// entityAt returns the entity in row i of an owner's region, or the zero Entity.
func (im *Image) entityAt(o Owner, i uint32) Entity {
	c := im.identity()
	if r := &c.regions[o]; r.has(i) {
		return *(*Entity)(c.rowOf(r, i))
	}
	return Entity{}
}
