package image

import (
	"errors"
	"fmt"
	"math/bits"
)

// A replica is a client's copy of the server's state. The functions below change it between ticks. Each changes one entity,
// resource, input or tick, or nothing if it returns an error.

// Errors of the functions that write a replica.
var (
	ErrReplicaEntity = errors.New("image: PutEntity with a row that no entity can have, or a birth after the state's tick")
	ErrReplicaValues = errors.New("image: values that do not fit the components, the resource or the number of players")
	ErrReplicaMemory = errors.New("image: a replica would take more than 64 MiB")
)

// replicaBytes bounds the pages of a replica. A row far up in an owner's region takes memory for all rows below it.
const replicaBytes = 64 << 20

// PutEntity makes e an entity with these components and their scalars, in the order of Snapshot.AppendScalars. It replaces
// an entity in e's row. After an error the state is as before.
func (im *Image) PutEntity(e Entity, set ComponentSet, values []uint64) error {
	o, i := e.Owner(), e.Row%regionRows
	if e.Row == 0 || int(o) >= len(im.structure.hint) || e.Born > im.Tick() {
		return ErrReplicaEntity
	}
	columns := im.components()
	if bits.Len64(uint64(set)) > len(columns) || !fitScalars(columns, set, values) {
		return ErrReplicaValues
	}
	identity := im.Identity()
	growth := im.room(&identity.regions[o], identity, i)
	for rest := set; rest != 0; rest &= rest - 1 {
		c := &columns[bits.TrailingZeros64(uint64(rest))]
		growth += im.room(&c.regions[o], c, i)
	}
	if growth > 0 && im.bytes+growth > replicaBytes {
		return ErrReplicaMemory
	}
	changed := false
	r := &identity.regions[o]
	if !im.Exists(e) {
		im.clearRow(o, i)
		im.setBit(r, identity, i)
		im.markRow(r, identity, i)
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
			im.setBit(r, c, i)
			changed = true
		}
		im.markRow(r, c, i)
		values = c.put(r, i, values)
	}
	im.edited(changed)
	return nil
}

// put writes row i from the start of values and returns the rest.
func (c *Column) put(r *region, i uint32, values []uint64) (rest []uint64) {
	row, scalars := c.rowOf(r, i), c.layout.fields
	for k := range scalars {
		scalars[k].write(row, values[k])
	}
	return values[len(scalars):]
}

func fitScalars(columns []Column, set ComponentSet, values []uint64) bool {
	for rest := set; rest != 0; rest &= rest - 1 {
		scalars := columns[bits.TrailingZeros64(uint64(rest))].layout.fields
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

// room returns the number of bytes of pages that the region has to grow by for row i.
func (im *Image) room(r *region, c *Column, i uint32) (bytes int) {
	if pages := int(i)/(BlockRows*bitsPageWords) + 1; pages > len(r.bits.pages) {
		bytes += (pages - len(r.bits.pages)) * r.bits.pool.bytes
	}
	if c.stride == 0 {
		return bytes
	}
	blockPages := max(1, BlockRows>>c.shift)
	if pages := int(i>>c.shift)/blockPages*blockPages + blockPages; pages > len(r.data.pages) {
		bytes += (pages - len(r.data.pages)) * c.pool.bytes
	}
	return bytes
}

// DropRow removes the entity in a row. It reports false if there is none.
func (im *Image) DropRow(row uint32) bool {
	o, i := Owner(row>>regionShift), row%regionRows
	if row == 0 || int(o) >= len(im.structure.hint) || !im.Identity().regions[o].has(i) {
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
		if c.single {
			continue
		}
		if r := &c.regions[o]; r.has(i) {
			c.clearRow(im, r, i)
		}
	}
}

// PutResource gives Game.Resources[i] these scalars, in the order of Snapshot.AppendResource.
func (im *Image) PutResource(i int, values []uint64) error {
	c := &im.resources()[i]
	if !fitScalars(im.resources()[i:], 1, values) {
		return ErrReplicaValues
	}
	im.markRow(&c.regions[0], c, 0)
	c.put(&c.regions[0], 0, values)
	im.edited(false)
	return nil
}

// PutTick sets the tick and the players in the match.
func (im *Image) PutTick(t Tick, players PlayerSet) error {
	if bits.Len64(uint64(players)) > im.schema.MaxPlayers {
		return ErrReplicaValues
	}
	c := im.writeCore()
	c.Tick, c.Players = t, players
	im.edited(false)
	return nil
}

// PutInput makes in p's input of the state's tick. A replica receives states without their inputs; a client that predicts
// from one needs the last input. Call it between ticks. It panics for a player that the game does not have.
func (im *Image) PutInput(p Player, in InputBytes) {
	if int(p) >= im.schema.MaxPlayers {
		panic(fmt.Sprintf("image: PutInput for player %d in a game of %d players", p, im.schema.MaxPlayers))
	}
	size := im.schema.Input.Size()
	copy(im.writeInputs()[int(p)*size:(int(p)+1)*size], in[:])
}

// edited invalidates derived data. changed reports that entities or sets of components have changed: the record of free
// rows is then reset too.
func (im *Image) edited(changed bool) {
	im.invalidate()
	if changed {
		im.structure.reset()
	}
}
