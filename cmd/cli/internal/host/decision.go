package host

import (
	"fmt"
	"time"

	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/net/room"
	"tendon/systems"
)

// decisions records every match that one room decides. The room's goroutine uses it.
type decisions struct {
	host      *Host
	name      string
	strategy  string
	match     uint64
	recording string
	journal   string
	started   time.Time // of the current match: when the previous one was decided
	tick      ecs.Tick  // last final tick
	seats     seatHistory
}

// sink returns a sink for the room. from is the match that the room resumes. Optional.
func (d *decisions) sink(from *room.Resume) room.Sink {
	if from != nil {
		d.tick = from.World.Tick()
		for i, s := range from.Seats {
			d.seats.add(i, 0, s)
		}
	}
	return room.Sink{
		Tick:     func(f systems.FinalTick) { d.tick = f.Tick },
		Seat:     func(number int, s room.Seat) { d.seats.add(number, d.tick, s) },
		Decision: func(what systems.Decision) { d.add(&what) },
	}
}

// add records a decision.
func (d *decisions) add(what *systems.Decision) {
	now := time.Now()
	if what.Registered == 0 {
		d.started = now
		return // there was no player
	}
	record := matches.Record{Room: d.name, Match: d.match, Game: d.host.Game.Name, Strategy: d.strategy, Started: d.started, Ended: now,
		Recording: d.recording, Journal: d.journal}
	decide(&record, what, d.seats)
	d.started = now
	d.host.KeepResult(record)
}

// decide copies a decision into a record.
func decide(r *matches.Record, what *systems.Decision, seats seatHistory) {
	r.Tick, r.Result, r.Verdict, r.Replays = uint64(what.Tick), string(what.Result), what.How.String(), what.Replays
	for p := range what.Registered.All() {
		holder := seats.at(int(p), what.Tick)
		line := matches.Player{Seat: int(p), Client: holder.Client, Name: holder.Name, Dissented: what.Dissented.Has(p),
			Silent: what.Silent.Has(p), Doubled: what.Doubled.Has(p)}
		if what.Voted.Has(p) && int(p) < len(what.Votes) {
			line.Vote = fmt.Sprintf("%016x", uint64(what.Votes[p]))
		}
		r.Players = append(r.Players, line)
	}
}
