package inputs

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// Window is the number of ticks whose inputs a Buffer holds. Half of them may lie ahead of the server, half behind.
const Window = 128

// Buffer holds one player's inputs on the server and returns exactly one input per tick: the player's own or a
// substitute. Of two inputs for one tick the first counts. Its zero value is empty.
type Buffer struct {
	Substituted uint64 // ticks that used a substitute
	Late        uint64 // inputs that arrived after their tick

	inputs  rollback.Ring[Entry]
	last    Entry    // of the last tick
	late    Entry    // late inputs in one, with the newest view
	hasLate bool     // late waits for the next tick
	before  ecs.Tick // last tick before the player's: the seat was vacant, or another connection had it

	worst             Margin  // the worst margin since the last PopWorst
	mean              float64 // smoothed margin, in ticks
	hasWorst, hasMean bool    // whether worst and mean are set; MeanMargin returns an old mean until there is a new one
}

// Entry is a player's input of a tick, and the moment of the remote entities that the player saw. The view is zero for the
// present, and in strategies that send none.
type Entry struct {
	In   ecs.InputBytes
	View image.ViewStamp
}

// Receive stores the inputs of count ticks from first on. entry returns the i-th. Receive ignores inputs of ticks Window/2 or
// more behind at.Done. It refuses those Window/2 or more ahead, and returns their number. It measures the margin of each new
// input. It also measures the last input of a message if that is ignored or refused, so that the client can correct its clock.
func (b *Buffer) Receive(first ecs.Tick, count int, at Arrival, game *ecs.Game, entry func(i int) Entry) (refused int) {
	for i := range count {
		f, measured := first+ecs.Tick(i), i == count-1
		switch {
		case f+Window/2 <= at.Done: // too old
		case f >= at.Done+Window/2: // too early
			refused++
		case b.has(f):
			continue
		default:
			measured = b.Put(f, at.Done, entry(i), game)
		}
		if measured && at.Timed {
			b.measure(f, at)
		}
	}
	return refused
}

// has reports whether the input of tick f is stored.
func (b *Buffer) has(f ecs.Tick) bool {
	_, ok := b.inputs.At(f)
	return ok
}

// Put stores the player's input of tick f, which arrived when the server had computed tick done. It reports whether the
// input was new. Inputs are stored for a vacant seat, too: their margins are measured before the player joins.
func (b *Buffer) Put(f, done ecs.Tick, e Entry, game *ecs.Game) bool {
	if b.inputs.Depth() == 0 {
		b.inputs = rollback.NewRing[Entry](Window)
	}
	stored, held := b.inputs.Slot(f)
	if held {
		return false
	}
	*stored = e
	if f <= done && f > b.before {
		b.Late++
		b.keepLate(e, game)
	}
	return true
}

// Next returns the input to use in tick f. altered reports whether it is not the one that the player sent for f: a
// substitute, or one into which late inputs were merged.
func (b *Buffer) Next(f ecs.Tick, game *ecs.Game) (in ecs.InputBytes, altered bool) {
	e, substituted := b.sentOrSubstitute(f, game)
	b.last, altered = b.mergeLate(e, substituted, game)
	return b.last.In, altered
}

// View returns the view with which the input of the last tick was given. A substitute has the one that follows from the
// last, and a late input its own.
func (b *Buffer) View() image.ViewStamp { return b.last.View }

// Missing returns the oldest of the back ticks up to done whose input has not arrived and would still be used. ok is false if
// there is none.
func (b *Buffer) Missing(done, back ecs.Tick) (f ecs.Tick, ok bool) {
	for f = max(b.before, max(done, back)-back) + 1; f <= done; f++ {
		if !b.has(f) {
			return f, true
		}
	}
	return 0, false
}

// Before returns the last tick that is not the player's: the seat was vacant, or had another connection.
func (b *Buffer) Before() ecs.Tick { return b.before }

// Vacant must be called for every tick f before which the player was not in the match, so that inputs of an earlier
// player do not continue.
func (b *Buffer) Vacant(f ecs.Tick) { b.before, b.last, b.hasLate = f, Entry{}, false }

// Forget removes the stored inputs after tick done was computed. Call it when another connection, perhaps of another
// player, gets the seat.
func (b *Buffer) Forget(done ecs.Tick) {
	b.inputs.Clear()
	b.before, b.last.View = done, image.ViewStamp{}
	b.hasLate, b.hasWorst, b.hasMean = false, false, false
}
