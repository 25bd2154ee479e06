package ecs

import (
	"fmt"
	"iter"
	"reflect"
	"unsafe"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"

	"tendon/ecs/image"
)

// link is the component by which a donburi entity knows its entity. Donburi points at links in the bridge's blocks;
// they are no part of the image.
type link struct {
	world  *World
	entity Entity
}

// linkComponent is link's component type. It is the first of every bridged archetype, so an entity that has no other
// component stands in donburi too.
type linkComponent struct{ inner *donburi.ComponentType[link] }

var linkType component.IComponentType = &linkComponent{donburi.NewComponentType[link]()}

func (c *linkComponent) Id() component.ComponentTypeId { return c.inner.Id() }
func (c *linkComponent) Typ() reflect.Type             { return c.inner.Typ() }
func (c *linkComponent) Name() string                  { return "ecs.link" }
func (c *linkComponent) String() string                { return "ecs.link" }

// New returns nothing: a link stands in its block.
func (c *linkComponent) New() unsafe.Pointer { return nil }

// bridged reports whether the engine answers for components of this type.
func bridged(t component.IComponentType) bool {
	if t == linkType {
		return true
	}
	_, ok := t.(AnyComponent)
	return ok
}

// linkOf returns the entry's link, nil if the entry is gone or belongs to no world of the engine.
func linkOf(entry *donburi.Entry) *link {
	if !donburi.Valid(entry) || !entry.HasComponent(linkType) {
		return nil
	}
	return (*link)(entry.Component(linkType))
}

// EntityOf returns the entity that a donburi entry stands for, in a world or a view; ok is false for an entry that is
// gone or that a game made itself.
func EntityOf(entry *donburi.Entry) (e Entity, ok bool) {
	l := linkOf(entry)
	if l == nil {
		return Entity{}, false
	}
	return l.entity, true
}

// entryRow returns the entry's live row of component c, which it has to have, and marks it if it is to be written. It is
// nil if that is not allowed in the running tick.
func entryRow(entry *donburi.Entry, c AnyComponent, write bool) unsafe.Pointer {
	d, l := c.declared(), linkOf(entry)
	if l == nil {
		panic(fmt.Sprintf("ecs: component %q is asked of an entry that is gone or that the engine did not make: take entries from World.Donburi, World.Entry or a View, anew in every tick", d.Name()))
	}
	w, e := l.world, l.entity
	p := w.image.Row(d, e)
	if p == nil || !entry.HasComponent(c) {
		panic(fmt.Sprintf("ecs: entity %d born in tick %d is gone or has no component %q: ask World.Exists or Entry.HasComponent first, and take entries anew in every tick", e.Row, e.Born, d.Name()))
	}
	if entry.Component(c) != p {
		panic(outOfStep(e, "component "+d.Name()+" points outside the world").Error())
	}
	if write {
		return w.image.WriteRow(d, e)
	}
	return p
}

// onCreate connects an entity that the bridge creates with its row, before any callback of a game sees it. Others are
// refused, except in a view if they have no component of the simulation.
func (b *bridge) onCreate(_ donburi.World, created donburi.Entity) {
	entry := b.donburi.Entry(created)
	if !entry.HasComponent(linkType) && b.view && !hasBridged(entry) {
		return
	}
	if b.making == nil || !entry.HasComponent(linkType) {
		panic("ecs: donburi's Create is called on a world of the engine: use World.Spawn, or for what is only drawn create it in View.World without components of the simulation")
	}
	at := b.making.pending[b.made]
	b.made++
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
	for _, t := range entry.Archetype().ComponentTypes() {
		if bridged(t) {
			return true
		}
	}
	return false
}

// onRemove refuses the removal of entities that stand for rows, unless the bridge removes them.
func (b *bridge) onRemove(_ donburi.World, removed donburi.Entity) {
	if removed != b.removing && hasBridged(b.donburi.Entry(removed)) {
		panic("ecs: donburi's Remove is called on an entity of the simulation: use World.Despawn; a view follows by itself")
	}
}

// entriesWith yields the entries that have component c, archetype by archetype in the order donburi has them. It
// keeps nothing, unlike a donburi.Query, which owns an unlocked cache. Where the yielded entity is removed or moved to
// another archetype, the one that took its place is next.
func entriesWith(w donburi.World, c AnyComponent) iter.Seq[*donburi.Entry] {
	return func(yield func(*donburi.Entry) bool) {
		for _, a := range w.Archetypes() {
			if !a.Layout().HasComponent(c) {
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
