package image

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// structure queues changes of entities and their components while a system runs. Flush applies them in call order when the
// system has returned. Between systems the queue is empty.
type structure struct {
	ops      []structureOp
	bytes    []byte     // values of queued Adds
	reserved sparseRows // rows that may not be taken: of queued spawns, and freed in this tick
	hint     []uint32   // by owner: no word below it has a free row
	changes  uint64     // grows when an entity or its set of components may have changed
}

type structureOp struct {
	kind     structureKind
	entity   Entity
	column   *Column
	from, to int // value in bytes, for opAdd
}

type structureKind uint8

const (
	opSpawn structureKind = iota
	opDespawn
	opAdd
	opRemove
)

// Spawn takes the lowest free row of the owner's region for a new entity with these components, all zero. Queries yield it
// after Flush. It panics for an owner that the game does not have, and if all rows of the owner are in use.
func (im *Image) Spawn(owner Owner, components ...*Declaration) Entity {
	i := im.freeRow(owner)
	e := Entity{Row: uint32(owner)<<regionShift | i, Born: im.Tick()}
	identity := im.Identity()
	r := &identity.regions[owner]
	im.use(r, identity, i)
	im.markRow(r, identity, i)
	*(*Entity)(identity.rowOf(r, i)) = e
	for _, d := range components {
		c := im.Column(d)
		im.setBit(&c.regions[owner], c, i)
	}
	im.reserve(owner, i)
	if rows := im.limit.open; rows != nil && rows.HasOwner(owner) {
		rows.Add(e.Row)
	}
	im.structure.ops = append(im.structure.ops, structureOp{kind: opSpawn, entity: e})
	return e
}

// Despawn removes the entity at the next Flush. It does nothing if the entity does not exist.
func (im *Image) Despawn(e Entity) {
	if im.changeable(e) {
		im.structure.ops = append(im.structure.ops, structureOp{kind: opDespawn, entity: e})
	}
}

// Add gives e the component with this value, as bytes, at the next Flush. It replaces a value that is there already.
func (im *Image) Add(e Entity, d *Declaration, value []byte) {
	c := im.Column(d)
	if !im.changeable(e) {
		return
	}
	s := &im.structure
	from := len(s.bytes)
	s.bytes = append(s.bytes, value...)
	s.ops = append(s.ops, structureOp{kind: opAdd, entity: e, column: c, from: from, to: len(s.bytes)})
}

// Remove removes the component from e at the next Flush.
func (im *Image) Remove(e Entity, d *Declaration) {
	c := im.Column(d)
	if im.changeable(e) {
		im.structure.ops = append(im.structure.ops, structureOp{kind: opRemove, entity: e, column: c})
	}
}

// Flush applies the queued changes in call order.
func (im *Image) Flush() {
	s := &im.structure
	if len(s.ops) > 0 {
		s.changes++
	}
	for i := range s.ops {
		op := &s.ops[i]
		if op.kind != opSpawn && !im.Exists(op.entity) {
			continue // an entity exists from its Spawn
		}
		owner, row := op.entity.Owner(), op.entity.Row%regionRows
		switch op.kind {
		case opSpawn:
			identity := im.Identity()
			im.setBit(&identity.regions[owner], identity, row)
			if open := im.limit.open; open != nil && !open.HasOwner(owner) { // see SetPredicted
				im.despawn(owner, row)
			}
		case opDespawn:
			im.despawn(owner, row)
		case opAdd:
			r := &op.column.regions[owner]
			im.setBit(r, op.column, row)
			im.markRow(r, op.column, row)
			copy(unsafe.Slice((*byte)(op.column.rowOf(r, row)), op.column.stride), s.bytes[op.from:op.to])
		case opRemove:
			if r := &op.column.regions[owner]; r.has(row) {
				op.column.clearRow(im, r, row)
			}
		}
	}
	s.ops, s.bytes = s.ops[:0], s.bytes[:0]
}

// despawn empties a row in every column. The row is reserved until the tick ends.
func (im *Image) despawn(owner Owner, row uint32) {
	im.clearRow(owner, row)
	im.reserve(owner, row)
	im.structure.hint[owner] = min(im.structure.hint[owner], row/BlockRows)
}

// freeRow returns the lowest row of the owner's region that is neither in use nor reserved.
func (im *Image) freeRow(owner Owner) uint32 {
	if int(owner) >= len(im.structure.hint) {
		panic(fmt.Sprintf("ecs: Spawn for owner %d in a game of %d players: owners are OwnedByWorld and OwnedBy(p) with p < Game.MaxPlayers", owner, im.schema.MaxPlayers))
	}
	r, reserved := &im.Identity().regions[owner], im.structure.reserved.words[owner]
	for k := im.structure.hint[owner]; k < regionRows/BlockRows; k++ {
		taken := r.word(int(k))
		if int(k) < len(reserved) {
			taken |= reserved[k]
		}
		if k == 0 && owner == OwnedByWorld {
			taken |= 1 // row 0 stands for no entity
		}
		if taken != ^uint64(0) {
			im.structure.hint[owner] = k
			return k*BlockRows + uint32(bits.TrailingZeros64(^taken))
		}
	}
	panic(fmt.Sprintf("ecs: owner %d has %d entities, which is all its rows: despawn some first", owner, regionRows))
}

// reserve prevents a row from being taken until the tick ends.
func (im *Image) reserve(owner Owner, row uint32) {
	im.structure.reserved.add(owner, int(row/BlockRows), 1<<(row%BlockRows))
}

// releaseReserved allows the rows reserved in this tick to be taken again. The hints return to the lowest of them.
func (im *Image) releaseReserved() {
	s := &im.structure
	for _, at := range s.reserved.used {
		s.hint[at.owner] = min(s.hint[at.owner], at.word)
	}
	s.reserved.clear()
}

func (s *structure) reset() {
	clear(s.hint)
	s.changes++
}
