package relay

import "tendon/ecs"

// ownInputs holds the local player's inputs: what he does now, and what he did in the ticks that the server may still
// need. The input of tick f ≤ sampled lies in slot f % len.
type ownInputs struct {
	now     ecs.InputBytes // what he does
	used    bool           // now was sampled
	sampled ecs.Tick       // last tick that has an input
	last    ecs.InputBytes // of tick sampled
	slots   [2 * inputWindow]ecs.InputBytes
}

// restart begins anew after tick f, with the input that the player had in the world.
func (o *ownInputs) restart(f ecs.Tick, w *ecs.World, seat int) {
	o.sampled, o.used, o.last = f, true, ecs.InputBytes{}
	if seat >= 0 {
		o.last = w.InputOf(ecs.Player(seat))
	}
}

// set says what the player does from now on. keep says that a press which was not sampled yet must not be lost.
func (o *ownInputs) set(in ecs.InputBytes, keep bool, game *ecs.Game) {
	game.CleanInput(&in)
	if keep && !o.used {
		in = game.MergeLate(o.now, in)
	}
	o.now, o.used = in, false
}

// next returns the input for the tick after sampled. Of a tick that was missed, nobody knows what the player did in
// it: it gets what the server would assume.
func (o *ownInputs) next(missed bool, game *ecs.Game) ecs.InputBytes {
	if missed || o.used {
		return game.PredictInput(o.last)
	}
	return o.now
}

// put stores what next returned for tick f = sampled + 1.
func (o *ownInputs) put(f ecs.Tick, in ecs.InputBytes, missed bool) {
	o.slots[f%ecs.Tick(len(o.slots))] = in
	o.sampled, o.last = f, in
	o.used = o.used || !missed
}

// skipTo passes over ticks up to f, which are computed or final without the player's input.
func (o *ownInputs) skipTo(f ecs.Tick, game *ecs.Game) {
	if f > o.sampled {
		o.sampled = f
		o.last = game.PredictInput(o.last)
	}
}

// appendFrom appends the inputs of ticks f … sampled.
func (o *ownInputs) appendFrom(dst []ecs.InputBytes, f ecs.Tick) []ecs.InputBytes {
	for ; f <= o.sampled && len(dst) < maxInputs; f++ {
		dst = append(dst, o.slots[f%ecs.Tick(len(o.slots))])
	}
	return dst
}
