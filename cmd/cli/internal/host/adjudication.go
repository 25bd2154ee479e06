package host

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

// adjudication replays recovered matches from their first tick to the one where they continue, one match after the other,
// and records every result. The process before may have ended between a result and its record, or during the vote on it.
// A result that is in the file of matches already stays as it is. Later results are decided by the room.
type adjudication struct {
	game    *ecs.Game
	matches []journals.Match
	record  func(matches.Record)
	stop    context.CancelFunc
	ended   chan struct{}
}

// adjudicate starts an adjudication on a goroutine of its own.
func adjudicate(game *ecs.Game, recovered []journals.Match, record func(matches.Record)) *adjudication {
	ctx, stop := context.WithCancel(context.Background())
	r := &adjudication{game: game, matches: recovered, record: record, stop: stop, ended: make(chan struct{})}
	go r.run(ctx)
	return r
}

// close ends the adjudication when all rooms are closed. It leaves a match that the next start recovers again to that one.
// It replays a match that is over to its end first. r may be nil.
func (r *adjudication) close() {
	if r != nil {
		r.stop()
		<-r.ended
	}
}

func (r *adjudication) run(ctx context.Context) {
	defer close(r.ended)
	for i := range r.matches {
		if r.matches[i].Journal.Start() == 0 { // as in every journal of a room
			r.replay(ctx, &r.matches[i])
		}
		r.matches[i] = journals.Match{} // a journal may be large
	}
}

// replay replays one match.
func (r *adjudication) replay(ctx context.Context, m *journals.Match) {
	world, err := ecs.NewWorld(r.game, m.Journal.Header().Seed)
	if err != nil {
		return // it could not be recovered either
	}
	next, stop := iter.Pull2(m.Journal.Seatings())
	defer stop()
	after, change, more := next()
	var seats seatHistory
	began, over := ecs.Tick(0), false
	for t := range m.Journal.Play(world, m.Journal.Last().Tick) {
		if !over && ctx.Err() != nil {
			if _, err := os.Stat(m.File); err == nil {
				return
			}
			over = true
		}
		for ; more && after < t.Tick; after, change, more = next() {
			seats.add(int(change.Player), after, room.Seat{Held: change.Held, Client: change.Client, Name: change.Name})
		}
		if result := r.game.Result(world); result != nil {
			r.add(m, began, systems.Decision{Tick: t.Tick, Result: result, How: systems.ByReplay, Registered: world.Players(), Replays: 1}, seats)
			began = t.Tick
		}
		runtime.Gosched() // the rooms first
	}
}

// add records a result. The time of a tick follows from the last write of the journal, which is exact unless the match
// waited after it.
func (r *adjudication) add(m *journals.Match, began ecs.Tick, what systems.Decision, seats seatHistory) {
	if what.Registered == 0 {
		return // the match had no players
	}
	h, last := m.Journal.Header(), m.Journal.Last().Tick
	at := func(f ecs.Tick) time.Time {
		return m.Written.Add(-time.Duration(systems.TickTime(0, last-f, r.game.TickRate)))
	}
	record := matches.Record{Room: h.Room, Match: h.Match, Game: r.game.Name, Strategy: h.Strategy, Started: at(began), Ended: at(what.Tick),
		Journal: m.Ended}
	decide(&record, &what, seats)
	r.record(record)
}
