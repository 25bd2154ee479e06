package lockstep

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// However often a client draws, it runs at the server's pace, and every press that a player makes is there once.
func TestAnyFrameRateKeepsThePaceAndEveryPress(t *testing.T) {
	if race.Enabled {
		t.Skip("the same, slowly")
	}
	for _, hz := range []int{20, 30, 59, 144, 240} {
		for _, reliable := range []bool{false, true} {
			m := newMatch(t, testGame(), 20, Config{Reliable: reliable})
			made, last := 0, 0
			p := m.join(profile(t, "P2"), simnet.Clock{DriftPPM: 200}, 0, hz, func(p *player, f int) pad {
				press := p.Live() && f >= last+hz/2 && m.Net.Now() < 18*time.Second
				if press {
					made++
					last = f
				}
				return pad{Throw: press, DX: int8(f / hz % 2)}
			})
			m.Net.RunUntil(3 * time.Second)
			p.forget()
			m.Net.RunUntil(20 * time.Second)
			had := 0
			for f := ecs.Tick(1); f <= m.server.Done(); f++ {
				if padInput.Unpack(m.Ticks[f].Inputs[0]).Throw {
					had++
				}
			}
			if made < 25 || had != made {
				t.Errorf("%d Hz, reliable %v: %d presses became %d", hz, reliable, made, had)
			}
			if share := p.stallShare(); share > 1 || p.at()+20 < m.server.Done() {
				t.Errorf("%d Hz: stalled %.2f%%, %+v", hz, share, p.Stats())
			}
		}
	}
}

// A client that was suspended takes up again what came meanwhile; it did not stall.
func TestASuspendedClientCatchesUp(t *testing.T) {
	for _, away := range []time.Duration{time.Second, 4 * time.Second, 30 * time.Second} {
		m := newMatch(t, testGame(), 21, Config{})
		m.join(profile(t, "P2"), simnet.Clock{}, 0, 60, wander(1))
		c := m.join(profile(t, "P2"), simnet.Clock{}, 1, 60, wander(2))
		m.Net.RunUntil(4 * time.Second)
		c.forget()
		m.Net.Pause(c.peer.Node, 4*time.Second, 4*time.Second+away)
		m.Net.RunUntil(4*time.Second + away + 4*time.Second)
		if !c.Live() || c.at()+20 < m.server.Done() || c.stallShare() > 1 || c.peer.Loads != 1 {
			t.Errorf("%v: stalled %.2f%%, %+v", away, c.stallShare(), c.Stats())
		}
		m.wantSound(100)
	}
}

// Catching up leaves time to draw. It ends at the time budget, or after a fixed number of frames where time cannot be
// measured.
func TestCatchingUpLeavesTimeToDraw(t *testing.T) {
	for _, told := range []bool{false, true} {
		m := newMatch(t, testGame(), 22, Config{OnDemand: true})
		m.join(profile(t, "P1"), simnet.Clock{}, 0, 60, wander(1))
		m.Net.RunUntil(20 * time.Second)
		var elapsed systems.Time
		config := systems.ClientConfig{Seat: -1}
		if told {
			config.Elapsed = func() systems.Time { return elapsed }
			config.Taken = func(systems.FinalTick) { elapsed += systems.Second / 1000 }
		}
		p := m.add(halves.Plan{Path: profile(t, "P1"), Config: config, FromOpen: true}, idle)
		most, behind := 0, ecs.Tick(0)
		p.onFrame = func(p *player, before, after ecs.Tick) {
			most = max(most, int(after-before))
			behind = max(behind, p.Stats().Behind)
			elapsed = 0
		}
		p.peer.SendImage(0)
		m.until(p.Live)
		if want := map[bool]int{false: catchFrames, true: 8}[told]; most < want || most > want+maxSteps || behind < 600 {
			t.Errorf("%d frames at once, want %d; %d behind", most, want, behind)
		}
	}
}

// A view goes smoothly from one state to the next, and stands still where the client waits.
func TestAViewStandsStillWhereTheClientWaits(t *testing.T) {
	m, p := article(t, Article(), idle, func(m *match, p *player) {
		m.Net.Script(m.Node, p.peer.Node, simnet.Rule{Match: func(_ simnet.Channel, b []byte) bool { return b[1] == kindSync }, Nth: 4, Delay: 40 * ms})
	})
	shown, stills := 0.0, 0
	show := func() {
		previous, current, confirmed, alpha := p.View(systems.Time(m.Net.LocalNow(p.peer.Node)))
		if p.at() == 0 {
			return
		}
		if current.Tick() != p.at() || confirmed != current || previous.Tick()+1 != current.Tick() || alpha < 0 || alpha >= 1 {
			t.Fatalf("at %d: from %d to %d, alpha %v", p.at(), previous.Tick(), current.Tick(), alpha)
		}
		now := float64(previous.Tick()) + alpha
		switch {
		case now < shown-1e-6 || now > shown+0.26:
			t.Fatalf("%v after %v", now, shown)
		case now == shown:
			stills++
		}
		shown = now
	}
	for m.Net.Now() < time.Second {
		m.Net.RunUntil(m.Net.Now() + time.Second/240)
		show()
	}
	if stills < 10 || stills > 14 { // three ticks
		t.Errorf("it stood still for %d of 240 frames", stills)
	}
}

// With too many frames in hand a client runs a tenth faster, with far too many it executes four frames at once. With
// too few it runs five in a hundred slower. Without catching up the pace is constant.
func TestThePaceFollowsTheFramesInHand(t *testing.T) {
	c := &Client{interval: 2, margin: margin{frames: 4}}
	for hand, want := range map[int]float64{0: .95, 1: .95, 2: 1, 6: 1, 7: 1.1, 20: 1.1} {
		if got := c.pace(hand); got != want {
			t.Errorf("%d in hand: pace %v, want %v", hand, got, want)
		}
	}
	if c.limits.NoCatchUp = true; c.pace(0) != 1 || c.pace(20) != 1 {
		t.Error("a client that does not catch up changes its pace")
	}
}

// The margin becomes what 98 % of the syncs of the last ten seconds needed, and forgets what is older.
func TestTheMarginFollowsHowLateSyncsCome(t *testing.T) {
	m := newMargin(&Config{}, 60)
	tick, now, f := systems.Second/60, systems.Time(0), ecs.Tick(0)
	run := func(seconds int, late func(i int) systems.Time) {
		for i := range seconds * 30 {
			f += 2
			now = systems.Time(f) * tick
			m.arrived(f-2, f, 2, now+late(i), false)
			m.choose(now)
		}
	}
	even := func(int) systems.Time { return 0 }
	if run(1, even); m.frames != defaultMargin {
		t.Errorf("after a second: %d", m.frames)
	}
	if run(9, even); m.frames != 0 {
		t.Errorf("on a link without jitter: %d", m.frames)
	}
	if run(10, func(i int) systems.Time { return systems.Time(i%25/24) * 7 * tick / 2 }); m.frames != 4 {
		t.Errorf("with one of 25 late by 3.5 frames: %d", m.frames)
	}
	if run(10, func(i int) systems.Time { return systems.Time(i%60/59) * 7 * tick / 2 }); m.frames != 0 {
		t.Errorf("with one of 60 late: %d", m.frames)
	}
	if run(5, func(i int) systems.Time { return systems.Time(i%4) * 10 * tick }); m.frames != maxMargin {
		t.Errorf("with all late: %d", m.frames)
	}
	m = newMargin(&Config{Margin: 5}, 60)
	if run(10, func(i int) systems.Time { return systems.Time(i%4) * 10 * tick }); m.frames != 5 {
		t.Errorf("fixed: %d", m.frames)
	}
}

// A client receives the frames to catch up with on the reliable channel. If the last of them is lost, the following
// datagrams contain it too, so no gap is left that only a timeout closes.
func TestDatagramsRepeatLostReliableFrames(t *testing.T) {
	l := newLoop(t, Config{}, testGame(), 1, 2, zigzag)
	for range 40 {
		l.Step()
	}
	c, p := l.clients[0], l.Peers[0]
	var s image.Snapshot
	c.World().Image().Save(&s)
	encoded, have := s.AppendImage(nil), c.at()
	for range 20 {
		l.Step()
	}
	p.Take(encoded)
	p.Load(l.server.Done())
	l.Lost = func(toClient bool, _ int, ch systems.Channel, message []byte) bool {
		return toClient && ch == systems.Reliable && message[0] == kindSync
	}
	p.OpenNow(have)
	l.Run(60)
	if !c.Live() || c.at()+20 < l.server.Done() {
		t.Errorf("without anything that was sent reliably: at frame %d of %d, live %v", c.at(), l.server.Done(), c.Live())
	}
}
