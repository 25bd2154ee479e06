package travel

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
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
	// Image returns one of them as image.Snapshot.AppendImage wrote it.
	Image(f ecs.Tick) ([]byte, error)
	// Entries returns the ticks in [from, to]. An entry is valid until the next. A checksum of 0 is not known.
	Entries(from, to ecs.Tick) iter.Seq[*recording.Entry]
}

var _ Source = (*recording.Recording)(nil)

// StateOf returns the state of tick f, of which the source has an image, in a world of its own. Another game than the
// source's is refused as by New.
func StateOf(g *ecs.Game, s Source, f ecs.Tick) (*image.Snapshot, error) {
	if err := s.Header().Check(g); err != nil {
		return nil, err
	}
	w, err := ecs.NewWorld(g, 0)
	if err != nil {
		return nil, err
	}
	if err := load(w, s, f); err != nil {
		return nil, err
	}
	state := new(image.Snapshot)
	w.Image().Save(state)
	return state, nil
}

// load takes an image of a source for a world's state.
func load(w *ecs.World, s Source, f ecs.Tick) error {
	encoded, err := s.Image(f)
	if err != nil {
		return err
	}
	if err := w.Image().Load(encoded); err != nil {
		return err
	}
	if w.Tick() != f {
		return fmt.Errorf("%w: the image of tick %d holds tick %d", recording.ErrCorrupt, f, w.Tick())
	}
	return nil
}
