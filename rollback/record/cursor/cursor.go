package cursor

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// Cursor is at one tick of a record and seeks to any other. It keeps at most two segments of simulated ticks, so memory is
// bounded by the changes of 10 seconds. The state of a tick is the same whatever the seeks before were.
//
// A Cursor is not safe for concurrent use. Several cursors may read one Record.
type Cursor struct {
	record  *record.Record
	game    *ecs.Game
	meter   meter
	world   *ecs.World
	keys    []keyframe // ascending; the first is the record's first state
	last    ecs.Tick
	held    [2]segment
	current *segment // one of held; nil before the first seek
	tick    ecs.Tick
	stored  bool   // the record has an image of every tick, and none is simulated
	joins   []join // of the whole record; nil until Roster reads them

	private bool // the game has private values
	viewer  int
	radius  fixed.Num     // of interest, 0 for none
	knownAt [2]knownState // of the present tick and the one before
	eyes    *ecs.World    // scratch of leaveOut
}

// segmentSeconds is the maximum length of a segment. It matters if a record has no image for longer.
const segmentSeconds = record.RecordingImages

// New returns a Cursor at the record's first tick. now is the clock that measures the ticks that are simulated. Optional.
// The error wraps record.ErrNoState if the record has no first state.
//
// A record with an image of every tick is shown without a simulation, because another version of the game may have computed it.
// Its ticks have no events and no costs.
func New(r *record.Record, now func() time.Time) (*Cursor, error) {
	c := &Cursor{record: r, game: r.Game(), meter: meter{game: r.Game(), now: now}, last: r.Last().Tick, viewer: Everyone, private: r.Game().Schema().HasPrivate(), held: [2]segment{{key: -1}, {key: -1}}}
	var err error
	if c.world, err = ecs.NewWorld(c.game, r.Header().Seed); err != nil {
		return nil, err
	}
	if now != nil {
		c.world.Image().SetObserver(&c.meter)
	}
	if err := c.placeKeyframes(); err != nil {
		return nil, err
	}
	return c, c.Seek(c.First())
}

// placeKeyframes sets the keyframes: the record's images, and more if it has none for longer than a segment. An image that
// is nearer to the one before than views look back is left out. The segment before a keyframe then has all the states that
// its views need.
func (c *Cursor) placeKeyframes() error {
	images, longest := c.record.Images(), ecs.Tick(segmentSeconds*c.game.TickRate)
	if c.stored = len(images) > 1 && ecs.Tick(len(images)) == c.last-c.First()+1; c.stored {
		for _, f := range images {
			c.keys = append(c.keys, keyframe{tick: f, stored: true})
		}
		return nil
	}
	if len(images) == 0 || images[0] != c.First() {
		if c.First() > 0 {
			return fmt.Errorf("%w: the image of tick %d is missing", record.ErrNoState, c.First())
		}
		first := keyframe{states: make([]image.Snapshot, 1)}
		c.world.Image().Save(&first.states[0]) // the world is new: its state is the one that Setup builds
		c.keys = append(c.keys, first)
	}
	for _, f := range append(slices.Clone(images), c.last) {
		for n := len(c.keys); n > 0 && f > c.keys[n-1].tick+longest+longest/2; n++ {
			c.keys = append(c.keys, keyframe{tick: c.keys[n-1].tick + longest})
		}
		if n := len(c.keys); n == 0 || f < c.last && f > c.keys[n-1].tick+c.record.Reach() {
			c.keys = append(c.keys, keyframe{tick: f, stored: true})
		}
	}
	return nil
}

// First returns the first tick that has a state.
func (c *Cursor) First() ecs.Tick { return c.record.Start() }

// Last returns the last tick.
func (c *Cursor) Last() ecs.Tick { return c.last }

// Tick returns the tick that the Cursor is at.
func (c *Cursor) Tick() ecs.Tick { return c.tick }

// moment returns the tick that the Cursor is at.
func (c *Cursor) moment() *moment {
	return &c.current.moments[c.tick-c.keys[c.current.key].tick]
}

// State returns the part of the state of Tick that the viewer may know: see As. It is valid until the next seek.
func (c *Cursor) State() *image.Snapshot { return c.known(&c.moment().state, 0) }

// whole returns the whole state of Tick, for any viewer.
func (c *Cursor) whole() *image.Snapshot { return &c.moment().state }

// StateBefore returns the state of the tick before, for views that interpolate between the two; at First it is State. It is
// valid until the next seek.
func (c *Cursor) StateBefore() *image.Snapshot {
	if c.stored || c.tick == c.First() {
		return c.State()
	}
	return c.known(&c.current.moments[max(c.tick, c.First()+1)-1-c.keys[c.current.key].tick].state, 1)
}

// World returns the match in the state of Tick, for drawing code. It must only be read; its state changes with every seek.
func (c *Cursor) World() *ecs.World { return c.world }

// Seek goes to tick f. The error wraps record.ErrRange if f is not in [First, Last]; the Cursor is then where it was. After
// any other error, which a damaged record causes, it is at First.
func (c *Cursor) Seek(f ecs.Tick) error {
	if f < c.First() || f > c.last {
		return fmt.Errorf("%w: it has the ticks %d to %d", record.ErrRange, c.First(), c.last)
	}
	// Tick f belongs to the last keyframe before it, so that its events and costs are known; the first tick has none.
	at := max(sort.Search(len(c.keys), func(i int) bool { return c.keys[i].tick >= f })-1, 0)
	if c.stored {
		at = int(f - c.First())
	}
	s, err := c.segment(at, f)
	if err != nil && f > c.First() {
		_ = c.Seek(c.First()) // New has loaded that state
	}
	if err != nil {
		return err
	}
	c.current, c.tick, c.knownAt[0].of, c.knownAt[1].of = s, f, nil, nil
	c.world.Image().Restore(&c.moment().state)
	return nil
}
