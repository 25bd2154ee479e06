// Package before is bunnymark as a donburi program for one machine, before the port to Tendon in the folder above. Bunnies fall
// and bounce, and more are added.
package before

import (
	"math/rand/v2"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"
)

// PositionData is in pixels.
type PositionData struct{ X, Y float64 }

// VelocityData is in pixels per frame.
type VelocityData struct{ X, Y float64 }

// The size of the picture, and the acceleration in pixels per frame².
const (
	Width, Height = 800.0, 600.0
	gravity       = 0.5
)

// The components of a bunny.
var (
	Position = donburi.NewComponentType[PositionData]()
	Velocity = donburi.NewComponentType[VelocityData]()

	bunnies = donburi.NewQuery(filter.Contains(Position, Velocity))
)

// Spawn adds bunnies at the top left corner, each with a velocity of its own.
func Spawn(w donburi.World, n int) {
	for range n {
		entry := w.Entry(w.Create(Position, Velocity))
		Velocity.SetValue(entry, VelocityData{X: 1 + rand.Float64()*8, Y: rand.Float64() * 5})
	}
}

// Fall accelerates the bunnies.
func Fall(w donburi.World) {
	for entry := range bunnies.Iter(w) {
		Velocity.Get(entry).Y += gravity
	}
}

// Move moves the bunnies. They bounce off the sides and off the ground.
func Move(w donburi.World) {
	for entry := range bunnies.Iter(w) {
		p, v := Position.Get(entry), Velocity.Get(entry)
		p.X, p.Y = p.X+v.X, p.Y+v.Y
		if p.X < 0 || p.X > Width {
			p.X, v.X = min(max(p.X, 0), Width), -v.X
		}
		if p.Y > Height {
			p.Y, v.Y = Height, -v.Y
		}
	}
}
