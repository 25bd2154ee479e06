// Command dots is a whole networked game: each player is a dot that moves and plants seeds that fade. Read it from top to
// bottom as a first lesson in Tendon: data, declarations, systems, hooks, view, main. The rules contain no network, clock or
// server code. The last line adds those.
//
//	go run ./cmd/dots play                            you and three bots in a window: arrows move, space plants
//	go run ./cmd/dots demo --for 20s                  three bots over a bad network; every state is compared with the server's
//	go run ./cmd/dots synctest                        every tick twice, with wrong inputs first: is the game deterministic?
//	go run ./cmd/dots serve --record recordings       a server; it prints the command that joins it from another terminal
//	go run ./cmd/dots demo --sync lockstep --for 20s  the same game with another sync strategy
package main

import (
	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/cmd/cli"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// # Data
//
// A component is plain data: booleans, numbers of a fixed size, arrays and structs of them. A pointer, a string, a map or
// an int is refused when the world is made, and the error names the field. All components of a match lie in one block of
// memory, which the engine copies, compares and sends. That block is the whole state. To rewind the game is to copy an
// older block back.
//
// fixed.Vec2 holds fixed-point numbers, which have the same bits on every machine. Floats are allowed, but then all
// players need the same build on the same kind of processor.
//
// Pad is the input: all that a player can do in one tick, at most 32 bytes. It holds the keys that are down. A late
// input is replaced by the player's last one. A field that is marked as a press is not repeated then, so one press plants
// one seed.
//
// Try: give Seed a field Note string, and run synctest.

type Body struct{ Pos, Vel fixed.Vec2 } // a component is plain data
type Seed struct{ Left int32 }          // ticks until it is gone
type Pad struct {                       // all that a player can do in one tick
	DX, DY int8
	Plant  bool `tendon:"press"`
}

// # Declarations
//
// Components are declared once, under a name that desync reports use. Roles declare the abilities that some parts of the
// engine need. Lerp interpolates between two ticks for drawing, so it may use floats. Motion returns a position and a
// velocity in units per second, and SetMotion stores them: dead reckoning (--sync reckon) sends nothing else about a dot. A
// strategy refuses a game without a role that it needs, and names the role.
//
// A query declares which entities a system visits and what it does to each component. A component that is read comes as a
// value, and one that is written as a pointer. Saving a tick looks only at the declared writes, so saving is
// cheap and the declaration must be true; synctest checks it.
//
// Try: declare body as read in steered and write to e.A.Pos. The system changes a copy, and the dots stand still.

var (
	body = ecs.NewComponent("body", ecs.Roles[Body]{
		Lerp: func(a, b Body, t float64) Body { return Body{a.Pos.Lerp(b.Pos, fixed.FromFloat(t)), b.Vel} },
		Motion: func(b *Body) ecs.Motion {
			return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}, Vel: fixed.Vec3{X: b.Vel.X * 60, Y: b.Vel.Y * 60}}
		},
		SetMotion: func(b *Body, m ecs.Motion) {
			*b = Body{Pos: fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, Vel: fixed.Vec2{X: m.Vel.X / 60, Y: m.Vel.Y / 60}}
		},
	})
	seat = ecs.NewComponent[ecs.Seat]("seat") // which player steers it
	seed = ecs.NewComponent[Seed]("seed")
	pad  = ecs.NewInput[Pad]()

	steered = ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
	seeds   = ecs.NewQuery2(ecs.Read(body), ecs.Write(seed))
)

// # Systems
//
// A system is one rule that runs once a tick for all entities. Its result must follow from the world alone: the same state
// and the same inputs give the same next state on every machine. So it reads the world's time (w.Tick) and the world's
// random source (w.Rand), and keeps nothing in variables of its own. The engine may compute a tick several times: first
// with predicted inputs of the other players, then with the real ones. A system cannot distinguish the two.
//
// A seed is spawned for the player who planted it, so a seed of a wrong prediction never takes the place of another
// player's. It can be filled at once; queries see it when the system has returned.
//
// Try: count the planted seeds in a package variable in steer, and let the speed depend on it. Then run synctest: it names
// the tick, the dot and the field that differ.

func steer(w *ecs.World) {
	for e := range steered.All(w) { // in the same order on every machine; e.A is written, e.B only read
		in := pad.Of(w, e.B.Player)
		want := fixed.Vec2{X: fixed.FromInt(int(in.DX)), Y: fixed.FromInt(int(in.DY))}
		e.A.Vel = e.A.Vel.Lerp(want.Scale(fixed.FromRatio(1, 7)), fixed.FromRatio(1, 8))
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if in.Plant {
			s := w.Spawn(ecs.OwnedBy(e.B.Player), body, seed)
			body.Put(w, s, Body{Pos: e.A.Pos})
			seed.Put(w, s, Seed{Left: 180})
		}
	}
}

func fade(w *ecs.World) {
	for e := range seeds.All(w) {
		if e.B.Left--; e.B.Left == 0 {
			w.Despawn(e.Entity())
		}
	}
}

// # Hooks
//
// Join and leave are part of a tick, like inputs: the server chooses the tick, and every peer runs them there, before the
// systems. They may do whatever a system may do.
//
// bot returns the input of a computer player. It reads the world of the machine on which it runs and has a random source
// of its own. The verbs demo, synctest, lab and bots play the game with it.

func join(w *ecs.World, p ecs.Player, _ ecs.Card) {
	seat.Put(w, w.Spawn(ecs.OwnedBy(p), body, seat), ecs.Seat{Player: p})
}

func leave(w *ecs.World, p ecs.Player) {
	for e := range steered.All(w) {
		if e.B.Player == p {
			w.Despawn(e.Entity())
		}
	}
}

func bot(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
	now := pad.Unpack(w.Image().Input(p))
	now.Plant = r.Chance(1, 30)
	if r.Chance(1, 20) {
		now.DX, now.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
	}
	return pad.Pack(now)
}

// # View
//
// keys turns the keys that are down into an input. draw paints a view: a copy of the world at the moment of the picture,
// which lies between two ticks and includes predictions. Writing into that copy does not change the match. A server runs
// neither hook.
//
// v.Sim is the copy as a world of the engine, and v.World the same as an ordinary donburi world. ecs.Ordered walks a donburi
// query in it, in the order of rows. Sprite is a component of the view alone: any Go type, added by dress when an entity
// appears, and kept through every rewind.
//
// Try: play, and run demo --rtt 250ms --loss 10 to see what the same rules cost on a worse network.

type Sprite struct{ X, Y float64 } // the end of the tail

var sprite, drawn = donburi.NewComponentType[Sprite](), donburi.NewQuery(filter.Contains(body))

func dress(_ *ecs.View, entry *donburi.Entry) {
	at := body.GetValue(entry).Pos
	donburi.Add(entry, sprite, &Sprite{at.X.Float(), at.Y.Float()})
}

func keys(c ecs.Controls) ecs.InputBytes {
	one := map[bool]int8{true: 1}
	return pad.Pack(Pad{DX: one[c.Down("right")] - one[c.Down("left")], DY: one[c.Down("down")] - one[c.Down("up")], Plant: c.Down("space")})
}

func draw(c ecs.Canvas, v *ecs.View) {
	c.Camera(0, 0, 22)
	for entry := range ecs.Ordered(v.Sim, drawn) {
		s, at := sprite.Get(entry), body.GetValue(entry).Pos
		x, y := at.X.Float(), at.Y.Float()
		if entry.HasComponent(seed) {
			c.Circle(x, y, 0.15, ecs.Color{R: 120, G: 200, B: 120, A: uint8(seed.GetValue(entry).Left)})
			continue
		}
		s.X, s.Y = s.X+(x-s.X)/8, s.Y+(y-s.Y)/8
		c.Line(s.X, s.Y, x, y, 0.7, ecs.Color{R: 90, G: 160, B: 255, A: 90})
		c.Circle(x, y, 0.5, ecs.Color{R: 90, G: 160, B: 255, A: 255})
	}
}

// # The game
//
// One value holds the whole game. Systems run in the order in which they are listed. Two peers compare names, types and
// order before they play together. A component that is used and not listed is reported before anything starts.

var game = ecs.Game{
	Name: "dots", TickRate: 60, MaxPlayers: 8, Input: pad, Components: ecs.Components(body, seat, seed),
	Systems: ecs.Systems(steer, fade), Join: join, Leave: leave, Bot: bot,
	Screen: ecs.Screen{Controls: keys, Draw: draw, Dress: dress},
}

// # Main
//
// cli.Main gives the game its verbs, server and client among them; --help lists them. A game with a window or a server of
// its own replaces this line with packages net/client and net/server, as cmd/embed does.
//
// Next: ecs/DETERMINISM.md lists what rules may rely on, systems/CHOOSING.md what --sync changes, rollback/DESYNCS.md how
// to find a mistake, and cmd/cli/DEPLOYING.md how to run a server. cmd/arena is a game of more than one page.

func main() { cli.Main(game) }
