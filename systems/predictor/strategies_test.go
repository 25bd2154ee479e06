package predictor_test

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// The game of these tests: each player walks a dot, and fires, which is an event.
type (
	steering struct {
		DX   int8
		Fire bool `tendon:"press"`
	}
	dot struct{ Pos, Vel fixed.Vec2 }
)

var (
	controls = ecs.NewInput[steering]()
	dots     = ecs.NewComponent("dot", ecs.Roles[dot]{
		Motion: func(d *dot) ecs.Motion {
			return ecs.Motion{Pos: fixed.Vec3{X: d.Pos.X, Y: d.Pos.Y}, Vel: fixed.Vec3{X: d.Vel.X, Y: d.Vel.Y}}
		},
		SetMotion: func(d *dot, m ecs.Motion) {
			d.Pos, d.Vel = fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, fixed.Vec2{X: m.Vel.X, Y: m.Vel.Y}
		}})
	seats = ecs.NewComponent[ecs.Seat]("seat")
	fired = ecs.NewEvent[ecs.Seat]("fired")
	walks = ecs.NewQuery2(ecs.Write(dots), ecs.Read(seats))
)

func game() *ecs.Game {
	return &ecs.Game{Name: "dots", TickRate: 60, MaxPlayers: 4, Input: controls, Components: ecs.Components(dots, seats), Events: ecs.Events(fired),
		Join: func(w *ecs.World, p ecs.Player) {
			e := w.Spawn(ecs.OwnedBy(p), dots, seats)
			seats.Put(w, e, ecs.Seat{Player: p})
		},
		Order: func(*ecs.World, ecs.Player, ecs.Entity, []byte) {},
		Systems: ecs.Systems(func(w *ecs.World) {
			for e := range walks.All(w) {
				in := controls.Of(w, e.B.Player)
				e.A.Vel.X = fixed.FromInt(int(in.DX))
				e.A.Pos.X += e.A.Vel.X / 60
				if in.Fire {
					fired.Emit(w, e.Entity(), e.B)
				}
			}
		})}
}

// table is a server and two players at delays of 4 ticks, with everything that a test counts.
type table struct {
	*halves.Loop
	t        testing.TB
	strategy systems.Strategy
	sent     int // messages of client 0
	lost     func(toClient bool) bool
	pad      steering // of client 0
	orders   int      // of the game, executed
	effects  map[ecs.EffectStatus]int
}

func newTable(t testing.TB, s systems.Strategy) *table {
	b := &table{t: t, strategy: s, effects: map[ecs.EffectStatus]int{}}
	b.Loop = halves.NewPlayers(t, halves.LoopConfig{Game: game(), Strategy: s, Up: 4, Down: 4,
		Input: func(seat, _ int) ecs.InputBytes {
			if seat == 0 {
				return controls.Pack(b.pad)
			}
			return ecs.InputBytes{}
		},
		Effect: func(seat int, e systems.Effect) {
			if seat == 0 {
				b.effects[e.Status]++
			}
		},
		Delays: func(toClient bool, seat int, ch systems.Channel, _ []byte) []int {
			if !toClient && seat == 0 {
				b.sent++
			}
			if seat == 0 && ch == systems.Datagram && b.lost != nil && b.lost(toClient) {
				return nil
			}
			return []int{0}
		}}, 2, func(c *systems.ServerConfig) {
		c.Taken = func(f systems.FinalTick) {
			for _, o := range f.Orders {
				if o.Kind == image.OrderGame {
					b.orders++
				}
			}
		}
	})
	b.Run(400)
	b.live(0)
	return b
}

func (b *table) live(seat int) {
	b.t.Helper()
	if !b.Clients[seat].Live() {
		b.t.Fatalf("client %d is not live: %+v", seat, b.Clients[seat].Stats())
	}
}

// load gives a client the server's state of an image, and opens it.
func (b *table) load(seat int, w *ecs.World, encoded []byte) {
	b.t.Helper()
	if err := w.Image().Load(encoded); err != nil {
		b.t.Fatal(err)
	}
	b.Clients[seat].Load(b.Local(seat), b.Server.Done(), 8*b.Length)
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
		c := b.Add(t, systems.ClientConfig{World: halves.NewWorld(t, b.Game, 1), Seat: -1})
		for kind := range 256 {
			if c.Receive(systems.Reliable, []byte{byte(kind), 1, 0, 0, 0, 0, 0, 0}, b.Now()) == nil {
				t.Fatalf("a message of kind %d was accepted", kind)
			}
		}
		up := b.UpBytes
		c.Frame(b.Now())
		c.Send(b.Now(), b.ToServer(2))
		if c.Live() || b.UpBytes != up {
			t.Error("it is live, or sends")
		}
	})
}

// A state that replaces the one of a live client starts anew: the client is not live before the server's next message, and
// live again soon after it. Its connection is a new one.
func TestALoadedStateStartsAnew(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		c := b.Clients[0]
		w := c.(interface{ World() *ecs.World }).World()
		b.lost = func(toClient bool) bool { return toClient }
		b.Close(0)
		b.load(0, w, halves.Image(b.Server.World()))
		b.Server.Open(0, 0, b.Server.Done(), b.Now(), b)
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
		w := halves.NewWorld(t, b.Game, 1)
		b.Close(1)
		b.Clients[1] = mustClient(t, s, systems.ClientConfig{World: w, Seat: -1, Params: s.Params})
		b.load(1, w, halves.Image(b.Server.World()))
		b.Server.Open(1, -1, b.Server.Done(), b.Now(), b)
		b.Run(200)
		b.live(1)
		if st := b.Clients[1].Stats(); st.Confirmed+20 < b.Server.Done() || st.Present+20 < b.Server.Done() {
			t.Errorf("at tick %d, confirmed %d, of %d", st.Present, st.Confirmed, b.Server.Done())
		}
	})
}

func mustClient(t *testing.T, s systems.Strategy, c systems.ClientConfig) systems.Client {
	t.Helper()
	c2, err := s.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	return c2
}

// Close stops serving a peer and drops its messages in flight.
func (b *table) Close(p systems.Peer) {
	b.Server.Close(p)
	b.DropAll()
}

// An order of a player is executed, once.
func TestAnOrderIsExecuted(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		if err := b.Clients[0].Order(ecs.Entity{}, []byte{1}, b.ToServer(0)); err != nil {
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
		c := b.Clients[0]
		for range 120 {
			b.pad.DX = -b.pad.DX | 1
			b.Step()
			for k := range 3 {
				now := b.Now() + time.Duration(k+1)*b.Length/4
				c.SetInput(controls.Pack(b.pad))
				c.Frame(now)
				c.Send(now, b.ToServer(0))
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
		for i := range 500 {
			if i == 400 {
				b.sent = 0
			}
			b.Tick++
			b.Discard(0)
			b.Frame(0)
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
			b.Close(0)
			c := b.Clients[0]
			b.load(0, c.(interface{ World() *ecs.World }).World(), old)
			b.Server.Open(0, 0, have, b.Now(), b)
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
				before, substituted := b.Clients[0].Stats().Substituted, b.Server.PeerStats(0).Substituted
				b.lost = func(toClient bool) bool { return !toClient }
				b.pad.Fire = true
				b.Step()
				b.pad.Fire = false
				b.Run(40)
				b.lost = nil
				b.Run(100)
				got, want := b.Clients[0].Stats().Substituted-before, b.Server.PeerStats(0).Substituted-substituted
				if want < 15 || got < want*3/4 || got > want+want/4+2 {
					t.Errorf("%d substituted inputs, the server's count is %d", got, want)
				}
			}
			if b.effects[ecs.EffectPredicted] < 2 || b.effects[ecs.EffectCancelled] < 2 {
				t.Errorf("effects %v", b.effects)
			}
		})
	}
}

// The display moves between ticks.
func TestTheDisplayMovesBetweenTicks(t *testing.T) {
	each(t, func(t *testing.T, s systems.Strategy) {
		b := newTable(t, s)
		alphas := map[float64]bool{}
		for k := range 16 {
			b.Offset = func(int) time.Duration { return time.Duration(k) * b.Length / 16 }
			b.Step()
			for part := range 3 {
				_, _, _, alpha := b.Clients[0].View(b.Local(0) + time.Duration(part)*b.Length/4)
				if alpha < 0 || alpha >= 1 {
					t.Fatalf("alpha %v", alpha)
				}
				alphas[math.Round(16*alpha)] = true
			}
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
			origin := b.Tick
			b.Offset = func(int) time.Duration { return -time.Duration(b.Tick-origin) * b.Length / 100 }
			before, fast := b.Server.PeerStats(0).Substituted, 0
			for range 1800 {
				if b.Step(); b.Clients[0].Stats().Dilation > 1 {
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
