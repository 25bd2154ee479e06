package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// rig is a server and clients with fixed ways between them, in ticks, without sessions; each frame of a client is one
// tick, and its clock is seconds off.
type rig struct {
	t        testing.TB
	game     *ecs.Game
	server   *Server
	clients  []*Client
	up, down int // ticks
	tick     int
	ups      []lane // by client
	downs    []lane
	pads     []pad
	lose     func(toClient bool, seat int, message []byte) bool
	news     [][]systems.Effect
	taken    []systems.FinalTick // copies, without worlds
	sums     []image.Checksum    // of the states of taken
	bytes    int                 // to clients
	failed   error
	outs     []systems.Outbox
	hear     []func(systems.Effect)
}

// lane holds the messages under way, by the frame in which they arrive.
type lane struct{ slots [128]parcel }

type parcel struct {
	data  []byte
	ends  []int
	chans []systems.Channel
}

func (p *parcel) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	p.data = append(p.data, message...)
	p.ends, p.chans = append(p.ends, len(p.data)), append(p.chans, ch)
}

// at returns message i, if there is one.
func (p *parcel) at(i int) (ch systems.Channel, message []byte, ok bool) {
	if i >= len(p.ends) {
		return 0, nil, false
	}
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	return p.chans[i], p.data[from:p.ends[i]], true
}

func (p *parcel) clear() { p.data, p.ends, p.chans = p.data[:0], p.ends[:0], p.chans[:0] }

// Send makes the rig the server's outbox.
func (r *rig) Send(to systems.Peer, ch systems.Channel, message []byte) {
	r.bytes += len(message)
	if r.lose == nil || !r.lose(true, int(to), message) {
		r.downs[to].slots[(r.tick+r.down)%128].Send(to, ch, message)
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
		r.ups[u.seat].slots[(r.tick+r.up)%128].Send(to, ch, message)
	}
}

// newRig returns a rig in which all play. Who cheats computes another game than the server.
func newRig(t testing.TB, players, up, down int, c Config, cheats bool) *rig {
	t.Helper()
	r := &rig{t: t, game: testGame(false), up: up, down: down, ups: make([]lane, players), downs: make([]lane, players),
		pads: make([]pad, players), news: make([][]systems.Effect, players)}
	strategy := New(c)
	half, err := strategy.NewServer(systems.ServerConfig{World: newWorld(t, r.game), Peers: players, States: true, Taken: r.take})
	if err != nil {
		t.Fatal(err)
	}
	r.server = half.(*Server)
	for seat := range players {
		r.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, r)
	}
	for range up + down + 8 {
		r.tick++
		r.server.Tick(r.now())
		r.server.Send(r.now(), r)
	}
	for seat := range players {
		world := newWorld(t, testGame(cheats))
		half, err := strategy.NewClient(systems.ClientConfig{World: world, Seat: seat})
		if err != nil {
			t.Fatal(err)
		}
		r.clients = append(r.clients, half.(*Client))
		r.outs = append(r.outs, uplink{r, seat})
		r.hear = append(r.hear, func(e systems.Effect) { r.news[seat] = append(r.news[seat], e) })
		r.connect(seat)
	}
	r.run(3*gameRate + 4*(up+down))
	for seat, c := range r.clients {
		if !c.Live() || len(c.avatars) != 1 || !c.avatars[0].placed {
			t.Fatalf("client %d is not live after %d frames: %+v, %+v", seat, r.tick, c.Stats(), c.avatars)
		}
	}
	return r
}

// connect gives a client the present state and opens its peer.
func (r *rig) connect(seat int) {
	r.t.Helper()
	var state image.Snapshot
	r.server.World().Image().Save(&state)
	c := r.clients[seat]
	if err := c.World().Image().Load(state.AppendImage(nil)); err != nil {
		r.t.Fatal(err)
	}
	state.Release()
	c.Load(r.local(seat), r.server.Done(), systems.Time(r.up+r.down)*systems.Second/gameRate)
	r.server.Open(systems.Peer(seat), seat, r.server.Done(), r.now(), r)
}

func (r *rig) take(f systems.FinalTick) {
	copied := systems.FinalTick{FinalTick: rollback.FinalTick{Tick: f.Tick, Inputs: append([]ecs.InputBytes(nil), f.Inputs...)}}
	for _, o := range f.Orders {
		o.Payload = append([]byte(nil), o.Payload...)
		copied.Orders = append(copied.Orders, o)
	}
	r.taken, r.sums = append(r.taken, copied), append(r.sums, f.State.Checksum())
}

func (r *rig) now() systems.Time { return systems.Time(r.tick) * systems.Second / gameRate }

// local is what a client's clock shows.
func (r *rig) local(seat int) systems.Time { return r.now() + systems.Time(100*seat+37)*systems.Second }

// step plays a frame: the server's tick, then what the clients hear and do.
func (r *rig) step() {
	r.tick++
	for id := range r.ups {
		p := &r.ups[id].slots[r.tick%128]
		for i := 0; ; i++ {
			ch, message, ok := p.at(i)
			if !ok {
				break
			}
			if err := r.server.Receive(systems.Peer(id), ch, message, r.now(), r); err != nil {
				r.failed = err
			}
		}
		p.clear()
	}
	r.server.Tick(r.now())
	r.server.Send(r.now(), r)
	for seat := range r.clients {
		r.frame(seat)
	}
	if r.failed != nil {
		r.t.Fatal(r.failed)
	}
}

// frame lets a client hear what has arrived and its player do what he does.
func (r *rig) frame(seat int) {
	c, p := r.clients[seat], &r.downs[seat].slots[r.tick%128]
	for i := 0; ; i++ {
		ch, message, ok := p.at(i)
		if !ok {
			break
		}
		if err := c.Receive(ch, message, r.local(seat)); err != nil {
			r.failed = err
		}
	}
	p.clear()
	c.SetInput(padInput.Pack(r.pads[seat]))
	c.Frame(r.local(seat))
	c.Send(r.local(seat), r.outs[seat])
	c.Effects(r.hear[seat])
	r.pads[seat].Shoot, r.pads[seat].Hurt = false, false
}

func (r *rig) run(frames int) {
	for range frames {
		r.step()
	}
}

// walker returns a player's entity.
func (r *rig) walker(seat int) ecs.Entity { return walker(r.server.World(), ecs.Player(seat)) }

// own is where a client has its walker, believed where the server has it.
func (r *rig) own(seat int) fixed.Vec3 {
	m, _ := r.clients[seat].World().Image().Motion(r.walker(seat))
	return m.Pos
}

func (r *rig) believed(seat int) fixed.Vec3 {
	m, _ := r.server.World().Image().Motion(r.walker(seat))
	return m.Pos
}

// shown is where a client shows another's walker.
func (r *rig) shown(seat, other int) fixed.Vec3 {
	r.t.Helper()
	m, ok := r.clients[seat].Shown(r.walker(other), r.local(seat))
	if !ok {
		r.t.Fatalf("client %d shows nothing of %d", seat, other)
	}
	return m.Pos
}

func far(a, b fixed.Vec3) float64 { return a.Sub(b).Len().Float() }

// replay computes the match again from what was final, and returns the first tick that is another.
func (r *rig) replay() (wrong ecs.Tick) {
	w := newWorld(r.t, r.game)
	var s image.Snapshot
	defer s.Release()
	for i, f := range r.taken {
		w.Step(ecs.TickInputs{Players: f.Inputs, Orders: f.Orders})
		w.Image().Save(&s)
		if s.Checksum() != r.sums[i] {
			return f.Tick
		}
	}
	return 0
}
