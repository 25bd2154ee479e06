package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// The history returns the holder of a seat in any recent tick, and keeps a bounded number of holders.
func TestTheSeatHistoryReturnsTheHolderInATick(t *testing.T) {
	var s seatHistory
	held := func(name string) record.Seat { return record.Seat{Player: 1, Held: true, Name: name} }
	s.add(10, held("ann"))
	s.add(200, record.Seat{Player: 1}) // ann left
	s.add(300, held("bob"))
	for f, want := range map[int]string{5: "ann", 11: "ann", 250: "ann", 300: "ann", 301: "bob", 9000: "bob"} {
		if got := s.at(1, ecs.Tick(f)); got.Name != want || !got.Held {
			t.Errorf("in tick %d: %+v, want %s", f, got, want)
		}
	}
	if s.at(0, 50) != (record.Seat{}) || s.at(7, 50) != (record.Seat{}) {
		t.Error("a seat that was never taken has a holder")
	}
	for i := range 100 {
		s.add(ecs.Tick(1000+i), held(fmt.Sprint(i)))
	}
	if got := s.at(1, 1090).Name; got != "89" || len(s[1]) > holdersKept {
		t.Errorf("%q, %d are kept", got, len(s[1]))
	}
}

// A match has the strategies of its ticks: the one with which it began, and those to which an operator switched.
func TestARecordHasTheStrategiesOfItsMatch(t *testing.T) {
	var h strategyHistory
	change := func(f ecs.Tick, name string) {
		h.add(f, []image.Order{{Kind: image.OrderJoin}, {Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, name, nil)}})
	}
	change(100, "lockstep")
	change(150, "predict")
	change(300, "relay")
	for _, c := range []struct {
		began, last ecs.Tick
		want        []string
	}{{0, 100, []string{"relay"}}, {0, 101, []string{"relay", "lockstep"}}, {100, 300, []string{"lockstep", "predict"}}, {120, 310, []string{"lockstep", "predict", "relay"}}, {300, 400, []string{"relay"}}} {
		if got := h.in("relay", c.began, c.last); !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d: %q, want %q", c.began, c.last, got, c.want)
		}
	}
}

// The first decision after a restart has the strategies of the ticks before it, including those before the ticks in the journal. The name
// of the first one is that of the match, not that of this server.
func TestAResumedMatchHasTheStrategiesOfItsPast(t *testing.T) {
	game := crumbs.Game()
	world, err := ecs.NewWorld(game, 1)
	if err != nil {
		t.Fatal(err)
	}
	var state image.Snapshot
	world.Image().Save(&state)
	defer state.Release()
	h := record.HeaderOf(game, 1, "")
	h.Strategy = "relay"
	change := record.Tick{Tick: 1, Orders: []image.Order{{Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, "verify", nil)}}}
	j, err := record.Collect(game, h, []record.Image{record.ImageOf(&state)}, []record.Tick{change})
	if err != nil {
		t.Fatal(err)
	}
	d := decisions{record: matches.Record{Strategy: "lockstep"}}
	d.continues(j)
	if got := d.played.in(d.record.Strategy, 0, 60); !slices.Equal(got, []string{"relay", "verify"}) {
		t.Errorf("%q", got)
	}
}

// stream is a matches.Stream in memory, oldest record first.
type stream struct {
	list []matches.Record
	err  error // of Newest
}

func (s *stream) Add(_ context.Context, _, _ string, text []byte) (bool, error) {
	var r matches.Record
	err := json.Unmarshal(text, &r)
	s.list = append(s.list, r)
	return true, err
}

func (s *stream) Newest(_ context.Context, room string, f func(uint64, []byte) bool) error {
	for i, r := range slices.Backward(s.list) {
		text, err := json.Marshal(r)
		if err != nil || r.Room == room && !f(uint64(i), text) {
			return err
		}
	}
	return s.err
}

// The first result after a restart lasted as long as its ticks since the result before. Others lasted as long as they were played.
func TestTheLengthOfAResumedMatchFollowsFromItsTicks(t *testing.T) {
	for _, c := range []struct {
		resumed, known bool
		want           time.Duration // of the first result
	}{{true, true, 55 * time.Second}, {true, false, 20 * time.Second}, {false, false, 20 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			game, s := crumbs.Game(), &stream{}
			world, err := ecs.NewWorld(game, 1)
			if err != nil {
				t.Fatal(err)
			}
			results := matches.NewStreamRecorder(s, func(err error) { t.Error(err) }, func(matches.Record) {})
			var from *room.Resume
			if c.resumed {
				from = &room.Resume{World: world}
			}
			d := decisions{results: results, game: game, record: matches.Record{Room: "main", Match: 99, Started: time.Now()},
				previous: func(match uint64) (ecs.Tick, bool) { return 120, match == 99 && c.known }}
			sink := d.sink(from)
			time.Sleep(20 * time.Second)
			decision := systems.Decision{Tick: 120 + 55*60, Registered: image.PlayerSet(0).With(0)}
			sink.Decision(decision)
			time.Sleep(7 * time.Second)
			decision.Tick += 60
			sink.Decision(decision)
			if err := results.Close(); err != nil || len(s.list) != 2 {
				t.Fatalf("%v, %+v", err, s.list)
			}
			for i, want := range []time.Duration{c.want, 7 * time.Second} {
				if got := s.list[i].Ended.Sub(s.list[i].Started); got != want {
					t.Errorf("%+v: record %d has a length of %v, want %v", c, i, got, want)
				}
			}
		})
	}
}

// The stream of a cluster has the results of a match before its journal begins.
func TestTheStreamHasTheResultsBeforeAJournal(t *testing.T) {
	game := crumbs.Game()
	whole := recoveredMatch(t, game, 200, "nowhere", time.Now())
	result := func(match, tick uint64) matches.Record { return matches.Record{Room: "main", Match: match, Tick: tick} }
	for name, c := range map[string]struct {
		start  ecs.Tick // of the journal
		stream *stream
		want   ecs.Tick
	}{
		"a result before":               {150, &stream{list: []matches.Record{result(99, 60), result(99, 120), result(99, 240), {Room: "other"}}}, 120},
		"the first result of the match": {150, &stream{list: []matches.Record{result(98, 120)}}, 0},
		"the first result of the room":  {150, &stream{}, 0},
		"the stream does not answer":    {150, &stream{err: errors.New("unreachable")}, 150},
		"no stream":                     {150, nil, 150},
		"a journal from the first tick": {0, &stream{list: []matches.Record{result(99, 120)}}, 0},
	} {
		h, m := &Host{replaying: t.Context()}, whole
		if c.stream != nil {
			h.config.Stream = c.stream
		}
		if c.start > 0 {
			world, err := whole.Journal.WorldAt(c.start)
			if err != nil {
				t.Fatal(err)
			}
			var state image.Snapshot
			world.Image().Save(&state)
			if m.Journal, err = record.Collect(game, whole.Journal.Header(), []record.Image{record.ImageOf(&state)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.decidedBefore(&m); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
