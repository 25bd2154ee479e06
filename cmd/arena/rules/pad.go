package rules

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Pad is all that a player can do in one tick. Presses act on the tick in which they go down; Fire acts while held.
type Pad struct {
	AimX, AimY int16 // the world point aimed at, in units of 1/aimScale metres
	X, Y       int8  // where to walk; full speed at length 127
	Fire       bool
	Rocket     bool `tendon:"press"`
	Dash       bool `tendon:"press"`
	Jump       bool `tendon:"press"`
	Kit        bool `tendon:"press"`
	_          uint8
}

// aimScale is the steps per metre of an aim point: 2 mm, which keeps 64 m inside an int16.
const aimScale = 512

var pad = ecs.NewInput[Pad]()

// Walk returns where the pad says to walk, at most 1 long.
func (in Pad) Walk() fixed.Vec2 {
	return fixed.Vec2{X: fixed.FromRatio(int64(in.X), 127), Y: fixed.FromRatio(int64(in.Y), 127)}.Limit(fixed.One)
}

// Point returns the world point aimed at.
func (in Pad) Point() fixed.Vec2 {
	return fixed.Vec2{X: fixed.Num(in.AimX) * (fixed.One / aimScale), Y: fixed.Num(in.AimY) * (fixed.One / aimScale)}
}

// WithWalk returns the pad walking along v, which is cut to length 1.
func (in Pad) WithWalk(v fixed.Vec2) Pad {
	v = v.Limit(fixed.One)
	in.X, in.Y = int8((127 * v.X).Round().Int()), int8((127 * v.Y).Round().Int())
	return in
}

// aimEdge is the farthest an aim point can be, along each axis.
var aimEdge = fixed.FromRatio(math.MaxInt16, aimScale)

// WithPoint returns the pad aiming at the world point p, or as near to it as an aim point can be.
func (in Pad) WithPoint(p fixed.Vec2) Pad {
	in.AimX = int16((aimScale * p.X.Clamp(-aimEdge, aimEdge)).Int())
	in.AimY = int16((aimScale * p.Y.Clamp(-aimEdge, aimEdge)).Int())
	return in
}

// pressed returns p's pad with the presses that went down in this tick: one that was down before counts no more.
func pressed(w *ecs.World, p ecs.Player) Pad {
	in, last := pad.Of(w, p), pad.Last(w, p)
	in.Rocket = in.Rocket && !last.Rocket
	in.Dash = in.Dash && !last.Dash
	in.Jump = in.Jump && !last.Jump
	in.Kit = in.Kit && !last.Kit
	return in
}

// keyHelp describes the keys of controls.
var keyHelp = []ecs.KeyHelp{
	{Key: "WASD, arrows", Meaning: "walk"}, {Key: "mouse", Meaning: "aim"}, {Key: "left button", Meaning: "fire"},
	{Key: "right button, E", Meaning: "rocket"}, {Key: "Space", Meaning: "jump"}, {Key: "Shift", Meaning: "dash"},
	{Key: "Q", Meaning: "use a med kit"}, {Key: "K", Meaning: "surrender"},
}

// touchKeys are the controls of a touch screen. A finger elsewhere aims and fires.
var touchKeys = []ecs.KeyHelp{
	{Key: "LeftStick", Meaning: "walk"}, {Key: "Space", Meaning: "jump"}, {Key: "ShiftLeft", Meaning: "dash"},
	{Key: "E", Meaning: "rocket"}, {Key: "Q", Meaning: "kit"},
}

// controls maps keys and mouse to a pad. WASD or the arrows walk, and the mouse aims and fires. The right button or E sends
// a rocket, space jumps, shift dashes, and Q uses a kit. K surrenders, and T changes
// the team. The left stick of a gamepad walks, too, and a finger on the picture aims and fires.
func controls(c ecs.Controls) ecs.InputBytes {
	down := func(key, or string) int {
		if c.Down(key) || c.Down(or) {
			return 1
		}
		return 0
	}
	if c.Pressed("k") {
		Surrender.Give(c.Orders(), ecs.Entity{}, struct{}{})
	}
	if c.Pressed("t") {
		NextTeam.Give(c.Orders(), ecs.Entity{}, struct{}{})
	}
	x, y := c.Pointer()
	in := Pad{
		Fire:   c.Down("mouse1"),
		Rocket: c.Down("mouse2") || c.Down("e"),
		Dash:   c.Down("shift"),
		Jump:   c.Down("space"),
		Kit:    c.Down("q"),
	}
	for _, finger := range c.Touches() {
		x, y, in.Fire = finger.X, finger.Y, true
	}
	walk := metres(down("d", "right")-down("a", "left"), down("s", "down")-down("w", "up"))
	in = in.WithWalk(walk.Add(fixed.Vec2{X: fixed.FromFloat(c.Axis("LeftStickHorizontal")), Y: fixed.FromFloat(c.Axis("LeftStickVertical"))}))
	return pad.Pack(in.WithPoint(fixed.Vec2{X: fixed.FromFloat(x), Y: fixed.FromFloat(y)}))
}
