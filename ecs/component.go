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

// Component is a type of plain data that entities may have. Declare one per Go type and purpose, once, at package level.
// Declaring is not safe for concurrent use; using is.
//
// A Component is a donburi component type too: Get, Set, Iter and First work on the entries of World.Donburi and of
// views.
type Component[T any] struct {
	named
	inner  component.IComponentType // identifier and Go type
	filter filter.LayoutFilter      // donburi entries with the component
	roles  Roles[T]
}

func (c *Component[T]) declared() *image.Declaration { return c.declaration }

// AnyComponent is a Component of any type, as Game.Components lists them.
type AnyComponent interface {
	component.IComponentType
	declared() *image.Declaration
}

// Components lists a game's components. The order is part of the game: it numbers the columns of the image.
func Components(list ...AnyComponent) []AnyComponent { return list }

// NewComponent declares a component. The name appears in desync reports and in the fingerprint. NewWorld reports a type
// that is not plain data, with the field's name.
//
// The tag `tendon:"step=1/512"` gives a field the resolution that a wire carries. It may be on a fixed.Num, a float, or an
// array, list or struct of them. At the end of each tick the field is rounded to a multiple of its step. Fields of
// resources may have steps too.
//
// The tag `tendon:"private"` makes a field private: see Game.See. It may be before another tag: `tendon:"private,step=1/512"`.
// Private fields of resources are known to no client.
//
// The tag `tendon:"rotation=256"` declares a rotation in a field of type [3]int16, [3]int32 or [3]int64. The field contains the
// three smallest parts of a unit quaternion, in the order w, x, y, z. In it, 256 stands for √½. The field before it is a uint8:
// the index of the largest part, which is left out and positive. A wire predicts rotations and needs fewer bytes for them.
func NewComponent[T any](name string, roles ...Roles[T]) *Component[T] {
	c := &Component[T]{inner: donburi.NewComponentType[T]()}
	if len(roles) > 0 {
		c.roles = roles[0]
	}
	c.named, c.filter = named{image.DeclareComponent(name, c.roles)}, filter.Contains(c)
	return c
}

// Has reports whether e exists and has the component.
func (c *Component[T]) Has(w *World, e Entity) bool {
	return w.image.Row(c.declaration, e) != nil
}

// Read returns e's value. ok is false if e does not exist or has no such component.
func (c *Component[T]) Read(w *World, e Entity) (value T, ok bool) {
	if w.scope != nil {
		w.scope.read(c.declaration)
	}
	return valueAt[T](w.image.Row(c.declaration, e))
}

// valueAt returns the value at p. ok is false if p is nil.
func valueAt[T any](p unsafe.Pointer) (value T, ok bool) {
	if p == nil {
		return value, false
	}
	return *(*T)(p), true
}

// ReadAt returns the value that e has in the state s. ok is false if e does not exist there or has no such component.
func (c *Component[T]) ReadAt(s *image.Snapshot, e Entity) (value T, ok bool) {
	return valueAt[T](s.Row(c.declaration, e))
}

// Seen returns e's value as player p saw it when giving the inputs of the running tick. ok is false if e did not exist then
// or had no such component. An entity that has been removed since is seen too.
//
// The value is interpolated between the two states around that moment by the Lerp role. Without that role, or if only the
// later state has the component, it is the later state's. An entity of p, and any entity for a player without a view stamp,
// is seen in the present: Seen then equals Read.
func (c *Component[T]) Seen(w *World, p Player, e Entity) (value T, ok bool) {
	w.alone("Component.Seen")
	return valueAt[T](w.image.Seen(c.declaration, p, e))
}

// Roles returns the roles that the component was declared with, for code that works with any component.
func (c *Component[T]) Roles() Roles[T] { return c.roles }

// Write returns a pointer to e's value and marks it as written. It returns nil if e does not exist or has no such
// component. In a tick that must not write e, it returns a copy, whose changes are discarded: see World.MayWrite. The pointer is
// valid in the running system only: keep the Entity instead.
func (c *Component[T]) Write(w *World, e Entity) *T {
	w.alone("Component.Write")
	return (*T)(w.image.WriteRow(c.declaration, e))
}

// Put stores a value in e. It reports false if e does not exist or has no such component, and in a tick that must not write e.
func (c *Component[T]) Put(w *World, e Entity, value T) bool {
	p := c.Write(w, e)
	if p == nil {
		return false
	}
	*p = value
	return w.image.MayWrite(e)
}

// Add gives e the component with this value when the running system has returned. It replaces a value that is there
// already.
func (c *Component[T]) Add(w *World, e Entity, value T) {
	w.alone("Component.Add")
	w.image.Add(e, c.declaration, unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
}

// Remove removes the component from e when the running system has returned.
func (c *Component[T]) Remove(w *World, e Entity) {
	w.alone("Component.Remove")
	w.image.Remove(e, c.declaration)
}

// Id returns donburi's identifier of the component type.
func (c *Component[T]) Id() component.ComponentTypeId { return c.inner.Id() }

// Typ returns the component's Go type.
func (c *Component[T]) Typ() reflect.Type { return c.inner.Typ() }

// New returns nil: an entry's value is a row of its world, set when the bridge creates the entity.
func (c *Component[T]) New() unsafe.Pointer { return nil }

// Get returns a pointer to the entry's value and marks it as written. In a tick that must not write the entity,
// it returns a copy, whose changes are discarded: see World.MayWrite. Use GetValue to read.
func (c *Component[T]) Get(entry *donburi.Entry) *T {
	return (*T)(entryRow(entry, c, true))
}

// GetValue returns the entry's value.
func (c *Component[T]) GetValue(entry *donburi.Entry) T {
	return *(*T)(entryRow(entry, c, false))
}

// Set copies a value into the entry, unless this tick must not write the entity. Unlike donburi's own Set it does not keep
// the pointer.
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

// Iter returns the entries of w that have the component, in donburi's order: for views and tools. A simulation
// walks a Query, whose order is the same on every machine.
func (c *Component[T]) Iter(w donburi.World) iter.Seq[*donburi.Entry] {
	return entriesOf(w, c.filter)
}

// First returns an entry of w that has the component.
func (c *Component[T]) First(w donburi.World) (*donburi.Entry, bool) {
	for entry := range c.Iter(w) {
		return entry, true
	}
	return nil, false
}

// Resource is a type of plain data of which a world has exactly one value: a match clock, a score table. It is part of the
// state like any component.
type Resource[T any] struct{ named }

// AnyResource is a Resource of any type, as Game.Resources lists them.
type AnyResource interface{ resource() *image.Declaration }

// Resources lists a game's resources. The order is part of the game.
func Resources(list ...AnyResource) []AnyResource { return list }

// NewResource declares a resource. The name appears in desync reports and in the fingerprint. NewWorld reports a type that
// is not plain data, with the field's name.
func NewResource[T any](name string) *Resource[T] {
	return &Resource[T]{named{image.DeclareResource[T](name)}}
}

func (r *Resource[T]) resource() *image.Declaration { return r.declaration }

// Read returns the world's value.
func (r *Resource[T]) Read(w *World) T {
	return *(*T)(w.image.Column(r.declaration).At(0, 0))
}

// Write returns a pointer to the world's value and marks it as written. The pointer is valid in the running system only.
func (r *Resource[T]) Write(w *World) *T {
	w.alone("Resource.Write")
	return (*T)(w.image.WriteResource(r.declaration))
}

// named is the part that components and resources share.
type named struct{ declaration *image.Declaration }

// Name returns the declared name.
func (n named) Name() string { return n.declaration.Name() }

// String returns the declared name.
func (n named) String() string { return n.declaration.Name() }
