package predict

import (
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/internal/inputs"
)

// rig is a Loop of predict's halves in which all clocks have settled. The server's ticks are due a tick later than they
// run. An input in time then has exactly the target margin of the lead control. The articles of the vectors use this timing.
type rig struct {
	*halves.Loop
	t       testing.TB
	Up      int // delays, in ticks
	Down    int
	server  *Server
	clients []*Client
	pads    []pad
	press   []pad // for one frame
	lose    func(toClient bool, seat int, message []byte) bool
	route   func(toClient bool, message []byte) (later []int) // by how many ticks each copy of a datagram is late
	routed  bool                                              // the message is a copy of a route
	from    int                                               // a frame that a test stores
}

// newRig returns a rig in which all players have joined and every clock has settled.
func newRig(t testing.TB, game *ecs.Game, players, up, down int, c Config, cc systems.ClientConfig) *rig {
	t.Helper()
	t.Cleanup(func() { clear(hooks) })
	r := &rig{t: t, Up: up, Down: down, pads: make([]pad, players), press: make([]pad, players)}
	r.Loop = halves.NewLoop(t, halves.Config{Game: game, Strategy: New(c), Seed: 1, Lead: 1}, up, down)
	r.server, r.Lost, r.NoRTT = r.Server.Server.(*Server), r.lost, true
	for seat := range players {
		r.Seat(ecs.Player(seat))
	}
	for range up + down + 8 {
		r.Next()
		r.server.Tick(r.Now() + r.Length)
	}
	encoded := halves.Image(r.server.World())
	for seat := range players {
		cc.Seat = seat
		p := r.Add(halves.Plan{Config: cc, Input: func(int) ecs.InputBytes { return r.input(seat) }})
		c := p.Half.(*Client)
		p.Take(encoded)
		p.Load(r.server.Done() + ecs.Tick(up) - 2)
		c.line.Pacer.Shift(0.25) // away from where rounding decides
		r.clients = append(r.clients, c)
		p.OpenNow(r.server.Done())
	}
	r.Run(2*(up+down) + 40*game.TickRate/(min(game.TickRate, max(c.SnapshotRate, 20))))
	for seat, c := range r.clients {
		if !c.Live() || c.line.Pacer.Dilation() != 1 {
			t.Fatalf("client %d is not live after %d frames: %+v, lead margin %v", seat, r.Tick, c.Stats(), c.line.Lead.Margin(c.line.Pacer.Gained()))
		}
	}
	r.forget()
	return r
}

// forget resets the counts.
func (r *rig) forget() {
	for seat, c := range r.clients {
		c.counts, c.Refused = counts{}, 0
		c.Counted.Rollbacks, c.Counted.Resimulated, c.Counted.Deepest, c.Counted.Stalls = 0, 0, 0, 0
		r.Peers[seat].Effects = r.Peers[seat].Effects[:0]
	}
}

// lost reports whether a message is lost. Instead of a datagram that is routed, the copies of the route are sent.
func (r *rig) lost(toClient bool, seat int, ch systems.Channel, message []byte) bool {
	if r.lose != nil && r.lose(toClient, seat, message) {
		return true
	}
	if r.route == nil || r.routed || ch != systems.Datagram {
		return false
	}
	r.sendRouted(toClient, seat, slices.Clone(message))
	return true
}

func (r *rig) sendRouted(toClient bool, seat int, message []byte) {
	for _, late := range r.route(toClient, message) {
		r.Net.At(r.Now()+time.Duration(late)*r.Length, func() {
			r.routed = true
			if toClient {
				r.Send(systems.Peer(seat), systems.Datagram, message)
			} else {
				r.Peers[seat].Send(0, systems.Datagram, message)
			}
			r.routed = false
		})
	}
}

// input returns what a player holds, with the presses for this frame.
func (r *rig) input(seat int) ecs.InputBytes {
	in := r.pads[seat]
	if p := &r.press[seat]; *p != (pad{}) {
		in.Step, in.Fire, in.Hurt = p.Step, p.Fire, p.Hurt
		*p = pad{}
	}
	return padInput.Pack(in)
}

// x returns the position of a player's figure on its own client.
func (r *rig) x(seat int) float64 { return r.xIn(r.clients[seat].World(), seat) }

func (r *rig) xIn(w *ecs.World, seat int) float64 {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return xAt(&s, figure(w, ecs.Player(seat)))
}

func xAt(s *image.Snapshot, e ecs.Entity) float64 {
	m, ok := s.Motion(e)
	if !ok {
		return -1
	}
	return m.Pos.X.Float()
}

// presses counts the steps among the pending inputs of a client.
func (r *rig) presses(seat int) (n int) {
	c := r.clients[seat]
	for f := c.Received + 1; f <= c.line.Inputs.Sampled(); f++ {
		if e, _ := c.line.Inputs.Given(f); padInput.Unpack(e.In).Step {
			n++
		}
	}
	return n
}

// atServer changes a player's body at the end of a tick on the server.
func (r *rig) atServer(tick ecs.Tick, seat int, f func(b *body)) {
	hooks[r.server.World()] = func(w *ecs.World) {
		if w.Tick() == tick {
			bodies := r.Game.Components[0].(*ecs.Component[body])
			f(bodies.Write(w, figure(w, ecs.Player(seat))))
		}
	}
}

// effectsOf counts the effects of a status on a client.
func (r *rig) effectsOf(seat int, kind ecs.EffectStatus, of func(systems.Effect) bool) (n int) {
	for _, e := range r.Peers[seat].Effects {
		if e.Status == kind && of(e) {
			n++
		}
	}
	return n
}

func is[T any](g *ecs.Game, event *ecs.Event[T]) func(systems.Effect) bool {
	return func(e systems.Effect) bool {
		_, ok := event.Decode(g, e.Event)
		return ok
	}
}

func num(n, d int64) fixed.Num { return fixed.FromRatio(n, d) }

type entry = inputs.Entry

// waiting returns the number of pending inputs of a client.
func (c *Client) waiting() int { return int(c.line.Inputs.Sampled() - c.Received) }
