// Command bunnymark is the port of a donburi program to Tendon: bunnies fall and bounce, and players add more. The guide
// guides/FROM_DONBURI.md explains it beside the original, which is in the folder before.
//
//	go run ./cmd/bunnymark play --net P3     space adds bunnies
package main

import (
	_ "embed"
	"fmt"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/cmd/cli"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

//go:embed bunny.png
var picture []byte

// Position is in pixels.
type Position struct{ X, Y fixed.Num }

// Velocity is in pixels per tick.
type Velocity struct{ X, Y fixed.Num }

// Pad is the input of a player.
type Pad struct{ More bool }

// The components of a bunny. Those of Tendon are component types of donburi too.
var (
	position = ecs.NewComponent("position", ecs.Roles[Position]{
		Lerp: func(a, b Position, t float64) Position {
			return Position{a.X.Lerp(b.X, fixed.FromFloat(t)), a.Y.Lerp(b.Y, fixed.FromFloat(t))}
		},
	})
	velocity = ecs.NewComponent[Velocity]("velocity")
	pad      = ecs.NewInput[Pad]()

	bunnies = donburi.NewQuery(filter.Contains(position, velocity))
	movers  = ecs.NewQuery2(ecs.Write(position), ecs.Write(velocity))
)

var (
	width, height = fixed.FromInt(800), fixed.FromInt(600)
	gravity       = fixed.FromRatio(1, 2)
)

const (
	maxBunnies = 2000
	perTick    = 2 // bunnies that a player adds
)

// spawn adds the bunnies of players who hold the key.
func spawn(w *ecs.World) {
	n := 0
	for range movers.All(w) {
		n++
	}
	for p := range w.Players().All() {
		for i := 0; i < perTick && n < maxBunnies && pad.Of(w, p).More; i++ {
			e := w.Spawn(ecs.OwnedBy(p), position, velocity)
			velocity.Put(w, e, Velocity{X: fixed.FromRatio(int64(w.Rand().IntN(8000)), 1000), Y: fixed.FromRatio(int64(w.Rand().IntN(5000)), 1000)})
			n++
		}
	}
}

// fall accelerates the bunnies: the donburi loop, in the order of rows.
func fall(w *ecs.World) {
	for entry := range ecs.Ordered(w, bunnies) {
		velocity.Get(entry).Y += gravity
	}
}

// move moves the bunnies: the same loop with a query of Tendon, which costs less.
func move(w *ecs.World) {
	for e := range movers.All(w) {
		p, v := e.A, e.B
		p.X, p.Y = p.X+v.X, p.Y+v.Y
		if p.X < 0 || p.X > width {
			p.X, v.X = p.X.Clamp(0, width), -v.X
		}
		if p.Y > height {
			p.Y, v.Y = height, -v.Y
		}
	}
}

// leave removes the bunnies of a player.
func leave(w *ecs.World, p ecs.Player) {
	for e := range movers.All(w) {
		if e.Entity().Owner() == ecs.OwnedBy(p) {
			w.Despawn(e.Entity())
		}
	}
}

// Sprite is a component of the view. It holds any Go type, and stays while its bunny is shown, also across rewinds.
type Sprite struct{ Color ecs.Color }

var sprite = donburi.NewComponentType[Sprite]()

// dress gives a bunny that has appeared its sprite.
func dress(_ *ecs.View, entry *donburi.Entry) {
	e, _ := ecs.EntityOf(entry)
	donburi.Add(entry, sprite, &Sprite{ecs.Color{R: uint8(90 + e.Row*37%160), G: uint8(90 + e.Row*59%160), B: 220, A: 255}})
}

func draw(c ecs.Canvas, v *ecs.View) {
	c.Camera(width.Float()/2, height.Float()/2, height.Float()+40)
	n := 0
	for entry := range bunnies.Iter(v.World) { // in a picture, any order will do
		p := position.GetValue(entry)
		c.Image("bunny", p.X.Float()-12, p.Y.Float()-32, 24, 32, ecs.ImageOptions{Tint: sprite.Get(entry).Color})
		n++
	}
	c.Text(width.Float()/2, 0, 24, 0, fmt.Sprintf("%d bunnies; space adds more", n), ecs.Color{R: 235, G: 240, B: 250, A: 255})
}

func keys(c ecs.Controls) ecs.InputBytes { return pad.Pack(Pad{More: c.Down("space")}) }

func bot(_ *ecs.World, _ ecs.Player, r *ecs.Rand) ecs.InputBytes {
	return pad.Pack(Pad{More: r.Chance(1, 8)})
}

var game = ecs.Game{
	Name: "bunnymark", TickRate: 60, MaxPlayers: 4, Input: pad, Components: ecs.Components(position, velocity),
	Assets: []ecs.Asset{{Name: "bunny", Data: picture}}, Systems: ecs.Systems(spawn, fall, move), Leave: leave, Bot: bot,
	Screen: ecs.Screen{Controls: keys, Draw: draw, Dress: dress},
}

func main() { cli.Main(game) }
