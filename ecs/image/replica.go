package image

import (
	"errors"
	"fmt"
	"math/bits"
)

// A replica is a world that is not computed but told: a client's copy of what the server says. Entities come into it,
// change and go by what follows, between ticks. Each call changes one thing or, on an error, nothing.

// Errors of the functions that write a replica.
var (
	ErrReplicaEntity = errors.New("ecs: a replica's entity has a row that no entity can have, or is born after the state")
	ErrReplicaValues = errors.New("ecs: a replica's values are not those of the components, or no program could have stored them")
	ErrReplicaMemory = errors.New("ecs: a replica would take more than 64 MiB")
)

// replicaBytes bounds the pages of a world that grows by what it is told: a row far up in an owner's region takes memory
// for all rows below it.
const replicaBytes = 64 << 20

// PutEntity makes e an entity with these components and their scalars, as Snapshot.AppendScalars lists them. What was in
// e's row before is gone.
func (im *Image) PutEntity(e Entity, set ComponentSet, values []uint64) error {
	o, i := e.Owner(), e.Row%regionRows
	if e.Row == 0 || int(o) >= len(im.structure.hint) || e.Born > im.Tick() {
		return ErrReplicaEntity
	}
	columns := im.columns[engineColumns+len(im.schema.Resources):]
	if bits.Len64(uint64(set)) > len(columns) || !fitScalars(columns, set, values) {
		return ErrReplicaValues
	}
	identity := im.identity()
	growth := im.room(&identity.regions[o], identity.info, i)
	for rest := set; rest != 0; rest &= rest - 1 {
		c := &columns[bits.TrailingZeros64(uint64(rest))]
		growth += im.room(&c.regions[o], c.info, i)
	}
	if growth > 0 && im.bytes+growth > replicaBytes {
		return ErrReplicaMemory
	}
	changed := false
	if r := &identity.regions[o]; !im.Exists(e) {
		im.clearRow(o, i)
		im.setBit(r, identity.info, i)
		im.markRow(r, identity.info, i)
		*(*Entity)(identity.rowOf(r, i)) = e
		changed = true
	}
	for n := range columns {
		c := &columns[n]
		r, has := &c.regions[o], c.regions[o].has(i)
		if set>>n&1 == 0 {
			if has {
				c.clearRow(im, r, i)
				changed = true
			}
			continue
		}
		if !has {
			im.setBit(r, c.info, i)
			changed = true
		}
		im.markRow(r, c.info, i)
		values = c.put(r, i, values)
	}
	im.edited(changed)
	return nil
}

// put writes row i from the head of values and returns the rest.
func (c *Column) put(r *region, i uint32, values []uint64) (rest []uint64) {
	row, scalars := c.rowOf(r, i), c.info.layout.scalars
	for k := range scalars {
		scalars[k].write(row, values[k])
	}
	return values[len(scalars):]
}

// fitScalars reports whether values are the scalars of these components.
func fitScalars(columns []Column, set ComponentSet, values []uint64) bool {
	for rest := set; rest != 0; rest &= rest - 1 {
		scalars := columns[bits.TrailingZeros64(uint64(rest))].info.layout.scalars
		if len(values) < len(scalars) {
			return false
		}
		for k := range scalars {
			if !scalars[k].fits(values[k]) {
				return false
			}
		}
		values = values[len(scalars):]
	}
	return len(values) == 0
}

// room returns how many bytes of pages the region has to grow by to have row i.
func (im *Image) room(r *region, info *columnInfo, i uint32) (bytes int) {
	if pages := int(i)/(blockRows*bitsPageWords) + 1; pages > len(r.bits.pages) {
		bytes += (pages - len(r.bits.pages)) * im.bitPool.bytes
	}
	if info.stride == 0 {
		return bytes
	}
	blockPages := max(1, blockRows>>info.shift)
	if pages := int(i>>info.shift)/blockPages*blockPages + blockPages; pages > len(r.data.pages) {
		bytes += (pages - len(r.data.pages)) * info.pool.bytes
	}
	return bytes
}

// DropRow empties a row, whichever entity is in it; it reports whether there was one.
func (im *Image) DropRow(row uint32) bool {
	o, i := Owner(row>>regionShift), row%regionRows
	if row == 0 || int(o) >= len(im.structure.hint) || !im.identity().regions[o].has(i) {
		return false
	}
	im.clearRow(o, i)
	im.edited(true)
	return true
}

// clearRow empties row i of an owner in every column.
func (im *Image) clearRow(o Owner, i uint32) {
	for n := range im.columns {
		c := &im.columns[n]
		if r := &c.regions[min(int(o), len(c.regions)-1)]; !c.info.single && r.has(i) {
			c.clearRow(im, r, i)
		}
	}
}

// PutResource gives Game.Resources[i] these scalars, as Snapshot.AppendResource lists them.
func (im *Image) PutResource(i int, values []uint64) error {
	c := &im.columns[engineColumns+i]
	if columns := im.columns[engineColumns+i : engineColumns+i+1]; !fitScalars(columns, 1, values) {
		return ErrReplicaValues
	}
	im.markRow(&c.regions[0], c.info, 0)
	c.put(&c.regions[0], 0, values)
	im.edited(false)
	return nil
}

// PutTick makes the state that of tick t, with these players in the match.
func (im *Image) PutTick(t Tick, players PlayerSet) error {
	if bits.Len64(uint64(players)) > im.schema.MaxPlayers {
		return ErrReplicaValues
	}
	c := im.writeCore()
	c.Tick, c.Players = t, uint64(players)
	im.edited(false)
	return nil
}

// PutInput makes in the input that p gave in the state's tick: a replica is told states, not what entered them, and who
// goes on from one by itself wants to know what was held already. Call it between ticks.
func (im *Image) PutInput(p Player, in InputBytes) {
	if int(p) >= im.schema.MaxPlayers {
		panic(fmt.Sprintf("ecs: PutInput for player %d of a game of %d: check what comes from outside first", p, im.schema.MaxPlayers))
	}
	size := im.schema.Input.Size()
	if size == 0 {
		return
	}
	data := &im.columns[columnInputs].regions[0].data
	im.mark(data.pages[0])
	copy(im.live[data.pages[0]].mem[int(p)*size:(int(p)+1)*size], in[:])
}

// told drops what was known of the state before: derived data, and if entities or their components have changed, where
// there are free rows.
func (im *Image) edited(changed bool) {
	im.invalidate()
	if changed {
		im.structure.reset()
	}
}
