package ecs

import "fmt"

// Derived is data that follows from the image alone: a broad-phase grid, an index. It is not saved; it is built anew
// when it is first asked for after a restore, at the latest when the next tick begins. SyncTest builds it every tick and
// compares.
type Derived[T any] struct {
	name  string
	build func(w *World, into *T)
	equal func(a, b *T) bool
}

// AnyDerived is a Derived of any type, as Game.Derived lists them.
type AnyDerived interface {
	make(w *World) any
	ensure(w *World)
	check(w *World, kept any) error
	derivedName() string
}

// NewDerived declares derived data. build fills into, which may hold an older value whose memory it can use again;
// equal says whether two values are the same for every use a system makes of them.
func NewDerived[T any](name string, build func(w *World, into *T), equal func(a, b *T) bool) *Derived[T] {
	return &Derived[T]{name: name, build: build, equal: equal}
}

// Of returns the value that belongs to the world's state. Systems that change what it was built from keep it in step.
func (d *Derived[T]) Of(w *World) *T {
	for i, other := range w.game.Derived {
		if other != AnyDerived(d) {
			continue
		}
		if w.derived[i] == nil {
			w.derived[i] = new(T)
		}
		value := w.derived[i].(*T)
		if v := w.image.DerivedVersion(); w.builtAt[i] != v {
			w.builtAt[i] = v
			d.build(w, value)
		}
		return value
	}
	panic(fmt.Sprintf("ecs: derived %q is used but not listed: add it to Game.Derived", d.name))
}

func (d *Derived[T]) derivedName() string { return d.name }

func (d *Derived[T]) ensure(w *World) { d.Of(w) }

// buildStale builds what a restore made stale, before a tick changes the state it follows from. Built later, after an
// order, it would differ from what a world that was not restored has kept.
func (w *World) buildStale() {
	v := w.image.DerivedVersion()
	for i, d := range w.game.Derived {
		if w.builtAt[i] != v {
			d.ensure(w)
		}
	}
}

func (d *Derived[T]) make(w *World) any {
	value := new(T)
	d.build(w, value)
	return value
}

func (d *Derived[T]) check(w *World, kept any) error {
	if kept == nil || d.equal(kept.(*T), d.make(w).(*T)) {
		return nil
	}
	return fmt.Errorf("ecs: derived %q differs from what its state gives: a system changed the state and did not keep it in step", d.name)
}

// checkDerived builds all derived data anew and reports the first that differs from what the world kept.
func (w *World) checkDerived() error {
	for i, d := range w.game.Derived {
		if w.derived[i] == nil || w.builtAt[i] != w.image.DerivedVersion() {
			continue
		}
		if err := d.check(w, w.derived[i]); err != nil {
			return err
		}
	}
	return nil
}
