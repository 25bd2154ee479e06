package ecs

import "tendon/ecs/image"

// Resource is a type of plain data of which a world has exactly one: a match clock, a score table. It is part of the
// image like any component.
type Resource[T any] struct{ named }

// AnyResource is a Resource of any type, as Game.Resources lists them.
type AnyResource interface {
	declared() *image.Declaration
	resource()
}

// Resources lists a game's resources. The order is part of the game.
func Resources(list ...AnyResource) []AnyResource { return list }

// NewResource declares a resource. The name stands in desync reports and in the layout's fingerprint. A type that is
// not plain data is reported by NewWorld, with the field's name.
func NewResource[T any](name string) *Resource[T] {
	return &Resource[T]{named{image.DeclareResource[T](name)}}
}

func (r *Resource[T]) resource() {}

// Read returns the world's value.
func (r *Resource[T]) Read(w *World) T {
	return *(*T)(w.image.Resource(r.declaration))
}

// Write returns a pointer to the world's value and declares that it is written. The pointer is for this system only.
func (r *Resource[T]) Write(w *World) *T {
	return (*T)(w.image.WriteResource(r.declaration))
}
