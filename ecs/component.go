package ecs

import (
	"unsafe"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"

	"tendon/ecs/image"
)

// Component is a type of plain data that entities may have. Declare one per Go type and purpose, once, at package
// level; declaring is not safe on several goroutines at once, using is.
//
// A Component is a donburi component type as well: in donburi code, Get, Set, Each, Iter and First work on the
// entries of World.Donburi and of views.
type Component[T any] struct {
	donburiType[T]
	roles Roles[T]
}

// AnyComponent is a Component of any type, as Game.Components lists them.
type AnyComponent interface {
	component.IComponentType
	declared() *image.Declaration
}

// Components lists a game's components. The order is part of the game: it numbers the columns of the image.
func Components(list ...AnyComponent) []AnyComponent { return list }

// NewComponent declares a component. The name stands in desync reports and in the layout's fingerprint. A type that
// is not plain data is reported by NewWorld, with the field's name.
//
// A fixed.Num, a float, or an array, list or struct of nothing else may be tagged with a step, the grain that is worth
// telling others of: `tendon:"step=1/512"`. It is a multiple of that whenever a tick is over, in resources too.
func NewComponent[T any](name string, roles ...Roles[T]) *Component[T] {
	c := &Component[T]{}
	if len(roles) > 0 {
		c.roles = roles[0]
	}
	c.donburiType = donburiType[T]{
		named:     named{image.DeclareComponent(name, c.roles)},
		inner:     donburi.NewComponentType[T]().SetName(name),
		component: c,
	}
	return c
}

// Has reports whether e exists and has the component.
func (c *Component[T]) Has(w *World, e Entity) bool {
	return w.image.Row(c.declaration, e) != nil
}

// Read returns e's value; ok is false if e is gone or has no such component.
func (c *Component[T]) Read(w *World, e Entity) (value T, ok bool) {
	p := w.image.Row(c.declaration, e)
	if p == nil {
		return value, false
	}
	return *(*T)(p), true
}

// ReadAt returns the value that e has in the state that s holds; ok is false if e is not in it or has no such
// component there.
func (c *Component[T]) ReadAt(s *image.Snapshot, e Entity) (value T, ok bool) {
	p := s.Row(c.declaration, e)
	if p == nil {
		return value, false
	}
	return *(*T)(p), true
}

// Seen returns e's value as p saw it when doing what p does in the running tick; ok is false if e was not there then
// or had no such component. The value lies between those of the two states around the moment, by the Lerp role; where
// there is none, or the entity appears between them, it is the later one's, as views show it. An entity that is gone by
// now is seen all the same.
//
// What belongs to p is never seen late: p sees it as p predicts it. For it, and for a player without a stamp, Seen is
// Read. Older states are only read: the world is the same before and after.
func (c *Component[T]) Seen(w *World, p Player, e Entity) (value T, ok bool) {
	v, late := w.image.Sight(p, e)
	if !late {
		return c.Read(w, e)
	}
	if value, ok = c.ReadAt(v.To, e); !ok || v.Stamp.Part == 0 || c.roles.Lerp == nil {
		return value, ok
	}
	if from, there := c.ReadAt(v.From, e); there {
		value = c.roles.Lerp(from, value, float64(v.Stamp.Part)/256)
	}
	return value, true
}

// Roles returns the roles that the component was declared with, for code that works with any component.
func (c *Component[T]) Roles() Roles[T] { return c.roles }

// Write returns a pointer to e's value and declares that it is written, or nil if e is gone, has no such component or is
// not to be written in this tick (see image.Image.SetPredicted).
// The pointer is for this system only: keep the Entity, not the pointer.
func (c *Component[T]) Write(w *World, e Entity) *T {
	return (*T)(w.image.WriteRow(c.declaration, e))
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
	w.image.Add(e, c.declaration, unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
}

// Remove takes the component from e when the running system has returned.
func (c *Component[T]) Remove(w *World, e Entity) { w.image.Remove(e, c.declaration) }
