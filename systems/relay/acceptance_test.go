package relay

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/simnet"
	"tendon/systems"
)

const ms = time.Millisecond

// between puts frames half way between two ticks of the server. It adds some nanoseconds, since neither grid falls on whole
// ones: a message that arrives in the moment of a frame comes before it.
const between = 8333340 * time.Nanosecond

func round(name string, rtt time.Duration) simnet.Profile {
	return simnet.Symmetric(name, name, simnet.Path{Delay: rtt / 2})
}

// pressing presses fire in the frames that are asked for, and holds still otherwise.
func pressing(frames ...int) func(*player, int) pad {
	return func(_ *player, f int) pad {
		for _, want := range frames {
			if f == want {
				return pad{Throw: true}
			}
		}
		return pad{}
	}
}

// arrival notes where a client stands when the input set of a tick arrives.
func arrival(p *player, f ecs.Tick, present *ecs.Tick) {
	p.onNews = func(p *player, received ecs.Tick) {
		if received >= f && *present == 0 {
			*present = p.timeline.Present()
		}
	}
}

// RB-03: what is predicted right is never simulated again.
func TestNoInputChangeNoRollback(t *testing.T) {
	for _, name := range []string{"P3", "P5"} {
		m := newMatch(t, testGame(), 3)
		for s := range 4 {
			m.join(profile(t, name), simnet.Clock{}, systems.ClientConfig{Seat: s}, 60, idle)
		}
		m.Net.RunUntil(3 * time.Second)
		before := [4]uint64{}
		for i, c := range m.clients {
			before[i] = c.Stats().Rollbacks
		}
		m.Net.RunUntil(8 * time.Second)
		for i, c := range m.clients {
			if n := c.Stats().Rollbacks - before[i]; n != 0 || c.checked < 300 {
				t.Errorf("%s: client %d: %d rollbacks, %d ticks compared", name, i, n, c.checked)
			}
		}
	}
}

// RB-04: one press costs every other client one rollback to the tick of the press, and the pressing client none. Vectors
// GGPO-4F and NR-10 are the same with a latency between two players of 4 and 10 ticks. Through a relay, that is half a round
// trip, one tick of margin and half a round trip.
func TestOnePressCostsOneRollbackOfTheWayBetween(t *testing.T) {
	for _, v := range []struct {
		id            string
		rtt           time.Duration // a whole number of ticks, at which a frame stands between two ticks of the server
		delay, window int
		depth         int // 0: whatever it is
	}{
		{"RB-04", 250 * ms, 0, 30, 16},
		{"RB-02 GGPO-4F", 50 * ms, 1, 30, 3},
		{"NR-10", 150 * ms, 3, 7, 7},
	} {
		t.Run(v.id, func(t *testing.T) {
			m := newMatch(t, testGame(), 4)
			m.phase = between
			config := systems.ClientConfig{InputDelay: v.delay, MaxPrediction: v.window}
			m.join(round(v.id, v.rtt), simnet.Clock{}, config, 60, pressing(300, 340, 380))
			config.Seat = 1
			m.join(round(v.id, v.rtt), simnet.Clock{}, config, 60, idle)
			m.Net.RunUntil(4 * time.Second)
			a, b := m.clients[0], m.clients[1]
			start, own, stalls := b.Stats(), a.Stats(), b.Stats().Stalls
			depths := []int{}
			b.onFrame = func(p *player, before, _ ecs.Tick) {
				if s := b.Stats(); s.Rollbacks > start.Rollbacks {
					depths = append(depths, int(s.Resimulated-start.Resimulated))
					start = s
				}
			}
			var press, at ecs.Tick
			a.onFrame = func(p *player, _, _ ecs.Tick) {
				if p.peer.Frames == 301 {
					press = p.line.Inputs.Sampled()
					arrival(b, press, &at)
				}
			}
			m.Net.RunUntil(9 * time.Second)
			if len(depths) != 3 {
				t.Fatalf("%d rollbacks for 3 presses: %v", len(depths), depths)
			}
			if depths[0] != int(at-press)+1 || v.depth != 0 && depths[0] != v.depth {
				t.Errorf("depth %d, want %d; pressed in tick %d, at %d when it came", depths[0], v.depth, press, at)
			}
			for _, d := range depths {
				if d != depths[0] {
					t.Errorf("depths %v", depths)
				}
			}
			if n := a.Stats().Rollbacks - own.Rollbacks; n != 0 {
				t.Errorf("who pressed rolled back %d times", n)
			}
			if b.Stats().Stalls != stalls || b.Stats().InputDelay != v.delay {
				t.Errorf("stalls %d, delay %d", b.Stats().Stalls-stalls, b.Stats().InputDelay)
			}
			m.compare(b)
		})
	}
}

// NR-10: one tick more on the way is beyond delay and window, and stretches the delay.
func TestOneTickMoreThanDelayAndWindowStretchesTheDelay(t *testing.T) {
	m := newMatch(t, testGame(), 10)
	m.phase = between
	c := m.join(round("11", 11*time.Second/60-time.Second/60), simnet.Clock{}, systems.ClientConfig{InputDelay: 3, MaxPrediction: 7}, 60, idle)
	m.Net.RunUntil(4 * time.Second)
	if s := c.Stats(); s.InputDelay <= 3 && s.Stalls == 0 {
		t.Fatalf("%+v", s)
	}
}

// RB-05: an own input is only rolled back where the server says that it used another.
func TestOwnInputsAreOnlyCorrectedWhereTheServerAlteredThem(t *testing.T) {
	for _, name := range []string{"P3", "P5"} {
		m := newMatch(t, testGame(), 5)
		for s := range 2 {
			play := idle
			if s == 0 {
				walk := wander(5)
				play = func(p *player, f int) pad {
					now := walk(p, f)
					now.Throw = f%3 == 0 // so that presses are late, too
					return now
				}
			}
			m.join(profile(t, name), simnet.Clock{}, systems.ClientConfig{Seat: s}, 60, play)
		}
		m.Net.RunUntil(2 * time.Second)
		a := m.clients[0]
		start, sent := a.Stats(), map[ecs.Tick]ecs.InputBytes{}
		a.onFrame = func(p *player, _, _ ecs.Tick) {
			for f := p.timeline.Received() + 1; f <= p.line.Inputs.Sampled(); f++ {
				sent[f] = p.line.Inputs.At(f)
			}
		}
		m.Net.RunUntil(14 * time.Second)
		end := a.Stats()
		wrong, altered := end.Corrections-start.Corrections, end.Substituted-start.Substituted
		if wrong > altered || altered == 0 {
			t.Errorf("%s: %d own inputs were corrected, the server altered %d", name, wrong, altered)
		}
		for f, in := range sent {
			if used, known := m.Tick(f); known && used.Inputs[0] != in && !used.Late.Has(0) {
				t.Errorf("%s: tick %d: sent %+v, used %+v, and not marked", name, f, padInput.Unpack(in), padInput.Unpack(used.Inputs[0]))
			}
		}
		m.wantSound(500)
	}
}

// RB-06: at 250 ms an own input shows in the frame in which it was made, W is in 15 … 18, and nothing stalls.
func TestAQuarterSecondOfRoundTripIsHidden(t *testing.T) {
	if race.Enabled {
		t.Skip("the same figures, slowly")
	}
	m := several(t, 2, profile(t, "P4"), 6, systems.ClientConfig{})
	shown := 0
	for _, c := range m.clients {
		c.onFrame = func(p *player, before, after ecs.Tick) {
			if !p.Live() || after <= before {
				return
			}
			in, _ := p.timeline.InputAt(after, ecs.Player(p.Config.Seat))
			if got := padInput.Unpack(in); got.DX != p.lastIn.DX || got.DY != p.lastIn.DY || after == before+1 && got.Throw != p.lastIn.Throw {
				t.Fatalf("client %d, tick %d: shows %+v, plays %+v", p.peer.ID, after, got, p.lastIn)
			}
			shown++
		}
	}
	m.Net.RunUntil(2 * time.Second)
	for _, c := range m.clients {
		c.ws = nil
	}
	m.Net.RunUntil(14 * time.Second)
	for _, c := range m.clients {
		if lo, hi := -percentile(negative(c.ws), 1), percentile(c.ws, 1); lo < 15 || hi > 18 || c.Stats().Stalls != 0 || c.Stats().InputDelay != 0 {
			t.Errorf("client %d: W in %d … %d, %+v", c.peer.ID, lo, hi, c.Stats())
		}
	}
	if shown < 1300 {
		t.Error(shown)
	}
	m.wantSound(500)
}

func negative(values []int) []int {
	n := make([]int, len(values))
	for i, v := range values {
		n[i] = -v
	}
	return n
}

// RB-07: a window that is too small for the connection is never exceeded; the delay grows instead.
func TestTheDelayRisesWhereTheWindowIsTooSmall(t *testing.T) {
	m := four(t, profile(t, "P4"), 7, systems.ClientConfig{MaxPrediction: 8})
	for _, c := range m.clients {
		c.onFrame = func(p *player, _, after ecs.Tick) {
			if w := int(after) - int(p.timeline.Confirmed()); w > 8 {
				t.Fatalf("client %d: W %d", p.peer.ID, w)
			}
		}
	}
	m.Net.RunUntil(10 * time.Second)
	for _, c := range m.clients {
		if s := c.Stats(); s.InputDelay < 9 || s.InputDelay > 11 {
			t.Errorf("client %d: delay %d, %d stalls", c.peer.ID, s.InputDelay, s.Stalls)
		}
		if st := m.server.PeerStats(c.peer.ID); st.Substituted > 40 {
			t.Errorf("client %d: inputs do not arrive in time any more: %+v", c.peer.ID, st)
		}
	}
	m.log()
	m.wantSound(400)
}

// RB-07, over time: where a connection becomes so slow that the window does not hide it, the delay follows within seconds,
// and nothing stalls from then on.
func TestTheDelayFollowsAConnectionThatBecomesSlow(t *testing.T) {
	m := newMatch(t, testGame(), 7)
	c := m.join(round("50", 50*ms), simnet.Clock{}, systems.ClientConfig{}, 60, wander(3))
	m.Net.RunUntil(4 * time.Second)
	if s := c.Stats(); s.InputDelay != 0 || s.Stalls > 0 {
		t.Fatalf("before: %+v", s)
	}
	if err := m.Net.SetProfile(c.peer.Node, m.Node, round("900", 900*ms)); err != nil {
		t.Fatal(err)
	}
	m.Net.RunUntil(14 * time.Second)
	stalls := c.Stats().Stalls
	m.Net.RunUntil(18 * time.Second)
	if s := c.Stats(); s.InputDelay < 25 || stalls == 0 || s.Stalls != stalls || s.Episodes == 0 || s.Episodes > stalls || s.Stalled != systems.NotStalled {
		t.Errorf("delay %d, %d stalls until it followed and %d since, %d episodes, stalled: %v", s.InputDelay, stalls, s.Stalls-stalls, s.Episodes, s.Stalled)
	}
}

// RB-08: an outage of 250 ms costs at most one stall, and what was missed is confirmed 300 ms and a round trip later.
func TestAnOutageOfAQuarterSecondIsCaughtUpAtOnce(t *testing.T) {
	path := profile(t, "P8")
	path.Up.Burst, path.Down.Burst = simnet.Burst{}, simnet.Burst{}
	m := several(t, 2, path, 8, systems.ClientConfig{})
	for _, c := range m.clients {
		m.Net.Partition(c.peer.Node, m.Node, 10*time.Second, 10*time.Second+250*ms)
	}
	m.Net.RunUntil(9900 * ms)
	for _, c := range m.clients {
		c.episodes = 0
	}
	m.Net.RunUntil(10*time.Second + 240*ms)
	for _, c := range m.clients {
		if lag := m.server.World().Tick() - c.timeline.Confirmed(); lag < 15 {
			t.Errorf("the outage of client %d was none: %d behind", c.peer.ID, lag)
		}
	}
	m.Net.RunUntil(10*time.Second + 250*ms + 300*ms + 150*ms)
	for _, c := range m.clients {
		if lag := m.server.World().Tick() - c.timeline.Confirmed(); lag > 4+5 || c.episodes > 1 { // 75 ms and jitter are always on the way
			t.Errorf("client %d is %d ticks behind after %d stalls", c.peer.ID, lag, c.episodes)
		}
	}
	m.Net.RunUntil(15 * time.Second)
	for _, c := range m.clients {
		if c.episodes > 1 {
			t.Errorf("client %d: %d stalls", c.peer.ID, c.episodes)
		}
	}
	m.wantSound(500)
}

// An outage of 5 s does not change the input delay: within a second it is what it was. That is so on a connection that needs
// delay, and on one that needs none.
func TestAnOutageDoesNotChangeTheDelay(t *testing.T) {
	for name, window := range map[string]int{"P4": 8, "P2": 0} {
		m := several(t, 2, profile(t, name), 9, systems.ClientConfig{MaxPrediction: window})
		m.Net.RunUntil(10 * time.Second)
		c := m.clients[0]
		before := c.Stats().InputDelay
		m.Net.Partition(c.peer.Node, m.Node, 10*time.Second, 15*time.Second)
		for at := 10 * time.Second; at <= 20*time.Second; at += 100 * ms {
			m.Net.RunUntil(at)
			if d := c.Stats().InputDelay; (at <= 15*time.Second || at >= 16*time.Second) && d != before {
				t.Fatalf("%s at %v: delay %d, want %d", name, at, d, before)
			}
		}
		if !c.Live() {
			t.Errorf("%s: the client did not continue", name)
		}
	}
}

// RB-09: on a machine where a step takes 0.9 ticks of time, deep rollbacks make slow frames and slow frames deep
// rollbacks. It must not run away: what cannot be predicted is played when it is confirmed.
func TestASlowClientDoesNotRunAway(t *testing.T) {
	if race.Enabled {
		t.Skip("the same figures, slowly")
	}
	for _, cost := range []float64{0.05, 0.2, 0.4, 0.9} {
		m := newMatch(t, testGame(), 9)
		slow := m.join(profile(t, "P4"), simnet.Clock{}, systems.ClientConfig{Seat: 0}, 60, wander(1))
		m.join(profile(t, "P4"), simnet.Clock{}, systems.ClientConfig{Seat: 1}, 60, wander(2))
		slow.cost = cost
		deepest, since, longest := 0, simnet.Time(0), simnet.Time(0)
		slow.onFrame = func(p *player, _, after ecs.Tick) {
			w := int(after) - int(p.timeline.Confirmed())
			deepest = max(deepest, w)
			if w < 30 {
				since = m.Net.Now()
			}
			longest = max(longest, m.Net.Now()-since)
		}
		m.Net.RunUntil(12 * time.Second)
		behind := int(m.server.World().Tick()) - int(slow.timeline.Confirmed())
		s := slow.Stats()
		t.Logf("cost %v: W at most %d, at the limit for at most %v, confirmed %d behind, present %d, rollbacks %d, stalls %d, substituted %d", cost, deepest, longest, behind,
			int(m.server.World().Tick())-int(s.Present), s.Rollbacks, s.Stalls, s.Substituted)
		if longest > 5*time.Second || behind > 60 {
			t.Errorf("cost %v: at the limit for %v, %d ticks behind", cost, longest, behind)
		}
		m.wantSound(400)
		if other := m.clients[1].Stats(); other.Stalls > 0 || other.Confirmed+12 < m.server.World().Tick() {
			t.Errorf("cost %v: the other suffers: %+v", cost, other)
		}
	}
}

// RELAY-250: the vector, to the nanosecond. A frame of the client stands half way between two ticks of the server.
func TestARoundTripOfAQuarterSecondTakesSixteenTicks(t *testing.T) {
	m := newMatch(t, testGame(), 250)
	m.phase = between
	c := m.join(profile(t, "P4"), simnet.Clock{}, systems.ClientConfig{}, 60, idle)
	var made, used, back simnet.Time
	var f ecs.Tick
	var before, after int
	c.onFrame = func(p *player, _, now ecs.Tick) {
		if p.peer.Frames == 300 {
			made, f = m.Net.Now(), now
		}
		if back != 0 && after == 0 {
			after = int(now) - int(p.timeline.Confirmed())
		}
	}
	c.onNews = func(p *player, received ecs.Tick) {
		if f != 0 && received >= f && back == 0 {
			back, before = m.Net.Now(), int(p.timeline.Present())-int(received)
		}
	}
	m.Net.Every(m.Node, 0, 60, func(int64, simnet.Time) {
		if f != 0 && used == 0 && m.server.World().Tick() >= f {
			used = m.Net.Now()
		}
	})
	m.Net.RunUntil(8 * time.Second)
	if d := (used - made).Round(10 * time.Microsecond); d != 141670*time.Microsecond {
		t.Errorf("used after %v", d)
	}
	if d := (back - made).Round(10 * time.Microsecond); d != 266670*time.Microsecond {
		t.Errorf("confirmed after %v", d)
	}
	if before != 15 || after != 16 {
		t.Errorf("W is %d before the step and %d after", before, after)
	}
	if s := c.Stats(); s.Rollbacks > 3 || s.Margin != 1 {
		t.Errorf("%+v", s)
	}
}

// RING: a client that was away for longer than the server keeps input sets receives an image. It never restores a state that
// the ring has lost. No frame computes more than 8 missed ticks, but for those after the image. No press is repeated in them.
func TestASuspendedClientReceivesAnImage(t *testing.T) {
	for _, away := range []time.Duration{5 * time.Second, 30 * time.Second} {
		m := several(t, 2, profile(t, "P3"), 30, systems.ClientConfig{})
		c := m.clients[0]
		m.Net.Pause(c.peer.Node, 4*time.Second, 4*time.Second+away)
		m.Net.RunUntil(4*time.Second + away)
		steps, sampled := c.timeline.Stats.Steps, c.line.Inputs.Sampled()
		c.onFrame = func(p *player, before, after ecs.Tick) {
			if n := int(after) - int(before); n > 8 && !p.joining {
				t.Fatalf("%d ticks in a frame", n)
			}
			if p.line.Inputs.Sampled() > sampled+8 {
				for f := max(sampled, p.timeline.Received()) + 1; f <= p.line.Inputs.Sampled()-8; f++ {
					if in := p.line.Inputs.At(f); padInput.Unpack(in).Throw {
						t.Fatalf("tick %d was missed, and has a press", f)
					}
				}
			}
			sampled = p.line.Inputs.Sampled()
		}
		m.Net.RunUntil(4*time.Second + away + 6*time.Second)
		t.Logf("away %v: steps since %d, %+v", away, c.timeline.Stats.Steps-steps, c.Stats())
		if want := 1; away > 17*time.Second && (len(c.peer.Flagged) != want || c.Stats().Snaps != 1) {
			t.Errorf("away %v: flagged %d times, %d images", away, len(c.peer.Flagged), c.Stats().Snaps)
		}
		if away < 17*time.Second && len(c.peer.Flagged) != 0 {
			t.Errorf("away %v: flagged", away)
		}
		if !c.Live() || c.timeline.Confirmed()+8 < m.server.World().Tick() {
			t.Errorf("away %v: not back: %+v", away, c.Stats())
		}
		for _, o := range m.clients[1:] {
			if len(o.peer.Flagged) != 0 || o.Stats().Stalls != 0 {
				t.Errorf("another suffers: %+v", o.Stats())
			}
		}
		if st := m.server.PeerStats(c.peer.ID); st.Desyncs != 0 {
			t.Errorf("%+v", st)
		}
	}
}

// A server that paused computes the missed ticks in one frame. No client's clock is wrong after it.
func TestAHitchOfTheServerIsCaughtUp(t *testing.T) {
	m := four(t, profile(t, "P3"), 31, systems.ClientConfig{})
	m.Net.At(4*time.Second, func() { m.Hitch = true })
	m.Net.At(5*time.Second, func() { m.Hitch = false })
	m.Net.RunUntil(4900 * ms)
	jumped := m.clients[0].line.Pacer.Gained()
	m.Net.RunUntil(12 * time.Second)
	for _, c := range m.clients {
		if st := m.server.PeerStats(c.peer.ID); st.Margin < 0 || st.Margin > 3 || len(c.peer.Flagged) != 0 {
			t.Errorf("client %d: %+v", c.peer.ID, st)
		}
	}
	if d := m.clients[0].line.Pacer.Gained() - jumped; d > 5 || d < -5 {
		t.Errorf("the clock was moved by %v ticks", d)
	}
	m.wantSound(300)
}

// CS-07: the round trip rises from 50 to 200 ms at t = 10 s. Late inputs stop within 2 s, and the margin is within
// [target − 1, target + 2] after 4 s. The pace stays within [0.9, 1.1] and jumps at most once.
func TestCS07TheLeadFollowsAStepOfTheRoundTrip(t *testing.T) {
	for _, jitter := range []time.Duration{0, 3 * ms} {
		slow, fast := round("200", 200*ms), round("50", 50*ms)
		for _, p := range []*simnet.Path{&slow.Up, &slow.Down, &fast.Up, &fast.Down} {
			p.Jitter = simnet.Jitter{Kind: simnet.Exponential, Size: jitter}
		}
		m := newMatch(t, testGame(), 7)
		c := m.join(fast, simnet.Clock{DriftPPM: 100}, systems.ClientConfig{}, 60, wander(3))
		m.Net.RunUntil(9990 * ms)
		position, jumps := c.line.Pacer.Position(), 0
		c.onFrame = func(p *player, _, _ ecs.Tick) {
			if pace := p.line.Pacer.Dilation(); pace < 0.9 || pace > 1.1 {
				t.Fatalf("pace %v", pace)
			}
			if moved := p.line.Pacer.Position() - position; moved > 3 || moved < 0 {
				jumps++
			}
			position = p.line.Pacer.Position()
		}
		m.Net.RunUntil(10 * time.Second)
		if err := m.Net.SetProfile(c.peer.Node, m.Node, slow); err != nil {
			t.Fatal(err)
		}
		m.Net.RunUntil(12 * time.Second)
		late := m.server.PeerStats(c.peer.ID).Substituted
		m.Net.RunUntil(14 * time.Second)
		margin, target := m.server.PeerStats(c.peer.ID).Margin, c.line.Lead.Target()
		if n := m.server.PeerStats(c.peer.ID).Substituted - late; n > 0 && jitter == 0 || n > 3 {
			t.Errorf("jitter %v: %d late inputs in the two seconds after", jitter, n)
		}
		t.Logf("jitter %v: margin %.2f target %.2f jumps %d late %d", jitter, margin, target, jumps, late)
		if margin < target-1 || margin > target+2 || jumps > 1 {
			t.Errorf("jitter %v: margin %v, target %v, %d jumps", jitter, margin, target, jumps)
		}
	}
}

// RB-13: over the network too, an event starts once at a client, and a predicted one ends confirmed or cancelled. An
// irreversible one is only ever confirmed, and the confirmed ones are the server's.
func TestEffectsStartOnceAndAreTheServersInTheEnd(t *testing.T) {
	m := four(t, profile(t, "P5"), 13, systems.ClientConfig{})
	m.Net.RunUntil(soakTime())
	cancelled := 0
	for _, c := range m.clients {
		ended := map[uint64]systems.Effect{} // the last effect of each event, by ID
		for _, e := range c.peer.Effects {
			if was, ok := ended[e.ID]; e.First == ok || was.Status != ecs.EffectPredicted {
				t.Fatalf("client %d: %+v after %+v", c.peer.ID, e, was)
			}
			if e.Event.Irreversible && e.Status != ecs.EffectConfirmed {
				t.Fatalf("client %d: %+v", c.peer.ID, e)
			}
			if e.Status == ecs.EffectCancelled {
				cancelled++
			}
			ended[e.ID] = e
		}
		confirmed, last := map[image.EventKey]bool{}, c.next-1 // when its last frame ran
		for _, e := range ended {
			if e.Event.Key.Tick+8 <= last && e.Status == ecs.EffectPredicted {
				t.Fatalf("client %d: %+v is neither confirmed nor cancelled", c.peer.ID, e.Event.Key)
			}
			if e.Status == ecs.EffectConfirmed {
				confirmed[e.Event.Key] = true
			}
		}
		want := 0
		for _, tick := range m.Ticks[:last+1] {
			want += len(tick.Events)
			for _, key := range tick.Events {
				if !confirmed[key] {
					t.Fatalf("client %d: %+v happened and was not confirmed", c.peer.ID, key)
				}
			}
		}
		if len(confirmed) != want || want < 30 {
			t.Errorf("client %d: %d confirmed, %d happened", c.peer.ID, len(confirmed), want)
		}
	}
	if cancelled == 0 {
		t.Error("nothing was predicted wrong")
	}
}

// A client that returns from an outage of ten seconds receives many ticks late and samples inputs for them. Their margins do
// not move the line, which stays as far ahead of the server as before.
func TestTheLineStaysWhileAClientCatchesUp(t *testing.T) {
	game := testGame()
	game.Screen.History = 256
	m := newMatch(t, game, 12)
	for s := range 2 {
		m.join(profile(t, "P3"), simnet.Clock{}, systems.ClientConfig{Seat: s}, 60, wander(uint64(s)))
	}
	c, end := m.clients[0], 20*time.Second
	m.Net.At(end-10*time.Second, c.peer.Drop)
	m.Net.At(end, func() {
		held, _ := c.timeline.Snapshot(c.timeline.Confirmed())
		if err := c.peer.World.Image().Load(held.AppendImage(nil)); err != nil {
			t.Fatal(err)
		}
		c.peer.Reconnect()
	})
	furthest := 0.0
	c.onFrame = func(p *player, _, _ ecs.Tick) {
		if m.Net.Now() > end {
			furthest = max(furthest, math.Abs(p.line.Pacer.Position()-float64(m.server.World().Tick())))
		}
	}
	m.Net.RunUntil(end + 3*time.Second)
	t.Logf("the line is at most %.0f ticks from the server's tick", furthest)
	if behind := m.server.World().Tick() - c.timeline.Confirmed(); furthest > 40 || behind > 12 || !c.Live() {
		t.Errorf("the line is %.0f ticks from the server's tick; %d ticks are not confirmed", furthest, behind)
	}
	m.wantSound(500)
}
