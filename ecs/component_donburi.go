package ecs

import (
	"iter"
	"reflect"
	"unsafe"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs/image"
)

// named is the part that components and resources share.
type named struct{ declaration *image.Declaration }

// Name returns the declared name.
func (n named) Name() string { return n.declaration.Name() }

// String returns the declared name.
func (n named) String() string { return n.declaration.Name() }

// donburiInfo is the part of a donburi component type without a type parameter.
type donburiInfo struct {
	named
	id  component.ComponentTypeId
	typ reflect.Type
}

// Id returns donburi's identifier of the component type.
func (d *donburiInfo) Id() component.ComponentTypeId { return d.id }

// Typ returns the component's Go type.
func (d *donburiInfo) Typ() reflect.Type { return d.typ }

// New returns nil: an entry's value is a row of its world, set when the bridge creates the entity.
func (d *donburiInfo) New() unsafe.Pointer { return nil }

// donburiType is a component as a donburi component type. Its methods work on the entries of World.Donburi and of views.
type donburiType[T any] struct {
	donburiInfo
	component AnyComponent
	filter    filter.LayoutFilter // entries with the component
}

// Get returns a pointer to the entry's value and marks it as written. It returns nil in a tick that must not write
// the entity; see image.Image.SetPredicted.
func (c *donburiType[T]) Get(entry *donburi.Entry) *T {
	return (*T)(entryRow(entry, c.component, c.declaration, true))
}

// GetValue returns the entry's value.
func (c *donburiType[T]) GetValue(entry *donburi.Entry) T {
	return *(*T)(entryRow(entry, c.component, c.declaration, false))
}

// Set copies a value into the entry, unless this tick must not write the entity. Unlike donburi's own Set it does
// not keep the pointer.
func (c *donburiType[T]) Set(entry *donburi.Entry, value *T) {
	if p := c.Get(entry); p != nil {
		*p = *value
	}
}

// SetValue stores a value in the entry, unless this tick must not write the entity.
func (c *donburiType[T]) SetValue(entry *donburi.Entry, value T) {
	if p := c.Get(entry); p != nil {
		*p = value
	}
}

// Each calls f for every entry of w that has the component, in donburi's order: for views and tools. A simulation
// walks a Query, whose order is the same on every machine.
func (c *donburiType[T]) Each(w donburi.World, f func(*donburi.Entry)) {
	for entry := range c.Iter(w) {
		f(entry)
	}
}

// Iter returns the entries of w that have the component, in donburi's order. See Each.
func (c *donburiType[T]) Iter(w donburi.World) iter.Seq[*donburi.Entry] {
	return entriesOf(w, c.filter)
}

// First returns an entry of w that has the component.
func (c *donburiType[T]) First(w donburi.World) (*donburi.Entry, bool) {
	for entry := range c.Iter(w) {
		return entry, true
	}
	return nil, false
}
