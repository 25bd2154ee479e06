package ecs

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
func (w *World) PutEntity(e Entity, set ComponentSet, values []uint64) error {
	o, i := e.Owner(), e.Row%regionRows
	if e.Row == 0 || int(o) >= len(w.structure.hint) || e.Born > w.Tick() {
		return ErrReplicaEntity
	}
	columns := w.image.columns[engineColumns+len(w.game.Resources):]
	if bits.Len64(uint64(set)) > len(columns) || !fitScalars(columns, set, values) {
		return ErrReplicaValues
	}
	identity := w.identity()
	growth := w.image.room(&identity.regions[o], identity.info, i)
	for rest := set; rest != 0; rest &= rest - 1 {
		c := &columns[bits.TrailingZeros64(uint64(rest))]
		growth += w.image.room(&c.regions[o], c.info, i)
	}
	if growth > 0 && w.image.bytes+growth > replicaBytes {
		return ErrReplicaMemory
	}
	changed := false
	if r := &identity.regions[o]; !w.exists(e) {
		w.clearRow(o, i)
		w.image.setBit(r, identity.info, i)
		w.image.markRow(r, identity.info, i)
		*(*Entity)(identity.rowOf(r, i)) = e
		changed = true
	}
	for n := range columns {
		c := &columns[n]
		r, has := &c.regions[o], c.regions[o].has(i)
		if set>>n&1 == 0 {
			if has {
				c.clearRow(w.image, r, i)
				changed = true
			}
			continue
		}
		if !has {
			w.image.setBit(r, c.info, i)
			changed = true
		}
		w.image.markRow(r, c.info, i)
		values = c.put(r, i, values)
	}
	w.told(changed)
	return nil
}

// put writes row i from the head of values and returns the rest.
func (c *column) put(r *region, i uint32, values []uint64) (rest []uint64) {
	row, scalars := c.rowOf(r, i), c.info.layout.scalars
	for k := range scalars {
		scalars[k].write(row, values[k])
	}
	return values[len(scalars):]
}

// fitScalars reports whether values are the scalars of these components.
func fitScalars(columns []column, set ComponentSet, values []uint64) bool {
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
func (im *image) room(r *region, info *columnInfo, i uint32) (bytes int) {
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
func (w *World) DropRow(row uint32) bool {
	o, i := Owner(row>>regionShift), row%regionRows
	if row == 0 || int(o) >= len(w.structure.hint) || !w.identity().regions[o].has(i) {
		return false
	}
	w.clearRow(o, i)
	w.told(true)
	return true
}

// clearRow empties row i of an owner in every column.
func (w *World) clearRow(o Owner, i uint32) {
	for n := range w.image.columns {
		c := &w.image.columns[n]
		if r := &c.regions[min(int(o), len(c.regions)-1)]; !c.info.single && r.has(i) {
			c.clearRow(w.image, r, i)
		}
	}
}

// PutResource gives Game.Resources[i] these scalars, as Snapshot.AppendResource lists them.
func (w *World) PutResource(i int, values []uint64) error {
	c := &w.image.columns[engineColumns+i]
	if columns := w.image.columns[engineColumns+i : engineColumns+i+1]; !fitScalars(columns, 1, values) {
		return ErrReplicaValues
	}
	w.image.markRow(&c.regions[0], c.info, 0)
	c.put(&c.regions[0], 0, values)
	w.told(false)
	return nil
}

// PutTick makes the state that of tick t, with these players in the match.
func (w *World) PutTick(t Tick, players PlayerSet) error {
	if bits.Len64(uint64(players)) > w.game.MaxPlayers {
		return ErrReplicaValues
	}
	c := w.writeCore()
	c.Tick, c.Players = t, uint64(players)
	w.told(false)
	return nil
}

// PutInput makes in the input that p gave in the state's tick: a replica is told states, not what entered them, and who
// goes on from one by itself wants to know what was held already. Call it between ticks.
func (w *World) PutInput(p Player, in InputBytes) {
	if int(p) >= w.game.MaxPlayers {
		panic(fmt.Sprintf("ecs: PutInput for player %d of a game of %d: check what comes from outside first", p, w.game.MaxPlayers))
	}
	size := w.game.InputSize()
	if size == 0 {
		return
	}
	data := &w.image.columns[columnInputs].regions[0].data
	w.image.mark(data.pages[0])
	copy(w.image.live[data.pages[0]].mem[int(p)*size:(int(p)+1)*size], in[:])
}

// told drops what was known of the state before: derived data, and if entities or their components have changed, where
// there are free rows.
func (w *World) told(changed bool) {
	w.invalidate()
	if changed {
		w.structure.forget()
	}
}
