package inputs

import "tendon/ecs"

// keepLate keeps an input that arrived after its tick. Its presses go into the next tick, so that none is lost.
func (b *Buffer) keepLate(e Entry, game *ecs.Game) {
	if b.hasLate {
		e.In = game.Input.MergeLate(b.late.In, e.In)
	}
	b.late, b.hasLate = e, true
}

// mergeLate merges the late inputs into the entry of the next tick, once. altered reports whether the result differs from
// the input that the player sent for the tick. An altered entry has the view of the late inputs.
func (b *Buffer) mergeLate(e Entry, substituted bool, game *ecs.Game) (merged Entry, altered bool) {
	if !b.hasLate {
		return e, substituted
	}
	b.hasLate = false
	in := game.Input.MergeLate(b.late.In, e.In)
	if substituted || in != e.In {
		return Entry{In: in, View: b.late.View}, true
	}
	return e, false
}
