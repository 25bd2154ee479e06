package room

import (
	"context"
	"errors"
	"fmt"

	"tendon/rollback/recording"
	"tendon/rollback/travel"
	"tendon/systems"
)

// Watch keeps the last seconds of a room's match and lets other goroutines have a copy: its Sink is one of the
// room's, and copies are made on the room's goroutine. A room without one pays nothing.
type Watch struct {
	ring   *travel.Ring
	wanted chan chan *travel.Clip
}

// waitingClips bounds how many ask at once; who comes then waits to ask.
const waitingClips = 4

// ErrNoClip is returned by Clip as long as no state of the match was kept.
var ErrNoClip = errors.New("room: nothing of the match is kept yet: ask again in a second")

// NewWatch returns a watch over the last seconds of a room with this Config; build names the program's build, for
// people. Its Sink belongs into Config.Sinks; ticks have checksums if another sink sets NeedState.
func NewWatch(c *Config, build string, seconds int) (*Watch, error) {
	if c.Game == nil {
		return nil, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	ring, err := travel.NewRing(travel.RingConfig{Header: recording.HeaderOf(c.Game, c.Seed, build), Ticks: seconds * c.Game.TickRate})
	if err != nil {
		return nil, err
	}
	return &Watch{ring: ring, wanted: make(chan chan *travel.Clip, waitingClips)}, nil
}

// Sink returns the watch as a sink of its room.
func (w *Watch) Sink() Sink { return Sink{Tick: w.Take} }

// Take keeps a tick, and answers one who asked for a clip.
func (w *Watch) Take(f systems.FinalTick) {
	e := recording.Entry{Tick: f.Tick, Inputs: f.Inputs, Late: f.Late, Orders: f.Orders}
	if f.State != nil {
		e.Checksum = f.State.Checksum()
	}
	w.ring.Take(e, f.World)
	select {
	case reply := <-w.wanted:
		reply <- w.ring.Clip() // it has room for one
	default:
	}
}

// Ring returns the ring, for the room's own goroutine.
func (w *Watch) Ring() *travel.Ring { return w.ring }

// Clip returns a copy of what is kept. It may be called on any goroutine but the room's, and waits for the room's next tick:
// a room that computes none lets it wait until ctx is done.
func (w *Watch) Clip(ctx context.Context) (*travel.Clip, error) {
	reply := make(chan *travel.Clip, 1)
	select {
	case w.wanted <- reply:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case clip := <-reply:
		if clip == nil {
			return nil, ErrNoClip
		}
		return clip, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
