package ecs

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// structure queues the changes of a world's structure while a system runs. They take effect when it has returned, in
// call order. Between systems the queue is empty.
type structure struct {
	ops   []structureOp
	bytes []byte // values of queued Adds
	// held marks rows that may not be taken: those reserved by a spawn that is still queued, and those freed in this
	// tick. index = owner, one bit per row. heldWords lists the words that are not zero.
	held      [][]uint64
	heldWords []heldWord
	hint      []uint32 // by owner: no word below it has a free row
	changes   uint64   // grows whenever an entity or its set of components may have changed
}

type heldWord struct {
	owner Owner
	word  uint32
}

type structureOp struct {
	kind     structureKind
	entity   Entity
	column   *column
	from, to int // value in bytes, for opAdd
}

type structureKind uint8

const (
	opSpawn structureKind = iota
	opDespawn
	opAdd
	opRemove
)

// Spawn takes the lowest free row of the owner's region and gives it these components, all zero. The entity can be
// filled at once with Write; queries see it when the running system has returned.
func (w *World) Spawn(owner Owner, components ...AnyComponent) Entity {
	i := w.freeRow(owner)
	e := Entity{Row: uint32(owner)<<regionShift | i, Born: w.Tick()}
	identity := w.identity()
	r := &identity.regions[owner]
	w.image.makeRoom(r, identity.info, i)
	w.image.markRow(r, identity.info, i)
	*(*Entity)(identity.rowOf(r, i)) = e
	for _, c := range components {
		col := w.column(c.declared())
		w.image.setBit(&col.regions[owner], col.info, i)
	}
	w.hold(owner, i)
	if rows := w.limit.open; rows != nil && rows.HasOwner(owner) {
		rows.Add(e.Row)
	}
	w.structure.ops = append(w.structure.ops, structureOp{kind: opSpawn, entity: e})
	return e
}

// Despawn removes the entity when the running system has returned. An entity that is gone already is left alone.
func (w *World) Despawn(e Entity) {
	if w.changeable(e) {
		w.structure.ops = append(w.structure.ops, structureOp{kind: opDespawn, entity: e})
	}
}

func (w *World) queueAdd(e Entity, c *column, value []byte) {
	if !w.changeable(e) {
		return
	}
	s := &w.structure
	from := len(s.bytes)
	s.bytes = append(s.bytes, value...)
	s.ops = append(s.ops, structureOp{kind: opAdd, entity: e, column: c, from: from, to: len(s.bytes)})
}

func (w *World) queueRemove(e Entity, c *column) {
	if w.changeable(e) {
		w.structure.ops = append(w.structure.ops, structureOp{kind: opRemove, entity: e, column: c})
	}
}

// flush carries out the queued changes in call order.
func (w *World) flush() {
	s := &w.structure
	if len(s.ops) > 0 {
		s.changes++
	}
	for i := range s.ops {
		op := &s.ops[i]
		if op.kind != opSpawn && !w.exists(op.entity) {
			continue // a spawned entity exists since the call
		}
		owner, row := op.entity.Owner(), op.entity.Row%regionRows
		switch op.kind {
		case opSpawn:
			identity := w.identity()
			w.image.setBit(&identity.regions[owner], identity.info, row)
			if w.passing(owner) {
				w.despawn(owner, row)
			}
		case opDespawn:
			w.despawn(owner, row)
		case opAdd:
			r := &op.column.regions[owner]
			w.image.setBit(r, op.column.info, row)
			w.image.markRow(r, op.column.info, row)
			copy(unsafe.Slice((*byte)(op.column.rowOf(r, row)), op.column.info.stride), s.bytes[op.from:op.to])
		case opRemove:
			if r := &op.column.regions[owner]; r.has(row) {
				op.column.clearRow(w.image, r, row)
			}
		}
	}
	s.ops, s.bytes = s.ops[:0], s.bytes[:0]
}

// despawn empties a row in every column. The row is held until the tick ends.
func (w *World) despawn(owner Owner, row uint32) {
	for i := range w.image.columns {
		c := &w.image.columns[i]
		if c.info.single {
			continue
		}
		if r := &c.regions[owner]; r.has(row) {
			c.clearRow(w.image, r, row)
		}
	}
	w.hold(owner, row)
	w.structure.hint[owner] = min(w.structure.hint[owner], row/blockRows)
}

// freeRow returns the lowest row of the owner's region that no entity has and that is not held.
func (w *World) freeRow(owner Owner) uint32 {
	if int(owner) >= len(w.structure.hint) {
		panic(fmt.Sprintf("ecs: Spawn for owner %d in a game of %d players: owners are OwnedByWorld and OwnedBy(p) with p < Game.MaxPlayers", owner, w.game.MaxPlayers))
	}
	words, held := w.identity().regions[owner].words, w.structure.held[owner]
	for k := w.structure.hint[owner]; k < regionRows/blockRows; k++ {
		taken := uint64(0)
		if int(k) < len(words) {
			taken = words[k]
		}
		if int(k) < len(held) {
			taken |= held[k]
		}
		if k == 0 && owner == OwnedByWorld {
			taken |= 1 // row 0 stands for no entity
		}
		if taken != ^uint64(0) {
			w.structure.hint[owner] = k
			return k*blockRows + uint32(bits.TrailingZeros64(^taken))
		}
	}
	panic(fmt.Sprintf("ecs: owner %d has %d entities, which is all its rows: despawn some first", owner, regionRows))
}

// hold keeps a row from being taken until the tick ends.
func (w *World) hold(owner Owner, row uint32) {
	s, k := &w.structure, row/blockRows
	if need := int(k) + 1; need > len(s.held[owner]) {
		s.held[owner] = append(s.held[owner], make([]uint64, need-len(s.held[owner]))...)
	}
	word := &s.held[owner][k]
	if *word == 0 {
		s.heldWords = append(s.heldWords, heldWord{owner, k})
	}
	*word |= 1 << (row % blockRows)
}

// releaseHeld lets the rows held in this tick be taken again. The hints go back to the lowest of them.
func (w *World) releaseHeld() {
	s := &w.structure
	for _, h := range s.heldWords {
		s.held[h.owner][h.word] = 0
		s.hint[h.owner] = min(s.hint[h.owner], h.word)
	}
	s.heldWords = s.heldWords[:0]
}

// forget drops what the structure knows of the state before a restore.
func (s *structure) forget() {
	clear(s.hint)
	s.changes++
}
