package fixed_test

import (
	"fmt"

	"tendon/ecs/fixed"
)

func Example() {
	gravity := fixed.MustParse("-9.81")
	dt := fixed.FromRatio(1, 60)
	pos := fixed.Vec2{Y: fixed.FromInt(100)}
	vel := fixed.FromAngle(fixed.Pi/4, fixed.FromInt(20))
	for range 60 {
		vel.Y += gravity.Mul(dt)
		pos = pos.Add(vel.Scale(dt))
	}
	fmt.Println(pos.X, pos.Y)
	fmt.Printf("%.3f %.3f\n", pos.X.Float(), pos.Y.Float())
	// Output:
	// 14.142135568 109.1553856102
	// 14.142 109.155
}

func ExampleMustParse() {
	fmt.Println(fixed.MustParse("0.1"))
	fmt.Println(fixed.MustParse("0.1").Mul(fixed.FromInt(3)))
	// Output:
	// 0.1
	// 0.3000000003
}

// A torus wraps: what leaves on one side comes back on the other.
func ExampleNum_Mod() {
	width := fixed.FromInt(320)
	fmt.Println(fixed.FromInt(325).Mod(width), fixed.FromInt(-5).Mod(width))
	// Output: 5 315
}

func ExampleNum_Sqrt() {
	fmt.Println(fixed.FromInt(2).Sqrt(), fixed.FromInt(144).Sqrt())
	// Output: 1.4142135624 12
}

func ExampleSinCos() {
	sin, cos := fixed.SinCos(fixed.Pi / 6)
	fmt.Println(sin, cos)
	// Output: 0.5 0.8660254038
}

func ExampleAtan2() {
	fmt.Println(fixed.Atan2(fixed.One, -fixed.One))
	// Output: 2.35619449
}

// A homing missile turns towards its target by at most a tenth of a radian a tick.
func ExampleVec2_Rotate() {
	heading := fixed.Vec2{X: fixed.One}
	target := fixed.Vec2{Y: fixed.FromInt(50)}
	most := fixed.FromRatio(1, 10)
	off := fixed.Atan2(heading.Cross(target), heading.Dot(target))
	heading = heading.Rotate(off.Clamp(-most, most))
	fmt.Println(off, heading.Angle())
	// Output: 1.5707963267 0.1
}

func ExampleVec2_Limit() {
	push := fixed.Vec2{X: fixed.FromInt(30), Y: fixed.FromInt(40)}
	fmt.Println(push.Limit(fixed.FromInt(5)))
	// Output: {3 4}
}

func ExampleVec3_Cross() {
	x, y := fixed.Vec3{X: fixed.One}, fixed.Vec3{Y: fixed.One}
	fmt.Println(x.Cross(y))
	// Output: {0 0 1}
}
