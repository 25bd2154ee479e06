package ecs

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"unsafe"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs/image"
)

// link is the component that leads from a donburi entity to its entity. Donburi points at links in the bridge's blocks;
// they are not part of the image.
type link struct {
	world  *World
	entity Entity
}

// linkComponent is the donburi type of link. It is the first component of every bridged archetype, so an entity without
// other components is in donburi too.
type linkComponent struct{ *donburi.ComponentType[link] }

var linkType component.IComponentType = &linkComponent{donburi.NewComponentType[link]().SetName("ecs.link")}

// New returns nil: a link is part of its block.
func (c *linkComponent) New() unsafe.Pointer { return nil }

// bridged reports whether the engine is responsible for components of this type.
func bridged(t component.IComponentType) bool {
	if t == linkType {
		return true
	}
	_, ok := t.(AnyComponent)
	return ok
}

// linkOf returns the entry's link, nil if the entry is not valid or belongs to no world of the engine.
func linkOf(entry *donburi.Entry) *link {
	if !donburi.Valid(entry) || !entry.HasComponent(linkType) {
		return nil
	}
	return (*link)(entry.Component(linkType))
}

// EntityOf returns the entity of a donburi entry in a world or a view. ok is false for an entry that is not valid or that a
// game created itself.
func EntityOf(entry *donburi.Entry) (e Entity, ok bool) {
	l := linkOf(entry)
	if l == nil {
		return Entity{}, false
	}
	return l.entity, true
}

// entryRow returns the entry's live row of component c, or with write what image.WriteRow returns. It panics if the entry has no
// such component.
func entryRow(entry *donburi.Entry, c AnyComponent, write bool) (p unsafe.Pointer) {
	l, d := linkOf(entry), c.declared()
	switch {
	case l == nil:
	case l.world.scope != nil:
		l.world.alone("Get of an entry")
	default:
		p = l.world.image.Row(d, l.entity)
	}
	if p == nil || !entry.HasComponent(c) || entry.Component(c) != p {
		panic(entryFault(entry, l, c, d))
	}
	if write {
		return l.world.image.WriteRow(d, l.entity)
	}
	return p
}

// entryFault describes an entry without a row of component c.
func entryFault(entry *donburi.Entry, l *link, c AnyComponent, d *image.Declaration) string {
	if l == nil {
		return fmt.Sprintf("ecs: Get of component %q with an entry that is not valid or not of the engine: take entries from World.Donburi, World.Entry or a View in every tick", d.Name())
	}
	e := l.entity
	if l.world.image.Row(d, e) == nil || !entry.HasComponent(c) {
		return fmt.Sprintf("ecs: entity %d born in tick %d does not exist or has no component %q: check World.Exists or Entry.HasComponent first, and take entries in every tick", e.Row, e.Born, d.Name())
	}
	return outOfStep(e, "component "+d.Name()+" points outside the world").Error()
}

// onCreate connects an entity that the bridge creates with its row, before any callback of a game receives it. It panics
// for other entities, except in a view for entities without components of the simulation.
func (b *bridge) onCreate(_ donburi.World, created donburi.Entity) {
	entry := b.donburi.Entry(created)
	if !entry.HasComponent(linkType) && b.view && !hasBridged(entry) {
		return
	}
	if b.making == nil || !entry.HasComponent(linkType) {
		panic("ecs: donburi's Create was called on a world of the engine: use World.Spawn; in View.World, create entities without components of the simulation")
	}
	at := b.unmade[0]
	b.unmade = b.unmade[1:]
	i := at.row % image.BlockRows
	at.block.entries[i] = entry
	at.block.links[i] = link{b.world, at.block.rows[i]}
	entry.SetComponent(linkType, unsafe.Pointer(&at.block.links[i]))
	for _, c := range b.making.columns {
		col := b.columns[c].column
		entry.SetComponent(b.columns[c].typ, col.At(at.owner, at.row))
	}
}

func hasBridged(entry *donburi.Entry) bool {
	return slices.ContainsFunc(entry.Archetype().ComponentTypes(), bridged)
}

// onRemove panics if other code removes an entity of the simulation.
func (b *bridge) onRemove(_ donburi.World, removed donburi.Entity) {
	if removed != b.removing && hasBridged(b.donburi.Entry(removed)) {
		panic("ecs: donburi's Remove was called on an entity of the simulation: use World.Despawn, which views follow")
	}
}

// entriesOf yields the entries that match the filter, archetype by archetype in donburi's order. It keeps no state, unlike
// a donburi.Query, which has an unlocked cache. If the yielded entity is removed or moved to another archetype, the one in
// its place is next.
func entriesOf(w donburi.World, f filter.LayoutFilter) iter.Seq[*donburi.Entry] {
	return func(yield func(*donburi.Entry) bool) {
		for _, a := range w.Archetypes() {
			if !f.MatchesLayout(a.ComponentTypes()) {
				continue
			}
			for i := 0; i < len(a.Entities()); {
				e := a.Entities()[i]
				if e.IsReady() && !yield(w.Entry(e)) {
					return
				}
				if i < len(a.Entities()) && a.Entities()[i] == e {
					i++
				}
			}
		}
	}
}

// Ordered returns the entries of w that match a donburi query, in the order of rows. The order is the same on every
// machine, so an existing donburi system is deterministic inside a tick. Entries that the game created itself, which only a
// view has, come last in donburi's order.
//
// The entries are those from before the walk. A system may despawn entities and add or remove components through w during
// the walk; the donburi world follows when the system has returned. Worlds on several goroutines may share the query. A
// walk sorts its entries: a Query of this package costs less.
func Ordered(w *World, query *donburi.Query) iter.Seq[*donburi.Entry] {
	return func(yield func(*donburi.Entry) bool) {
		b := w.bring()
		var entries []*donburi.Entry
		if n := len(b.buffers); n > 0 { // walks may be nested
			entries, b.buffers = b.buffers[n-1], b.buffers[:n-1]
		}
		entries = slices.AppendSeq(entries, entriesOf(b.donburi, filterOf(query)))
		slices.SortStableFunc(entries, func(x, y *donburi.Entry) int { return cmp.Compare(rowOrLast(x), rowOrLast(y)) })
		for _, entry := range entries {
			if !yield(entry) {
				break
			}
		}
		clear(entries)
		b.buffers = append(b.buffers, entries[:0])
	}
}

// rowOrLast returns the row of an entry's entity, or a value above every row for an entry without one.
func rowOrLast(entry *donburi.Entry) uint64 {
	if l := linkOf(entry); l != nil {
		return uint64(l.entity.Row)
	}
	return 1 << 32
}

// filterOf returns the filter of a query, which donburi sets once, keeps and does not export. The field is read through its
// address, because reflection does not return values of fields that are not exported.
func filterOf(q *donburi.Query) filter.LayoutFilter {
	field := reflect.ValueOf(q).Elem().FieldByName("filter")
	if !field.IsValid() || field.Type() != reflect.TypeFor[filter.LayoutFilter]() {
		panic("ecs: this version of donburi has queries without the field filter: use the version that go.mod names")
	}
	return *(*filter.LayoutFilter)(unsafe.Pointer(field.UnsafeAddr()))
}
