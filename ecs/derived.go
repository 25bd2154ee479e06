package ecs

import "fmt"

// Derived is data that follows from the state alone: a broad-phase grid, an index. It is not saved. After a restore it is
// built again when it is next used, at the latest when the next tick begins. SyncTest builds it after every tick and
// compares.
type Derived[T any] struct {
	name  string
	build func(w *World, into *T)
	equal func(a, b *T) bool
	each  bool // see EachTick
}

// AnyDerived is a Derived of any type, as Game.Derived lists them.
type AnyDerived interface {
	ensure(w *World, i int)
	check(w *World, kept any) error
}

// NewDerived declares derived data. build fills into, which may hold an older value whose memory can be reused. equal
// reports whether two values are the same for every use that a system makes of them.
func NewDerived[T any](name string, build func(w *World, into *T), equal func(a, b *T) bool) *Derived[T] {
	return &Derived[T]{name: name, build: build, equal: equal}
}

// EachTick makes World.Step build the value again at the start of every tick, so no system has to update it. In a tick, the value
// is then that of the state before. Between ticks, Of builds it when it is first used. build receives the older value in into,
// and can do only what changed. EachTick returns d.
func (d *Derived[T]) EachTick() *Derived[T] {
	d.each = true
	return d
}

// Of returns the value for the world's present state. A system that changes the state it was built from must update it, unless
// the data is of EachTick.
func (d *Derived[T]) Of(w *World) *T {
	for i, other := range w.game.Derived {
		if other != AnyDerived(d) {
			continue
		}
		if w.derived[i] == nil {
			w.derived[i] = new(T)
		}
		value := w.derived[i].(*T)
		now := built{w.image.DerivedVersion(), w.image.Tick()}
		if at := &w.builtAt[i]; at.version != now.version || d.each && !w.stepping && at.tick != now.tick {
			w.alone("building Derived")
			*at = now
			d.build(w, value)
		}
		return value
	}
	panic(fmt.Sprintf("ecs: derived %q is used but not listed: add it to Game.Derived", d.name))
}

// built is when derived data was built: image.Image.DerivedVersion and the tick.
type built struct {
	version uint64
	tick    Tick
}

// ensure builds the value if it is stale, and that of EachTick in any case. i is the position of d in Game.Derived.
func (d *Derived[T]) ensure(w *World, i int) {
	if d.each {
		w.builtAt[i] = built{}
	}
	d.Of(w)
}

// buildStale builds derived data that a restore invalidated, and that of EachTick, before a tick changes the state. After an order
// of the tick, the result could differ from the value that a world without the restore has kept.
func (w *World) buildStale() {
	for i, d := range w.game.Derived {
		d.ensure(w, i)
	}
}

// check builds the value again and reports whether it differs from the world's.
func (d *Derived[T]) check(w *World, kept any) error {
	var built T
	d.build(w, &built)
	if d.equal(kept.(*T), &built) {
		return nil
	}
	return fmt.Errorf("ecs: derived %q differs from the value built from the state: update it in every system that changes the state", d.name)
}
