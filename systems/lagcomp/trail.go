package lagcomp

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// box is a rectangle of the plane with its edges. The zero box is a point; nowhere is empty.
type box struct{ lo, hi fixed.Vec2 }

var (
	nowhere  = box{fixed.Vec2{X: fixed.Max, Y: fixed.Max}, fixed.Vec2{X: fixed.Min, Y: fixed.Min}}
	anywhere = box{nowhere.hi, nowhere.lo}
)

// around returns the box of a circle.
func around(at fixed.Vec3, radius fixed.Num) box {
	return box{fixed.Vec2{X: at.X - radius, Y: at.Y - radius}, fixed.Vec2{X: at.X + radius, Y: at.Y + radius}}
}

// with returns the smallest box that holds both.
func (b box) with(o box) box {
	return box{
		fixed.Vec2{X: min(b.lo.X, o.lo.X), Y: min(b.lo.Y, o.lo.Y)},
		fixed.Vec2{X: max(b.hi.X, o.hi.X), Y: max(b.hi.Y, o.hi.Y)},
	}
}

func (b *box) touches(o *box) bool {
	return b.lo.X <= o.hi.X && b.hi.X >= o.lo.X && b.lo.Y <= o.hi.Y && b.hi.Y >= o.lo.Y
}

// trail is where an entity has been: before and since the sweep's last turn.
type trail struct {
	entity        ecs.Entity
	before, since box
}

// touches asks the box of both, not one after the other: who moved on from one to the next was between them as well.
func (t *trail) touches(o *box) bool {
	all := t.before.with(t.since)
	return all.touches(o)
}
