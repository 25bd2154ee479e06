package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/journals"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// decisions records every match that one room decides. The room's goroutine uses it.
type decisions struct {
	results *matches.Recorder
	game    *ecs.Game
	record  matches.Record // without a decision; Started is when the previous one was made
	// previous returns the tick of the last decision of a match before this process continued it, and whether that is known.
	previous func(match uint64) (ecs.Tick, bool)
	resumed  bool     // another process began the match, and this one has made no decision yet
	tick     ecs.Tick // last final tick
	began    ecs.Tick // the tick of the previous decision
	played   strategyHistory
	seats    seatHistory
	waits    ecs.Tick // the last tick with a result, until it is decided; 0: none
}

// voteSeconds is the maximum time for which a result waits for its decision, in seconds.
const voteSeconds = 60

// open reports whether a result waits for its decision.
func (d *decisions) open() bool {
	return d.waits > 0 && d.tick-d.waits < ecs.Tick(voteSeconds*d.game.TickRate)
}

// continues sets the strategies of a match that another process began.
func (d *decisions) continues(j *record.Record) {
	d.record.Strategy, d.played = j.Header().Strategy, historyOf(j)
}

func (d *decisions) sink(from *room.Resume) room.Sink {
	if from != nil {
		d.resumed, d.tick = true, from.World.Tick()
		for _, s := range from.Seats {
			d.seats.add(0, s)
		}
	}
	return room.Sink{
		Tick: func(f systems.FinalTick) {
			d.tick = f.Tick
			d.played.add(f.Tick, f.Orders)
			if w := f.World; w != nil && w.Tick() == f.Tick && d.game.Result != nil && d.game.Result(w) != nil {
				d.waits = f.Tick
			}
		},
		Seat: func(s record.Seat) { d.seats.add(d.tick, s) },
		Decision: func(decision systems.Decision) {
			if decision.Tick >= d.waits {
				d.waits = 0
			}
			now := time.Now()
			if d.resumed {
				d.resumed = false
				if began, ok := d.previous(d.record.Match); ok && began < decision.Tick {
					d.record.Started, d.began = now.Add(-systems.TickTime(0, decision.Tick-began, d.game.TickRate)), began
				}
			}
			if decision.Registered != 0 { // there was a player
				r := d.record
				r.Ended = now
				r.Strategies = d.played.in(r.Strategy, d.began, decision.Tick)
				r.Strategy = r.Strategies[0]
				decide(&r, &decision, d.seats)
				d.results.Add(r)
			}
			d.record.Started, d.began = now, decision.Tick
		},
	}
}

func decide(r *matches.Record, decision *systems.Decision, seats seatHistory) {
	r.Tick, r.Result, r.Verdict, r.Replays = uint64(decision.Tick), string(decision.Result), decision.How.String(), decision.Replays
	for p := range decision.Registered.All() {
		holder := seats.at(p, decision.Tick)
		line := matches.Player{Seat: int(p), Client: holder.Client, Name: holder.Name, Dissented: decision.Dissented.Has(p),
			Silent: decision.Silent.Has(p), Doubled: decision.Doubled.Has(p)}
		if decision.Voted.Has(p) && int(p) < len(decision.Votes) {
			line.Vote = decision.Votes[p].Hex()
		}
		r.Players = append(r.Players, line)
	}
}

// strategyHistory contains the changes of a room's strategy, oldest first.
type strategyHistory []strategyChange

type strategyChange struct {
	after ecs.Tick // the first tick of the strategy follows it
	name  string
}

// historyOf returns the changes in a journal.
func historyOf(j *record.Record) (h strategyHistory) {
	for since, strategy := range j.Switches(j.Last().Tick) {
		h = append(h, strategyChange{since, strategy})
	}
	return h
}

func (h *strategyHistory) add(f ecs.Tick, orders []image.Order) {
	for i := range orders {
		if name, ok := orders[i].Strategy(); ok {
			*h = append(*h, strategyChange{f, name})
		}
	}
}

// in returns the strategies of the ticks after began up to last, in their order. first is that of the room's first tick.
func (h strategyHistory) in(first string, began, last ecs.Tick) []string {
	names := []string{first}
	for _, c := range h {
		switch {
		case c.after >= last:
		case c.after <= began:
			names[0] = c.name
		default:
			names = append(names, c.name)
		}
	}
	return names
}

// seatHistory contains the holders of each seat of a room, by seat number, oldest first. When a match is decided, its
// players may have left and others may hold their seats.
type seatHistory [][]heldSeat

type heldSeat struct {
	since ecs.Tick // the last tick before the seat was taken
	record.Seat
}

const holdersKept = 16 // how many holders of one seat are kept

// add records that a seat was taken after a tick. It ignores a seat that became free: its last holder was the player.
func (h *seatHistory) add(after ecs.Tick, s record.Seat) {
	if !s.Held {
		return
	}
	for len(*h) <= int(s.Player) {
		*h = append(*h, nil)
	}
	list := &(*h)[s.Player]
	if len(*list) == holdersKept {
		*list = slices.Delete(*list, 0, 1)
	}
	*list = append(*list, heldSeat{after, s})
}

// at returns the holder of a seat in a tick, or the last one before. A holder is in the match after the tick in which the
// seat was taken.
func (h seatHistory) at(p ecs.Player, f ecs.Tick) (s record.Seat) {
	if int(p) >= len(h) {
		return s
	}
	for i, held := range h[p] {
		if i == 0 || held.since < f {
			s = held.Seat
		}
	}
	return s
}

// keepResults opens the file of matches and the stream of a cluster, if the config has them.
func (h *Host) keepResults() (err error) {
	c := &h.config
	if c.Matches != "" {
		if h.Results, h.endResults, err = keepMatches(h.app, c.Matches, c.Journals != nil && len(c.Journals.Waiting()) > 0); err != nil {
			return err
		}
	}
	if c.Stream == nil {
		return nil
	}
	report, lost := unrecorded(h.app, "the cluster")
	stream := matches.NewStreamRecorder(c.Stream, report, lost)
	if h.Results != nil {
		h.Results.And(stream) // endResults closes both
		return nil
	}
	h.Results, h.endResults = stream, stream.Close
	return nil
}

// unrecorded returns functions that show the failures of a recorder. Each record that it cannot store is printed.
func unrecorded(a *app.App, file string) (report func(error), lost func(matches.Record)) {
	return func(err error) {
			a.Logf("%v; the matches continue, and each result that is not recorded is printed here", err)
			a.Emit("matches_failed", app.Fields{"file": file, "error": err.Error()})
		}, func(m matches.Record) {
			text, _ := json.Marshal(m)
			a.Logf("not recorded: %s", app.Printable(string(text)))
			a.Emit("unrecorded", app.FieldsOf(m))
		}
}

// keepMatches opens a file of matches. The first error is reported, and each record that cannot be stored is printed; matches
// continue. A damaged file is such an error. If matches were recovered, so is any other file, except one that another process has
// open. end stores the records that wait and closes the file. It does not fail for a file whose damage was reported.
func keepMatches(a *app.App, path string, recovered bool) (r *matches.Recorder, end func() error, err error) {
	store, err := matches.Open(path)
	info, missing := os.Stat(path)
	damaged := missing == nil && info.Mode().IsRegular() && (errors.Is(err, matches.ErrForeign) || errors.Is(err, matches.ErrDamaged))
	switch {
	case errors.Is(err, matches.ErrLocked):
		return nil, nil, fmt.Errorf("%w: does another server run with it? Stop it or choose another --matches", err)
	case err != nil && (damaged || recovered):
		store = matches.Unusable(path, err)
	case err != nil:
		return nil, nil, fmt.Errorf("matches cannot be recorded: %w; choose another --matches", err)
	}
	report, lost := unrecorded(a, path)
	r = matches.NewRecorder(store, report, lost)
	return r, func() (err error) {
		switch err = r.Close(); {
		case err != nil && store.Damaged():
			a.Logf("%v", err)
			err = nil
		case err != nil:
			err = fmt.Errorf("%w: free space on the disk or choose another --matches", err)
		}
		return errors.Join(err, store.Close())
	}, nil
}

// adjudicate replays recovered matches on a goroutine and records every result. One match is replayed at a time. It calls done when all
// results are recorded, but not if the host stops before.
func (h *Host) adjudicate(recovered []journals.Match, done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Results == nil || h.app.Game.Result == nil || len(recovered) == 0 {
		done()
		return
	}
	if h.replaying.Err() != nil {
		return
	}
	h.replays.Go(func() {
		h.replay.Lock()
		defer h.replay.Unlock()
		for i := range recovered {
			m := &recovered[i]
			last := replay(h.replaying, h.app.Game, m, h.decidedBefore(m), func(r matches.Record) {
				h.Results.Add(r)
				_ = h.Results.Wait(h.replaying) // one at a time
			})
			h.mu.Lock()
			h.decided[m.Journal.Header().Match] = last
			h.mu.Unlock()
			recovered[i] = journals.Match{} // a journal may be large
		}
		if h.replaying.Err() == nil {
			done()
		}
	})
}

// lookLimit bounds the search for the record of an earlier result, in the stream of a cluster.
const lookLimit = 5 * time.Second

// decidedBefore returns the tick of the last result of a match before its journal begins, or 0 if there was none. If that cannot be
// known, it returns the tick at which the journal begins.
func (h *Host) decidedBefore(m *journals.Match) ecs.Tick {
	header := m.Journal.Header()
	if header.Start.Tick == 0 || h.config.Stream == nil {
		return header.Start.Tick
	}
	ctx, cancel := context.WithTimeout(h.replaying, lookLimit)
	defer cancel()
	for r, err := range matches.ReadStream(ctx, h.config.Stream, header.Room) {
		switch {
		case err != nil:
			return header.Start.Tick
		case r.Match != header.Match: // of an earlier match
			return 0
		case r.Tick <= uint64(header.Start.Tick):
			return ecs.Tick(r.Tick)
		}
	}
	return 0
}

// decidedLast returns the tick of the last result of a recovered match before it continued, or 0 if there was none. The tick is known
// when the match was replayed.
func (h *Host) decidedLast(match uint64) (last ecs.Tick, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok = h.decided[match]
	return last, ok
}

// replay replays a recovered match from the first state of its journal to the tick where it continues, and records every result. The
// process before may have ended between a result and its record, or during the vote on it. A result that is recorded already is not
// changed. The time of a tick follows from the last write of the journal, which is exact unless the match waited after it. began is
// the tick of the last result before the journal. replay returns the tick of the last result.
//
// When the context is done, a match that is over is replayed to its end. Any other match is left to the next server or start, which
// recovers it again.
func replay(ctx context.Context, game *ecs.Game, m *journals.Match, began ecs.Tick, add func(matches.Record)) ecs.Tick {
	h, last := m.Journal.Header(), m.Journal.Last().Tick
	world, err := m.Journal.WorldAt(h.Start.Tick)
	if err != nil {
		return began // it could not be recovered either
	}
	at := func(f ecs.Tick) time.Time {
		return m.Written.Add(-time.Duration(systems.TickTime(0, last-f, game.TickRate)))
	}
	next, stop := iter.Pull2(m.Journal.Seatings())
	defer stop()
	after, change, more := next()
	var seats seatHistory
	played, over := historyOf(m.Journal), false
	for t := range m.Journal.Play(world, last) {
		if !over && ctx.Err() != nil {
			if _, err := os.Stat(m.File); err == nil || m.Shared {
				return began
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
			record.Strategies = played.in(h.Strategy, began, t.Tick)
			record.Strategy = record.Strategies[0]
			decide(&record, &decision, seats)
			add(record)
		}
		if result != nil {
			began = t.Tick
		}
		runtime.Gosched() // the rooms first
	}
	return began
}
