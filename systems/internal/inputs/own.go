package inputs

import "tendon/ecs"

// Own holds the local player's inputs: what he does now, and what he did in the ticks that the server may still need.
// The input of tick f ≤ Sampled lies in slot f % len.
type Own struct {
	now     ecs.InputBytes // what he does
	used    bool           // now was sampled
	sampled ecs.Tick       // last tick that has an input
	last    ecs.InputBytes // of tick sampled
	slots   [2 * Window]ecs.InputBytes
}

// Restart begins anew after tick f, with the input that the player had in the world; seat is −1 for none.
func (o *Own) Restart(f ecs.Tick, w *ecs.World, seat int) {
	o.sampled, o.used, o.last = f, true, ecs.InputBytes{}
	if seat >= 0 {
		o.last = w.InputOf(ecs.Player(seat))
	}
}

// Set says what the player does from now on. keep says that a press which was not sampled yet must not be lost.
func (o *Own) Set(in ecs.InputBytes, keep bool, game *ecs.Game) {
	game.CleanInput(&in)
	if keep && !o.used {
		in = game.MergeLate(o.now, in)
	}
	o.now, o.used = in, false
}

// Sampled returns the last tick that has an input.
func (o *Own) Sampled() ecs.Tick { return o.sampled }

// Used reports whether what the player does now was sampled for some tick.
func (o *Own) Used() bool { return o.used }

// Last returns the input of tick Sampled.
func (o *Own) Last() ecs.InputBytes { return o.last }

// At returns the input of tick f, which must be one of the last 2·Window ticks sampled.
func (o *Own) At(f ecs.Tick) ecs.InputBytes { return o.slots[f%ecs.Tick(len(o.slots))] }

// Next returns the input for the tick after Sampled. Of a tick that was missed, nobody knows what the player did in
// it: it gets what the server would assume.
func (o *Own) Next(missed bool, game *ecs.Game) ecs.InputBytes {
	if missed || o.used {
		return game.PredictInput(o.last)
	}
	return o.now
}

// Put stores what Next returned for tick f = Sampled + 1.
func (o *Own) Put(f ecs.Tick, in ecs.InputBytes, missed bool) {
	o.slots[f%ecs.Tick(len(o.slots))] = in
	o.sampled, o.last = f, in
	o.used = o.used || !missed
}

// SkipTo passes over ticks up to f, which are computed or final without the player's input.
func (o *Own) SkipTo(f ecs.Tick, game *ecs.Game) {
	if f > o.sampled {
		o.sampled = f
		o.last = game.PredictInput(o.last)
	}
}

// AppendFrom appends the inputs of ticks f … Sampled, at most MaxWindow.
func (o *Own) AppendFrom(dst []ecs.InputBytes, f ecs.Tick) []ecs.InputBytes {
	for ; f <= o.sampled && len(dst) < MaxWindow; f++ {
		dst = append(dst, o.At(f))
	}
	return dst
}
