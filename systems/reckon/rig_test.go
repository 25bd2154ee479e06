package reckon

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/motion"
)

// rig is a Loop of reckon's halves. The clocks of the clients are seconds off.
type rig struct {
	*halves.Loop
	t       testing.TB
	server  *Server
	clients []*Client
	pads    []pad
	epochs  []uint8 // of the walkers, when all clients were live
	lose    func(toClient bool, seat int, message []byte) bool
	effects [][]systems.Effect
	taken   []systems.FinalTick // copies, without worlds
	sums    []image.Checksum    // of the states of taken
}

// newRig returns a rig in which all players are live. Clients that cheat compute another game than the server.
func newRig(t testing.TB, players, up, down int, c Config, cheats bool) *rig {
	t.Helper()
	r := &rig{t: t, pads: make([]pad, players), effects: make([][]systems.Effect, players)}
	game, strategy := testGame(false), New(c)
	half, err := strategy.NewServer(systems.ServerConfig{World: newWorld(t, game), Peers: players, States: true, Taken: r.record})
	if err != nil {
		t.Fatal(err)
	}
	r.server = half.(*Server)
	r.Loop = halves.NewLoop(halves.LoopConfig{Game: game, Strategy: strategy, Up: up, Down: down, Delays: r.delays, Input: r.input,
		Effect:  func(seat int, e systems.Effect) { r.effects[seat] = append(r.effects[seat], e) },
		Offset:  func(seat int) time.Duration { return time.Duration(100*seat+37) * time.Second },
		Refused: func(err error) { t.Fatal(err) }}, half)
	for seat := range players {
		r.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, r)
	}
	for range up + down + 8 {
		r.Tick++
		r.Serve()
	}
	for seat := range players {
		half := r.Add(t, systems.ClientConfig{World: newWorld(t, testGame(cheats)), Seat: seat})
		r.clients = append(r.clients, half.(*Client))
		r.connect(seat)
	}
	r.Run(3*gameRate + 4*(up+down))
	for seat, c := range r.clients {
		if !c.Live() || len(c.avatars) != 1 || !c.avatars[0].placed {
			t.Fatalf("client %d is not live after %d frames: %+v, %+v", seat, r.Tick, c.Stats(), c.avatars)
		}
		r.epochs = append(r.epochs, r.server.avatar(r.walker(seat)).epoch)
	}
	return r
}

// connect gives a client the present state and opens its peer.
func (r *rig) connect(seat int) {
	r.t.Helper()
	c := r.clients[seat]
	if err := c.World().Image().Load(halves.Image(r.server.World())); err != nil {
		r.t.Fatal(err)
	}
	c.Load(r.Local(seat), r.server.Done(), systems.Time(r.Up+r.Down)*systems.Second/gameRate)
	r.server.Open(systems.Peer(seat), seat, r.server.Done(), r.Now(), r)
}

func (r *rig) record(f systems.FinalTick) {
	copied := systems.FinalTick{FinalTick: rollback.FinalTick{Tick: f.Tick, Inputs: append([]ecs.InputBytes(nil), f.Inputs...)}}
	for _, o := range f.Orders {
		o.Payload = append([]byte(nil), o.Payload...)
		copied.Orders = append(copied.Orders, o)
	}
	r.taken, r.sums = append(r.taken, copied), append(r.sums, f.State.Checksum())
}

// inTime are the delays of a message that is neither lost nor late.
var inTime = []int{0}

func (r *rig) delays(toClient bool, seat int, _ systems.Channel, message []byte) []int {
	if r.lose != nil && r.lose(toClient, seat, message) {
		return nil
	}
	return inTime
}

func (r *rig) input(seat, _ int) ecs.InputBytes {
	in := padInput.Pack(r.pads[seat])
	r.pads[seat].Shoot, r.pads[seat].Hurt = false, false
	return in
}

// walker returns a player's entity.
func (r *rig) walker(seat int) ecs.Entity { return walker(r.server.World(), ecs.Player(seat)) }

// own returns the position of a walker on its client.
func (r *rig) own(seat int) fixed.Vec3 {
	m, _ := r.clients[seat].World().Image().Motion(r.walker(seat))
	return m.Pos
}

// believed returns the position of a walker on the server.
func (r *rig) believed(seat int) fixed.Vec3 {
	m, _ := r.server.World().Image().Motion(r.walker(seat))
	return m.Pos
}

// shown returns where a client shows the walker of another player.
func (r *rig) shown(seat, of int) fixed.Vec3 {
	r.t.Helper()
	m, ok := r.clients[seat].Shown(r.walker(of), r.Local(seat))
	if !ok {
		r.t.Fatalf("client %d does not show walker %d", seat, of)
	}
	return m.Pos
}

// guard returns what the server's guard counted of a walker since its client connected.
func (r *rig) guard(seat int) motion.GuardStats { return r.server.avatar(r.walker(seat)).guard.Stats }

// corrections returns how often a walker was corrected: on the server since all clients are live, and on its client.
func (r *rig) corrections(seat int) uint64 {
	return uint64(r.server.avatar(r.walker(seat)).epoch-r.epochs[seat]) + r.clients[seat].Stats().Snaps
}

// checked returns how many records a guard has checked.
func checked(s motion.GuardStats) uint64 { return s.Accepted + s.Clamped + s.Stale + s.Refused }

func far(a, b fixed.Vec3) float64 { return a.Sub(b).Len().Float() }

// replay computes the match again from the final ticks, and returns the first tick that differs.
func (r *rig) replay() (wrong ecs.Tick) {
	w := newWorld(r.t, r.Game)
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

// Shown returns where a remote entity is shown at now; ok is false if no record of it came.
func (c *Client) Shown(e ecs.Entity, now systems.Time) (m ecs.Motion, ok bool) {
	o := c.remotes.all.Get(e.Row)
	if o == nil || o.entity != e {
		return m, false
	}
	return o.motion.Shown(&c.limits.Remotes, now)
}
