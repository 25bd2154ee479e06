package ecs

import "iter"

// Parent ties an entity to its parent. Without one, Of is zero.
type Parent struct{ Of Entity }

// Hierarchy is a component that makes an entity the child of another: a wheel of a car, a shield of a ship. A child is removed
// together with its parent, and so are the children of the child. The tie is part of the state. A client that predicts some
// entities leaves a child to the server if it does not predict the parent, which it may not receive.
//
// It is a Component: list it in Game.Components, and spawn children with it. Put changes the parent, and a zero Parent ends the
// tie. Several hierarchies are independent of each other.
type Hierarchy struct {
	*Component[Parent]
	all *Query1[Parent, Parent]
}

// NewHierarchy declares a hierarchy. Declare it once, at package level.
func NewHierarchy(name string) *Hierarchy {
	c := NewComponent[Parent](name)
	return &Hierarchy{c, NewQuery1(Read(c))}
}

// Children yields the children of an entity, in the order of rows. It looks at all children of the hierarchy.
func (h *Hierarchy) Children(w *World, of Entity) iter.Seq[Entity] {
	return func(yield func(Entity) bool) {
		for e := range h.all.All(w) {
			if e.A.Of == of && !of.IsZero() && !yield(e.Entity()) {
				return
			}
		}
	}
}

// flush applies the structural changes of the running system. If there are any, children without their parent are removed, in as many
// passes as there are generations.
func (w *World) flush() {
	before := w.image.StructureVersion()
	w.image.Flush()
	for len(w.hierarchies) > 0 && w.image.StructureVersion() != before {
		before = w.image.StructureVersion()
		for _, h := range w.hierarchies {
			for e := range h.all.All(w) {
				if !e.A.Of.IsZero() && w.image.Removed(e.A.Of) {
					w.image.Despawn(e.Entity())
				}
			}
		}
		w.image.Flush()
	}
}
