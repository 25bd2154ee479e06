package broadcast

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/rollback"
	"tendon/rollback/record"
)

// audience is a viewer in virtual time.
type audience struct {
	*Viewer
	now  time.Duration
	next time.Duration
	err  error // of Fetch
}

func watch(g *ecs.Game, from Source) *audience {
	return &audience{Viewer: must(NewViewer(g, from, 1, 0))}
}

// until makes the requests that are due up to a time.
func (a *audience) until(at time.Duration) {
	for a.err == nil && a.next <= at {
		a.now = max(a.now, a.next)
		a.next, a.err = a.Fetch(context.Background(), func() time.Duration { return a.now })
		a.next = max(a.next, a.now+1)
	}
	a.now = at
}

// steps simulates every tick that was received.
func (a *audience) steps(t *testing.T) {
	t.Helper()
	for {
		stepped, err := a.Step()
		if err != nil {
			t.Fatal(err)
		}
		if !stepped {
			return
		}
	}
}

// A viewer joins in the middle with the last fragment but one. It computes every tick of the match from there to the end.
func TestAViewerVerifiesEveryTick(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 1, to, 0)
	m.play(6*fragmentTicks + 7)
	to.await(6 * fragmentTicks)
	v := watch(game(), to)
	v.until(time.Second / 10)
	v.steps(t)
	m.play(30)
	m.writer.Close(true)()
	v.until(20 * time.Second)
	v.steps(t)
	s := v.Stats()
	if last := m.world.Tick(); s.Tick != last || s.Verified != uint64(last-4*fragmentTicks) || s.Jumps != 0 || !s.Over || v.err != nil {
		t.Errorf("tick %d, %d verified, %d jumps, over: %v, %v; want tick %d", s.Tick, s.Verified, s.Jumps, s.Over, v.err, last)
	}
	if !slices.Equal(v.names, []string{"player 1", "player 2", "player 3"}) {
		t.Errorf("the names of players who joined before: %q", v.names)
	}
	if fulls := strings.Count(strings.Join(to.asked, " "), ".full"); fulls != 1 {
		t.Errorf("%d states were loaded, want 1: %q", fulls, to.asked)
	}
}

// Views of players look back before the first state of a viewer. The file with the state has the states that they see.
func TestAViewerInTheMiddleHasThePastThatViewsSee(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 2, to, 0)
	m.views = true
	m.play(5 * fragmentTicks)
	m.writer.Close(true)()
	v := watch(game(), to)
	v.until(20 * time.Second)
	v.steps(t)
	if s := v.Stats(); s.Verified != 2*fragmentTicks || s.Jumps != 0 || v.past == nil {
		t.Errorf("%d ticks verified, %d jumps", s.Verified, s.Jumps)
	}
}

// The first tick that differs is named.
func TestTheFirstTickThatDiffersIsNamed(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 3, to, 0)
	m.play(4 * fragmentTicks)
	m.writer.Close(true)()
	other := gameOf(2)
	world := must(ecs.NewWorld(other, 3))
	r := must(openTicks(to.files["run-1/120.ticks"], other, 120))
	if err := must(openFull(to.files["run-1/120.full"], other, 120))[0].LoadImage(world, 120); err != nil {
		t.Fatal(err)
	}
	want := ecs.Tick(0)
	for tick := range r.Ticks(121, 180) {
		if world.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders}); want == 0 {
			var s image.Snapshot
			if world.Image().Save(&s); s.Checksum() != tick.Checksum {
				want = tick.Tick
			}
		}
	}
	v := watch(other, to)
	v.until(20 * time.Second)
	for {
		stepped, err := v.Step()
		var report *rollback.DesyncReport
		if errors.As(err, &report) && errors.Is(err, ErrDiverged) && want > 0 && report.Tick == want && len(report.Inputs) == 3 {
			return
		}
		if err != nil || !stepped {
			t.Fatalf("%v, want tick %d", err, want)
		}
	}
}

// No fragment is visible before the delay has passed since its last tick, and each is visible then.
func TestAFragmentIsVisibleAfterTheDelay(t *testing.T) {
	for _, over := range []bool{false, true} {
		to := newMemory()
		const delay = 95
		var m *match
		now := ecs.Tick(0)
		to.put = func(name string) error { // under the lock of to
			for f := ecs.Tick(0); f < 10*fragmentTicks; f += fragmentTicks {
				if strings.Contains(name, fmt.Sprintf("/%d.", f)) && f+fragmentTicks+delay > now && !over {
					t.Errorf("%s is written in tick %d", name, now)
				}
			}
			return nil
		}
		m = newMatch(t, 4, to, delay)
		for range 5 * fragmentTicks {
			to.mu.Lock()
			now++
			to.mu.Unlock()
			m.play(1)
			visible := (now - min(now, delay)) / fragmentTicks
			if hidden := ecs.Tick(len(m.writer.hidden)); hidden != now/fragmentTicks-visible {
				t.Fatalf("tick %d: %d fragments are hidden, want all but %d", now, hidden, visible)
			}
			to.await(visible * fragmentTicks)
		}
		m.writer.Close(over)()
		want := ecs.Tick(3 * fragmentTicks)
		if over {
			want = 5 * fragmentTicks
		}
		if x := to.index(); x.Last != want || x.Over != over {
			t.Errorf("over %v: the index ends with tick %d, over: %v, want %d", over, x.Last, x.Over, want)
		}
	}
}

// A tick costs the room no allocation. Fragments and states allocate when they begin.
func TestATickOfTheRoomAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	to := newMemory()
	m := newMatch(t, 7, to, 0)
	m.play(fragmentTicks + 2) // the state of the fragment is copied
	to.await(fragmentTicks)
	ticks, at := make([]rollback.FinalTick, 40), 0
	for i := range ticks {
		ticks[i] = m.step()
		ticks[i].Inputs = slices.Clone(ticks[i].Inputs)
	}
	if n := testing.AllocsPerRun(30, func() {
		s, _ := m.past.At(ticks[at].Tick)
		m.writer.Tick(ticks[at], s, m.world)
		at++
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	m.writer.Close(true)()
}

// Any byte that is changed, and any end that is missing, is found before a tick of the file is used. The only exception is the version
// of a record: the one before is read in the same way.
func TestEveryChangedByteIsFound(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 8, to, 0)
	m.views = true
	m.play(2 * fragmentTicks)
	m.writer.Close(true)()
	g := game()
	for name, open := range map[string]func([]byte) error{
		"run-1/60.full":  func(b []byte) error { _, err := openFull(b, g, 60); return err },
		"run-1/60.ticks": func(b []byte) error { _, err := openTicks(b, g, 60); return err },
	} {
		whole := to.files[name]
		if err := open(whole); err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			one := slices.Clone(whole)
			one[i] ^= 1 << (i % 8)
			older := bytes.HasSuffix(whole[:i], []byte("TENDONRD")) && one[i] == whole[i]-1
			if (open(one) == nil) != older {
				t.Errorf("%s: byte %d of %d may be changed", name, i, len(whole))
			}
			if open(whole[:i]) == nil {
				t.Errorf("%s: %d of %d bytes suffice", name, i, len(whole))
			}
		}
		if open(append(slices.Clone(whole), 0)) == nil {
			t.Errorf("%s: it may be longer", name)
		}
	}
	if _, err := openTicks(to.files["run-1/0.ticks"], g, 60); !errors.Is(err, ErrDamaged) {
		t.Errorf("the ticks of another fragment: %v", err)
	}
}

// An address without a broadcast is an error, and so is another game. A server that does not answer is asked again, ever less often.
func TestErrorsOfTheFirstRequest(t *testing.T) {
	v := watch(game(), newMemory())
	if v.until(time.Minute); !errors.Is(v.err, ErrNone) {
		t.Error(v.err)
	}
	to := newMemory()
	newMatch(t, 1, to, 0).writer.Close(false)()
	other := game()
	other.Name = "other"
	if v = watch(other, to); v.err == nil {
		v.until(time.Minute)
	}
	if !errors.Is(v.err, record.ErrOther) || !strings.Contains(v.err.Error(), `"range" at 20`) {
		t.Error(v.err)
	}
	down := &broken{}
	v = watch(game(), down)
	if v.until(time.Hour); v.err != errDown || down.asked != joinTries+1 {
		t.Errorf("%v after %d requests", v.err, down.asked)
	}
}

var errDown = errors.New("connection refused")

type broken struct{ asked int }

func (b *broken) Get(context.Context, string, int) ([]byte, error) { b.asked++; return nil, errDown }

// The view of a viewer moves at the tick rate of the game, waits for fragments, and passes each event once.
func TestShowFollowsTheClock(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 10, to, 0)
	m.play(4 * fragmentTicks)
	m.writer.Close(true)()
	v := watch(game(), to)
	if view, err := v.Show(0, nil); view != nil || err != nil {
		t.Fatalf("%v, %v before the first state", view, err)
	}
	v.until(time.Second / 10)
	events := map[image.EventKey]bool{}
	show := func(now time.Duration) *ecs.View {
		view, err := v.Show(now, func(_ *ecs.View, e ecs.Effect) {
			if events[e.Event.Key] || e.Status != ecs.EffectConfirmed || !e.First {
				t.Errorf("effect %+v", e)
			}
			events[e.Event.Key] = true
		})
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	if view := show(time.Second); view.Tick != 2*fragmentTicks+1 || view.Roster[0].Name != "player 1" || view.Seat != -1 {
		t.Errorf("tick %d first, %+v", view.Tick, view.Roster)
	}
	if view := show(1225 * time.Millisecond); view.Tick != 2*fragmentTicks+5 || view.Alpha < 0.49 || view.Alpha > 0.51 {
		t.Errorf("tick %d and %v after 4.5 ticks", view.Tick, view.Alpha)
	}
	for now := time.Second; now < 20*time.Second; now += 100 * time.Millisecond {
		v.until(now)
		show(now)
	}
	if s := v.Stats(); s.Tick != m.world.Tick() || !s.Over || len(events) == 0 {
		t.Errorf("tick %d of %d, %d events", s.Tick, m.world.Tick(), len(events))
	}
}

// A file has the states of a second at most, so that a server cannot make a viewer load thousands of them.
func TestAFileHasFewStates(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 12, to, 0)
	m.back, m.views = 40, true
	m.play(2 * fragmentTicks)
	m.writer.Close(true)()
	g := game()
	list := must(openFull(to.files["run-1/60.full"], g, 60))
	if len(list) != g.TickRate+1 {
		t.Errorf("%d states, want %d", len(list), g.TickRate+1)
	}
	g.TickRate = 19 // the header names the rate
	if _, err := openFull(to.files["run-1/60.full"], g, 60); err == nil {
		t.Error("a file of another rate is accepted")
	}
	g = game()
	many := slices.Clone(to.files["run-1/0.full"])
	for range g.TickRate + 1 {
		many = append(many, to.files["run-1/0.full"]...)
	}
	if _, err := openFull(many, g, 0); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}
