package relay

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/net/simnet"
	"tendon/systems"
)

// moving holds a direction, so that the state changes and nothing is predicted wrong.
func moving(p *player, _ int) pad { return pad{DX: int8(p.Config.Seat + 1)} }

// spoil flips one bit of a player's own dot.
func spoil(p *player) {
	p.peer.Faulty = true
	for e := range steered.All(p.peer.World) {
		if int(e.B.Player) == p.Config.Seat {
			e.A.Pos.X ^= 1
		}
	}
}

// One bit that differs is found within an interval, in the client that has it, and is named; an image heals it, and
// the others do not notice. Orders that are under way then are neither lost nor taken twice.
func TestAOneBitFaultIsFoundNamedAndHealed(t *testing.T) {
	m := newMatch(t, testGame(), 40)
	for s := range 4 {
		m.join(profile(t, "P3"), simnet.Clock{}, systems.ClientConfig{Seat: s}, 60, moving)
	}
	sick := m.clients[2]
	for i := range 60 {
		m.Net.At(time.Duration(i)*100*ms+3*time.Second, func() {
			if err := m.clients[i%2].Order(1, ecs.Entity{}, []byte{byte(i)}, m.clients[i%2].peer); err != nil {
				t.Error(err)
			}
		})
	}
	var at ecs.Tick
	sick.onFrame = func(p *player, _, after ecs.Tick) {
		if at == 0 && after >= 300 {
			spoil(p)
			at = after + 1
		}
	}
	found := ecs.Tick(0)
	for now := 4 * time.Second; now < 12*time.Second; now += 10 * ms {
		m.Net.RunUntil(now)
		if found == 0 && len(sick.peer.Flagged) > 0 {
			found = m.server.World().Tick()
		}
	}
	if len(sick.peer.Flagged) != 1 || found < at || found > at+checkEvery+12 {
		t.Fatalf("spoilt tick %d, found in %d, flagged %d times", at, found, len(sick.peer.Flagged))
	}
	if len(sick.peer.Found) != 1 {
		t.Fatal("no difference named")
	}
	if d := sick.peer.Found[0]; d.Component != "dot" || d.Field != "Pos.X" || d.Entity == (ecs.Entity{}) {
		t.Errorf("named as %v", d)
	}
	for _, c := range m.clients {
		if c != sick && (len(c.peer.Flagged) > 0 || c.Stats().Snaps > 0 || c.Stats().Stalls > 0 || m.server.PeerStats(c.peer.ID).Desyncs > 0) {
			t.Errorf("client %d: %+v", c.peer.ID, c.Stats())
		}
		if !c.Live() || c.next+30 < m.server.World().Tick() || c.peer.Faulty {
			t.Errorf("client %d is not well: %+v", c.peer.ID, c.Stats())
		}
	}
	if len(m.orders()) != 4+60 {
		t.Errorf("%d orders were executed", len(m.orders()))
	}
}

// Checksums are exchanged every 60 ticks, and all are compared.
func TestChecksumsAreExchangedEverySixtyTicks(t *testing.T) {
	m := four(t, profile(t, "P2"), 41, systems.ClientConfig{})
	m.Net.RunUntil(10 * time.Second)
	for _, c := range m.clients {
		if st, want := m.server.PeerStats(c.peer.ID), uint64(c.timeline.Confirmed()/checkEvery); c.Stats().Hashes != want || st.Checked < want-1 {
			t.Errorf("client %d: %d ticks, %d checksums sent, %d compared", c.peer.ID, c.timeline.Confirmed(), c.Stats().Hashes, st.Checked)
		}
	}
}

// A player who is disconnected stays in the match, with substituted inputs. The order that removes them takes effect in
// one tick on all peers.
func TestAPlayerLeavesInTheSameTickEverywhere(t *testing.T) {
	m := four(t, profile(t, "P3"), 42, systems.ClientConfig{})
	gone := m.clients[3]
	m.Net.At(4*time.Second, func() { gone.peer.Off = true })
	m.Net.At(4750*ms, func() { m.server.Close(gone.peer.ID) })
	var left ecs.Tick
	m.Net.At(6*time.Second, func() {
		left = m.server.Stamp(image.Order{Kind: image.OrderLeave, Player: 3}, m)
	})
	m.Net.RunUntil(6500 * ms)
	for f := left - 60; f < left; f++ {
		if !m.Ticks[f].Late.Has(3) {
			t.Fatalf("tick %d: the input of a disconnected player is not marked", f)
		}
	}
	w := newWorld(t, m.Game, 1)
	for _, c := range m.clients[:3] {
		for f := left - 5; f < left+5; f++ {
			s, ok := c.timeline.Snapshot(f)
			if !ok {
				t.Fatalf("client %d: no tick %d", c.peer.ID, f)
			}
			if err := w.Image().Load(s.AppendImage(nil)); err != nil {
				t.Fatal(err)
			}
			seats := 0
			for range steered.All(w) {
				seats++
			}
			if want := f < left; w.Players().Has(3) != want || (seats == 4) != want {
				t.Errorf("client %d, tick %d of %d: %d dots", c.peer.ID, f, left, seats)
			}
		}
	}
	m.Net.RunUntil(8 * time.Second)
	for _, c := range m.clients[:3] {
		if c.checked < 400 || len(c.peer.Flagged) > 0 {
			t.Errorf("client %d: %+v", c.peer.ID, c.Stats())
		}
	}
}

// A player who reconnects to a seat that was never vacated plays on.
func TestAPlayerWhoReconnectsPlaysOn(t *testing.T) {
	m := four(t, profile(t, "P3"), 43, systems.ClientConfig{})
	c := m.clients[1]
	m.Net.At(4*time.Second, func() { c.peer.Drop(); c.peer.Off = true })
	m.Net.At(5*time.Second, func() { c.peer.Off = false; c.peer.SendImage(0) })
	m.Net.RunUntil(7 * time.Second)
	before := m.server.PeerStats(c.peer.ID)
	m.Net.RunUntil(10 * time.Second)
	if n := m.server.PeerStats(c.peer.ID).Substituted - before.Substituted; n > 18 || !c.Live() {
		t.Errorf("%d of 180 inputs were made up: %+v", n, c.Stats())
	}
	if c.Stats().Snaps != 1 || c.checked < 300 {
		t.Errorf("%+v", c.Stats())
	}
}

// A player who joins gives no input before the clock has settled, so it is never corrected.
func TestInputsAreNotSampledBeforeTheClockHasLocked(t *testing.T) {
	m := newMatch(t, testGame(), 44)
	m.join(profile(t, "P3"), simnet.Clock{}, systems.ClientConfig{}, 60, moving)
	m.Net.RunUntil(5 * time.Second)
	c := m.join(profile(t, "P3"), simnet.Clock{}, systems.ClientConfig{Seat: 1}, 60, func(*player, int) pad { return pad{DY: 1, Throw: true} })
	wrong := 0
	c.onFrame = func(p *player, _, _ ecs.Tick) {
		if !p.Settled() && p.line.Inputs.Last() != (ecs.InputBytes{}) {
			wrong++
		}
		if p.Settled() && p.Live() && wrong == 0 && p.line.Inputs.Last() == (ecs.InputBytes{}) && p.line.Inputs.Used() {
			wrong++
		}
	}
	m.Net.RunUntil(10 * time.Second)
	if wrong > 0 || !c.Live() {
		t.Errorf("%d inputs were sampled too early, or none after: %+v", wrong, c.Stats())
	}
	if n := c.Stats().Corrections; n > 30 {
		t.Errorf("%d corrections of a player who joined", n)
	}
	m.compare(c)
}

// A press lasts one tick, whatever the display's rate: it is neither lost between frames nor doubled within one.
func TestAPressCountsOnceAtEveryFrameRate(t *testing.T) {
	for _, hz := range []int{20, 30, 60, 144, 240} {
		m := newMatch(t, testGame(), 45)
		presses := 0
		c := m.join(profile(t, "P2"), simnet.Clock{}, systems.ClientConfig{}, hz, func(p *player, f int) pad {
			if p.Settled() && f%(hz/5) == 0 && m.Net.Now() < 9*time.Second {
				presses++
				return pad{Throw: true}
			}
			return pad{}
		})
		m.Net.RunUntil(10 * time.Second)
		fired := 0
		for _, e := range c.peer.Effects {
			if e.Event.Key.Tick <= c.timeline.Confirmed() && !e.Event.Irreversible && e.Status == ecs.EffectConfirmed {
				fired++
			}
		}
		if fired != presses || presses < 30 {
			t.Errorf("%d Hz: %d presses, %d shots", hz, presses, fired)
		}
		if n := m.Net.Counters(c.peer.Node, m.Node).Packets; n > 10*66+400 {
			t.Errorf("%d Hz: %d packets in 10 s", hz, n)
		}
	}
}

// Orders are executed once, in the order in which each player asked, in the same tick everywhere.
func TestOrdersAreExecutedOnceAndInOrder(t *testing.T) {
	m := four(t, profile(t, "P5"), 46, systems.ClientConfig{})
	r := image.NewRand(1)
	for i := range 60 {
		m.Net.At(3*time.Second+time.Duration(r.IntN(6000))*ms, func() {
			c := m.clients[i%4]
			if err := c.Order(1, ecs.Entity{}, raworder.Bytes(1+i), c.peer); err != nil {
				t.Error(err)
			}
		})
	}
	m.Net.RunUntil(12 * time.Second)
	m.wantSound(300)
	last, count := ecs.Tick(0), 0
	for _, o := range m.orders() {
		if o.tick < last {
			t.Errorf("tick %d after %d", o.tick, last)
		}
		if last = o.tick; o.order.Kind == image.OrderGame {
			count++
		}
	}
	if count != 60 {
		t.Errorf("%d orders of 60", count)
	}
}

// A spectator receives everything, predicts next to nothing and disturbs no other client.
func TestASpectatorFollows(t *testing.T) {
	m := four(t, profile(t, "P3"), 47, systems.ClientConfig{})
	c := m.join(profile(t, "P5"), simnet.Clock{DriftPPM: 200}, systems.ClientConfig{Seat: -1}, 60, idle)
	m.Net.RunUntil(12 * time.Second)
	if !c.Live() || percentile(c.ws, 0.99) > 4 || c.checked < 500 {
		t.Errorf("W p99 %d, %d compared, %+v", percentile(c.ws, 0.99), c.checked, c.Stats())
	}
	if c.Order(1, ecs.Entity{}, nil, nil) == nil {
		t.Error("a spectator gave an order")
	}
	if st := m.server.PeerStats(c.peer.ID); st.Refused != 0 || st.Desyncs != 0 || st.Checked == 0 {
		t.Errorf("%+v", st)
	}
}

// A delay that is longer than the way to the server and back keeps the present behind the server for ever. Such a
// client has caught up nevertheless, and plays.
func TestAnInputDelayLongerThanTheWayIsNoReasonToWait(t *testing.T) {
	m := newMatch(t, testGame(), 41)
	c := m.join(profile(t, "P1"), simnet.Clock{}, systems.ClientConfig{Seat: 0, InputDelay: 8}, 60, idle)
	m.Net.RunUntil(2 * time.Second)
	if s := c.Stats(); !c.Live() || s.Confirmed+4 > s.ServerTick {
		t.Fatalf("live %v, %+v", c.Live(), s)
	}
}
