package room

import (
	"context"
	"errors"
	"fmt"

	"tendon/rollback/record"
	"tendon/systems"
)

// Watch keeps the last seconds of a match for other goroutines. It is one of the sinks of its room, and makes the copies
// on the goroutine of the room.
type Watch struct {
	history *record.History
	wanted  chan chan *record.Record
}

// waitingRequests bounds the requests that wait at once; further calls of Record block.
const waitingRequests = 4

// ErrNoRecord is returned by Record before a state of the match is kept.
var ErrNoRecord = errors.New("room: nothing of the match is kept yet: ask again in a second")

// NewWatch returns a watch over the last seconds of a room with this Config. build names the build of the program, for
// display. Add its Sink to Config.Sinks. Ticks have checksums if another sink sets NeedState.
func NewWatch(c *Config, build string, seconds int) (*Watch, error) {
	if c.Game == nil {
		return nil, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	history, err := record.NewHistory(c.Game, record.HeaderOf(c.Game, c.Seed, build), seconds*c.Game.TickRate)
	if err != nil {
		return nil, err
	}
	return &Watch{history: history, wanted: make(chan chan *record.Record, waitingRequests)}, nil
}

// Sink returns the watch as a sink of its room.
func (w *Watch) Sink() Sink { return Sink{Tick: w.take} }

// take adds a tick, and answers one request for a record.
func (w *Watch) take(f systems.FinalTick) {
	w.history.Add(f.Recorded(), f.World)
	select {
	case reply := <-w.wanted:
		reply <- w.history.Record() // it has room for one
	default:
	}
}

// History returns the history. It may be used on the goroutine of the room only.
func (w *Watch) History() *record.History { return w.history }

// Record returns the kept ticks. It may be called on any goroutine but that of the room. It waits for the next
// tick of the room, or until ctx is done.
func (w *Watch) Record(ctx context.Context) (*record.Record, error) {
	reply := make(chan *record.Record, 1)
	select {
	case w.wanted <- reply:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case r := <-reply:
		if r == nil {
			return nil, ErrNoRecord
		}
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
