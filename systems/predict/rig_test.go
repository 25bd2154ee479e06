package predict

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
)

// rig is a server and clients with fixed ways between them, in ticks, each frame of which is one tick. The server's
// ticks are due a tick later than they come, so that an input is consumed when it arrives with just the margin that the
// lead control aims at: replies come "on receipt", as in the articles whose vectors are tested.
type rig struct {
	t        testing.TB
	game     *ecs.Game
	server   *Server
	clients  []*Client
	up, down int // ticks
	tick     int // frames so far
	length   systems.Time
	ups      []lane // by client
	downs    []lane
	pads     []pad
	press    []pad // for one frame
	outs     []systems.Outbox
	lose     func(toClient bool, seat int, message []byte) bool
	route    func(toClient bool, message []byte) (later []int) // by how many ticks each copy of a message is late; nil: one, in time
	effects  [][]systems.Effect
	bytes    int
	failed   error
	from     int // a frame that a test remembers
}

// lane holds the messages under way, by the frame in which they arrive.
type lane struct{ slots [64]parcel }

type parcel struct {
	data  []byte
	ends  []int
	chans []systems.Channel
}

func (p *parcel) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	p.data = append(p.data, message...)
	p.ends, p.chans = append(p.ends, len(p.data)), append(p.chans, ch)
}

func (p *parcel) open(f func(ch systems.Channel, message []byte)) {
	from := 0
	for i, end := range p.ends {
		f(p.chans[i], p.data[from:end])
		from = end
	}
	p.data, p.ends, p.chans = p.data[:0], p.ends[:0], p.chans[:0]
}

// Send makes the rig the server's outbox.
func (r *rig) Send(to systems.Peer, ch systems.Channel, message []byte) {
	r.bytes += len(message)
	if r.lose == nil || !r.lose(true, int(to), message) {
		r.carry(&r.downs[to], r.down, true, to, ch, message)
	}
}

func (r *rig) carry(l *lane, way int, toClient bool, to systems.Peer, ch systems.Channel, message []byte) {
	later := []int{0}
	if r.route != nil && ch == systems.Datagram {
		later = r.route(toClient, message)
	}
	for _, n := range later {
		l.slots[(r.tick+way+n)%64].Send(to, ch, message)
	}
}

// uplink is the outbox of a client.
type uplink struct {
	rig  *rig
	seat int
}

func (u uplink) Send(to systems.Peer, ch systems.Channel, message []byte) {
	r := u.rig
	if r.lose == nil || !r.lose(false, u.seat, message) {
		r.carry(&r.ups[u.seat], r.up, false, to, ch, message)
	}
}

// newRig returns a rig in which all have joined and every clock has settled.
func newRig(t testing.TB, game *ecs.Game, players, up, down int, c Config, cc systems.ClientConfig) *rig {
	t.Helper()
	r := &rig{t: t, game: game, up: up, down: down, ups: make([]lane, players), downs: make([]lane, players),
		length: systems.Second / systems.Time(game.TickRate), pads: make([]pad, players), press: make([]pad, players),
		effects: make([][]systems.Effect, players)}
	strategy := New(c)
	half, err := strategy.NewServer(systems.ServerConfig{World: newWorld(t, game), Peers: players})
	if err != nil {
		t.Fatal(err)
	}
	r.server = half.(*Server)
	for seat := range players {
		r.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, r)
	}
	for seat := range players {
		r.outs = append(r.outs, uplink{r, seat})
	}
	for range up + down + 8 {
		r.tick++
		r.server.Tick(r.now() + r.length)
	}
	var state image.Snapshot
	r.server.World().Image().Save(&state)
	encoded := state.AppendImage(nil)
	for seat := range players {
		world := newWorld(t, game)
		if err := world.Image().Load(encoded); err != nil {
			t.Fatal(err)
		}
		cc.World, cc.Seat = world, seat
		half, err := strategy.NewClient(cc)
		if err != nil {
			t.Fatal(err)
		}
		c := half.(*Client)
		c.Load(r.now(), r.server.Done()+ecs.Tick(up)-2, 0)
		c.line.Pacer.Shift(0.25) // away from where rounding decides
		r.clients = append(r.clients, c)
		r.server.Open(systems.Peer(seat), seat, r.server.Done(), r.now(), r)
	}
	for range 2*(up+down) + 40*game.TickRate/(min(game.TickRate, max(c.SnapshotRate, 20))) {
		r.step()
	}
	for seat, c := range r.clients {
		if !c.Live() || c.line.Pacer.Dilation() != 1 {
			t.Fatalf("client %d is not live after %d frames: %+v, lead margin %v", seat, r.tick, c.Stats(), c.line.Lead.Margin(c.line.Pacer.Gained()))
		}
	}
	r.forget()
	return r
}

// forget drops what was counted while the clocks settled.
func (r *rig) forget() {
	for seat, c := range r.clients {
		c.counts, c.Counted.Rollbacks, c.Counted.Resimulated, c.Counted.Stalls = Counts{}, 0, 0, 0
		r.effects[seat] = r.effects[seat][:0]
	}
}

func (r *rig) now() systems.Time { return systems.Time(r.tick) * r.length }

// step plays a frame: the server's tick, then what the clients hear and do.
func (r *rig) step() {
	r.tick++
	now := r.now()
	for id := range r.ups {
		r.ups[id].slots[r.tick%64].open(func(ch systems.Channel, message []byte) {
			if err := r.server.Receive(systems.Peer(id), ch, message, now, r); err != nil {
				r.failed = err
			}
		})
	}
	r.server.Tick(now + r.length)
	r.server.Send(now, r)
	for seat := range r.clients {
		r.hear(seat)
		r.frame(seat)
	}
	if r.failed != nil {
		r.t.Fatal(r.failed)
	}
}

// hear hands a client what has arrived.
func (r *rig) hear(seat int) {
	r.downs[seat].slots[r.tick%64].open(func(ch systems.Channel, message []byte) {
		if err := r.clients[seat].Receive(ch, message, r.now()); err != nil {
			r.failed = err
		}
	})
}

// frame lets a client's player do what he does.
func (r *rig) frame(seat int) {
	c := r.clients[seat]
	in := r.pads[seat]
	if p := &r.press[seat]; *p != (pad{}) {
		in.Step, in.Fire, in.Hurt = p.Step, p.Fire, p.Hurt
		*p = pad{}
	}
	c.SetInput(padInput.Pack(in))
	c.Frame(r.now())
	c.Send(r.now(), r.outs[seat])
	c.Effects(func(e systems.Effect) { r.effects[seat] = append(r.effects[seat], e) })
}

// run plays frames.
func (r *rig) run(frames int) {
	for range frames {
		r.step()
	}
}

// x is where a client has its player's figure.
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

// presses counts the steps among the inputs that a client has pending.
func (r *rig) presses(seat int) (n int) {
	q := &r.clients[seat].pending
	for f := q.base + 1; f <= q.last(); f++ {
		if e, _ := q.at(f); padInput.Unpack(e.in).Step {
			n++
		}
	}
	return n
}

// atServer plants what f does to a player's body at the end of the server's tick f.
func (r *rig) atServer(tick ecs.Tick, seat int, f func(b *body)) {
	hooks[r.server.World()] = func(w *ecs.World) {
		if w.Tick() == tick {
			bodies := r.game.Components[0].(*ecs.Component[body])
			f(bodies.Write(w, figure(w, ecs.Player(seat))))
		}
	}
}

func (r *rig) heard(seat int, kind ecs.EffectStatus, of func(systems.Effect) bool) (n int) {
	for _, e := range r.effects[seat] {
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
