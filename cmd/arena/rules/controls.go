package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// controls maps keys and mouse to a pad. WASD or the arrows walk, and the mouse aims and fires. The right button or E sends
// a rocket, space jumps, shift dashes, and Q uses a kit.
func controls(c ecs.Controls) ecs.InputBytes {
	axis := func(less, lessToo, more, moreToo string) fixed.Num {
		n := 0
		if c.Down(less) || c.Down(lessToo) {
			n--
		}
		if c.Down(more) || c.Down(moreToo) {
			n++
		}
		return fixed.FromInt(n)
	}
	x, y := c.Pointer()
	in := Pad{
		Fire:   c.Down("mouse1"),
		Rocket: c.Down("mouse2") || c.Down("e"),
		Dash:   c.Down("shift"),
		Jump:   c.Down("space"),
		Kit:    c.Down("q"),
	}
	in = in.WithWalk(fixed.Vec2{X: axis("a", "left", "d", "right"), Y: axis("w", "up", "s", "down")})
	return pad.Pack(in.WithPoint(fixed.Vec2{X: fixed.FromFloat(x), Y: fixed.FromFloat(y)}))
}
