package travel

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/rollback/recording"
)

// Clip is a stretch of a match in memory, as a Ring hands it out. It shares nothing with the match, and nothing in it
// changes: any goroutine may travel over it.
type Clip struct {
	header  recording.Header
	images  []image
	entries []recording.Entry // of the ticks behind header.Start, without gaps
}

type image struct {
	tick  ecs.Tick
	bytes []byte
}

// Header says what match it is; Start is the clip's first state.
func (c *Clip) Header() recording.Header { return c.header }

// Last returns the last tick.
func (c *Clip) Last() ecs.Tick { return c.header.Start + ecs.Tick(len(c.entries)) }

// Images returns the ticks of which there is an image.
func (c *Clip) Images() []ecs.Tick {
	list := make([]ecs.Tick, len(c.images))
	for i := range c.images {
		list[i] = c.images[i].tick
	}
	return list
}

// Image returns the image of a tick.
func (c *Clip) Image(f ecs.Tick) ([]byte, error) {
	for i := range c.images {
		if c.images[i].tick == f {
			return c.images[i].bytes, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no image of tick %d", recording.ErrRange, f)
}

// Entries returns the ticks in [from, to].
func (c *Clip) Entries(from, to ecs.Tick) iter.Seq[*recording.Entry] {
	return func(yield func(*recording.Entry) bool) {
		for f := max(from, c.header.Start+1); f <= min(to, c.Last()); f++ {
			e := c.entries[f-c.header.Start-1] // a copy: nobody writes into the clip
			if !yield(&e) {
				return
			}
		}
	}
}
