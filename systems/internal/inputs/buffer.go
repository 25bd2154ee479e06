package inputs

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
)

// Window is the number of ticks whose inputs a Buffer holds. Half of them may lie ahead of the server, half behind.
const Window = 128

// Buffer holds one player's inputs on the server and returns exactly one input per tick: the player's own or a
// substitute. Of two inputs for one tick the first counts. Its zero value is empty.
type Buffer struct {
	Substituted uint64 // ticks that used a substitute
	Late        uint64 // inputs that arrived after their tick

	inputs rollback.Ring[Entry]
	last   Entry    // of the last tick
	merge  Entry    // late inputs whose presses go into the next tick, with the newest view
	late   bool     // merge is set
	since  ecs.Tick // late inputs of ticks ≤ since are not merged: the seat was vacant or another connection had it

	worst    Margin // the worst margin since it was last returned by PopWorst
	hasWorst bool
	mean     float64 // smoothed margin, in ticks
	measured bool    // mean is set
}

// Entry is a player's input of a tick, and the moment of the remote entities that the player saw. The view is zero for the
// present, and in strategies that send none.
type Entry struct {
	In   ecs.InputBytes
	View image.ViewStamp
}

// Next returns the entry that is expected of the next tick: the predicted input, and the view a tick later.
func (e Entry) Next(game *ecs.Game) Entry {
	e.In = game.Input.Predict(e.In)
	if e.View.Tick == 0 {
		e.View = image.ViewStamp{}
	} else {
		e.View.Tick++
	}
	return e
}

// Margin is how much before its use the input of a tick arrived, in 1/MarginUnit of a tick. It is negative if the input
// was late.
type Margin struct {
	Tick  ecs.Tick
	Value int16
}

// Append writes a margin.
func (m Margin) Append(w *wire.Writer) {
	w.U32(uint32(m.Tick))
	w.U16(uint16(m.Value))
}

// ReadMargin reads a margin of a tick near another.
func ReadMargin(r *wire.Reader, near ecs.Tick) Margin {
	return Margin{Tick: ecs.Tick(wire.Expand32(uint64(near), r.U32())), Value: int16(r.U16())}
}

// MarginUnit is the resolution of margins on the wire.
const MarginUnit = 64

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
	if f <= done && f > b.since {
		b.Late++
		if b.late {
			e.In = game.Input.MergeLate(b.merge.In, e.In)
		}
		b.merge, b.late = e, true
	}
	return true
}

// Measure records that the input of tick f arrived early ticks before its use.
func (b *Buffer) Measure(f ecs.Tick, early float64) {
	if !b.measured {
		b.mean, b.measured = early, true
	}
	b.mean += 0.1 * (early - b.mean)
	m := int16(min(max(math.Round(early*MarginUnit), -1<<15), 1<<15-1))
	if !b.hasWorst || m < b.worst.Value {
		b.worst, b.hasWorst = Margin{Tick: f, Value: m}, true
	}
}

// Worst returns the worst margin since the last PopWorst; ok is false if none was measured.
func (b *Buffer) Worst() (m Margin, ok bool) { return b.worst, b.hasWorst }

// PopWorst returns the worst margin since its last call and forgets it; ok is false if none was measured.
func (b *Buffer) PopWorst() (m Margin, ok bool) {
	m, ok = b.worst, b.hasWorst
	b.worst, b.hasWorst = Margin{}, false
	return m, ok
}

// MeanMargin returns the smoothed margin in ticks, 0 before the first measurement.
func (b *Buffer) MeanMargin() float64 { return b.mean }

// Next returns the input to use in tick f. altered reports whether it is not the one that the player sent for f: a
// substitute, or one into which late inputs were merged.
func (b *Buffer) Next(f ecs.Tick, game *ecs.Game) (in ecs.InputBytes, altered bool) {
	e := b.last.Next(game)
	if stored, ok := b.inputs.At(f); ok {
		e = *stored
	} else {
		altered = true
		b.Substituted++
	}
	if b.late {
		merged := game.Input.MergeLate(b.merge.In, e.In)
		if altered = altered || merged != e.In; altered {
			e.View = b.merge.View
		}
		e.In, b.late = merged, false
	}
	b.last = e
	return e.In, altered
}

// View returns the view with which the input of the last tick was given. A substitute has the one that follows from the
// last, and a late input its own.
func (b *Buffer) View() image.ViewStamp { return b.last.View }

// Missing returns the oldest of the back ticks up to done whose input has not arrived and would still be used. ok is false if
// there is none.
func (b *Buffer) Missing(done, back ecs.Tick) (f ecs.Tick, ok bool) {
	for f = max(b.since, max(done, back)-back) + 1; f <= done; f++ {
		if _, held := b.inputs.At(f); !held {
			return f, true
		}
	}
	return 0, false
}

// Use replaces the input of the last tick, from which a substitute for the next one is predicted.
func (b *Buffer) Use(in ecs.InputBytes) { b.last.In = in }

// Vacant must be called for every tick f before which the player was not in the match, so that inputs of an earlier
// player do not continue.
func (b *Buffer) Vacant(f ecs.Tick) { b.last, b.late, b.since = Entry{}, false, f }

// Forget removes the stored inputs after tick done was computed. Call it when another connection, perhaps of another
// player, gets the seat.
func (b *Buffer) Forget(done ecs.Tick) {
	b.since, b.last.View = done, image.ViewStamp{}
	b.inputs.Clear()
	b.late, b.hasWorst, b.measured = false, false, false
}

// Grid holds the times at which a server's ticks are due.
type Grid struct {
	Tick  systems.Time // length of a tick
	Due   systems.Time // when the last tick was due
	Timed bool         // Due is set; else nothing is measured
}

// Arrival is the time of a message: Past ticks after tick Done, the last computed one, was due.
type Arrival struct {
	Done  ecs.Tick
	Past  float64
	Timed bool // Past is set; else nothing is measured
}

// Arrival returns the arrival of a message at time now, after tick done.
func (g *Grid) Arrival(done ecs.Tick, now systems.Time) Arrival {
	return Arrival{Done: done, Past: float64(now-g.Due) / float64(g.Tick), Timed: g.Timed}
}

// Receive receives the inputs of count ticks from first on; entry returns the i-th. Inputs that are Window/2 ticks too old
// are ignored. Those of Window/2 or more ticks ahead are refused; Receive returns their number.
//
// The last input of a message is measured even if it is ignored or refused, so that a client whose clock is that wrong
// can correct it.
func (b *Buffer) Receive(first ecs.Tick, count int, at Arrival, game *ecs.Game, entry func(i int) Entry) (refused int) {
	for i := range count {
		f, fresh := first+ecs.Tick(i), i == count-1
		switch {
		case f+Window/2 <= at.Done:
		case f >= at.Done+Window/2:
			refused++
		default:
			fresh = b.Put(f, at.Done, entry(i), game)
		}
		if fresh && at.Timed {
			b.Measure(f, float64(f)-float64(at.Done)-at.Past)
		}
	}
	return refused
}
