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
	tick      ecs.Tick  // the last one
	seats     seating
}

// hang has the room tell of its decisions and of who plays. Whoever was told before still is.
func (d *decisions) hang(c *room.Config) {
	if c.Resume != nil {
		d.tick = c.Resume.World.Tick()
		for i, s := range c.Resume.Seats {
			d.seats.take(i, 0, s)
		}
	}
	taken, seated := c.Taken, c.Seated
	c.Taken = func(f systems.FinalTick) {
		d.tick = f.Tick
		if taken != nil {
			taken(f)
		}
	}
	c.Seated = func(number int, s room.Seat) {
		d.seats.take(number, d.tick, s)
		if seated != nil {
			seated(number, s)
		}
	}
	c.Decided = func(_ *room.Room, what systems.Decision) { d.take(&what) }
}

// take is told of a decision.
func (d *decisions) take(what *systems.Decision) {
	now := time.Now()
	if what.Registered == 0 {
		d.started = now
		return // nobody played
	}
	record := matches.Record{Room: d.name, Match: d.match, Game: d.host.game.Name, Strategy: d.strategy, Started: d.started, Ended: now,
		Recording: d.recording, Journal: d.journal}
	decide(&record, what, d.seats)
	d.started = now
	d.host.record(record)
}

// decide writes a decision into a record.
func decide(r *matches.Record, what *systems.Decision, seats seating) {
	r.Tick, r.Result, r.Verdict, r.Replays = uint64(what.Tick), string(what.Result), what.How.String(), what.Replays
	for p := range what.Registered.All() {
		who := seats.at(int(p), what.Tick)
		line := matches.Player{Seat: int(p), Client: who.Client, Name: who.Name, Dissented: what.Dissented.Has(p),
			Silent: what.Silent.Has(p), Doubled: what.Doubled.Has(p)}
		if what.Voted.Has(p) && int(p) < len(what.Votes) {
			line.Vote = fmt.Sprintf("%016x", uint64(what.Votes[p]))
		}
		r.Players = append(r.Players, line)
	}
}
