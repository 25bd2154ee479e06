package rollback

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// eventSchema has the events of the tests: a hit, whose strength may differ, and another.
var eventSchema = &image.Schema{Events: []*image.Declaration{image.DeclareEvent[hit]("hit", image.Reversible), image.DeclareEvent[[5]byte]("death", image.Irreversible)}}

type hit struct {
	By    uint64
	Speed fixed.Num
}

func drained(e *Effects, present ecs.Tick) string {
	text := ""
	e.Drain(present, func(n ecs.Effect) {
		first := ""
		if n.First {
			first = " first"
		}
		text += fmt.Sprintf("%d:%s %s%s age %d; ", n.Event.Key.Tick, n.Event.Value, [...]string{"predicted", "confirmed", "cancelled"}[n.Status], first, n.Age)
	})
	return text
}

// wantDrained returns a function that fails the test unless these effects wait.
func wantDrained(t *testing.T, e *Effects) func(present ecs.Tick, text string) {
	return func(present ecs.Tick, text string) {
		t.Helper()
		if got := drained(e, present); got != text {
			t.Fatalf("%q, want %q", got, text)
		}
	}
}

func event(f ecs.Tick, ordinal uint16, value string, irreversible bool) image.EmittedEvent {
	return image.EmittedEvent{Key: image.EventKey{Tick: f, Ordinal: ordinal}, Value: []byte(value), Irreversible: irreversible}
}

func death(f ecs.Tick) image.EmittedEvent {
	d := event(f, 0, "death", true)
	d.Key.Type = 1
	return d
}

// RB-13. An effect carries its age, so that a view that drains late starts a sound at the right offset.
func TestEachEventStartsOnceAndEndsOnce(t *testing.T) {
	e := NewEffects(eventSchema, 8, 0)
	want := wantDrained(t, e)
	e.Predicted(5, []image.EmittedEvent{event(5, 0, "bang", false), event(5, 1, "boom", false), death(5)})
	want(7, "5:bang predicted first age 2; 5:boom predicted first age 2; ")
	// The same event again is not reported, even with another value.
	e.Predicted(5, []image.EmittedEvent{event(5, 0, "BANG", false), event(5, 2, "late", false), death(5)})
	want(9, "5:boom cancelled age 4; 5:late predicted first age 4; ")
	e.settleAsPredicted(5)
	want(9, "5:BANG confirmed age 4; 5:late confirmed age 4; 5:death confirmed first age 4; ")
	// Tick 13 has the same slot as tick 5.
	e.Predicted(13, nil)
	e.settleAsPredicted(5)
	want(13, "")
	e.Confirm(event(13, 0, "late", false))
	want(14, "13:late confirmed first age 1; ")
	if predicted, cancelled := e.Counts(); predicted != 3 || cancelled != 1 {
		t.Errorf("%d events predicted, %d cancelled, want 3 and 1", predicted, cancelled)
	}
}

// A view that never drains must not fill the memory.
func TestEffectsThatAreNotDrainedAreBounded(t *testing.T) {
	e := NewEffects(eventSchema, 8, 0)
	for f := ecs.Tick(1); f <= 3*maxEffects; f++ {
		e.Predicted(f, []image.EmittedEvent{event(f, 0, "x", false)})
	}
	count := 0
	e.Drain(0, func(ecs.Effect) { count++ })
	if count > maxEffects || count == 0 {
		t.Fatal(count)
	}
	e.Predicted(9, []image.EmittedEvent{event(9, 0, "x", false)})
	e.Begin(0)
	if drained(e, 9) != "" {
		t.Fatal("effects survive Begin")
	}
}

// Each event is reported once, whether it is predicted or settled first. A predicted event that is not settled is
// cancelled.
func TestSettleConfirmsAndCancelsPredictedEvents(t *testing.T) {
	e := NewEffects(eventSchema, 8, 0)
	want := wantDrained(t, e)
	list := func(events ...image.EmittedEvent) []image.EmittedEvent { return events }
	e.Begin(4)
	e.Predicted(4, list(event(4, 0, "old", false))) // settled by the state that was loaded
	e.Predicted(5, list(event(5, 0, "wrong", false)))
	e.Predicted(6, list(event(6, 0, "bang", false), death(6)))
	want(9, "5:wrong predicted first age 4; 6:bang predicted first age 3; ")
	// Tick 5 had no events. An event that was not predicted is reported for the first time.
	e.Settle(6, list(event(6, 0, "BANG", false), event(6, 1, "far", false), death(6)))
	want(9, "5:wrong cancelled age 4; 6:BANG confirmed age 3; 6:far confirmed first age 3; 6:death confirmed first age 3; ")
	// A settled tick does not change.
	e.Settle(6, nil)
	e.Predicted(6, list(event(6, 0, "bang", false), event(6, 2, "more", false)))
	want(9, "")
	e.Predicted(8, list(event(8, 0, "ghost", false)))
	e.Settle(9, nil)
	want(9, "8:ghost predicted first age 1; 8:ghost cancelled age 1; ")
	// Settling a tick far ahead costs no more than the depth.
	e.Predicted(10, list(event(10, 0, "lost", false)))
	e.Settle(1<<40, nil)
	want(9, "10:lost predicted first age 0; 10:lost cancelled age 0; ")
}

// Settling a tick that is no longer stored leaves newer ticks as they are. Each of them is settled once later.
func TestLateSettleLeavesNewerTicksAlone(t *testing.T) {
	e := NewEffects(eventSchema, 4, 0)
	want := wantDrained(t, e)
	for f := ecs.Tick(1); f <= 6; f++ {
		e.Predicted(f, []image.EmittedEvent{event(f, 0, "bang", false)})
	}
	drained(e, 6)
	e.Settle(2, nil)
	want(6, "")
	e.Settle(6, []image.EmittedEvent{event(6, 0, "bang", false)})
	want(6, "3:bang cancelled age 3; 4:bang cancelled age 2; 5:bang cancelled age 1; 6:bang confirmed age 0; ")
}

// strike is a hit of entity 7 by a player, with a speed that may differ.
func strike(f ecs.Tick, by byte, speed int) image.EmittedEvent {
	value := binary.LittleEndian.AppendUint64([]byte{by, 0, 0, 0, 0, 0, 0, 0}, uint64(fixed.FromInt(speed)))
	return image.EmittedEvent{Key: image.EventKey{Tick: f, Entity: ecs.Entity{Row: 7}}, Value: value}
}

// text returns the effects that wait: tick, the player, status and ID.
func (e *Effects) text(present ecs.Tick) (text string) {
	e.Drain(present, func(n ecs.Effect) {
		text += fmt.Sprintf("%d by %d %v #%d; ", n.Event.Key.Tick, n.Event.Value[0], n.Status, n.ID&0xff)
	})
	return text
}

// A correction that moves an event to another tick neither cancels nor repeats it. That holds in both directions, and wherever
// the client learns it: from a resimulation or from the final events.
func TestACorrectionMovesAnEvent(t *testing.T) {
	at := func(f ecs.Tick) []image.EmittedEvent { return []image.EmittedEvent{strike(f, 1, int(f))} }
	for name, c := range map[string]struct {
		correct func(*Effects)
		want    string
	}{
		"later, resimulated":   {func(e *Effects) { e.Predicted(10, nil); e.Predicted(13, at(13)) }, ""},
		"earlier, resimulated": {func(e *Effects) { e.Predicted(8, at(8)); e.Predicted(10, nil) }, ""},
		"to and fro": {func(e *Effects) {
			e.Predicted(8, at(8))
			e.Predicted(10, nil)
			e.Predicted(8, nil)
			e.Predicted(9, at(9))
		}, ""},
		"later, final":                {func(e *Effects) { e.Settle(12, at(12)) }, "12 by 1 confirmed #1; "},
		"earlier, final":              {func(e *Effects) { e.Settle(7, at(7)); e.Predicted(10, nil) }, "7 by 1 confirmed #1; "},
		"too late":                    {func(e *Effects) { e.Predicted(10, nil); e.Predicted(19, at(19)) }, "10 by 1 cancelled #1; 19 by 1 predicted #2; "},
		"another player's":            {func(e *Effects) { e.Predicted(10, nil); e.Predicted(11, []image.EmittedEvent{strike(11, 2, 3)}) }, "10 by 1 cancelled #1; 11 by 2 predicted #2; "},
		"two instead of one":          {func(e *Effects) { e.Predicted(9, at(9)); e.Predicted(10, nil); e.Predicted(11, at(11)) }, "11 by 1 predicted #3; "},
		"gone, and back in the frame": {func(e *Effects) { e.Predicted(10, nil); e.Predicted(10, at(10)) }, ""},
	} {
		e := NewEffects(eventSchema, 32, 0)
		e.Predicted(10, at(10))
		if got := e.text(12); got != "10 by 1 predicted #1; " {
			t.Fatal(got)
		}
		c.correct(e)
		if got := e.text(20); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// Far moves add up: the distance counts from the tick that was reported.
	e := NewEffects(eventSchema, 64, 0)
	e.Predicted(10, at(10))
	e.text(10)
	for f := ecs.Tick(10); f < 25; f += 5 {
		e.Predicted(f, nil)
		e.Predicted(f+5, at(f+5))
		want := ""
		if f == 15 {
			want = "15 by 1 cancelled #1; 20 by 1 predicted #2; "
		}
		if got := e.text(f); got != want {
			t.Errorf("from %d: %q, want %q", f, got, want)
		}
	}
	e.settleAsPredicted(25)
	if got := e.text(25); got != "25 by 1 confirmed #2; " {
		t.Error(got)
	}
	if predicted, cancelled := e.Counts(); predicted != 2 || cancelled != 1 {
		t.Errorf("%d predicted, %d cancelled", predicted, cancelled)
	}
}

// In random corrections, every event that happened is confirmed once, and every effect belongs to an event that starts once and
// ends once. That holds for a client that simulates all ticks, and for one that receives the final events.
func TestMovedEventsStartOnceAndEndOnce(t *testing.T) {
	moved := 0
	for seed := range uint64(200) {
		r, e, simulates := newRand(seed), NewEffects(eventSchema, 64, 0), seed%2 == 0
		random := func(f ecs.Tick) (list []image.EmittedEvent) {
			for by := range byte(2) {
				if r.IntN(6) == 0 {
					one := strike(f, by, r.IntN(9))
					one.Key.Ordinal = uint16(by)
					list = append(list, one)
				}
			}
			return list
		}
		open, confirmed, happened := map[uint64]ecs.Effect{}, map[image.EventKey]bool{}, 0
		settled := ecs.Tick(0)
		for present := ecs.Tick(10); present < 100; present++ {
			for f := settled + 1 + ecs.Tick(r.IntN(12)); f <= present; f++ {
				e.Predicted(f, random(f))
			}
			for settled+4 < present && r.IntN(4) > 0 {
				settled++
				final := random(settled)
				if simulates {
					e.Predicted(settled, final)
					e.settleAsPredicted(settled)
				} else {
					e.Settle(settled, final)
				}
				happened += len(final)
			}
			if r.IntN(3) == 0 {
				continue // no frame
			}
			e.Drain(present, func(n ecs.Effect) {
				was, known := open[n.ID]
				if n.First == known || known && (was.Status != ecs.EffectPredicted || !eventSchema.SameEvent(&was.Event, &n.Event)) {
					t.Fatalf("seed %d: %+v after %+v", seed, n, was)
				}
				if known && was.Event.Key.Tick != n.Event.Key.Tick {
					moved++
				}
				if n.Status == ecs.EffectConfirmed {
					if confirmed[n.Event.Key] {
						t.Fatalf("seed %d: %+v is confirmed twice", seed, n.Event.Key)
					}
					confirmed[n.Event.Key] = true
				}
				n.Event.Value = slices.Clone(n.Event.Value)
				open[n.ID] = n
			})
		}
		e.Settle(200, nil)
		e.Drain(200, func(n ecs.Effect) {
			if confirmed[n.Event.Key] = true; n.Status != ecs.EffectConfirmed {
				delete(confirmed, n.Event.Key)
			}
			open[n.ID] = n
		})
		for _, n := range open {
			if n.Status == ecs.EffectPredicted {
				t.Errorf("seed %d: %+v is neither confirmed nor cancelled", seed, n.Event.Key)
			}
		}
		if len(confirmed) != happened {
			t.Errorf("seed %d: %d events confirmed, %d happened", seed, len(confirmed), happened)
		}
	}
	if moved < 1000 {
		t.Errorf("%d events moved: the test shows nothing", moved)
	}
}

// An event that only its player predicts is reported to all others when it is final.
func TestAnOwnEventIsPredictedForItsPlayerOnly(t *testing.T) {
	schema := &image.Schema{Events: []*image.Declaration{image.DeclareEvent[hit]("hit", image.Own)}}
	for seat, want := range map[int]string{
		0:  "5 by 0 predicted #1; 5 by 0 confirmed #1; 5 by 1 confirmed #2; ",
		1:  "5 by 1 predicted #1; 5 by 0 confirmed #2; 5 by 1 confirmed #1; ",
		-1: "5 by 0 confirmed #1; 5 by 1 confirmed #2; ",
	} {
		e := NewEffects(schema, 8, seat)
		list := []image.EmittedEvent{strike(5, 0, 1), strike(5, 1, 1)}
		list[0].Key.Entity.Row, list[1].Key.Entity.Row = 1<<20, 2<<20
		e.Predicted(5, list)
		e.settleAsPredicted(5)
		if got := e.text(5); got != want {
			t.Errorf("seat %d: %q, want %q", seat, got, want)
		}
	}
}
