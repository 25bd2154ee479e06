package travel

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
)

// Clip is a stretch of a match in memory, as a Ring hands it out. It shares nothing with the match, and nothing in it
// changes: any goroutine may travel over it.
type Clip struct {
	header  recording.Header
	images  []Image
	entries []recording.Entry // of the ticks behind header.Start, without gaps
}

// Image is the state of a tick as image.Snapshot.AppendImage wrote it.
type Image struct {
	Tick  ecs.Tick
	Bytes []byte
}

// ImageOf returns the image of a state.
func ImageOf(s *image.Snapshot) Image { return Image{s.Tick(), s.AppendImage(nil)} }

// NewClip returns a clip, which keeps what it is given. header.Start becomes the tick of the first image; images ascend;
// entries are of the ticks behind the first, without gaps, and may be none. It panics if they are not.
func NewClip(header recording.Header, images []Image, entries []recording.Entry) *Clip {
	if len(images) == 0 {
		panic("travel: NewClip without an image: a clip begins with a state")
	}
	header.Start = images[0].Tick
	c := &Clip{header: header, images: images, entries: entries}
	for i := range entries {
		if entries[i].Tick != header.Start+1+ecs.Tick(i) {
			panic("travel: NewClip with entries that do not follow the first image one by one")
		}
	}
	for i := range images {
		if f := images[i].Tick; f > c.Last() || i > 0 && f <= images[i-1].Tick {
			panic("travel: NewClip with images that do not ascend, or lie behind the last entry")
		}
	}
	return c
}

// Header says what match it is; Start is the clip's first state.
func (c *Clip) Header() recording.Header { return c.header }

// Last returns the last tick.
func (c *Clip) Last() ecs.Tick { return c.header.Start + ecs.Tick(len(c.entries)) }

// Images returns the ticks of which there is an image.
func (c *Clip) Images() []ecs.Tick {
	list := make([]ecs.Tick, len(c.images))
	for i := range c.images {
		list[i] = c.images[i].Tick
	}
	return list
}

// Image returns the image of a tick.
func (c *Clip) Image(f ecs.Tick) ([]byte, error) {
	for i := range c.images {
		if c.images[i].Tick == f {
			return c.images[i].Bytes, nil
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
