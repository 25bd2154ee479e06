package inputs

import (
	"cmp"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// Own holds the local player's inputs: the present one, and those of recent ticks that the server may still need. Call
// Restart before anything else.
type Own struct {
	Kept int             // ticks whose inputs are kept, set before Restart; 0: 2·Window
	Seen image.ViewStamp // the moment that the player sees now, which Put stores

	now     ecs.InputBytes
	used    bool           // now was sampled
	sampled ecs.Tick       // last tick that has an input
	last    ecs.InputBytes // of tick sampled
	inputs  rollback.Ring[Entry]
}

// Restart starts anew after tick f, with the player's input in the world. seat is −1 for a spectator.
func (o *Own) Restart(f ecs.Tick, w *ecs.World, seat int) {
	if o.inputs.Depth() == 0 {
		o.inputs = rollback.NewRing[Entry](cmp.Or(o.Kept, 2*Window))
	}
	o.sampled, o.used, o.last = f, true, ecs.InputBytes{}
	if seat >= 0 {
		o.last = w.Image().Input(ecs.Player(seat))
	}
}

// Set sets the player's present input. With keep, presses of an input that was not sampled yet are merged into it.
func (o *Own) Set(in ecs.InputBytes, keep bool, game *ecs.Game) {
	in = game.Input.Clean(in)
	if keep && !o.used {
		in = game.Input.MergeLate(o.now, in)
	}
	o.now, o.used = in, false
}

// Sampled returns the last tick that has an input.
func (o *Own) Sampled() ecs.Tick { return o.sampled }

// Used reports whether the present input was sampled for a tick.
func (o *Own) Used() bool { return o.used }

// Last returns the input of tick Sampled.
func (o *Own) Last() ecs.InputBytes { return o.last }

// At returns the input of tick f, which must be one of the last ticks sampled.
func (o *Own) At(f ecs.Tick) ecs.InputBytes {
	e, _ := o.inputs.At(f)
	return e.In
}

// Given returns the input of tick f; ok is false for one that was not sampled or is not kept.
func (o *Own) Given(f ecs.Tick) (e *Entry, ok bool) {
	e, ok = o.inputs.At(f)
	return e, ok && f <= o.sampled
}

// Forget removes the inputs that are kept.
func (o *Own) Forget() { o.inputs.Clear() }

// Next returns the input for the tick after Sampled. A tick that was missed gets the input that the server would
// predict, since it is not known what the player did in it.
func (o *Own) Next(missed bool, game *ecs.Game) ecs.InputBytes {
	if missed || o.used {
		return game.Input.Predict(o.last)
	}
	return o.now
}

// Put stores the result of Next for tick f = Sampled + 1.
func (o *Own) Put(f ecs.Tick, in ecs.InputBytes, missed bool) {
	o.inputs.Put(f, Entry{in, o.Seen})
	o.sampled, o.last = f, in
	o.used = o.used || !missed
}

// SkipTo skips ticks up to f, which were computed or confirmed without the player's input.
func (o *Own) SkipTo(f ecs.Tick, game *ecs.Game) {
	if f > o.sampled {
		o.sampled = f
		o.last = game.Input.Predict(o.last)
	}
}

// AppendFrom appends the inputs of ticks f … Sampled to dst, until dst holds MaxWindow. before is the input of tick f − 1. A tick
// that was skipped has the input that the server would predict.
func (o *Own) AppendFrom(dst []ecs.InputBytes, f ecs.Tick, before ecs.InputBytes, game *ecs.Game) []ecs.InputBytes {
	for ; f <= o.sampled && len(dst) < MaxWindow; f++ {
		if e, ok := o.inputs.At(f); ok {
			before = e.In
		} else {
			before = game.Input.Predict(before)
		}
		dst = append(dst, before)
	}
	return dst
}
