package ecs

import "tendon/ecs/image"

// Resource is a type of plain data of which a world has exactly one value: a match clock, a score table. It is part
// of the state like any component.
type Resource[T any] struct{ named }

// AnyResource is a Resource of any type, as Game.Resources lists them.
type AnyResource interface{ resource() *image.Declaration }

// Resources lists a game's resources. The order is part of the game.
func Resources(list ...AnyResource) []AnyResource { return list }

// NewResource declares a resource. The name appears in desync reports and in the fingerprint. NewWorld reports a
// type that is not plain data, with the field's name.
func NewResource[T any](name string) *Resource[T] {
	return &Resource[T]{named{image.DeclareResource[T](name)}}
}

func (r *Resource[T]) resource() *image.Declaration { return r.declaration }

// Read returns the world's value.
func (r *Resource[T]) Read(w *World) T {
	return *(*T)(w.image.Resource(r.declaration))
}

// Write returns a pointer to the world's value and marks it as written. The pointer is valid in the running system
// only.
func (r *Resource[T]) Write(w *World) *T {
	return (*T)(w.image.WriteResource(r.declaration))
}
