package predictor_test

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// table is a server and two players at delays of 4 ticks, with everything that a test counts.
type table struct {
	*halves.Loop
	strategy systems.Strategy
	client   systems.Client // of seat 0
	sent     int            // messages of client 0
	lost     func(toClient bool) bool
	pad      halves.Pad // of client 0
	orders   int        // of the game, executed
}

func newTable(t testing.TB, s systems.Strategy) *table {
	b := &table{strategy: s}
	b.Loop = halves.NewLoop(t, halves.Config{Game: halves.Dots(), Strategy: s, Seed: 1, Change: func(c *systems.ServerConfig) {
		c.Taken = func(f systems.FinalTick) {
			for _, o := range f.Orders {
				if o.Kind == image.OrderGame {
					b.orders++
				}
			}
		}
	}}, 4, 4)
	b.Lost = func(toClient bool, seat int, ch systems.Channel, _ []byte) bool {
		if !toClient && seat == 0 {
			b.sent++
		}
		return seat == 0 && ch == systems.Datagram && b.lost != nil && b.lost(toClient)
	}
	b.AddPlayers(2, func(seat, _ int) ecs.InputBytes {
		if seat == 0 {
			return halves.PadInput.Pack(b.pad)
		}
		return ecs.InputBytes{}
	})
	b.client = b.Peers[0].Half
	b.Run(400)
	b.live(0)
	return b
}

func (b *table) live(seat int) {
	b.T.Helper()
	if half := b.Peers[seat].Half; !half.Live() {
		b.T.Fatalf("client %d is not live: %+v", seat, half.Stats())
	}
}

func each(t *testing.T, f func(t *testing.T, s systems.Strategy)) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy, verify.Strategy} {
		t.Run(s.Name, func(t *testing.T) { f(t, s) })
	}
}

// Before a state is loaded, a client sends nothing and refuses every message.
func TestAClientWithoutAStateDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		p := b.Add(halves.Plan{Config: systems.ClientConfig{Seat: -1}})
		c := p.Half
		for kind := range 256 {
			if c.Receive(systems.Reliable, []byte{byte(kind), 1, 0, 0, 0, 0, 0, 0}, b.Now()) == nil {
				t.Fatalf("a message of kind %d was accepted", kind)
			}
		}
		up := b.Up.Bytes
		c.Frame(b.Now())
		c.Send(b.Now(), p)
		if c.Live() || b.Up.Bytes != up {
			t.Error("it is live, or sends")
		}
	})
}

// A state that replaces the one of a live client starts anew: the client is not live before the server's next message, and
// live again soon after it. Its connection is a new one.
func TestALoadedStateStartsAnew(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		c := b.client
		b.lost = func(toClient bool) bool { return toClient }
		b.Peers[0].Drop()
		b.Peers[0].Enter()
		for range 6 {
			if b.Step(); c.Live() && s.Name != lockstep.Strategy.Name { // whose frames come on the reliable channel, too
				t.Fatal("live without a message")
			}
		}
		b.lost = nil
		b.Run(200)
		b.live(0)
		if st := c.Stats(); st.Snaps == 0 || st.Confirmed+20 < b.Server.Done() {
			t.Errorf("at tick %d of %d, %d states taken over", st.Confirmed, b.Server.Done(), st.Snaps)
		}
	})
}

// A spectator's client becomes live, without a clock that must settle, and stays at the present.
func TestASpectatorBecomesLive(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		p := b.Peers[1]
		p.Drop()
		p.Config.Seat = -1
		p.Restart()
		p.Enter()
		b.Run(200)
		b.live(1)
		if st := p.Half.Stats(); st.Confirmed+20 < b.Server.Done() || st.Present+20 < b.Server.Done() {
			t.Errorf("at tick %d, confirmed %d, of %d", st.Present, st.Confirmed, b.Server.Done())
		}
	})
}

// An order of a player is executed, once.
func TestAnOrderIsExecuted(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		if err := b.client.Order(1, ecs.Entity{}, []byte{1}, b.Peers[0]); err != nil {
			t.Fatal(err)
		}
		if b.Run(60); b.orders != 1 {
			t.Errorf("executed %d times", b.orders)
		}
	})
}

// On a display of 240 frames a second a client sends once a tick.
func TestAClientSendsOnceATick(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		b.sent = 0
		c := b.client
		for range 120 {
			b.pad.DX = -b.pad.DX | 1
			b.Step()
			for k := range 3 {
				now := b.Now() + time.Duration(k+1)*b.Length/4
				c.SetInput(halves.PadInput.Pack(b.pad))
				c.Frame(now)
				c.Send(now, b.Peers[0])
			}
		}
		if b.sent < 110 || b.sent > 132 {
			t.Errorf("%d messages in 120 ticks", b.sent)
		}
	})
}

// Where no new tick is sampled, a client keeps sending, as a sign of liveness. Verify
// repeats only what has no answer.
func TestAClientKeepsSendingWhenTheServerIsAway(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		if s.Name == verify.Strategy.Name {
			t.Skip("sends on demand")
		}
		b := newTable(t, s)
		b.Peers[0].Deaf = true
		for i := range 500 {
			if i == 400 {
				b.sent = 0
			}
			b.Next()
			b.Peers[0].Frame(b.Now())
		}
		if b.sent < 45 {
			t.Errorf("%d messages in 100 ticks", b.sent)
		}
	})
}

// A client that has yet to compute the ticks of before is not live.
func TestAClientThatIsBehindIsNotLive(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy} {
		t.Run(s.Name, func(t *testing.T) {
			b := newTable(t, s)
			old, have := halves.Image(b.Server.World()), b.Server.Done()
			b.Run(100)
			c, p := b.client, b.Peers[0]
			p.Drop()
			p.Take(old)
			p.Load(b.Server.Done())
			p.OpenNow(have)
			for range 120 {
				b.Step()
				if st := c.Stats(); c.Live() && st.Confirmed+25 < b.Server.Done() {
					t.Fatalf("live at tick %d of %d", st.Confirmed, b.Server.Done())
				}
			}
			b.live(0)
		})
	}
}

// Inputs that the server substituted are counted once each, and what was predicted from them is cancelled.
func TestLostInputsAreCountedAndTheirEventsCancelled(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, predict.Strategy, reckon.Strategy} {
		t.Run(s.Name, func(t *testing.T) {
			b := newTable(t, s)
			for range 4 {
				before, substituted := b.client.Stats().Substituted, b.Server.PeerStats(0).Substituted
				b.lost = func(toClient bool) bool { return !toClient }
				b.pad.Throw = true
				b.Step()
				b.pad.Throw = false
				b.Run(40)
				b.lost = nil
				b.Run(100)
				got, want := b.client.Stats().Substituted-before, b.Server.PeerStats(0).Substituted-substituted
				if want < 15 || got < want*3/4 || got > want+want/4+2 {
					t.Errorf("%d substituted inputs, the server's count is %d", got, want)
				}
			}
			effects := map[ecs.EffectStatus]int{}
			for _, e := range b.Peers[0].Effects {
				effects[e.Status]++
			}
			if effects[ecs.EffectPredicted] < 2 || effects[ecs.EffectCancelled] < 2 {
				t.Errorf("effects %v", effects)
			}
		})
	}
}

// The display moves between ticks.
func TestTheDisplayMovesBetweenTicks(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		alphas := map[float64]bool{}
		p := b.Peers[0]
		for range 16 {
			b.Step()
			for part := range 3 {
				_, _, _, alpha := b.client.View(p.Now() + time.Duration(part)*b.Length/4)
				if alpha < 0 || alpha >= 1 {
					t.Fatalf("alpha %v", alpha)
				}
				alphas[math.Round(16*alpha)] = true
			}
			b.Net.StepClock(p.Node, b.Length/16)
		}
		if len(alphas) < 3 {
			t.Errorf("the display has %d positions in a tick", len(alphas))
		}
	})
}

// Against a clock that is a hundredth slow, the pace of a client that predicts follows, and its inputs stay in time.
func TestThePaceFollowsASlowClock(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, predict.Strategy} {
		t.Run(s.Name, func(t *testing.T) {
			b := newTable(t, s)
			before, fast := b.Server.PeerStats(0).Substituted, 0
			for range 1800 {
				b.Net.StepClock(b.Peers[0].Node, -b.Length/100)
				if b.Step(); b.client.Stats().Dilation > 1 {
					fast++
				}
			}
			if late := b.Server.PeerStats(0).Substituted - before; fast < 100 || late > 30 {
				t.Errorf("faster in %d of 1800 frames, %d inputs too late", fast, late)
			}
			b.live(0)
		})
	}
}
