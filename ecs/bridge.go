package ecs

import (
	"iter"

	"github.com/yohamta/donburi"
)

type bridge struct{}

func markEntry(entry *donburi.Entry, d *declaration) {}

func entriesWith(w donburi.World, c AnyComponent) iter.Seq[*donburi.Entry] {
	return func(yield func(*donburi.Entry) bool) {}
}

// View is what a game draws.
type View struct{}
