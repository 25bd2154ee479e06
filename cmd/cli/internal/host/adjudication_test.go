package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/journals"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// recoveredMatch returns a match of so many ticks, written at a time: see playedMatch.
func recoveredMatch(t *testing.T, game *ecs.Game, ticks ecs.Tick, file string, written time.Time) journals.Match {
	t.Helper()
	h := record.HeaderOf(game, 5, "b")
	h.Room, h.Match, h.Strategy = "main", 99, "lockstep"
	j, err := record.Open(playedMatch(t, game, h, ticks), game)
	if err != nil {
		t.Fatal(err)
	}
	return journals.Match{Journal: j, File: file, Ended: "the end", Written: written}
}

// playedMatch returns the journal of a match of so many ticks. ann and robert play from the second tick on. ann leaves after tick 150;
// cid takes her seat and is in the match from tick 200 on. In tick 120, robert has a view of tick 60.
func playedMatch(t *testing.T, game *ecs.Game, h record.Header, ticks ecs.Tick) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := record.NewWriter(&out, game, h)
	for f := ecs.Tick(1); f <= ticks && err == nil; f++ {
		tick := record.Tick{Tick: f, Inputs: make([]ecs.InputBytes, game.MaxPlayers)}
		tick.Inputs[0][0] = byte(f / 50 % 2)
		seat := func(p ecs.Player, name string) {
			err = w.Seat(record.Seat{Player: p, Client: uint64(len(name)), Name: name, Held: name != ""})
		}
		order := func(k image.OrderKind, p ecs.Player) {
			tick.Orders = append(tick.Orders, image.Order{Kind: k, Player: p})
		}
		switch f {
		case 1:
			seat(0, "ann")
			seat(1, "robert")
		case 2:
			order(image.OrderJoin, 0)
			order(image.OrderJoin, 1)
		case 120:
			tick.Orders = append(tick.Orders, image.Order{Kind: image.OrderView, Player: 1, Payload: image.AppendViewStamp(nil, image.ViewStamp{Tick: 60})})
		case 151:
			seat(0, "")
			order(image.OrderLeave, 0)
		case 160:
			seat(0, "cid")
		case 200:
			order(image.OrderJoin, 0)
		}
		if err == nil {
			err = w.Tick(tick)
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// replayAll replays matches as a server without a stream does.
func replayAll(ctx context.Context, game *ecs.Game, list []journals.Match, add func(matches.Record)) {
	for i := range list {
		replay(ctx, game, &list[i], list[i].Journal.Header().Start.Tick, add)
	}
}

// The record of an adjudication equals that of the room: tick, result, players, and the holders of their seats at that tick.
func TestAnAdjudicationRecordsEveryResultWithItsPlayers(t *testing.T) {
	game, written := crumbs.Game(), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var found []matches.Record
	replayAll(t.Context(), game, []journals.Match{recoveredMatch(t, game, 300, "nowhere", written)}, func(m matches.Record) { found = append(found, m) })
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	for i, m := range found {
		end, names := uint64(120*(i+1)), []string{"ann", "robert"}
		if i == 1 {
			names[0] = "cid"
		}
		if m.Room != "main" || m.Match != 99 || m.Strategy != "lockstep" || m.Game != "crumbs" || m.Tick != end || m.Verdict != "replay" || m.Replays != 1 ||
			m.Result != []string{"round 1", "round 2"}[i] || m.Journal != "the end" || len(m.Players) != 2 ||
			!m.Ended.Equal(written.Add(-time.Duration(300-end)*time.Second/60)) || m.Ended.Sub(m.Started) != 2*time.Second {
			t.Errorf("%+v", m)
		}
		for p, name := range names {
			if got := m.Players[p]; got.Seat != p || got.Name != name || got.Client != uint64(len(name)) || got.Silent || got.Vote != "" {
				t.Errorf("tick %d: %+v, want %s", end, got, name)
			}
		}
	}
}

// An adjudication applies lag compensation as the server did. Otherwise it would record another result.
func TestAnAdjudicationLooksBackAsTheServerDid(t *testing.T) {
	game, where := crumbs.Game(), func(look func(e ecs.Entity) (crumbs.Body, bool), w *ecs.World) (at fixed.Num) {
		for e := range crumbs.Walkers.All(w) {
			if body, ok := look(e.Entity()); ok && e.B.Player == 0 {
				at = body.Pos.X
			}
		}
		return at
	}
	var seen, is fixed.Num
	game.Systems = append(game.Systems, ecs.System{Name: "look", Run: func(w *ecs.World) {
		if v, ok := w.Image().ViewOf(1); ok && v.Tick == 60 {
			seen = where(func(e ecs.Entity) (crumbs.Body, bool) { return crumbs.Bodies.Seen(w, 1, e) }, w)
			is = where(func(e ecs.Entity) (crumbs.Body, bool) { return crumbs.Bodies.Read(w, e) }, w)
		}
	}})
	replayAll(t.Context(), game, []journals.Match{recoveredMatch(t, game, 130, "nowhere", time.Now())}, func(matches.Record) {})
	if seen <= 0 || seen >= is {
		t.Errorf("player 1 saw player 0 at %v, whose place was %v then", seen, is)
	}
}

// A journal that begins with a later state, as in a cluster, has the results from there on.
func TestAJournalThatBeginsLaterIsAdjudicatedFromThere(t *testing.T) {
	game, written := crumbs.Game(), time.Now()
	m := recoveredMatch(t, game, 300, "nowhere", written)
	world, err := m.Journal.WorldAt(150)
	if err != nil {
		t.Fatal(err)
	}
	var state image.Snapshot
	world.Image().Save(&state)
	var ticks []record.Tick
	for tick := range m.Journal.Ticks(151, 300) {
		next := *tick
		next.Inputs, next.Orders = slices.Clone(tick.Inputs), slices.Clone(tick.Orders)
		ticks = append(ticks, next)
	}
	h := m.Journal.Header()
	if m.Journal, err = record.Collect(game, h, []record.Image{record.ImageOf(&state)}, ticks); err != nil {
		t.Fatal(err)
	}
	var found []matches.Record
	replayAll(t.Context(), game, []journals.Match{m}, func(m matches.Record) { found = append(found, m) })
	if len(found) != 1 || found[0].Tick != 240 || found[0].Result != "round 2" || !found[0].Started.Equal(written.Add(-150*time.Second/60)) {
		t.Errorf("%+v", found)
	}
}

// A server that stops leaves a match to the next start if that recovers it again, and replays the others.
func TestAnAdjudicationThatIsStoppedReplaysOnlyEndedMatches(t *testing.T) {
	game, waits := crumbs.Game(), filepath.Join(t.TempDir(), "main.journal")
	if err := os.WriteFile(waits, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var ticks []uint64
	left := []journals.Match{recoveredMatch(t, game, 300, waits, time.Now()), recoveredMatch(t, game, 130, "nowhere", time.Now())}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	replayAll(stopped, game, left, func(m matches.Record) { ticks = append(ticks, m.Tick) })
	if !slices.Equal(ticks, []uint64{120}) {
		t.Errorf("results of ticks %d", ticks)
	}
}
