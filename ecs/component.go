package ecs

import (
	"iter"
	"reflect"
	"unsafe"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"
)

// Component is a type of plain data that entities may have. Declare one per Go type and purpose, once, at package
// level; declaring is not safe on several goroutines at once, using is.
//
// A Component is a donburi component type as well: in donburi code, Get, Set, Each, Iter and First work on the
// entries of World.Donburi and of views.
type Component[T any] struct {
	*declaration
	inner *donburi.ComponentType[T]
	typed Roles[T] // as declared; declaration.roles is the same without the type
}

// AnyComponent is a Component of any type, as Game.Components lists them.
type AnyComponent interface {
	component.IComponentType
	declared() *declaration
}

// declaration is what the engine knows of a component or resource without its type.
type declaration struct {
	what   string // "component" or "resource"
	name   string
	id     int // position among the process's declarations; never part of a state
	layout *layout
	err    error
	roles  roles
}

// declarations counts what the process has declared.
var declarations int

func declare(what, name string, t reflect.Type) *declaration {
	d := &declaration{what: what, name: name, id: declarations}
	declarations++
	d.layout, d.err = layoutOf(what, name, t)
	return d
}

func (d *declaration) declared() *declaration { return d }

// Components lists a game's components. The order is part of the game: it numbers the columns of the image.
func Components(list ...AnyComponent) []AnyComponent { return list }

// NewComponent declares a component. The name stands in desync reports and in the layout's fingerprint. A type that
// is not plain data is reported by NewWorld, with the field's name.
//
// A fixed.Num, a float, or an array, list or struct of nothing else may be tagged with a step, the grain that is worth
// telling others of: `tendon:"step=1/512"`. It is a multiple of that whenever a tick is over, in resources too.
func NewComponent[T any](name string, roles ...Roles[T]) *Component[T] {
	inner := donburi.NewComponentType[T]().SetName(name)
	d := declare("component", name, reflect.TypeFor[T]())
	c := &Component[T]{declaration: d, inner: inner}
	if len(roles) > 0 {
		c.typed, d.roles = roles[0], roles[0].erase()
	}
	return c
}

// Name returns the declared name.
func (c *Component[T]) Name() string { return c.name }

// String returns the declared name.
func (c *Component[T]) String() string { return c.name }

// Has reports whether e exists and has the component.
func (c *Component[T]) Has(w *World, e Entity) bool {
	return w.exists(e) && w.column(c.declaration).regions[e.Owner()].has(e.Row%regionRows)
}

// Read returns e's value; ok is false if e is gone or has no such component.
func (c *Component[T]) Read(w *World, e Entity) (value T, ok bool) {
	col := w.column(c.declaration)
	if !w.exists(e) {
		return value, false
	}
	r, i := &col.regions[e.Owner()], e.Row%regionRows
	if !r.has(i) {
		return value, false
	}
	return *(*T)(col.rowOf(r, i)), true
}

// Write returns a pointer to e's value and declares that it is written, or nil if e is gone, has no such component or is
// not to be written in this tick (see World.SetPredicted).
// The pointer is for this system only: keep the Entity, not the pointer.
func (c *Component[T]) Write(w *World, e Entity) *T {
	col := w.column(c.declaration)
	if !w.exists(e) {
		return nil
	}
	r, i := &col.regions[e.Owner()], e.Row%regionRows
	if !r.has(i) || w.limit.open != nil && !w.writable(e) {
		return nil
	}
	w.image.markRow(r, col.info, i)
	return (*T)(col.rowOf(r, i))
}

// Put stores a value in e, which must have the component and be writable; it reports whether it did.
func (c *Component[T]) Put(w *World, e Entity, value T) bool {
	p := c.Write(w, e)
	if p == nil {
		return false
	}
	*p = value
	return true
}

// Add gives e the component with this value when the running system has returned. A value that is there already is
// replaced then.
func (c *Component[T]) Add(w *World, e Entity, value T) {
	w.queueAdd(e, w.column(c.declaration), unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
}

// Remove takes the component from e when the running system has returned.
func (c *Component[T]) Remove(w *World, e Entity) { w.queueRemove(e, w.column(c.declaration)) }

// Id returns donburi's identifier of the component type.
func (c *Component[T]) Id() component.ComponentTypeId { return c.inner.Id() }

// Typ returns the component's Go type.
func (c *Component[T]) Typ() reflect.Type { return c.inner.Typ() }

// New returns nil: an entry's value is a row of its world, which is set as soon as donburi has made the entity. An
// entity that is created past the engine has no value.
func (c *Component[T]) New() unsafe.Pointer { return nil }

// Get returns a pointer to the entry's value and declares that it is written. It is nil in a tick that must not write
// the entity (see World.SetPredicted).
func (c *Component[T]) Get(entry *donburi.Entry) *T {
	return (*T)(entryRow(entry, c, true))
}

// GetValue returns the entry's value.
func (c *Component[T]) GetValue(entry *donburi.Entry) T { return *(*T)(entryRow(entry, c, false)) }

// Set copies a value into the entry, unless this tick must not write the entity. Unlike donburi's own Set it does not
// keep the pointer.
func (c *Component[T]) Set(entry *donburi.Entry, value *T) {
	if p := c.Get(entry); p != nil {
		*p = *value
	}
}

// SetValue stores a value in the entry, unless this tick must not write the entity.
func (c *Component[T]) SetValue(entry *donburi.Entry, value T) {
	if p := c.Get(entry); p != nil {
		*p = value
	}
}

// Each calls f for every entry of w that has the component, in donburi's order: for views and tools. A simulation
// iterates with a query, whose order is the same on every machine.
func (c *Component[T]) Each(w donburi.World, f func(*donburi.Entry)) {
	for entry := range c.Iter(w) {
		f(entry)
	}
}

// Iter returns the entries of w that have the component, in donburi's order. See Each.
func (c *Component[T]) Iter(w donburi.World) iter.Seq[*donburi.Entry] { return entriesWith(w, c) }

// First returns an entry of w that has the component.
func (c *Component[T]) First(w donburi.World) (*donburi.Entry, bool) {
	for entry := range c.Iter(w) {
		return entry, true
	}
	return nil, false
}
