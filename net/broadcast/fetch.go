package broadcast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tendon/rollback/record"
)

const (
	maxQueue   = 4 // maximum number of fragments that wait to be simulated
	queuePause = 250 * time.Millisecond
	joinTries  = 5 // maximum number of failed requests before the first fragment
)

// Run fetches files until ctx is done or a final error occurs. clock returns the time since an arbitrary moment.
func (v *Viewer) Run(ctx context.Context, clock func() time.Duration) error {
	for {
		next, err := v.Fetch(ctx, clock)
		if err != nil || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(max(next-clock(), time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// Fetch makes the next request if it is due. It returns the time of the request after it.
func (v *Viewer) Fetch(ctx context.Context, clock func() time.Duration) (next time.Duration, err error) {
	now := clock()
	v.mu.Lock()
	if len(v.queue) >= maxQueue {
		v.mu.Unlock()
		return now + queuePause, nil
	}
	if v.jump {
		v.jump, v.first = false, nil
		v.schedule.Jump(now + FragmentSeconds*time.Second) // there is a newer one then
	}
	r := v.schedule.Next()
	v.mu.Unlock()
	if now < r.At {
		return min(r.At, now+time.Second), nil // a jump may be requested earlier
	}
	data, err := v.source.Get(ctx, r.Name, r.Max)
	if ctx.Err() != nil {
		return 0, nil
	}
	response := Response{Err: err}
	var got received
	if err == nil {
		got, err = v.read(r, data, &response)
		response.Err = err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stats.Err = response.Err
	v.stats.Bytes += uint64(len(data))
	if err := v.final(r, response.Err); err != nil {
		return 0, err
	}
	if got.ticks != nil {
		v.stats.Streamed += uint64(len(data))
		v.stats.Received += got.ticks.Last().Tick - got.ticks.Start()
		v.add(&got)
	}
	v.schedule.Done(clock(), response)
	return v.schedule.Next().At, nil
}

// read reads a file. It fills in the response.
func (v *Viewer) read(r Request, data []byte, to *Response) (got received, err error) {
	switch r.Kind {
	case KindIndex:
		if to.Index, err = ParseIndex(data); err == nil && (to.Index.Game != v.game.Name || to.Index.TickRate != v.game.TickRate) {
			err = fmt.Errorf("%w: the broadcast is of %q at %d ticks per second, this game is %q at %d", record.ErrOther, to.Index.Game, to.Index.TickRate, v.game.Name, v.game.TickRate)
		}
		if err == nil {
			v.mu.Lock()
			v.stats.Index = *to.Index
			v.mu.Unlock()
		}
	case KindFull:
		v.first, err = openFull(data, v.game, r.First)
	case KindTicks:
		if got.ticks, err = openTicks(data, v.game, r.First); err != nil {
			return received{}, err
		}
		to.Last = got.ticks.Last().Tick
		got.states, v.first = v.first, nil
	}
	return got, err
}

// final returns the error of a request, or nil if the request is to be repeated.
func (v *Viewer) final(r Request, err error) error {
	switch {
	case errors.Is(err, record.ErrOther) || errors.Is(err, record.ErrVersion):
		return err
	case v.schedule.Joined():
	case r.Kind == KindIndex && (errors.Is(err, ErrNotFound) || errors.Is(err, ErrIndex)):
		return fmt.Errorf("%w: %w", ErrNone, err)
	case err != nil && v.schedule.Failures() >= joinTries:
		return err
	}
	return nil
}

// add appends a fragment to the queue. A state replaces everything before it.
func (v *Viewer) add(f *received) {
	if f.states != nil {
		v.queue = nil
	}
	v.queue = append(v.queue, f)
}
