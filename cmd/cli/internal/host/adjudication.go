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
	"tendon/systems"
)

// adjudicate replays recovered matches from their first tick to the one where they continue, one match after the other, and
// records every result. The process before may have ended between a result and its record, or during the vote on it. A
// result that is in the file of matches already stays as it is.
//
// When the context is done, a match that the next start recovers again is left to that one, and a match that is over is
// replayed to its end.
func adjudicate(ctx context.Context, game *ecs.Game, recovered []journals.Match, record func(matches.Record)) {
	for i := range recovered {
		if recovered[i].Journal.Start() == 0 { // as in every journal of a room
			replay(ctx, game, &recovered[i], record)
		}
		recovered[i] = journals.Match{} // a journal may be large
	}
}

// replay replays one match. The time of a tick follows from the last write of the journal, which is exact unless the match
// waited after it.
func replay(ctx context.Context, game *ecs.Game, m *journals.Match, add func(matches.Record)) {
	h, last := m.Journal.Header(), m.Journal.Last().Tick
	world, err := ecs.NewWorld(game, h.Seed)
	if err != nil {
		return // it could not be recovered either
	}
	at := func(f ecs.Tick) time.Time {
		return m.Written.Add(-time.Duration(systems.TickTime(0, last-f, game.TickRate)))
	}
	next, stop := iter.Pull2(m.Journal.Seatings())
	defer stop()
	after, change, more := next()
	var seats seatHistory
	began, over := ecs.Tick(0), false
	for t := range m.Journal.Play(world, last) {
		if !over && ctx.Err() != nil {
			if _, err := os.Stat(m.File); err == nil {
				return
			}
			over = true
		}
		for ; more && after < t.Tick; after, change, more = next() {
			seats.add(after, change)
		}
		result := game.Result(world)
		if result != nil && world.Players() != 0 {
			decision := systems.Decision{Tick: t.Tick, Result: result, How: systems.ByReplay, Registered: world.Players(), Replays: 1}
			record := matches.Record{Room: h.Room, Match: h.Match, Game: game.Name, Strategy: h.Strategy, Started: at(began), Ended: at(t.Tick),
				Journal: m.Ended}
			decide(&record, &decision, seats)
			add(record)
		}
		if result != nil {
			began = t.Tick
		}
		runtime.Gosched() // the rooms first
	}
}
