package cli

import (
	"fmt"
	"time"

	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/net/room"
	"tendon/systems"
)

// decisions makes a record of every match that one room decides. It belongs to the room's goroutine.
type decisions struct {
	host      *host
	name      string
	strategy  string
	match     uint64
	recording string
	journal   string
	started   time.Time // of the match under way: when the one before was decided
}

// take is told of a decision.
func (d *decisions) take(r *room.Room, what systems.Decision) {
	now := time.Now()
	if what.Registered == 0 {
		d.started = now
		return // nobody played
	}
	record := matches.Record{Room: d.name, Match: d.match, Game: d.host.game.Name, Strategy: d.strategy, Started: d.started, Ended: now,
		Tick: uint64(what.Tick), Result: string(what.Result), Verdict: what.How.String(), Replays: what.Replays,
		Recording: d.recording, Journal: d.journal}
	for p := range what.Registered.All() {
		record.Players = append(record.Players, recordOf(r, p, &what))
	}
	d.started = now
	d.host.record(record)
}

// recordOf is what a record says of one player.
func recordOf(r *room.Room, p ecs.Player, what *systems.Decision) matches.Player {
	seat := r.SeatAt(int(p))
	line := matches.Player{Seat: int(p), Client: seat.Client, Name: seat.Name, Dissented: what.Dissented.Has(p),
		Silent: what.Silent.Has(p), Doubled: what.Doubled.Has(p)}
	if what.Voted.Has(p) && int(p) < len(what.Votes) {
		line.Vote = fmt.Sprintf("%016x", uint64(what.Votes[p]))
	}
	return line
}
