package corpus

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

func fused(w *ecs.World) {
	for e := range units.All(w) {
		e.A.Z = e.A.X*e.A.Y + e.A.Z // want `some processors fuse a product and a sum into one rounding: write float64\(x \* y\), or use ecs/fixed`
	}
}

func fusedLater(w *ecs.World) {
	for e := range units.All(w) {
		area := e.A.X * e.A.Y // want `some processors fuse a product and a sum into one rounding`
		e.A.Z += area
	}
}

func sine(w *ecs.World) {
	for e := range units.All(w) {
		e.A.Z = math.Sin(e.A.X) // want `math.Sin differs between targets: use ecs/fixed`
	}
}

func fromFloat(w *ecs.World) {
	for e := range units.All(w) {
		e.A.Count = int32(fixed.FromFloat(e.A.X / 3)) // want `fixed.FromFloat of a float that is computed in a tick differs between targets: compute in fixed.Num`
	}
}

// narrowed converts a float that does not fit. The result differs between processors, and tendonvet does not know the values.
func narrowed(w *ecs.World) {
	for e := range units.All(w) {
		e.A.Count = int32(uint8(e.A.X * 1024))
	}
}
