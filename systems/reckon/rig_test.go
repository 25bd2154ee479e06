package reckon

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/motion"
)

// rig is a Loop of reckon's halves. The clocks of the clients are seconds off.
type rig struct {
	*halves.Loop
	t       testing.TB
	Down    int // delay, in ticks
	server  *Server
	clients []*Client
	pads    []pad
	epochs  []uint8 // of the walkers, when all clients were live
	lose    func(toClient bool, seat int, message []byte) bool
	taken   []systems.FinalTick // copies, without worlds
	sums    []image.Checksum    // of the states of taken
}

// newRig returns a rig in which all players are live. Clients that cheat compute another game than the server.
func newRig(t testing.TB, players, up, down int, c Config, cheats bool) *rig {
	t.Helper()
	return newRigOf(t, testGame(false), testGame(cheats), players, up, down, c)
}

// newRigOf is newRig with the games of the server and of the clients.
func newRigOf(t testing.TB, ofServer, ofClients *ecs.Game, players, up, down int, c Config) *rig {
	t.Helper()
	r := &rig{t: t, Down: down, pads: make([]pad, players)}
	r.Loop = halves.NewLoop(t, halves.Config{Game: ofServer, Strategy: New(c), Seed: 1, Change: func(sc *systems.ServerConfig) {
		sc.States, sc.Taken = true, r.record
	}}, up, down)
	r.server, r.Lost = r.Server.Server.(*Server), r.lost
	for seat := range players {
		r.Seat(ecs.Player(seat))
	}
	for range up + down + 8 {
		r.Next()
		r.Serve()
	}
	for seat := range players {
		p := r.Add(halves.Plan{Config: systems.ClientConfig{Seat: seat}, Game: ofClients,
			Clock: simnet.Clock{Offset: time.Duration(100*seat+37) * time.Second},
			Input: func(int) ecs.InputBytes { return r.input(seat) }})
		r.clients = append(r.clients, p.Half.(*Client))
		p.Enter()
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

// Local returns the time on a client's clock.
func (r *rig) Local(seat int) time.Duration { return r.Peers[seat].Now() }

func (r *rig) record(f systems.FinalTick) {
	r.taken, r.sums = append(r.taken, systems.FinalTick{FinalTick: halves.Clone(f)}), append(r.sums, f.State.Checksum())
}

func (r *rig) lost(toClient bool, seat int, _ systems.Channel, message []byte) bool {
	return r.lose != nil && r.lose(toClient, seat, message)
}

func (r *rig) input(seat int) ecs.InputBytes {
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
	o := c.remotes.find(e)
	if o == nil {
		return m, false
	}
	return o.motion.Shown(&c.limits.Remotes, now)
}
