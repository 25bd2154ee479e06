package rollback

import (
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
)

// skirmish is the game of these tests. Players steer, join and leave, and fire rockets that spawn and despawn within a
// prediction window. Every random draw, event and row depends on the ticks before.

type skPad struct {
	DX, DY int8
	Fire   bool `tendon:"press"`
}

type skBody struct{ X, Y, VX, VY int32 }

type skRocket struct {
	Life  int16
	By    ecs.Player
	Shots uint32
}

type skScore struct {
	Points [4]uint32
	Gifts  uint32
	_      uint32
	Target ecs.Entity
}

type skHit struct{ At fixed.Num }

var (
	skInput   = ecs.NewInput[skPad]()
	skBodies  = ecs.NewComponent[skBody]("body")
	skRockets = ecs.NewComponent[skRocket]("rocket")
	skSeats   = ecs.NewComponent[ecs.Seat]("seat")
	skScores  = ecs.NewResource[skScore]("score")
	skShot    = ecs.NewEvent[skHit]("shot")
	skDeath   = ecs.NewIrreversibleEvent[skHit]("death")

	skSteered = ecs.NewQuery2(ecs.Write(skBodies), ecs.Read(skSeats))
	skMoving  = ecs.NewQuery1(ecs.Write(skBodies))
	touched   = ecs.NewQuery1(ecs.Read(skBodies))
	skFlying  = ecs.NewQuery2(ecs.Write(skRockets), ecs.Read(skBodies))
)

func skSteer(w *ecs.World) {
	for e := range skSteered.All(w) {
		in := skInput.Of(w, e.B.Player)
		e.A.VX, e.A.VY = int32(in.DX), int32(in.DY)
		if !in.Fire {
			continue
		}
		rocket := w.Spawn(ecs.OwnedBy(e.B.Player), skBodies, skRockets)
		skBodies.Put(w, rocket, skBody{X: e.A.X, Y: e.A.Y, VX: 2*int32(in.DX) + 1, VY: 2 * int32(in.DY)})
		skRockets.Put(w, rocket, skRocket{Life: int16(2 + w.Rand().IntN(6)), By: e.B.Player})
		skShot.Emit(w, e.Entity(), skHit{fixed.FromInt(int(e.A.X))})
	}
}

func skMove(w *ecs.World) {
	for run := range skMoving.Runs(w) {
		for i := range run.A {
			run.A[i].X += run.A[i].VX
			run.A[i].Y += run.A[i].VY
		}
	}
}

func skBurn(w *ecs.World) {
	for e := range skFlying.All(w) {
		e.A.Life--
		if e.A.Life > 0 {
			continue
		}
		score := skScores.Write(w)
		score.Points[e.A.By] += uint32(w.Rand().IntN(10)) + uint32(e.B.X&3)
		score.Target = e.Entity()
		skDeath.Emit(w, e.Entity(), skHit{fixed.FromInt(int(e.B.Y))})
		w.Despawn(e.Entity())
	}
}

var skAvatar = []ecs.AnyComponent{skBodies, skSeats}

func skirmish() *ecs.Game {
	return &ecs.Game{
		Name: "skirmish", TickRate: 60, MaxPlayers: 4, Input: skInput,
		Components: ecs.Components(skBodies, skRockets, skSeats), Resources: ecs.Resources(skScores),
		Events: ecs.Events(skShot, skDeath), Systems: ecs.Systems(skSteer, skMove, skBurn),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), skAvatar...)
			skSeats.Put(w, e, ecs.Seat{Player: p})
			skBodies.Put(w, e, skBody{X: int32(w.Rand().IntN(100)), Y: int32(p)})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range skSteered.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Orders: raworder.Orders(func(w *ecs.World, p ecs.Player, _ ecs.Entity, order []byte) {
			skScores.Write(w).Gifts = skScores.Read(w).Gifts*31 + uint32(p) + uint32(len(order))
			e := w.Spawn(ecs.OwnedByWorld, skBodies, skRockets)
			skRockets.Put(w, e, skRocket{Life: int16(len(order)%7 + 1), By: p})
		}),
	}
}

func newWorld(t testing.TB, g *ecs.Game) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// randomPad holds keys for a while, as people do, so that predictions are often right.
func randomPad(r *rand.Rand, last ecs.InputBytes) ecs.InputBytes {
	pad := skInput.Unpack(last)
	pad.Fire = false
	if r.IntN(6) == 0 {
		pad = skPad{DX: int8(r.IntN(3) - 1), DY: int8(r.IntN(3) - 1), Fire: r.IntN(2) == 0}
	}
	return skInput.Pack(pad)
}

// oracle is the match as it truly happens: one world that runs straight through what was confirmed.
type oracle struct {
	world  *ecs.World
	inputs [][]ecs.InputBytes // by tick; tick 0 has none
	late   []image.PlayerSet
	orders map[ecs.Tick][]image.Order
	sums   []image.Checksum // by tick
	events [][]image.EventKey
	saved  image.Snapshot
}

func newOracle(t testing.TB) *oracle {
	o := &oracle{world: newWorld(t, skirmish()), orders: map[ecs.Tick][]image.Order{}}
	o.keep(nil, 0)
	return o
}

func (o *oracle) keep(inputs []ecs.InputBytes, late image.PlayerSet) {
	o.world.Image().Save(&o.saved)
	o.inputs, o.late = append(o.inputs, inputs), append(o.late, late)
	o.sums = append(o.sums, o.saved.Checksum())
	var keys []image.EventKey
	for _, e := range o.world.Events() {
		keys = append(keys, e.Key)
	}
	o.events = append(o.events, keys)
}

// fixed returns the last tick that the oracle has fixed.
func (o *oracle) fixed() ecs.Tick { return o.world.Tick() }

// fix makes the inputs of the next tick final and computes it.
func (o *oracle) fix(inputs []ecs.InputBytes, late image.PlayerSet) {
	o.world.Step(ecs.TickInputs{Players: inputs, Orders: o.orders[o.fixed()+1]})
	o.keep(inputs, late)
}

func (o *oracle) digest(f ecs.Tick) uint32 { return DigestOrders(o.orders[f]) }

// deliver confirms tick f to a timeline.
func (o *oracle) deliver(t *Timeline, f ecs.Tick) error {
	return t.Confirm(f, o.inputs[f], o.late[f], o.digest(f))
}
