package replaypage

import (
	"context"
	"fmt"

	"tendon/ecs"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
)

// File is a recording or a desync bundle.
type File struct {
	Name string `json:"name"` // on the page
	Path string `json:"path"` // of the file beside an exported page
	Data []byte `json:"-"`
}

// Matches returns the Open of files of a game: one recording, two that are compared, or a bundle.
func Matches(g *ecs.Game, files ...File) (Open, error) {
	if len(files) == 1 && bundle.Is(files[0].Data) {
		b, err := bundle.Open(files[0].Data, g)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[0].Name, err)
		}
		return Bundle(b)
	}
	var matches []Match
	for _, f := range files {
		r, err := record.Open(f.Data, g)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		matches = append(matches, Match{Name: f.Name, Record: r})
	}
	return func(context.Context, string) ([]Match, error) { return matches, nil }, nil
}

// Bundle returns the Open of a desync bundle. It has the stored states of both sides and, as a separate match, the ticks before them
// as this build replays them. The match is separate because this build may compute a third state.
func Bundle(b *bundle.Bundle) (Open, error) {
	stored, err := storedStates(b)
	return func(_ context.Context, name string) ([]Match, error) {
		if name == replayed {
			return []Match{{Name: replayed, Record: b.Here, Also: "the stored states"}}, nil
		}
		return stored, nil
	}, err
}

// replayed is the name of the ticks that led to a desync.
const replayed = "the ticks before, replayed by this build"

// storedStates returns both sides of a bundle as matches of one tick, each with the state that the side stored.
func storedStates(b *bundle.Bundle) (sides []Match, err error) {
	for i, r := range []*record.Record{b.Here, b.There} {
		if r == nil {
			break
		}
		state, err := r.State(b.Tick)
		if err != nil {
			return nil, err
		}
		one, err := record.Collect(r.Game(), r.Header(), []record.Image{record.ImageOf(state)}, nil)
		state.Release()
		if err != nil {
			return nil, err
		}
		side := Match{Name: [2]string{"here: the " + string(b.By), "there: " + b.Peer}[i] + ", stored state", Record: one}
		if i == 0 && r.Start() < b.Tick {
			side.Also = replayed
		}
		sides = append(sides, side)
	}
	return sides, nil
}
