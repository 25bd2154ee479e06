package travel

import (
	"iter"

	"tendon/ecs"
	"tendon/rollback/recording"
)

// Source is what a Traveller travels over: a match as what entered it, with states to begin from. A
// *recording.Recording is one, and so is a *Clip. It is only read.
//
// Ticks (Start, Last] have entries; an image is of a tick in [Start, Last]. If Start is above 0 there is an image of it.
type Source interface {
	// Header says what match it is.
	Header() recording.Header
	// Last is the last tick.
	Last() ecs.Tick
	// Images are the ticks of which there is an image, ascending.
	Images() []ecs.Tick
	// Image returns one of them as ecs.Snapshot.AppendImage wrote it.
	Image(f ecs.Tick) ([]byte, error)
	// Entries returns the ticks in [from, to]. An entry is valid until the next. A checksum of 0 is not known.
	Entries(from, to ecs.Tick) iter.Seq[*recording.Entry]
}

var _ Source = (*recording.Recording)(nil)
