package ecs

import (
	"bytes"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"

	"tendon/ecs/image"
)

// bridge is the donburi world of a World. It records the rows that had entities when donburi was last updated, with their
// components. An update compares that record with the image, 64 rows at a time, and removes and creates donburi entities
// where they differ. Every entity of the image then has exactly one donburi entity. Its component pointers are the entity's
// live rows, and its link leads back.
//
// The bridge never calls donburi's AddComponent or RemoveComponent: an archetype that they create makes a later Create of
// it panic.
type bridge struct {
	world   *World
	donburi donburi.World
	columns []bridgedColumn
	blocks  [][]*bridgedBlock // by owner and block of rows; nil where no entity ever was
	layouts []*bridgedLayout
	byKey   map[string]*bridgedLayout
	key     []byte // scratch: one bit per column
	changes uint64 // image.Image.StructureVersion at the last update

	making   *bridgedLayout // layout whose rows are being created
	unmade   []bridgedRow   // its rows that are not created yet
	removing donburi.Entity // entity that the bridge itself removes
	single   [1]bridgedRow  // scratch of recreate

	view     bool                       // donburi entities may have components of their own, which survive
	carried  []carriedValue             // of entities that are recreated with other components
	leave    func(*donburi.Entry)       // receives the entry of an entity that leaves a view, before it is removed; may be nil
	buffers  [][]*donburi.Entry         // of finished walks of Ordered
	appeared []Entity                   // new since a view was dressed last
	verified struct{ owner, block int } // the block that was verified last
}

// bridgedColumn is a component with its column and its donburi type.
type bridgedColumn struct {
	column *image.Column
	typ    component.IComponentType
}

// bridgedBlock is 64 rows as donburi has them. It never moves, because donburi points at its links.
type bridgedBlock struct {
	rows    [image.BlockRows]Entity
	has     uint64   // rows with an entity
	words   []uint64 // by bridge.columns: rows with an entity that has the component
	entries [image.BlockRows]*donburi.Entry
	links   [image.BlockRows]link
}

// bridgedLayout is one set of components. Its archetype is always created by Create.
type bridgedLayout struct {
	columns []int // positions in bridge.columns
	types   []component.IComponentType
	pending []bridgedRow
}

// bridgedRow is a row whose donburi entity is about to be created.
type bridgedRow struct {
	block *bridgedBlock
	owner image.Owner
	row   uint32
}

// carriedValue is a component that a view's entity keeps while the entity is recreated.
type carriedValue struct {
	at    bridgedRow
	typ   component.IComponentType
	value unsafe.Pointer
}

// creation guards donburi.NewWorld, which increments a package-level counter.
var creation sync.Mutex

func newBridge(w *World, view bool) *bridge {
	b := &bridge{world: w, view: view, byKey: map[string]*bridgedLayout{}, changes: w.image.StructureVersion() - 1}
	creation.Lock()
	b.donburi = donburi.NewWorld()
	creation.Unlock()
	b.donburi.OnCreate(b.onCreate)
	b.donburi.OnRemove(b.onRemove)
	for _, c := range w.game.Components {
		b.columns = append(b.columns, bridgedColumn{w.image.Column(c.declared()), c})
	}
	b.key = make([]byte, (len(b.columns)+7)/8)
	b.blocks = make([][]*bridgedBlock, w.game.MaxPlayers+1)
	return b
}

// Donburi returns the world's donburi world after an update: each entity that queries yield has an entry there, whose
// components are the entity's live rows. The donburi world does not follow structural changes until the next call.
//
// It is for donburi code that reads and writes components. Use the World to spawn, despawn, add and remove: creating or
// removing entities in donburi panics.
//
// Donburi's own order of entities depends on history. A system that walks this world must not depend on the order; Ordered
// walks a donburi query in the order of rows.
func (w *World) Donburi() donburi.World {
	w.alone("World.Donburi")
	w.image.SetUnordered()
	b := w.bring()
	b.verifyNext()
	return b.donburi
}

// Entry returns the donburi entry of e, or nil if queries do not yield e. Do not keep it: entries are reused.
func (w *World) Entry(e Entity) *donburi.Entry {
	w.alone("World.Entry")
	b := w.bring()
	o, k := int(e.Owner()), int(e.Index()/image.BlockRows)
	if e.Row == 0 || o >= len(b.blocks) || k >= len(b.blocks[o]) || b.blocks[o][k] == nil {
		return nil
	}
	block, i := b.blocks[o][k], e.Row%image.BlockRows
	if block.rows[i] != e {
		return nil
	}
	return block.entries[i]
}

// bring returns the world's bridge after an update.
func (w *World) bring() *bridge {
	if w.bridge == nil {
		w.bridge = newBridge(w, false)
	}
	b := w.bridge
	if b.changes == w.image.StructureVersion() {
		return b
	}
	b.changes = w.image.StructureVersion()
	identity := w.image.Identity()
	for o := range b.blocks {
		known := b.blocks[o]
		for k, now := range identity.Words(image.Owner(o)) {
			if now != 0 || k < len(known) && known[k] != nil {
				b.compare(b.block(o, k), image.Owner(o), k, now)
			}
		}
	}
	for _, l := range b.layouts {
		b.create(l, l.pending)
		l.pending = l.pending[:0]
	}
	for _, c := range b.carried {
		if entry := c.at.block.entries[c.at.row%image.BlockRows]; !entry.HasComponent(c.typ) {
			entry.AddComponent(c.typ, c.value)
		}
	}
	clear(b.carried)
	b.carried = b.carried[:0]
	return b
}

// block returns block k of the owner's rows. It makes the block if none of its rows ever had an entity.
func (b *bridge) block(owner, k int) *bridgedBlock {
	for len(b.blocks[owner]) <= k {
		b.blocks[owner] = append(b.blocks[owner], nil)
	}
	at := &b.blocks[owner][k]
	if *at == nil {
		*at = &bridgedBlock{words: make([]uint64, len(b.columns))}
	}
	return *at
}

// compare removes the donburi entities of the block's rows that changed and queues the creation of new ones.
func (b *bridge) compare(block *bridgedBlock, o image.Owner, k int, now uint64) {
	identity, first := b.world.image.Identity(), uint32(k*image.BlockRows)
	rows := (*[image.BlockRows]Entity)(identity.At(o, first))
	changed, kept := block.has^now, block.has&now
	if !bytes.Equal(entityBytes(rows), entityBytes(&block.rows)) {
		for set := kept; set != 0; set &= set - 1 {
			if i := bits.TrailingZeros64(set); rows[i] != block.rows[i] {
				changed |= 1 << i
				kept &^= 1 << i
			}
		}
	}
	for i := range b.columns {
		changed |= block.words[i] ^ b.columns[i].column.Word(o, k)&now
	}
	if changed == 0 {
		return
	}
	for set := changed & block.has; set != 0; set &= set - 1 {
		i := uint32(bits.TrailingZeros64(set))
		at := bridgedRow{block, o, first + i}
		if b.view && kept&(1<<i) != 0 {
			b.carry(at)
		} else {
			b.remove(at)
		}
	}
	block.has = now
	for i := range b.columns {
		block.words[i] = b.columns[i].column.Word(o, k) & now
	}
	for set := changed; set != 0; set &= set - 1 {
		i := uint32(bits.TrailingZeros64(set))
		block.rows[i] = rows[i]
		if now&(1<<i) == 0 {
			continue
		}
		l, at := b.layout(block, i), bridgedRow{block, o, first + i}
		if b.view && kept&(1<<i) != 0 {
			b.recreate(at, l)
			continue
		}
		if b.view {
			b.appeared = append(b.appeared, rows[i])
		}
		l.pending = append(l.pending, at)
	}
}

func entityBytes(rows *[image.BlockRows]Entity) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(rows)), unsafe.Sizeof(*rows))
}

// remove verifies a row's donburi entity and removes it from donburi. In a view, Game.Screen.Undress is called first, while
// the entry still has the view's own components.
func (b *bridge) remove(at bridgedRow) {
	b.mustVerify(at)
	if b.leave != nil {
		b.leave(at.block.entries[at.row%image.BlockRows])
	}
	b.unlink(at)
}

func (b *bridge) mustVerify(at bridgedRow) {
	if err := b.verify(at); err != nil {
		panic(err.Error())
	}
}

func (b *bridge) unlink(at bridgedRow) {
	i := at.row % image.BlockRows
	b.removing = at.block.entries[i].Entity()
	b.donburi.Remove(b.removing)
	b.removing = donburi.Null
	at.block.entries[i], at.block.links[i] = nil, link{}
}

// carry keeps the components that a view gave the row's entity, which is about to be recreated.
func (b *bridge) carry(at bridgedRow) {
	b.mustVerify(at)
	entry := at.block.entries[at.row%image.BlockRows]
	for _, t := range entry.Archetype().ComponentTypes() {
		if !bridged(t) {
			b.carried = append(b.carried, carriedValue{at, t, entry.Component(t)})
		}
	}
}

// recreate gives a row's entity another set of components in a view. Donburi assigns the identifier that was released
// last, and has one entry for each identifier: the entity keeps its *donburi.Entry, to which a hierarchy may point.
func (b *bridge) recreate(at bridgedRow, l *bridgedLayout) {
	b.unlink(at)
	b.single[0] = at
	b.create(l, b.single[:])
}

// layout returns the set of components of row i of the block.
func (b *bridge) layout(block *bridgedBlock, i uint32) *bridgedLayout {
	clear(b.key)
	for c, word := range block.words {
		b.key[c/8] |= byte(word>>i&1) << (c % 8)
	}
	if l := b.byKey[string(b.key)]; l != nil {
		return l
	}
	l := &bridgedLayout{types: []component.IComponentType{linkType}}
	for c, word := range block.words {
		if word>>i&1 != 0 {
			l.columns = append(l.columns, c)
			l.types = append(l.types, b.columns[c].typ)
		}
	}
	b.verifyUnborn(l)
	b.byKey[string(b.key)] = l
	b.layouts = append(b.layouts, l)
	return l
}

// create gives rows with the components of a layout their donburi entities; onCreate connects them.
func (b *bridge) create(l *bridgedLayout, rows []bridgedRow) {
	b.making, b.unmade = l, rows
	switch n := len(rows); n {
	case 0:
	case 1:
		b.donburi.Create(l.types...)
	default:
		b.donburi.CreateMany(n, l.types...)
	}
	b.making = nil
	clear(rows)
}
