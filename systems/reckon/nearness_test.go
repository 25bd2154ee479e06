package reckon

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Near entities have a higher priority in bodies of state than distant ones.
func TestNearEntitiesHaveAHigherPriority(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{Interest: fixed.FromInt(20)}, false)
	priority := func() (p float32) {
		r.server.Peers[1].Own.relevant(func(e ecs.Entity, weight float32) bool {
			if e == r.walker(0) {
				p = weight
			}
			return true
		})
		return p
	}
	near := priority()
	r.pads[0].Walk = true
	r.Run(gameRate)
	there, _ := r.server.World().Image().Motion(r.walker(0))
	here, _ := r.server.World().Image().Motion(r.walker(1))
	distance := there.Pos.Sub(here.Pos).Len().Float()
	if distance < 2 || distance > 18 {
		t.Fatalf("%.1f away", distance)
	}
	if far := priority(); near < 1.5 || far > near-0.1 || math.Abs(float64(far)-(2-distance/20)) > 0.01 {
		t.Errorf("the priority is %v near and %v at a distance of %.1f", near, far, distance)
	}
}
