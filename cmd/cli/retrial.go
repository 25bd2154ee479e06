package cli

import (
	"context"
	"iter"
	"os"
	"runtime"
	"time"

	"tendon/cmd/cli/journals"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/net/room"
	"tendon/systems"
)

// retrial plays the matches that were brought back again, from their first tick to the one where they go on, one match
// after the other and beside the server, and hands over every result. So a result that the process before knew, or that
// was still voted on, and that its death kept out of the file of matches, comes into it; one that is there already stays
// as it is. What comes after is the room's to decide.
type retrial struct {
	game   *ecs.Game
	left   []journals.Left
	record func(matches.Record)
	stop   context.CancelFunc
	ended  chan struct{}
}

// retry begins a retrial.
func retry(game *ecs.Game, left []journals.Left, record func(matches.Record)) *retrial {
	ctx, stop := context.WithCancel(context.Background())
	r := &retrial{game: game, left: left, record: record, stop: stop, ended: make(chan struct{})}
	go r.run(ctx)
	return r
}

// close ends the retrial when all rooms are closed. A match that the next start brings back again is left to it; one
// that is over by now is played to its end first, since nobody would do it later. A server without a retrial has nothing
// to close.
func (r *retrial) close() {
	if r != nil {
		r.stop()
		<-r.ended
	}
}

func (r *retrial) run(ctx context.Context) {
	defer close(r.ended)
	for i := range r.left {
		if r.left[i].Journal.Start() == 0 { // rooms' journals all do
			r.play(ctx, &r.left[i])
		}
		r.left[i] = journals.Left{} // a journal may be large
	}
}

// play plays one match.
func (r *retrial) play(ctx context.Context, left *journals.Left) {
	world, err := ecs.NewWorld(r.game, left.Journal.Header().Seed)
	if err != nil {
		return // nor could it be brought back
	}
	next, stop := iter.Pull2(left.Journal.Seatings())
	defer stop()
	after, change, more := next()
	var seats seating
	began, over := ecs.Tick(0), false
	for t := range left.Journal.Play(world) {
		if !over && ctx.Err() != nil {
			if _, err := os.Stat(left.File); err == nil {
				return
			}
			over = true
		}
		for ; more && after < t.Tick; after, change, more = next() {
			seats.take(int(change.Player), after, room.Seat{Held: change.Held, Client: change.Client, Name: change.Name})
		}
		if result := r.game.Result(world); result != nil {
			r.found(left, began, systems.Decision{Tick: t.Tick, Result: result, How: systems.ByReplay, Registered: world.Players(), Replays: 1}, seats)
			began = t.Tick
		}
		runtime.Gosched() // the rooms first
	}
}

// found hands over the record of a result. Nobody knows when the match was played but from when its journal was written
// last, which is exact unless it had to wait since.
func (r *retrial) found(left *journals.Left, began ecs.Tick, what systems.Decision, seats seating) {
	if what.Registered == 0 {
		return // nobody played
	}
	h, last := left.Journal.Header(), left.Journal.Last().Tick
	at := func(f ecs.Tick) time.Time {
		return left.Written.Add(-time.Duration(systems.TickTime(0, last-f, r.game.TickRate)))
	}
	record := matches.Record{Room: h.Room, Match: h.Match, Game: r.game.Name, Strategy: h.Strategy, Started: at(began), Ended: at(what.Tick),
		Journal: left.Ended}
	decide(&record, &what, seats)
	r.record(record)
}
