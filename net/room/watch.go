package room

import (
	"context"
	"errors"
	"fmt"

	"tendon/rollback/recording"
	"tendon/rollback/travel"
	"tendon/systems"
)

// Watch keeps the last seconds of a match for other goroutines. It is one of the sinks of its room, and makes the copies
// on the goroutine of the room.
type Watch struct {
	ring   *travel.Ring
	wanted chan chan *travel.Clip
}

// waitingClips bounds the requests that wait at once; further calls of Clip block.
const waitingClips = 4

// ErrNoClip is returned by Clip before a state of the match is kept.
var ErrNoClip = errors.New("room: nothing of the match is kept yet: ask again in a second")

// NewWatch returns a watch over the last seconds of a room with this Config. build names the build of the program, for
// display. Add its Sink to Config.Sinks. Ticks have checksums if another sink sets NeedState.
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
func (w *Watch) Sink() Sink { return Sink{Tick: w.take} }

// take keeps a tick, and answers one request for a clip.
func (w *Watch) take(f systems.FinalTick) {
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

// Ring returns the ring. It may be used on the goroutine of the room only.
func (w *Watch) Ring() *travel.Ring { return w.ring }

// Clip returns a copy of the kept ticks. It may be called on any goroutine but that of the room. It waits for the next
// tick of the room, or until ctx is done.
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
