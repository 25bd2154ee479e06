// Command dots is a whole networked game: each player is a dot that moves, and leaves seeds that fade. It is written to
// be read from top to bottom, as a first lesson in Tendon: data, what walks over it, rules, hooks, picture, main. Nothing
// in it knows of a network, a clock or a server; those come with the last line.
//
//	go run ./cmd/dots play                            you and three bots, in a window: arrows move, space plants
//	go run ./cmd/dots demo --for 20s                  three bots over a bad network, every state compared with the server's
//	go run ./cmd/dots synctest                        every tick again with wrong inputs first: is the game deterministic?
//	go run ./cmd/dots serve --record recordings       a server; it prints the line that joins it from another terminal
//	go run ./cmd/dots demo --sync lockstep --for 20s  the same game, kept in step in another way
package main

import (
	"tendon/cmd/cli"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// # Data
//
// A component is plain data: booleans, numbers of a fixed size, arrays and structs of them. A pointer, a string, a map or
// an int is refused when the world is made, with the field's name, since all components of a match lie in one block of
// memory that is copied, compared and sent. That block is the state, and there is no other: to go back in time is to put
// old bytes back.
//
// fixed.Vec2 holds fixed-point numbers, which have the same bits on every machine. Floats are allowed, but then all
// players need the same build on the same kind of processor.
//
// Pad is the input: everything that a player can say in one tick, at most 32 bytes. It says what is held down. When a
// player's input is late, the last one is taken for it; a field that is marked as a press is not repeated then, so that
// one press plants one seed.
//
// Try: give Seed a field Note string, and run synctest.

type Body struct{ Pos, Vel fixed.Vec2 } // a component is plain data
type Seed struct{ Left int32 }          // ticks until it is gone
type Pad struct {                       // all that a player can say in one tick
	DX, DY int8
	Plant  bool `tendon:"press"`
}

// # Declarations
//
// Components are declared once, under a name that desync reports will use. Roles say what only some parts of the engine
// need: Lerp lets a picture be drawn between two ticks; it is for the eye, so it may use floats. Motion says where something
// is and how fast in units per second, SetMotion takes that: dead reckoning (--sync reckon) tells others no more of a dot
// than this. A strategy refuses a game without a role that it needs, and names it.
//
// A query says which entities a system walks over, and what it does to each component. What is read comes as a value and
// what is written as a pointer, and only what was declared written is looked at when a tick is saved. That is why saving
// is cheap, and why the declaration must be true; synctest checks it.
//
// Try: declare body as read in steered and write to e.A.Pos. It changes a copy, and the dots stand still.

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
// A system is one rule, run once a tick for everybody. It must follow from the world alone: the same state and the same
// inputs give the same next state, on every machine and every time. So it asks the clock of the world (w.Tick) and the
// dice of the world (w.Rand), never those of the machine, and keeps nothing in variables of its own. A player's tick may
// be computed several times, first with a guess of what the others do and then with what they did, and steer cannot tell.
//
// A seed is spawned for its planter's owner, so a seed that is planted by a wrong guess never takes the place of another
// player's. It can be filled at once; queries see it when the system has returned.
//
// Try: keep the seeds that were planted in a package variable, count them in steer, and let the speed depend on it. Then
// run synctest: it names the tick, the dot and the field that went wrong.

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
// Join and leave are part of a tick, like inputs: the server says in which, and every peer runs them there, before the
// systems. What they may do is what a system may do.
//
// bot plays for whoever has no hands: it reads the world, as it is on that bot's own machine, and says what a player would
// say. Its dice are its own. With it the game tests itself: demo, synctest, lab and bots all let it play.

func join(w *ecs.World, p ecs.Player) {
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
	now := pad.Unpack(w.InputOf(p))
	now.Plant = r.Chance(1, 30)
	if r.Chance(1, 20) {
		now.DX, now.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
	}
	return pad.Pack(now)
}

// # Hands and eyes
//
// keys turns what is held down into an input. draw paints the view: a copy of the world at the moment of the picture,
// which lies between two ticks, with the guesses about others in it. Whatever is done to that copy, the match does not
// notice. Neither runs on a server.
//
// Try: play, and run demo --rtt 250ms --loss 10 to see what the same rules cost on a worse network.

func keys(c ecs.Controls) ecs.InputBytes {
	one := map[bool]int8{true: 1}
	return pad.Pack(Pad{DX: one[c.Down("right")] - one[c.Down("left")], DY: one[c.Down("down")] - one[c.Down("up")], Plant: c.Down("space")})
}

func draw(c ecs.Canvas, v *ecs.View) { // v.Sim is a copy of the world, interpolated to this moment
	c.Camera(0, 0, 22)
	for e := range seeds.All(v.Sim) {
		c.Circle(e.A.Pos.X.Float(), e.A.Pos.Y.Float(), 0.15, ecs.Color{R: 120, G: 200, B: 120, A: uint8(e.B.Left)})
	}
	for e := range steered.All(v.Sim) {
		c.Circle(e.A.Pos.X.Float(), e.A.Pos.Y.Float(), 0.5, ecs.Color{R: 90, G: 160, B: 255, A: 255})
	}
}

// # The game
//
// All of it in one value. The order of the systems is the order in which they run; names, types and order are part of
// what two peers compare before they play together. A component that is used and not listed is told of before anything
// starts.

var game = ecs.Game{
	Name: "dots", TickRate: 60, MaxPlayers: 8, Input: pad, Components: ecs.Components(body, seat, seed),
	Systems: ecs.Systems(steer, fade), Join: join, Leave: leave, Bot: bot,
	Screen: ecs.Screen{Controls: keys, Draw: draw},
}

// # Main
//
// cli.Main gives the game its verbs, server and client among them; --help lists them. A game with a window or a server of
// its own leaves this line out and uses packages net/client and net/server, as cmd/embed does.
//
// Next: ecs/DETERMINISM.md says what rules may rely on, systems/CHOOSING.md what --sync changes, rollback/DESYNCS.md how a
// mistake is found, cmd/cli/DEPLOYING.md how a server is run. cmd/arena is a game of more than one page.

func main() { cli.Main(game) }
