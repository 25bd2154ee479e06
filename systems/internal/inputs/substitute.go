package inputs

import "tendon/ecs"

// Next returns the entry predicted for the next tick: the predicted input, and the view one tick later.
func (e Entry) Next(game *ecs.Game) Entry {
	next := Entry{In: game.Input.Predict(e.In)}
	if e.View.Tick != 0 {
		next.View = e.View
		next.View.Tick++
	}
	return next
}

// sentOrSubstitute returns the entry that the player sent for tick f. If none has arrived, it returns a substitute: the
// entry that is expected after that of the last tick.
func (b *Buffer) sentOrSubstitute(f ecs.Tick, game *ecs.Game) (e Entry, substituted bool) {
	if sent, ok := b.inputs.At(f); ok {
		return *sent, false
	}
	b.Substituted++
	return b.last.Next(game), true
}

// Use replaces the input of the last tick, from which a substitute for the next one is predicted.
func (b *Buffer) Use(in ecs.InputBytes) { b.last.In = in }
