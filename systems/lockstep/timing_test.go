package lockstep_test

import (
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
)

// The vectors run at 60 Hz, with times in whole nanoseconds. Frame f ends at ⌊f·10⁹/60⌋ ns. A client whose first sync
// comes 10 ms later has a grid of the same times plus 10 ms.
const way = 10 * ms

// stage seats three clients whose frames fall on the very moments at which syncs come. Players only press.
func stage(t testing.TB, config lockstep.Config) *rig { return stageAt(t, config, 60) }

// stageAt is stage with displays of another rate, which must be a multiple of 60 Hz.
func stageAt(t testing.TB, config lockstep.Config, hz int) *rig {
	r := newRig(t, newGame(0), config, 14)
	for s := range 3 {
		r.seated(options{path: link(way, way), seat: s, epoch: way, hz: hz})
	}
	return r
}

// pressAt lets a client change its input at a moment of its display.
func (c *client) pressAt(t simnet.Time) {
	c.play = func(c *client, _ int) pad {
		if c.rig.Net.Now() >= t {
			return pad{Held: 7}
		}
		return pad{}
	}
}

// stampOf returns the first frame in which a player's input has Held, 0 if none has.
func (r *rig) stampOf(p ecs.Player) ecs.Tick {
	for f := 1; f < len(r.frames); f++ {
		if padInput.Unpack(r.frames[f].in[p]).Held != 0 {
			return ecs.Tick(f)
		}
	}
	return 0
}

// late makes what the server sends to a client in [from, to) take 40 ms more.
func (r *rig) late(c *client, from, to simnet.Time) {
	slow := link(c.peer.Path.Up.Delay, c.peer.Path.Down.Delay+40*ms)
	for _, change := range []struct {
		at   simnet.Time
		path simnet.Profile
	}{{from, slow}, {to, c.peer.Path}} {
		r.Net.At(change.at, func() {
			if err := r.Net.SetProfile(c.peer.Node, r.Node, change.path); err != nil {
				r.T.Error(err)
			}
		})
	}
}

func onBoth(t *testing.T, id string, config lockstep.Config, f func(t *testing.T, config lockstep.Config)) {
	for _, reliable := range []bool{false, true} {
		name := "U"
		if config.Reliable = reliable; reliable {
			name = "R"
		}
		t.Run(id+"/"+name, func(t *testing.T) { f(t, config) })
	}
}

// LS-02, LS-03: the table of LS-SYNC5 and LS-OP7, row by row.
func TestLS02LS03TheArticlesExampleToTheNanosecond(t *testing.T) {
	onBoth(t, "LS-SYNC5 LS-OP7", lockstep.Article(), func(t *testing.T, config lockstep.Config) { articleExample(t, config, 60) })
	t.Run("LS-SYNC5 LS-OP7/U/600 Hz", func(t *testing.T) { articleExample(t, lockstep.Article(), 600) })
}

func articleExample(t *testing.T, config lockstep.Config, hz int) {
	r := stageAt(t, config, hz)
	r.clients[1].pressAt(at(5) + way)
	sent, reached := map[ecs.Tick]simnet.Time{}, simnet.Time(0)
	r.onSend = func(c *client, _ systems.Channel, m []byte) {
		if s, _, ok := readSync(m); ok && c.peer.ID == 0 {
			sent[s] = r.Net.Now()
		}
	}
	r.onUp = func(c *client, _ systems.Channel, m []byte) {
		if m[0] == kindOps && opsIn(m) > 0 && reached == 0 {
			reached = r.Net.Now()
			if f := r.Server.Done() + 1; f != 7 {
				t.Errorf("103.33: the op meets frame %d", f)
			}
		}
	}
	got, held := map[ecs.Tick]simnet.Time{}, map[systems.Peer]simnet.Time{}
	for _, c := range r.clients {
		c.onHear = func(_ systems.Channel, m []byte) {
			if s, _, ok := readSync(m); ok && c.peer.ID == 0 {
				got[s] = r.Net.Now()
			}
			if m[0] == kindStamped && m[1] == 7 {
				held[c.peer.ID] = r.Net.Now()
			}
		}
	}
	r.Net.RunUntil(at(5) + way - 1)
	for _, c := range r.clients {
		if s := c.Stats(); s.Present != 0 || s.Stalls != 0 || c.Live() {
			t.Errorf("before its first sync, client %d is not paused: %+v", c.peer.ID, s)
		}
	}
	r.Net.RunUntil(at(10) + way - 1)
	for _, c := range r.clients {
		if c.Stats().Present != 5 {
			t.Errorf("176.67: client %d is at c = %d", c.peer.ID, c.Stats().Present)
		}
	}
	r.Net.RunUntil(500 * ms)
	is := func(what string, got, want simnet.Time) {
		t.Helper()
		if got != want {
			t.Errorf("%s at %v, want %v", what, got, want)
		}
	}
	is("Sync(5) sent", sent[5], 83333333)
	is("Sync(5) there", got[5], 93333333)
	is("op at the server", reached, 103333333)
	is("Sync(10) sent", sent[10], 166666666)
	is("Sync(10) there", got[10], 176666666)
	if f := r.stampOf(1); f != 7 {
		t.Errorf("stamped %d, want 7", f)
	}
	for _, c := range r.clients {
		is(fmt.Sprint("frame 1 of client ", c.peer.ID), c.ran[1], 93333333)
		is(fmt.Sprint("op@7 held by client ", c.peer.ID), held[c.peer.ID], 113333333)
		is(fmt.Sprint("frame 6 of client ", c.peer.ID), c.ran[6], 176666666)
		is(fmt.Sprint("frame 7 of client ", c.peer.ID), c.ran[7], 193333333)
		is(fmt.Sprint("press to effect at client ", c.peer.ID), c.ran[7]-c.ran[1], 100*ms)
		if s := c.Stats(); s.Stalls != 0 || c.lost != 0 {
			t.Errorf("client %d stalled: %+v", c.peer.ID, s)
		}
	}
	for s := ecs.Tick(1); s <= 25; s++ {
		if _, ok := sent[s]; ok != (s%5 == 0) {
			t.Errorf("Sync(%d): %v", s, ok)
		}
	}
}

// opsIn returns how many operations an operations message carries.
func opsIn(m []byte) int {
	i := 5 // kind, received
	for m[i] >= 128 {
		i++
	}
	return int(m[i+1+1+1+2])
}

// LS-04, LS-DELAY40 in article mode: one sync that is 40 ms late costs one stall of 3 ticks. The next late sync arrives
// within the slack that was learned.
func TestLS04ALateSyncCostsOneStallAndTheNextNone(t *testing.T) {
	onBoth(t, "LS-DELAY40", lockstep.Article(), func(t *testing.T, config lockstep.Config) {
		for _, again := range []bool{false, true} {
			r := stageAt(t, config, 600) // a display that would show a frame sooner, if its time were there
			c := r.clients[0]
			r.late(c, 160*ms, 225*ms) // and so is what the timer of the channel would send again
			want := simnet.Time(260 * ms)
			if again {
				r.late(c, 245*ms, 305*ms)
				want = 300 * ms
			}
			got := map[ecs.Tick]simnet.Time{}
			c.onHear = func(_ systems.Channel, m []byte) {
				if s, _, ok := readSync(m); ok {
					got[s] = r.Net.Now()
				}
			}
			r.Net.RunUntil(200 * ms)
			if _, current, _, alpha := c.View(systems.Time(r.Net.LocalNow(c.peer.Node))); current.Tick() != 5 || alpha < 0.999 {
				t.Errorf("while it waits it shows frame %d and %v of the next", current.Tick(), alpha)
			}
			r.Net.RunUntil(time.Second)
			if got[10] != 216666666 || got[15] != want {
				t.Fatalf("Sync(10) came at %v, Sync(15) at %v, want %v", got[10], got[15], want)
			}
			if len(c.stalls) != 1 {
				t.Fatalf("stalls: %+v", c.stalls)
			}
			if s, want := c.stalls[0], (stall{c: 5, since: 176666666, until: 226666666, ticks: 3, why: systems.StallSync}); s != want {
				t.Errorf("stall %+v, want %+v", s, want)
			}
			if c.ran[6] != 226666666 || c.ran[11] != 310*ms || c.lost != 3 {
				t.Errorf("frame 6 at %v, frame 11 at %v, %d ticks lost", c.ran[6], c.ran[11], c.lost)
			}
			for _, o := range r.clients[1:] {
				if o.lost != 0 || o.ran[6] != 176666666 {
					t.Errorf("client %d stalled too: %+v", o.peer.ID, o.stalls)
				}
			}
			if slack := c.lags[len(c.lags)-1].lag - c.lags[0].lag; slack != 50*ms {
				t.Errorf("the slack that was learned is %v", slack)
			}
		}
	})
}

// LS-04 with catching up: the slack is gone within 2 s.
func TestLS04SlackDecaysWithin2s(t *testing.T) {
	for _, v := range []lockstep.Config{{Interval: 5, Margin: lockstep.NoMargin}, {Interval: 2, Margin: 3}, {Interval: 1, Margin: 1}} {
		onBoth(t, fmt.Sprintf("LS-04/N=%d,M=%d", v.Interval, max(v.Margin, 0)), v, func(t *testing.T, config lockstep.Config) {
			r := stage(t, config)
			c := r.clients[0]
			cut := 3*time.Second + 5*ms
			r.Net.Partition(c.peer.Node, r.Node, cut, cut+160*ms) // longer than any margin here
			r.Net.RunUntil(cut)
			before := percentile(c.lagValues()[60:], 1)
			c.forget()
			r.Net.RunUntil(cut + 500*ms)
			if len(c.stalls) != 1 || c.stalls[0].ticks < 3 {
				t.Fatalf("stalls: %+v", c.stalls)
			}
			end := c.stalls[0].until
			if peak := percentile(c.lagValues(), 1); peak < before+2*time.Second/60 {
				t.Fatalf("the run proves nothing: lag %v, after the stall %v", before, peak)
			}
			r.Net.RunUntil(end + 2*time.Second)
			c.forget()
			r.Net.RunUntil(end + 4*time.Second)
			if after := percentile(c.lagValues(), 1); after > before+time.Second/60+time.Microsecond { // a display shows no part of a tick
				t.Errorf("lag was %v and is %v two seconds after the stall", before, after)
			}
			if c.lost > 0 {
				t.Errorf("it stalls again: %+v", c.stalls)
			}
		})
	}
}

// LS-05: with N = 1 every sync counts: whichever is 40 ms late, the client stalls at its frame.
func TestLS05WithN1EveryLateSyncStalls(t *testing.T) {
	for _, late := range []ecs.Tick{2, 7, 8, 31, 60} {
		onBoth(t, fmt.Sprintf("LS-05/N=1/sync %d", late), lockstep.Config{Interval: 1, Margin: lockstep.NoMargin, NoCatchUp: true}, func(t *testing.T, config lockstep.Config) {
			r := stage(t, config)
			c := r.clients[0]
			// All that follow within 40 ms are late too, or they would bring it.
			r.late(c, at(late)-ms, at(late)+39*ms)
			r.Net.RunUntil(2 * time.Second)
			if len(c.stalls) != 1 || c.stalls[0].c != late-1 || c.stalls[0].since != at(late)+way || c.stalls[0].ticks != 3 {
				t.Errorf("stalls %+v", c.stalls)
			}
			if r.clients[1].lost > 0 {
				t.Error("another stalled")
			}
		})
	}
}

// LS-05: a sync in a datagram repeats the frames that are not acknowledged. So with N = 1 a single late one costs no
// more than the time to the next.
func TestLS05TheNextSyncRepeatsALateOne(t *testing.T) {
	r := stage(t, lockstep.Config{Interval: 1, Margin: lockstep.NoMargin, NoCatchUp: true})
	c := r.clients[0]
	r.Net.Script(r.Node, c.peer.Node, simnet.Rule{Delay: 40 * ms, Match: func(_ simnet.Channel, m []byte) bool {
		s, _, ok := readSync(m[1:])
		return ok && s == 30
	}})
	r.Net.RunUntil(2 * time.Second)
	if len(c.stalls) != 1 || c.stalls[0].c != 29 || c.stalls[0].ticks != 1 {
		t.Errorf("stalls %+v", c.stalls)
	}
}

// LS-05: with N = 5 nothing but a sync is waited for. An operation that comes by itself may be late until its frame is
// announced; then the frame is blocked until it is there.
func TestLS05WithN5OnlySyncsAreWaitedFor(t *testing.T) {
	for _, v := range []struct {
		delay time.Duration
		stall int // ticks
	}{{40 * ms, 0}, {63 * ms, 0}, {90 * ms, 1}, {200 * ms, 8}} {
		t.Run(fmt.Sprintf("LS-05/N=5/U/%v", v.delay), func(t *testing.T) {
			r := stage(t, lockstep.Article())
			r.clients[1].pressAt(at(5) + way)
			c := r.clients[0]
			r.Net.Script(r.Node, c.peer.Node, simnet.Rule{Delay: v.delay, Count: 9, Match: func(_ simnet.Channel, m []byte) bool { return m[1] == kindStamped && m[2] == 7 }})
			// When its timer would have the channel bring it again, that fails.
			r.Net.Cut(r.Node, c.peer.Node, 162*ms, 165*ms)
			r.Net.Cut(r.Node, c.peer.Node, 252*ms, 258*ms)
			hold := simnet.Time(0)
			c.onHear = func(_ systems.Channel, m []byte) {
				if m[0] == kindStamped && m[1] == 7 && hold == 0 {
					hold = r.Net.Now()
				}
			}
			r.Net.RunUntil(time.Second)
			if hold != 113333333+v.delay {
				t.Fatalf("op@7 came at %v", hold)
			}
			if c.lost != v.stall {
				t.Errorf("%d ticks stalled, want %d: %+v", c.lost, v.stall, c.stalls)
			}
			if v.stall > 0 && (len(c.stalls) != 1 || c.stalls[0].c != 6 || c.stalls[0].why != systems.StallMissing) {
				t.Errorf("stalls %+v", c.stalls)
			}
			if r.stampOf(1) != 7 || c.ran[7] == 0 {
				t.Error("frame 7 lacks the op")
			}
		})
	}
}

// LS-N1: the effect of a press is there two frames later, and any late packet stalls.
func TestLSN1TheEffectIsThereTwoFramesLater(t *testing.T) {
	onBoth(t, "LS-N1", lockstep.Config{Interval: 1, Margin: lockstep.NoMargin, NoCatchUp: true}, func(t *testing.T, config lockstep.Config) {
		r := stage(t, config)
		r.clients[1].pressAt(at(1) + way)
		r.late(r.clients[0], at(20)-ms, at(22)+ms)
		r.Net.RunUntil(time.Second)
		if f := r.stampOf(1); f != 3 {
			t.Errorf("stamped %d, want 3", f)
		}
		for _, c := range r.clients {
			if first, effect := c.ran[1], c.ran[3]; first != 26666666 || effect != 60*ms {
				t.Errorf("client %d: press at %v, effect at %v", c.peer.ID, first, effect)
			}
		}
		if c := r.clients[0]; len(c.stalls) != 1 || c.stalls[0].c != 19 || c.stalls[0].ticks != 3 {
			t.Errorf("stalls %+v", c.stalls)
		}
		if r.clients[1].lost+r.clients[2].lost > 0 {
			t.Error("others stalled")
		}
	})
}

// LS-13, LS-BOUNDARY: what is delivered in the very moment in which Sync(10) is due is in it; a nanosecond later it is
// stamped 11.
func TestLS13AnOperationInTheMomentOfASyncIsInIt(t *testing.T) {
	onBoth(t, "LS-13 LS-BOUNDARY", lockstep.Article(), func(t *testing.T, config lockstep.Config) {
		for _, v := range []struct {
			arrives simnet.Time
			stamped ecs.Tick
		}{{at(10) - 1, 10}, {at(10), 10}, {at(10) + 1, 11}, {at(11), 11}, {at(11) + 1, 12}} {
			r, reached := delivered(t, config, v.arrives)
			if reached != v.arrives {
				t.Fatalf("delivered at %v, want %v", reached, v.arrives)
			}
			if f := r.stampOf(1); f != v.stamped {
				t.Errorf("delivered at %v: stamped %d, want %d", v.arrives, f, v.stamped)
			}
		}
	})
}

// delivered lets the second client press so that its operation is delivered at a given time, in [160, 250] ms.
func delivered(t *testing.T, config lockstep.Config, arrives simnet.Time) (r *rig, reached simnet.Time) {
	r = stage(t, config)
	c := r.clients[1]
	press := at(8) + way
	if press != 143333333 {
		t.Fatal(press)
	}
	c.pressAt(press)
	slow := link(arrives-press, way)
	r.Net.At(press, func() {
		if err := r.Net.SetProfile(c.peer.Node, r.Node, slow); err != nil {
			t.Error(err)
		}
	})
	r.onUp = func(from *client, _ systems.Channel, m []byte) {
		if from == c && r.Net.Now() > press && m[0] == kindOps && opsIn(m) > 0 && reached == 0 { // before, it says what it holds to begin with
			reached = r.Net.Now()
			if stamp := r.Server.Done() + 1; stamp <= r.promised {
				t.Errorf("stamped %d after Sync(%d)", stamp, r.promised)
			}
		}
	}
	r.Net.RunUntil(500 * ms)
	return r, reached
}

// LS-13: whenever an operation comes, it is stamped with the frame that is running, in whose sync it is.
func TestLS13AnOperationIsStampedWithTheRunningFrame(t *testing.T) {
	notUnderRace(t)
	rand := image.NewRand(13)
	for i := range 60 {
		for _, config := range []lockstep.Config{lockstep.Article(), {Interval: 2, Reliable: i%2 == 0}, {Interval: 1, Eager: true}, {Interval: 3, Eager: true}} {
			arrives := 160*ms + simnet.Time(rand.IntN(int(90*ms)))
			if i%3 == 0 { // around the end of a frame
				arrives = at(10+ecs.Tick(rand.IntN(5))) + simnet.Time(rand.IntN(3)-1)
			}
			r, reached := delivered(t, config, arrives)
			want := ecs.Tick(1)
			for at(want) < reached {
				want++
			}
			if f := r.stampOf(1); f != want || reached != arrives {
				t.Errorf("delivered at %v: stamped %d, want %d", reached, f, want)
			}
		}
	}
}
