package travel

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/recording"
)

// Traveller is at one tick of a match and goes to any other. It plays the match from the state before the tick that is
// nearest, and keeps what it played last, so that steps and scrubbing near by cost a restore.
//
// The states between two marks are a stretch. Two stretches at most are held, so memory is bounded: what 10 seconds of
// the match change. The state of a tick is the same whatever road led there.
//
// A Traveller is not safe on several goroutines at once; different ones over one Source are.
type Traveller struct {
	config  Config
	header  recording.Header
	world   *ecs.World
	marks   []mark // ascending; the first is the source's first state
	last    ecs.Tick
	reach   ecs.Tick // how far back the farthest view of a player lies
	held    [2]*stretch
	current *stretch // one of held
	tick    ecs.Tick
	stats   Stats
	scratch struct {
		inputs []ecs.InputBytes
		costs  []Cost
	}
}

// Config describes a Traveller. Game and Source are required.
type Config struct {
	// Game is the game that the source is of; another one or another version is refused.
	Game *ecs.Game
	// Source is what to travel over.
	Source Source
	// Meter measures ticks while they are played; nil: they have no costs.
	Meter Meter
}

// Meter is an image.Observer that accounts the sections of a tick. It is where a clock lives.
type Meter interface {
	image.Observer
	// AppendCosts appends what was accounted since the last call and returns the extended slice.
	AppendCosts(dst []Cost) []Cost
}

// Cost is what a section took in one tick, sections inside it included. A tick has SectionSimulate with its systems inside,
// and SectionSave for keeping its state.
type Cost struct {
	Section     image.Section
	Nanoseconds int64
}

// Stats counts what a Traveller did.
type Stats struct {
	Seeks     uint64 // moves to another tick
	Simulated uint64 // ticks that were played for them
	Loaded    uint64 // images that were loaded for them
}

// Errors of a Traveller. Those about the game are recording.ErrOtherGame and ErrOtherBuild.
var (
	ErrConfig = errors.New("travel: bad Config")
	// ErrRange is about a tick that the source does not have.
	ErrRange = recording.ErrRange
)

// stretchSeconds is the longest stretch, where a source has no image for long.
const stretchSeconds = recording.ImageSeconds

// New returns a Traveller at the source's first tick.
func New(c Config) (*Traveller, error) {
	switch {
	case c.Game == nil:
		return nil, fmt.Errorf("%w: Game is nil", ErrConfig)
	case c.Source == nil:
		return nil, fmt.Errorf("%w: Source is nil", ErrConfig)
	}
	t := &Traveller{config: c, header: c.Source.Header(), last: c.Source.Last()}
	if err := t.header.Check(c.Game); err != nil {
		return nil, err
	}
	for e := range c.Source.Entries(t.First()+1, t.last) {
		t.reach = max(t.reach, rollback.LookBack(e.Tick, e.Orders))
	}
	var err error
	if t.world, err = ecs.NewWorld(c.Game, t.header.Seed); err != nil {
		return nil, err
	}
	if c.Meter != nil {
		t.world.Image().SetObserver(c.Meter)
	}
	if err := t.place(); err != nil {
		return nil, err
	}
	return t, t.Seek(t.First())
}

// place sets the marks: the source's images, and others where it has none for longer than a stretch. Images nearer to
// each other than views look back are passed over, so that the stretch before a mark holds all that its views need.
func (t *Traveller) place() error {
	images, longest := t.config.Source.Images(), ecs.Tick(stretchSeconds*t.header.TickRate)
	if t.First() == 0 {
		first := mark{}
		t.world.Image().Save(&first.state) // the world is new: this is what Setup built
		t.marks = append(t.marks, first)
	} else if len(images) == 0 || images[0] != t.First() {
		return fmt.Errorf("%w: there is no image to start from", recording.ErrCorrupt)
	}
	for _, f := range append(slices.Clone(images), t.last) {
		for n := len(t.marks); n > 0 && f > t.marks[n-1].tick+longest+longest/2; n++ {
			t.marks = append(t.marks, mark{tick: t.marks[n-1].tick + longest})
		}
		if n := len(t.marks); n == 0 || f < t.last && f > t.marks[n-1].tick+t.reach {
			t.marks = append(t.marks, mark{tick: f, stored: true})
		}
	}
	return nil
}

// Header says what match it is.
func (t *Traveller) Header() recording.Header { return t.header }

// Game returns the game.
func (t *Traveller) Game() *ecs.Game { return t.config.Game }

// First returns the first tick whose state can be had.
func (t *Traveller) First() ecs.Tick { return t.header.Start }

// Last returns the last tick whose state can be had.
func (t *Traveller) Last() ecs.Tick { return t.last }

// Tick returns the tick that the Traveller is at.
func (t *Traveller) Tick() ecs.Tick { return t.tick }

// Stats returns what was counted.
func (t *Traveller) Stats() Stats { return t.stats }

// State returns the state of Tick. It is valid until the next move.
func (t *Traveller) State() *image.Snapshot {
	if m := t.moment(); m != nil {
		return &m.state
	}
	return &t.current.base
}

// StateBefore returns the state of the tick before, for views that show the moment between two; at First it is State.
// It is valid until the next move.
func (t *Traveller) StateBefore() *image.Snapshot {
	switch n := int(t.tick - t.current.base.Tick()); {
	case n >= 2:
		return &t.current.moments[n-2].state
	case n == 1:
		return &t.current.base
	}
	return t.State()
}

// World returns the match in the state of Tick, for bots' eyes and drawing code. It is only to be read, and its state
// changes with every move.
func (t *Traveller) World() *ecs.World { return t.world }

// Seek goes to tick f, in [First, Last]. After ErrRange the Traveller is where it was; after any other error, which a
// damaged source causes, it is where it was or at First.
func (t *Traveller) Seek(f ecs.Tick) error {
	if f < t.First() || f > t.last {
		return fmt.Errorf("%w: %d is not in [%d, %d]", ErrRange, f, t.First(), t.last)
	}
	t.stats.Seeks++
	// Tick f belongs to the last mark before it, so that its events and costs are known; the first tick has none.
	at := max(sort.Search(len(t.marks), func(i int) bool { return t.marks[i].tick >= f })-1, 0)
	s, err := t.stretch(at)
	if err == nil {
		s, err = t.reachTo(s, f)
	}
	if err != nil {
		return errors.Join(err, t.goBack())
	}
	t.current, t.tick = s, f
	t.world.Image().Restore(t.State())
	return nil
}

// goBack makes good what a move left that failed.
func (t *Traveller) goBack() (err error) {
	if t.current == nil {
		return nil
	}
	if t.current.mark < 0 { // played anew, and lost
		t.tick = t.First()
		if t.current, err = t.begin(0); err != nil {
			return err
		}
	}
	t.world.Image().Restore(t.State())
	return nil
}

// Step goes one tick on; at Last it is ErrRange.
func (t *Traveller) Step() error { return t.Seek(t.tick + 1) }

// Back goes one tick back; at First it is ErrRange.
func (t *Traveller) Back() error {
	if t.tick == t.First() {
		return fmt.Errorf("%w: %d is the first", ErrRange, t.tick)
	}
	return t.Seek(t.tick - 1)
}
